"""Where the elements of a part of an array lie, by numbers, slices and computed indices."""

from __future__ import annotations

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
    Var,
    plus,
    times,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import WHOLE, NoForm, View
from scanopt.backends.kernels.recipe import Number
from scanopt.backends.kernels.values import Array, Axes

__all__ = ["from_the_start", "index_of", "out_of_range", "part_of", "row_of"]


def part_of(node: View, x: Array, w: Lowering) -> tuple[Axes, Axes]:
    """Where a part of x starts along each axis of x, and how far apart its elements are along its own axes."""
    starts: list[Expr] = [ZERO] * len(x.axes)
    for axis, at in node.at:
        starts[axis] = index_of(w, at, x.axes[axis])
    strides: list[Expr] = []
    for entry, length in zip(node.axes, w.axes(node.out), strict=True):
        if entry is None:
            strides.append(ONE)
            continue
        axis, part = entry
        if any(isinstance(p, str) for p in part):
            starts[axis] = _start(w, part, x.axes[axis], length)
        elif part != WHOLE:
            starts[axis] = w.number(Number("start", (node.args[0], axis), part))
        strides.append(times(Lit(1 if part[2] is None else part[2]), x.strides[axis]))
    return tuple(starts), tuple(strides)


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
    w.code.append(Let(name, Do("clip", (from_the_start(place, length), ZERO, length), INDEX, INDEX), INDEX))
    return Var(name)


def index_of(w: Lowering, place: int | str, length: Expr) -> Expr:
    """A nonnegative index, after a check; if that fails, the loop is left to array steps, which report the error."""
    if isinstance(place, str):
        return row_of(w, Cast(number_of(w.value(place)), INDEX), length)
    if not isinstance(length, Lit):
        return _in_range(w, Lit(place) if place >= 0 else plus(length, Lit(place)), length)
    if not -int(length.value) <= place < int(length.value):
        raise NoForm("an index is out of range")
    return Lit(place % int(length.value))


def row_of(w: Lowering, place: Expr, length: Expr) -> Expr:
    """A computed index; a negative one counts from the end."""
    name = w.fresh("j")
    w.code.append(Let(name, from_the_start(place, length), INDEX))
    return _in_range(w, Var(name), length)


def _in_range(w: Lowering, place: Expr, length: Expr) -> Expr:
    w.code.append(If(out_of_range(place, length), (Fail(),)))
    return place


def from_the_start(place: Expr, length: Expr) -> Expr:
    """A place; a negative one counts from the end."""
    below = Do("less", (place, ZERO), "bool", INDEX)
    return Do("where", (below, plus(place, length), place), INDEX, INDEX)


def out_of_range(place: Expr, length: Expr) -> Expr:
    """Whether a place is none of an axis of this length."""
    low, high = Do("less", (place, ZERO), "bool", INDEX), Do("greater_equal", (place, length), "bool", INDEX)
    return Do("logical_or", (low, high), "bool", "bool")
