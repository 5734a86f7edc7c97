"""Rows that a loop keeps only for products that add all of them up, as gradients of weights do: it adds them up itself.

Then memory is for the rows of a few steps and not for all.  BLAS adds up long sums in blocks, by a rule that depends on
lengths and never on values: a trial finds it.  Where it does not, and where sums are so large that one product takes
less time, all rows are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Do, Expr, If, Inner, Lit, Point, Set, Stmt, Var, plus, times
from scanopt.backends.kernels.ir import product as product_of
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import (
    WHOLE,
    Contract,
    Length,
    Nested,
    Product,
    Reshape,
    Setting,
    Summing,
    SumTo,
    View,
)  # fmt: skip
from scanopt.backends.kernels.prefixes import prefix_of
from scanopt.backends.kernels.recipe import Number, Tiling
from scanopt.backends.kernels.stages import Reading, Stage, made_by, read_by
from scanopt.backends.kernels.step_counts import may_take_none
from scanopt.backends.kernels.tiles import SPACE
from scanopt.backends.kernels.values import Array, Axes, item_size
from scanopt.records import dataclass

__all__ = ["Added", "begin_sums", "laid", "rows_to_sum", "written_unless_summed"]

TOGETHER = 8
"""So many steps that make one row each are added together, a power of two: sums are brought from memory less often."""
Added = Callable[[Expr, Expr], Sequence[Stmt]]
"""What adds the rows of a step; of the step, and how many there are."""
_TURNED = ((1, WHOLE), (0, WHOLE))


# What such rows are


def rows_to_sum(
    stages: Sequence[Stage | Reading], wanted: Collection[str], w: Lowering
) -> dict[str, tuple[Summing, ...]]:
    """By name of rows that a loop keeps the products that alone read them.  wanted: names that are read afterwards."""
    found: dict[str, tuple[Summing, ...]] = {}
    if not w.body.whole or w.device or w.part or not w.tiles or w.step_of != "t":
        return found
    for i, loop in enumerate(stages):
        if not isinstance(loop, Nested) or loop.loop.until is not None or may_take_none(loop) or prefix_of(loop, w):
            continue
        carried = {s.update for s in loop.loop.states} | {tap for s in loop.loop.states for _, tap in s.taps}
        for k in loop.loop.keeps:
            if k.rows is None and k.value not in carried and w.dtype(k.out) in ("float32", "float64"):
                products = _products((k.out,), 0, stages[i:], wanted, w)
                found |= {k.out: products} if products else {}
    return found


def _products(
    names: tuple[str, ...], cut: int, stages: Sequence[Stage | Reading], wanted: Collection[str], w: Lowering
) -> tuple[Summing, ...] | None:
    """The products that read rows by the last of some names; None where anything else does.

    stages: from the loop on.  cut: how many first axes of the rows are the first one of a matrix, 0 if they are none.
    """
    name, found = names[-1], list[Summing]()
    if name in wanted:
        return None
    for at, x in enumerate(stages):
        if not at or isinstance(x, Length) or name not in read_by(x):
            continue
        more: tuple[Summing, ...] | None = None
        if isinstance(x, SumTo) and w.axes(x.out) == w.axes(name) and w.dtype(x.out) == w.dtype(name):
            more = _products((*names, x.out), cut, stages, wanted, w)
        elif isinstance(x, Reshape) and not cut and x.merged is not None and len(x.merged) == 2:
            more = _products((*names, x.out), len(x.merged[0]), stages, wanted, w)
        elif isinstance(x, View) and cut and x.axes == _TURNED and not x.at:
            more = _products((*names, x.out), -cut, stages, wanted, w)
        elif isinstance(x, Product | Contract) and not any(isinstance(s, Setting) for s in stages[:at]):
            own = _summing(x, names, cut, {out for s in stages for out in made_by(s)}, w)
            more = (own,) if own else None
        if more is None:
            return None
        found += more
    return tuple(found)


def _summing(
    node: Product | Contract, names: Sequence[str], cut: int, late: Collection[str], w: Lowering
) -> Summing | None:
    """A product that adds up rows, the other factor of which is there before them."""
    (a, b), name = node.args, names[-1]
    if a == b or {a, b} <= {*late} or node.dtype != w.dtype(name):
        return None
    kept = int(b == name)
    if isinstance(node, Contract):
        own, other = node.axes[kept], node.axes[1 - kept]
        in_order = own == tuple(range(len(own))) and not other[0] and [*node.axes[0]] == sorted(node.axes[0])
        return Summing(node, names[0], kept, len(own)) if in_order and not cut else None
    dims = [n for x in node.args for n in w.axes(x)]
    fits = node.as_they_lie and len(dims) == 4 and ONE not in dims and (cut > 0 if kept else cut < 0)
    return Summing(node, names[0], kept, abs(cut)) if fits else None


# How they are added up


@dataclass(frozen=True)
class _Factor:
    """What a step reads of a factor: where that of step 0 lies, how far apart steps, rows summed over, others lie."""

    pointer: str
    step: Expr
    along: Expr
    across: Expr


def begin_sums(outs: Sequence[str], w: Lowering) -> tuple[str, str, Added] | None:
    """Memory for rows that are added up, by one or more names: its pointer, the variable that says which bits of a step
    tell the place of its row, and what adds them; None where they are not added up in steps."""
    if not all(out in w.summing for out in outs):
        return None
    sums = [x for out in outs for x in w.summing[out]]
    steps, *row = w.axes(outs[0])
    others = [_other(x, w) for x in sums]
    if any(x is None for x in others):
        return None
    dtype, every = w.dtype(outs[0]), TOGETHER if all(x.cut == 1 for x in sums) else 1
    dims = [_dims(x, w) for x in sums]
    pointer, mask = w.pointer(dtype), w.variable(INDEX)
    rows = w.scratch(dtype, (steps, *row))
    begins = [times(Lit(every), product_of(tuple(row)))]
    for m, _, n in dims:
        begins.append(plus(begins[-1], times(m, plus(n, Lit(SPACE // np.dtype(dtype).itemsize)))))
    room = w.scratch(dtype, (begins[-1],))
    known = len(w.given) - 2, len(w.given) - 1
    orders = [_number(x, d, other, known, w) for x, d, other in zip(sums, dims, others, strict=True) if other]
    test, places = orders[0], [w.place(x.node.out) for x in sums]
    w.sums |= {x.node.out: (test, order) for x, order in zip(sums, orders, strict=True)}
    few = (Set(mask, Lit(every - 1)), Point(pointer, room, ZERO, dtype))
    w.code.append(If(test, few, (Set(mask, Lit(-1)), Point(pointer, rows, ZERO, dtype))))

    def added(t: Expr, steps: Expr) -> Sequence[Stmt]:
        at = Do("bitwise_and", (t, Lit(every - 1)), INDEX, INDEX)
        first = Do("subtract", (t, at), INDEX, INDEX) if every > 1 else t
        body: list[Stmt] = []
        for x, other, d, order, out, begin in zip(sums, others, dims, orders, places, begins, strict=False):
            if other:
                count = (plus(at, ONE) if every > 1 else ONE), first
                body += _call(x, other, d, (room, begin, out), count, order, w)
        if every == 1:
            return [If(test, tuple(body))]
        full = Do("equal", (at, Lit(every - 1)), "bool", INDEX)
        last = Do("equal", (t, plus(steps, Lit(-1))), "bool", INDEX)
        return [If(test, (If(Do("bitwise_or", (full, last), "bool", "bool"), tuple(body)),))]

    return pointer, mask, added


def _dims(x: Summing, w: Lowering) -> tuple[Expr, Expr, Expr]:
    """m, k and n of a product."""
    axes = [w.axes(a) for a in x.node.args]
    if isinstance(x.node, Product):
        return axes[0][0], axes[0][1], axes[1][1]
    summed = product_of(tuple(axes[0][i] for i in x.node.axes[0]))
    m, n = (product_of(tuple(c for i, c in enumerate(a) if i not in s)) for a, s in zip(axes, x.node.axes, strict=True))
    return m, summed, n


def _of_step(x: Summing, w: Lowering) -> Expr:
    """How many rows of a matrix a step makes."""
    return product_of(w.axes(x.rows)[1 : x.cut])


def _other(x: Summing, w: Lowering) -> _Factor | None:
    """The factor that is there before the loop; None where its elements do not lie as they have to."""
    name = x.node.args[1 - x.kept]
    value = w.value(name) if name not in w.few else None
    if not isinstance(value, Array) or value.picks or value.dtype != x.node.dtype:
        return None
    if isinstance(x.node, Product):
        across, along = value.strides if x.kept else value.strides[::-1]
        step = times(along, _of_step(x, w))
    else:
        axes = x.node.axes[1 - x.kept]
        others = [i for i in range(len(value.axes)) if i not in axes]
        step = value.strides[0]
        one, two = _stride(value, others), _stride(value, axes[1:])
        if one is None or (two is None and len(axes) > 1):
            return None
        across, along = one, step if two is None else two
    return _Factor(value.pointer, step, along, across) if x.kept or across == ONE else None


def _stride(value: Array, axes: Sequence[int]) -> Expr | None:
    """How far apart elements lie along some axes together; None where that is not the same everywhere."""
    if not axes or any(value.strides[i] != times(value.axes[j], value.strides[j]) for i, j in pairwise(axes)):
        return None
    return value.strides[axes[-1]]


def _number(x: Summing, dims: tuple[Expr, Expr, Expr], other: _Factor, known: tuple[int, int], w: Lowering) -> Var:
    """The number of the order in which a product is summed; 0 where all rows are kept."""
    item, (rows, room) = item_size(x.node.dtype), known
    ways: list[tuple[Expr, ...]] = []
    if isinstance(x.node, Product):
        size = dims[2 if x.kept else 0]
        ways = [(other.across, other.along, size, ONE) if x.kept else (ONE, size, other.along, other.across)]
    else:
        (a, b), (ia, ib) = (w.axes(n) for n in x.node.args), x.node.axes
        kept_a, kept_b = ([i for i in range(len(axes)) if i not in s] for axes, s in ((a, ia), (b, ib)))
        ways = [(*laid(a, kept_a, ia, large)[1], *laid(b, ib, kept_b, large)[1]) for large in (0, 1)]
    strides = [tuple(times(s, item) for s in way) for way in ways]
    found = [((s[0], s[1]), (s[2], s[3])) for s in strides]
    sizes = plus(*(product_of(w.axes(a)) for a in x.node.args))
    tiling = Tiling(x.node.dtype, dims, *found[0], False, room, (rows,), large=found[-1], size=sizes)
    return w.number(Number("summed", tiling=tiling))


def _call(
    x: Summing,
    other: _Factor,
    dims: tuple[Expr, Expr, Expr],
    memory: tuple[str, Expr, str],
    count: tuple[Expr, Expr],
    order: Expr,
    w: Lowering,
) -> list[Stmt]:
    """The rows of some steps added.  memory: for these rows, where in it sums lie, and for the result; count: of the
    steps, and the first of them."""
    (m, k, n), (room, begin, out), (steps, first), dtype = dims, memory, count, x.node.dtype
    theirs, sums, item = w.pointer(dtype), w.pointer(dtype), item_size(dtype)
    each = _of_step(x, w)
    if x.kept:
        factors, strides = (theirs, room), (other.across, other.along, n)
    else:
        factors, strides = (room, theirs), (ONE, m, other.along)
    numbers = (m, times(steps, each), n, times(first, each), k, order, Lit(x.kept))  # behind rows of ours lie the sums
    bytes_apart = tuple(times(s, item) for s in strides)
    return [
        Point(theirs, other.pointer, times(first, other.step), dtype),
        Point(sums, room, begin, dtype),
        Inner(w.slot("adding", (dtype,)), (*factors, sums, out), numbers, bytes_apart),
    ]


def written_unless_summed(out: str, write: Callable[[], None], w: Lowering) -> None:
    """Write a product that a loop may have added up already."""
    test, number = w.sums[out]
    known = len(w.given)
    with w.into([]) as code:
        write()
    w.code.append(If(test, (), tuple(code)))
    at = w.number_names.index(number.name)
    tiling = w.numbers[at].tiling
    assert tiling is not None
    copies = tuple(i for i in range(known, len(w.given)) if w.given[i].kind == "scratch")
    w.numbers[at] = replace(w.numbers[at], tiling=replace(tiling, copies=(*tiling.copies, *copies)))


def laid(
    axes: Axes, rows: Sequence[int], columns: Sequence[int], large: int
) -> tuple[Sequence[int], tuple[Expr, Expr]]:
    """How a factor of a contraction is laid out as the axes `rows` by the axes `columns`: the order of its axes in
    memory, and the strides of rows and columns.  large: transposed, if columns are further apart."""
    r, c = ([i for i in x if axes[i] != ONE] for x in (rows, columns))
    apart = [product_of(axes[i + 1 :]) for i in range(len(axes))]
    if r and c and _together(r, axes) and _together(c, axes):
        return range(len(axes)), (apart[r[-1]], apart[c[-1]])
    turned = bool(large and len(columns) and (not len(rows) or _further(columns[0], rows[0], axes)))
    n = product_of(tuple(axes[i] for i in (rows if turned else columns)))
    return ([*columns, *rows], (ONE, n)) if turned else ([*rows, *columns], (n, ONE))


def _further(i: int, j: int, axes: Axes) -> bool:
    return i < j and any(n != ONE for n in axes[i + 1 : j + 1])


def _together(found: Sequence[int], axes: Axes) -> bool:
    """Whether axes are adjacent in memory, except for those of length 1 between them."""
    between = (range(i + 1, j) if i < j else None for i, j in pairwise(found))
    return all(x is not None and all(axes[k] == ONE for k in x) for x in between)
