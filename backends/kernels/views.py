"""Writes views and data movement: parts of arrays, other shapes, concatenations."""

from __future__ import annotations

from scanopt.backends.kernels.emit import written
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
    Point,
    Stmt,
    Store,
    Var,
    plus,
    times,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering, index, number_of
from scanopt.backends.kernels.nodes import WHOLE, Join, Length, NoForm, Reshape, SetItem, Take, View
from scanopt.backends.kernels.recipe import Number
from scanopt.backends.kernels.stages import is_element, is_few
from scanopt.backends.kernels.values import Array, Axes, Scalar, element_of, nest, packed

__all__: list[str] = []


@written.register(View)
def _view(node: View, w: Lowering) -> None:
    if node.args[0] in w.few and is_element(node):
        places = [_index(w, at, w.axes(node.args[0])[axis]) for axis, at in sorted(node.at)]
        flat = index(ZERO, places, packed(w.axes(node.args[0])))
        assert isinstance(flat, Lit)
        w.env[node.out] = w.few[node.args[0]][int(flat.value)]
        return
    x, axes = w.value(node.args[0]), w.axes(node.out)
    if isinstance(x, Scalar):
        _arranged(node.out, x, w)
        return
    offset, strides = _part(node, x, w)
    if not axes:
        w.let(node.out, Load(x.pointer, offset, node.dtype), node.dtype)
        return
    pointer = w.pointer(node.dtype)
    w.code.append(Point(pointer, x.pointer, offset, node.dtype))
    found = Array(pointer, axes, strides, node.dtype)
    w.env[node.out] = found
    if w.body.exact and node.out in w.multiplied and not found.packed:  # here, not in each step of a loop that reads it
        w.env[node.out] = Array(w.whole(found, axes, node.dtype), axes, packed(axes), node.dtype)


def _part(node: View, x: Array, w: Lowering) -> tuple[Expr, Axes]:
    """The offset of a part of x, and its strides."""
    offset: Expr = ZERO
    for axis, at in node.at:
        offset = plus(offset, times(_index(w, at, x.axes[axis]), x.strides[axis]))
    strides: list[Expr] = []
    for entry, length in zip(node.axes, w.axes(node.out), strict=True):
        if entry is None:
            strides.append(ONE)
            continue
        axis, part = entry
        if any(isinstance(p, str) for p in part):
            offset = plus(offset, times(_start(w, part, x.axes[axis], length), x.strides[axis]))
        elif part != WHOLE:
            start = w.number(Number("start", (node.args[0], axis), part))
            offset = plus(offset, times(start, x.strides[axis]))
        strides.append(times(Lit(1 if part[2] is None else part[2]), x.strides[axis]))
    return offset, tuple(strides)


def _start(w: Lowering, part: tuple[int | str | None, ...], length: Expr, wanted: Expr) -> Expr:
    """Where a slice starts whose ends are computed, after a check that it has as many elements as planned for."""
    ends = [
        ZERO if part[0] is None else _end(w, part[0], length),
        length if part[1] is None else _end(w, part[1], length),
    ]
    found = Do("subtract", (ends[1], ends[0]), INDEX, INDEX)
    w.code.append(If(Do("not_equal", (found, wanted), "bool", INDEX), (Fail(),)))
    return ends[0]


def _end(w: Lowering, end: int | str, length: Expr) -> Expr:
    place: Expr = Cast(number_of(w.value(end)), INDEX) if isinstance(end, str) else Lit(end)
    name = w.fresh("j")
    below = Do("less", (place, ZERO), "bool", INDEX)
    counted = Do("where", (below, plus(place, length), place), INDEX, INDEX)
    w.code.append(Let(name, Do("clip", (counted, ZERO, length), INDEX, INDEX), INDEX))
    return Var(name)


@written.register(SetItem)
def _setitem(node: SetItem, w: Lowering) -> None:
    x, y, axes = w.value(node.args[0]), w.value(node.args[1]), w.axes(node.out)
    if node.out in w.in_place:
        assert isinstance(x, Array)
        w.env[node.out] = x
    else:
        w.code += w.copied(x, w.place(node.out), ZERO, axes)
    whole = w.env[node.out]
    assert isinstance(whole, Array)
    start, strides = _part(node.part, whole, w)
    lengths = w.axes(node.part.out)
    names, places = w.places(lengths)
    at = index(start, places, strides)
    element = element_of(y, places, lengths)
    element = element if y.dtype == node.dtype else Cast(element, node.dtype)
    if node.added:
        element = Do("add", (Load(whole.pointer, at, node.dtype), element), node.dtype, node.dtype)
    w.code += nest(lengths, names, (Store(whole.pointer, at, element),))


def _index(w: Lowering, place: int | str, length: Expr) -> Expr:
    """A nonnegative index, after a check; if that fails, the loop is left to array steps, which report the error."""
    if isinstance(place, str):
        return _row(w, Cast(number_of(w.value(place)), INDEX), length)
    if not isinstance(length, Lit):
        return _in_range(w, Lit(place) if place >= 0 else plus(length, Lit(place)), length)
    if not -int(length.value) <= place < int(length.value):
        raise NoForm("an index is out of range")
    return Lit(place % int(length.value))


def _row(w: Lowering, place: Expr, length: Expr) -> Expr:
    """A computed index; a negative one counts from the end."""
    name = w.fresh("j")
    below = Do("less", (place, ZERO), "bool", INDEX)
    w.code.append(Let(name, Do("where", (below, plus(place, length), place), INDEX, INDEX), INDEX))
    return _in_range(w, Var(name), length)


def _in_range(w: Lowering, place: Expr, length: Expr) -> Expr:
    low, high = Do("less", (place, ZERO), "bool", INDEX), Do("greater_equal", (place, length), "bool", INDEX)
    w.code.append(If(Do("logical_or", (low, high), "bool", "bool"), (Fail(),)))
    return place


def _arranged(out: str, x: Scalar, w: Lowering) -> None:
    """A number, or an array of one element."""
    if not w.axes(out):
        w.env[out] = x
        return
    pointer = w.place(out)
    w.code += w.copied(x, pointer, ZERO, w.axes(out))


@written.register(Reshape)
def _reshape(node: Reshape, w: Lowering) -> None:
    x, axes = w.value(node.args[0]), w.axes(node.out)
    if isinstance(x, Scalar):
        _arranged(node.out, x, w)
        return
    pointer = x.pointer if x.packed else w.whole(x, x.axes, x.dtype)
    if axes:
        w.env[node.out] = Array(pointer, axes, packed(axes), node.dtype)
    else:
        w.let(node.out, Load(pointer, ZERO, node.dtype), node.dtype)


@written.register(Join)
def _join(node: Join, w: Lowering) -> None:
    if node.new and is_few(w.axes(node.out)) and not any(w.axes(a) for a in node.args):
        values = [number_of(w.value(a)) for a in node.args]
        cast = [x if w.dtype(a) == node.dtype else Cast(x, node.dtype) for a, x in zip(node.args, values, strict=True)]
        w.keep_few(node.out, [Scalar(x, node.dtype) for x in cast])
        return
    pointer, axes = w.place(node.out), w.axes(node.out)
    strides = packed(axes)
    start: Expr = ZERO
    for a in node.args:
        value = w.value(a)
        own = (*axes[: node.axis], *axes[node.axis + 1 :]) if node.new else w.axes(a)
        apart = (*strides[: node.axis], *strides[node.axis + 1 :]) if node.new else strides
        names, places = w.places(own)
        into = index(start, places, apart)
        element = element_of(value, places, own)
        element = element if value.dtype == node.dtype else Cast(element, node.dtype)
        w.code += nest(own, names, (Store(pointer, into, element),))
        start = plus(start, times(ONE if node.new else own[node.axis], strides[node.axis]))


@written.register(Length)
def _length(node: Length, w: Lowering) -> None:
    w.let(node.out, w.given_axes(node.args[0])[node.axis], node.dtype)


@written.register(Take)
def _take(node: Take, w: Lowering) -> None:
    x, at = w.value(node.args[0]), w.value(node.args[1])
    assert isinstance(x, Array)
    out, axes = w.place(node.out), w.axes(node.out)
    first, last = node.axis, node.axis + len(w.axes(node.args[1]))
    names, places = w.places(axes)
    found = element_of(at, places[first:last], axes[first:last])
    body: list[Stmt] = []
    with w.into(body):
        row = times(_row(w, Cast(found, INDEX), x.axes[first]), x.strides[first])
        rest, strides = (*places[:first], *places[last:]), (*x.strides[:first], *x.strides[first + 1 :])
        store = Store(out, index(ZERO, places, packed(axes)), Load(x.pointer, index(row, rest, strides), node.dtype))
        w.code += nest(axes[last:], names[last:], (store,))
    w.code += nest(axes[:last], names[:last], tuple(body))
