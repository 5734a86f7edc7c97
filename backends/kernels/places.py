"""Lowers indices: expressions for where a part of an array lies, given numbers, slices and computed indices.

Computed indices are checked; if one is out of range, the kernel fails and array steps report the error.
"""

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
    Set,
    Var,
    plus,
    times,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import REVERSED, WHOLE, NoForm, View
from scanopt.backends.kernels.recipe import Number
from scanopt.backends.kernels.values import Array, Axes

__all__ = ["from_the_start", "index_of", "out_of_range", "part_of", "row_of"]


def part_of(node: View, x: Array, w: Lowering) -> tuple[Axes, Axes]:
    """The start of a part of x along each axis of x, and the strides of the part along its own axes."""
    starts: list[Expr] = [ZERO] * len(x.axes)
    for axis, at in node.at:
        starts[axis] = index_of(w, at, x.axes[axis])
    strides: list[Expr] = []
    for entry, length in zip(node.axes, w.axes(node.out), strict=True):
        if entry is None:
            strides.append(ONE)
            continue
        axis, part = entry
        if part == REVERSED:
            starts[axis] = plus(x.axes[axis], Lit(-1))
        elif any(isinstance(p, str) for p in part) or (part != WHOLE and w.grows(x.axes[axis])):
            starts[axis] = _start(w, part, x.axes[axis], length)
        elif part != WHOLE:
            starts[axis] = w.number(Number("start", (node.args[0], axis), part))
        strides.append(times(Lit(1 if part[2] is None else part[2]), x.strides[axis]))
    return tuple(starts), tuple(strides)


def _start(w: Lowering, part: tuple[int | str | None, ...], length: Expr, wanted: Expr) -> Expr:
    """The start of a slice with computed ends; writes the check that its length is `wanted`.

    If steps decide that length, the first slice that has it sets it instead.
    """
    first, found = _ends(w, part, length)
    if isinstance(wanted, Var) and w.grows(wanted):
        found = Do("maximum", (found, ZERO), INDEX, INDEX)
        if wanted in w.never_empty:
            w.code.append(If(Do("less", (found, ONE), "bool", INDEX), (Fail(),)))
        if wanted.name not in w.lengths_set:
            w.lengths_set.add(wanted.name)
            w.code.append(Set(wanted.name, found))
            return first
    w.code.append(If(Do("not_equal", (found, wanted), "bool", INDEX), (Fail(),)))
    return first


def _ends(w: Lowering, part: tuple[int | str | None, ...], length: Expr) -> tuple[Expr, Expr]:
    """The start of a slice, and its number of elements, which may be negative for an empty one."""
    start, stop, step = part
    if step == -1 and start is not None:  # down to the first element
        first = _end(w, start, Lit(-1), length, plus(length, Lit(-1)))
        return first, plus(first, ONE)
    first = ZERO if start is None else _end(w, start, ZERO, length, length)
    last = length if stop is None else _end(w, stop, ZERO, length, length)
    return first, Do("subtract", (last, first), INDEX, INDEX)


def _end(w: Lowering, end: int | str, least: Expr, length: Expr, most: Expr) -> Expr:
    place: Expr = Cast(number_of(w.value(end)), INDEX) if isinstance(end, str) else Lit(end)
    name = w.fresh("j")
    w.code.append(Let(name, Do("clip", (from_the_start(place, length), least, most), INDEX, INDEX), INDEX))
    return Var(name)


def index_of(w: Lowering, place: int | str, length: Expr) -> Expr:
    """A nonnegative index; writes its check, after which a kernel fails and array steps report the error."""
    if isinstance(place, str):
        return row_of(w, Cast(number_of(w.value(place)), INDEX), length)
    if not isinstance(length, Lit):
        return _in_range(w, Lit(place) if place >= 0 else plus(length, Lit(place)), length)
    if not -int(length.value) <= place < int(length.value):
        raise NoForm("an index is out of range")
    return Lit(place % int(length.value))


def row_of(w: Lowering, place: Expr, length: Expr) -> Expr:
    """A computed index, checked; a negative one counts from the end."""
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
    """Whether a place is out of range, by one comparison: as an unsigned number, a negative one is large."""
    return Do("greater_equal", (Cast(place, "uint64"), Cast(length, "uint64")), "bool", "uint64")
