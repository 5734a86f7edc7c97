"""Lowers views and data movement: parts of arrays and setting them, reshapes, concatenations, rows of arrays."""

from __future__ import annotations

from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.few_parts import join_few, note_few_part
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Cast,
    Do,
    Expr,
    If,
    Let,
    Lit,
    Load,
    Point,
    Store,
    Var,
    plus,
    product,
    times,
)
from scanopt.backends.kernels.joined_parts import look_at_lengths
from scanopt.backends.kernels.last_set import at_hand, noted
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import HasRow, Join, Length, Reshape, RowAt, SetItem, View
from scanopt.backends.kernels.parts_set import part_to_set
from scanopt.backends.kernels.places import index_of, part_of
from scanopt.backends.kernels.stages import is_element
from scanopt.backends.kernels.values import Array, Scalar, element_of, index, nest, packed

__all__: list[str] = []


@written.register(View)
def _view(node: View, w: Lowering) -> None:
    if node.args[0] in w.few and is_element(node):
        places = [index_of(w, at, w.axes(node.args[0])[axis]) for axis, at in sorted(node.at)]
        flat = index(ZERO, places, packed(w.axes(node.args[0])))
        assert isinstance(flat, Lit)
        w.env[node.out] = w.few[node.args[0]][int(flat.value)]
        return
    note_few_part(node, w)
    x, axes = w.value(node.args[0]), w.axes(node.out)
    if isinstance(x, Scalar):
        for axis, at in node.at:
            index_of(w, at, w.axes(node.args[0])[axis])  # only for its check
        _arranged(node.out, x, w)
        return
    starts, strides = part_of(node, x, w)
    offset = index(ZERO, starts, x.strides)
    if not axes and at_hand(node, x, offset, w):
        return
    if not axes:
        w.let(node.out, Load(x.pointer, offset, node.dtype), node.dtype)
        return
    if node.args[0] in w.evenly and not node.at and [x and x[1][2] for x in node.axes] in ([None], [1]):
        (begin,), (first, apart) = starts, w.evenly[node.args[0]]
        w.evenly[node.out] = plus(first, times(begin, apart)), apart
    pointer = w.pointer(node.dtype)
    w.code.append(Point(pointer, x.pointer, offset, node.dtype))
    part = Array(pointer, axes, strides, node.dtype)
    if node.out in w.apart:
        copy = w.scratch(node.dtype, axes)
        w.code += w.copied(part, copy, ZERO, axes)
        part = Array(copy, axes, packed(axes), node.dtype)
    w.env[node.out] = part


@written.register(SetItem)
def _setitem(node: SetItem, w: Lowering) -> None:
    y, (part, place) = w.value(node.args[1]), part_to_set(node, w)
    chosen: Expr | None = None
    if node.out in w.chosen and node.out not in w.last_set and node.out in w.in_place:
        test, new, holds = w.chosen[node.out]
        chosen = number_of(w.value(test))
        chosen = chosen if holds else Do("logical_not", (chosen,), "bool", "bool")
        y = w.value(new)
    if node.args[1] in w.joined.get(node.out, ("", ()))[1]:
        return
    names, places = w.places(part.axes)
    at = index(ZERO, places, part.strides)
    element = element_of(y, places, part.axes)
    element = element if y.dtype == node.dtype else Cast(element, node.dtype)
    if node.added:
        element = Do("add", (Load(part.pointer, at, node.dtype), element), node.dtype, node.dtype)
    code = nest(part.axes, names, (Store(part.pointer, at, noted(node, place, element, w)),))
    w.code += code if chosen is None else (If(chosen, code),)


def _arranged(out: str, x: Scalar, w: Lowering) -> None:
    """Define a name as a number, or as an array of one repeated number."""
    if not w.axes(out) or out in w.repeated:
        w.env[out] = x
        return
    if product(w.axes(out)) == ONE and not w.device and out not in w.homes:  # most readers only need the number
        variable = w.fresh("v")
        w.code.append(Let(variable, x.value, x.dtype))
        x = Scalar(Var(variable, x.dtype), x.dtype)
        w.few[out] = [x]
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
    if node.out in w.few_joined:
        join_few(node, w)
        return
    look_at_lengths(node, w)
    pointer, there = w.joined.get(node.out) or (w.place(node.out), frozenset())
    axes = w.axes(node.out)
    strides = packed(axes)
    start: Expr = ZERO
    for a in node.args:
        if a in there or a == w.stays.get(node.out):
            start = plus(start, product(w.axes(a)))
            continue
        value = w.value(a)
        own = (*axes[: node.axis], *axes[node.axis + 1 :]) if node.new else w.axes(a)
        apart = (*strides[: node.axis], *strides[node.axis + 1 :]) if node.new else strides
        names, places = w.places(own)
        into = index(start, places, apart)
        element = element_of(value, places, own)
        element = element if value.dtype == node.dtype else Cast(element, node.dtype)
        w.code += nest(own, names, (Store(pointer, into, element),))
        start = plus(start, times(ONE if node.new else own[node.axis], strides[node.axis]))


@written.register(RowAt)
def _row_at(node: RowAt, w: Lowering) -> None:
    x, rows, place = w.value(node.args[0]), w.axes(node.args[0])[0], plus(Var(w.step_of), Lit(node.shift))
    if isinstance(x, Scalar):
        w.env[node.out] = x
        return
    if node.behind:
        place = Do("subtract", (place, w.axes(node.behind)[0]), INDEX, INDEX)
    place = Do("minimum", (place, plus(rows, Lit(-1))), INDEX, INDEX)
    place = Do("maximum", (place, ZERO), INDEX, INDEX) if node.behind else place
    pointer = w.pointer(node.dtype)
    w.code.append(Point(pointer, x.pointer, times(place, x.strides[0]), node.dtype))
    w.env[node.out] = Array(pointer, x.axes[1:], x.strides[1:], node.dtype)


@written.register(HasRow)
def _has_row(node: HasRow, w: Lowering) -> None:
    place = plus(Var(w.step_of), Lit(node.shift))
    w.let(node.out, Do("less", (place, w.axes(node.array)[0]), "bool", INDEX), "bool")


@written.register(Length)
def _length(node: Length, w: Lowering) -> None:
    length = w.given_axes(node.args[0])[node.axis]
    if isinstance(length, Lit):
        w.env[node.out] = Scalar(length, node.dtype)
    else:
        w.let(node.out, length, node.dtype)
