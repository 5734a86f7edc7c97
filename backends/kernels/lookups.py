"""Parts of an array at arrays of indices: copied, or looked up by the operations that read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scanopt.backends.kernels.columns import Columns
from scanopt.backends.kernels.folds import Folded
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Cast,
    Do,
    Expr,
    Fail,
    If,
    Let,
    Lit,
    Load,
    Set,
    Steps,
    Stmt,
    Store,
    Var,
    plus,
    product,
    times,
)
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import NoForm, Scatter, Take
from scanopt.backends.kernels.places import from_the_start, out_of_range, row_of
from scanopt.backends.kernels.rows import ReducedRows
from scanopt.backends.kernels.stages import Fused, Stage
from scanopt.backends.kernels.values import Array, Axes, element_of, index, nest, packed

__all__ = ["copy_one_by_one", "looked_up", "write_lookup", "write_scatter"]


def looked_up(stages: Sequence[Stage | Columns | Folded | ReducedRows], wanted: Collection[str]) -> set[str]:
    """The parts that only operations on elements read: they look their elements up.  wanted: what is read later."""
    found = {s.out for s in stages if isinstance(s, Take)} - {*wanted}
    for s in stages:
        if not isinstance(s, Fused | Columns | ReducedRows | Take):
            found -= {*s.args}
    return found


def write_lookup(node: Take, w: Lowering) -> None:
    """Write parts at an array of indices, which are checked before: where that does not change, before the loop."""
    x, (_, name) = w.value(node.args[0]), node.args
    assert isinstance(x, Array)
    before = w.before(name)
    with w.into(w.code if before is None else before):
        pointer = _places_in_range(name, x.axes[node.axis], w)
        ends, runs = _runs(pointer, w.axes(name), w) if before is not None and len(w.axes(name)) == 1 else ("", "")
    found = x.picked(node.axis, pointer, w.axes(name), ends, runs)
    if found is None:
        whole = Array(w.whole(x, x.axes, x.dtype), x.axes, packed(x.axes), x.dtype)
        found = whole.picked(node.axis, pointer, w.axes(name), ends, runs)
    assert found is not None
    if node.out in w.looked_up:
        w.env[node.out] = found
    else:
        w.code += w.copied(found, w.place(node.out), ZERO, w.axes(node.out))


def _places_in_range(name: str, length: Expr, w: Lowering) -> str:
    """An array of indices as places, negative ones counted from the end; array steps report those out of range."""
    axes, value = w.axes(name), w.value(name)
    places, wrong, j = w.scratch(INDEX, axes), w.variable(INDEX), w.fresh("j")
    lengths: Axes = (product(axes),) if isinstance(value, Array) and value.fills(axes) else axes
    names, there = w.places(lengths)
    at = Cast(element_of(value, there, lengths), INDEX)
    out = Cast(out_of_range(Var(j), length), INDEX)
    body: tuple[Stmt, ...] = (
        Let(j, from_the_start(at, length), INDEX),
        Store(places, index(ZERO, there, packed(lengths)), Var(j)),
        Set(wrong, Do("bitwise_or", (Var(wrong), out), INDEX, INDEX)),
    )
    w.code += [Set(wrong, ZERO), *nest(lengths, names, body)]
    w.code.append(If(Do("not_equal", (Var(wrong), ZERO), "bool", INDEX), (Fail(),)))
    return places


def _runs(places: str, axes: Axes, w: Lowering) -> tuple[str, str]:
    """Where the places that follow each one by one end, and how many such runs there are."""
    (count,) = axes
    ends, runs, i = w.scratch(INDEX, axes), w.variable(INDEX), w.fresh("i")
    here = Do("subtract", (plus(count, Lit(-2)), Var(i)), INDEX, INDEX)
    following = Do("subtract", (Load(places, plus(here, ONE), INDEX), Load(places, here, INDEX)), INDEX, INDEX)
    same = (Store(ends, here, Load(ends, plus(here, ONE), INDEX)),)
    new = (Store(ends, here, plus(here, ONE)), Set(runs, plus(Var(runs), ONE)))
    w.code += [Set(runs, ONE), Store(ends, plus(count, Lit(-1)), count)]
    w.code.append(Steps(i, plus(count, Lit(-1)), (If(Do("equal", (following, ONE), "bool", INDEX), same, new),)))
    return ends, runs


def write_scatter(node: Scatter, w: Lowering) -> None:
    """Write parts at an array of indices, one after the other, since an index may occur twice."""
    if w.device:
        raise NoForm("parts at indices are set one after the other")
    x, y, (_, _, name), axis = w.value(node.args[0]), w.value(node.args[1]), node.args, node.axis
    pointer = _places_in_range(name, w.axes(node.out)[axis], w)
    if node.out in w.in_place:
        w.env[node.out] = x
    else:
        w.code += w.copied(x, w.place(node.out), ZERO, w.axes(node.out))
    whole = w.env[node.out]
    assert isinstance(whole, Array)
    parts = whole.picked(axis, pointer, w.axes(name))
    assert parts is not None
    names, places = w.places(parts.axes)
    there, element = parts.at(places, parts.axes), element_of(y, places, parts.axes)
    element = element if y.dtype == node.dtype else Cast(element, node.dtype)
    if node.added:
        element = Do("add", (there, element), node.dtype, node.dtype)
    last = axis + len(w.axes(name))
    body = nest(parts.axes[last:], names[last:], (Store(there.array, there.index, element),))
    for n, i in reversed(list(zip(parts.axes[axis:last], names[axis:last], strict=True))):
        body = (Steps(i, n, body),) if n != ONE else body
    w.code += nest(parts.axes[:axis], names[:axis], body)


def copy_one_by_one(node: Take, w: Lowering) -> None:
    """Copy parts, each index checked as it is read: on a device threads share the indices."""
    x, at = w.value(node.args[0]), w.value(node.args[1])
    assert isinstance(x, Array)
    out, axes = w.place(node.out), w.axes(node.out)
    first, last = node.axis, node.axis + len(w.axes(node.args[1]))
    names, places = w.places(axes)
    found = element_of(at, places[first:last], axes[first:last])
    body: list[Stmt] = []
    with w.into(body):
        row = times(row_of(w, Cast(found, INDEX), x.axes[first]), x.strides[first])
        rest, strides = (*places[:first], *places[last:]), (*x.strides[:first], *x.strides[first + 1 :])
        store = Store(out, index(ZERO, places, packed(axes)), Load(x.pointer, index(row, rest, strides), node.dtype))
        w.code += nest(axes[last:], names[last:], (store,))
    w.code += nest(axes[:last], names[:last], tuple(body))
