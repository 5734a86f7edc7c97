"""A pass on nodes: moves reductions and running sums from before or after a loop into its steps.

Rows that a loop keeps only to have each of them reduced are reduced in its steps, and not kept; so a state of which
only sums or extremes are read, as a window of the last elements, may be changed in place.  Integers that a loop keeps
only to be reduced to one number are reduced in a state of the loop; any order gives the same.  Running sums that only
one loop reads, which may end early, are added up in its steps, as far as it gets.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from scanopt.array.types import TensorType
from scanopt.backends.kernels.bodies import walk
from scanopt.backends.kernels.ir import ONE
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import (
    WHOLE,
    Extreme,
    Fixed,
    Length,
    Map,
    Nested,
    Node,
    Product,
    Products,
    Reduce,
    Running,
    Setting,
    View,
)  # fmt: skip
from scanopt.backends.kernels.stages import is_few
from scanopt.program.ir import CarriedState, Keep, Read

__all__ = ["with_rows_in_steps"]

End = Reduce | Extreme
NOTHING: dict[str, float] = {"add": -0.0, "multiply": 1}
"""The neutral elements of running sums and products; -0.0 also keeps the sign of a first zero."""
TOTALS = {"maximum", "minimum", "add", "multiply"}


def with_rows_in_steps(nodes: Sequence[Node], wanted: Collection[str], w: Lowering) -> list[Node]:
    """Move such nodes into loops.  wanted: names that are read afterwards."""
    if w.device:
        return [*nodes]
    found = _with_products(_with_ends(nodes, wanted, w), wanted, w)
    return _with_sums(_with_totals(found, wanted, w), wanted, w)


def _with_ends(nodes: Sequence[Node], wanted: Collection[str], w: Lowering) -> list[Node]:
    """Let loops keep reductions of rows in place of the rows."""
    found = [*nodes]
    for loop in nodes:
        if isinstance(loop, Nested) and loop.loop.until is None:
            ends = {k.value: _ends(k, found, w) for k in loop.loop.keeps if k.rows is None and k.out not in wanted}
            own = [n for of_row in ends.values() for n in of_row]
            at = found.index(loop)
            if own and not any(isinstance(n, Setting) for n in found[at : max(map(found.index, own))]):
                found[at] = _kept(own, loop, w)
                found = [n for n in found if n not in own]
    return found


def _ends(k: Keep, nodes: Sequence[Node], w: Lowering) -> list[End]:
    """The reductions that read all kept rows, each row separately; [] if anything else reads the rows."""
    readers = [n for n in nodes if k.out in n.args and not isinstance(n, Length)]
    axes = w.axes(k.out)
    ends = [n for n in readers if isinstance(n, Reduce | Extreme) and _by_row(n, len(axes))]
    fits = len(ends) == len(readers) and ONE not in axes and not is_few(axes[1:]) and not any(map(w.grows, axes))
    return ends if fits else []


def _by_row(n: End, ndim: int) -> bool:
    """Whether a reduction makes one number of each row."""
    return n.axis == ndim - 1 == 1 if isinstance(n, Extreme) else n.axes == tuple(range(1, ndim))


def _kept(own: Sequence[End], loop: Nested, w: Lowering) -> Nested:
    """A loop that computes and keeps these reductions in place of the rows."""
    values = {k.out: k.value for k in loop.loop.keeps}
    made: list[Node] = []
    keeps = [k for k in loop.loop.keeps if all(k.out not in n.args for n in own)]
    for n in own:
        row = f"{n.out}@{loop.loop.steps}"
        w.name_row(row, n.out)
        args = tuple(values[a] for a in n.args)
        if isinstance(n, Extreme):
            made.append(replace(n, out=row, args=args, axis=n.axis - 1))
        else:
            made.append(replace(n, out=row, args=args, axes=tuple(i - 1 for i in n.axes)))
        keeps.append(Keep(n.out, row, None, TensorType(n.dtype, (None,))))
    return Nested(replace(loop.loop, keeps=tuple(keeps)), (*loop.nodes, *made), loop.args)


def _with_products(nodes: Sequence[Node], wanted: Collection[str], w: Lowering) -> list[Node]:
    """Let loops keep the products of rows that they keep only to have each multiplied by a row of another array."""
    found = [*nodes]
    for end in [n for n in nodes if isinstance(n, Products) and n.dtype in ("float32", "float64")]:
        for loop in [n for n in found if isinstance(n, Nested) and n.loop.until is None]:
            rows = [_row_of(a, end, loop, found, wanted, w) for a in end.args]
            between = found[found.index(loop) : found.index(end)]
            if None not in rows and len(w.axes(end.out)) == 3 and not any(isinstance(n, Setting) for n in between):
                of_product = [x for x in rows if x is not None]
                gone = {*end.args, *(x.args[0] for x in of_product)}
                found[found.index(loop)] = _multiplying(end, of_product, loop, w)
                found = [n for n in found if n is not end and gone.isdisjoint(n.outs if isinstance(n, View) else ())]
                break
    return found


def _row_of(
    name: str, end: Products, loop: Nested, nodes: Sequence[Node], wanted: Collection[str], w: Lowering
) -> View | None:
    """The view of kept rows that a factor of a product is, if nothing else reads these rows; else None."""
    view = next((n for n in nodes if isinstance(n, View) and n.out == name), None)
    kept = {k.out for k in loop.loop.keeps if k.rows is None}
    if view is None or view.args[0] not in kept or view.at or view.axes[0] != (0, WHOLE) or len(view.axes) != 3:
        return None
    axes = w.axes(view.args[0])
    fits = all(x is None or x[1] == WHOLE for x in view.axes) and axes[0] != ONE and not is_few(axes[1:])
    readers = [n for n in nodes if {name, view.args[0]} & {*n.args} and not isinstance(n, Length)]
    alone = all(n is end or n is view for n in readers) and {name, view.args[0]}.isdisjoint(wanted)
    return view if fits and alone and not any(map(w.grows, axes)) and w.dtype(name) == end.dtype else None


def _multiplying(end: Products, views: Sequence[View], loop: Nested, w: Lowering) -> Nested:
    """A loop that keeps the products in place of the rows."""
    values, made = {k.out: k.value for k in loop.loop.keeps}, list[Node]()
    row = f"{end.out}@{loop.loop.steps}"
    w.name_row(row, end.out)
    for i, view in enumerate(views):
        name = f"{row}#{i}"
        w.name_row(name, view.out)
        axes = tuple(x if x is None else (x[0] - 1, WHOLE) for x in view.axes[1:])
        made.append(View(name, (values[view.args[0]],), axes, (), view.dtype))
    made.append(Product(row, (f"{row}#0", f"{row}#1"), end.dtype))
    gone = {view.args[0] for view in views}
    keeps = (
        *(k for k in loop.loop.keeps if k.out not in gone),
        Keep(end.out, row, None, TensorType(end.dtype, (None,) * 3)),
    )
    return Nested(replace(loop.loop, keeps=keeps), (*loop.nodes, *made), loop.args)


def _with_totals(nodes: Sequence[Node], wanted: Collection[str], w: Lowering) -> list[Node]:
    """Let loops reduce integers of which they keep one per step only to be reduced to one number."""
    found = [*nodes]
    for loop in nodes:
        if isinstance(loop, Nested) and loop.loop.until is None:
            at = found.index(loop)
            for k in loop.loop.keeps:
                end = _total(k, found, w) if k.rows is None and k.out not in wanted else None
                if end is not None and not any(isinstance(n, Setting) for n in found[at : found.index(end)]):
                    i = found.index(end)
                    last = View(end.out, (f"{end.out}#last",), (), ((0, -1),), end.dtype)
                    found[i : i + 1] = [last]
                    loop = _putting_together(k, end, loop, w)
                    found[at : at + 1] = [_start(end, w, _least(end)), loop]
                    at += 1
    return found


def _total(k: Keep, nodes: Sequence[Node], w: Lowering) -> Reduce | None:
    """The reduction of kept integers to one number, if nothing else reads them."""
    readers = [n for n in nodes if k.out in n.args and not isinstance(n, Length)]
    end = readers[0] if len(readers) == 1 else None
    if not isinstance(end, Reduce) or end.counted or end.axes != (0,) or end.op not in TOTALS:
        return None
    axes = w.axes(k.out)
    alike = end.dtype == w.dtype(k.out) and np.dtype(end.dtype).kind in "iu"
    return end if alike and len(axes) == 1 and axes[0] != ONE and not w.grows(axes[0]) else None


def _least(n: Reduce) -> int:
    """The neutral element of a reduction of integers."""
    limits = np.iinfo(n.dtype)
    return {"maximum": int(limits.min), "minimum": int(limits.max)}.get(n.op, int(n.op == "multiply"))


def _putting_together(k: Keep, end: Reduce, loop: Nested, w: Lowering) -> Nested:
    """A loop that carries the reduction so far as a state, and keeps its last value in place of the integers."""
    inner, (start, so_far, total, last) = loop.loop, (f"{end.out}#{x}" for x in ("start", "so far", "total", "last"))
    for name in (so_far, total):
        w.name_part(name, end.out, ())
    w.name_part(last, end.out, (ONE,))
    state = CarriedState(start, 1, ((1, so_far),), total, TensorType(end.dtype, ()))
    made = Map(total, (so_far, k.value), end.op, (end.dtype, end.dtype), end.dtype, total)
    keeps = (*(x for x in inner.keeps if x is not k), Keep(last, total, 1, TensorType(end.dtype, (None,))))
    return Nested(replace(inner, states=(*inner.states, state), keeps=keeps), (*loop.nodes, made), (*loop.args, start))


def _with_sums(nodes: Sequence[Node], wanted: Collection[str], w: Lowering) -> list[Node]:
    """Let loops that may end early add up the running sums that they read."""
    found = [*nodes]
    for n in nodes:
        readers = [m for m in found if n.outs[0] in m.args and not isinstance(m, Length)]
        if isinstance(n, Running) and n.op in NOTHING and len(w.axes(n.out)) == 1 and n.out not in wanted:
            loop = readers[0] if len(readers) == 1 else None
            if isinstance(loop, Nested) and _only_reads(n.out, loop):
                at = found.index(loop)
                if not any(isinstance(m, Setting) for m in found[found.index(n) : at]):
                    nothing = NOTHING[n.op] if np.dtype(n.dtype).kind == "f" else int(NOTHING[n.op])
                    found[at : at + 1] = [_start(n, w, nothing), _summing(n, loop, w)]
                    found.remove(n)
    return found


def _only_reads(name: str, loop: Nested) -> bool:
    """Whether a loop may end early and reads an array only as one sequence."""
    inner = loop.loop
    others = {inner.steps, *(s.init for s in inner.states), *(a for m in walk(loop.nodes) for a in m.args)}
    return inner.until is not None and name not in others and [r.source for r in inner.reads].count(name) == 1


def _start(n: Running | Reduce, w: Lowering, nothing: float) -> Node:
    """The node of the start of a reduction."""
    start = f"{n.out}#start"
    w.name_part(start, n.out, (ONE,))
    return Fixed(start, nothing, n.dtype)


def _summing(n: Running, loop: Nested, w: Lowering) -> Nested:
    """The loop that adds up a running sum itself."""
    inner, (x,), dtype = loop.loop, n.args, w.dtype(n.args[0])
    (row,) = (r.out for r in inner.reads if r.source == n.out)
    so_far, entry = f"{row}#before", f"{row}#entry"
    for name, source in ((so_far, n.out), (entry, x)):
        w.name_row(name, source)
    reads = (*(r for r in inner.reads if r.out != row), Read(entry, x, TensorType(dtype, ())))
    state = CarriedState(f"{n.out}#start", 1, ((1, so_far),), row, TensorType(n.dtype, ()))
    made = Map(row, (so_far, entry), n.op, (n.dtype, n.dtype), n.dtype, row)
    args = (*(a for a in loop.args if a != n.out), x, state.init)
    return Nested(replace(inner, reads=reads, states=(*inner.states, state)), (made, *loop.nodes), args)
