"""The values of names while a kernel is written: scalars as expressions, arrays as pointers with strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Expr, For, Lit, Load, Stmt, plus, product, times
from scanopt.records import dataclass

__all__ = ["Ahead", "Array", "Pick", "Scalar", "Value", "element_of", "index", "item_size", "nest", "packed"]

Axes = tuple[Expr, ...]


@dataclass(frozen=True)
class Scalar:
    """A number: an expression that may be evaluated repeatedly."""

    value: Expr
    dtype: str


@dataclass(frozen=True)
class Pick:
    """An axis of an array that is replaced by places looked up in an index array.

    pointer: of the index array, whose places are in range.  first, axes: the first of the axes that replace it, and
    their lengths.  stride: of the axis.  ends: a pointer to an array that says, for each place, where its run of
    consecutive places ends, and runs: the variable with the number of runs; "" if not known.  moved: the difference
    between each place and its own index, where known.
    """

    pointer: str
    first: int
    axes: Axes
    stride: Expr
    ends: str = ""
    runs: str = ""
    moved: Expr | None = None

    def at(self, places: Sequence[Expr]) -> Expr:
        """The offset of the element at some places of the result, in elements."""
        if self.moved is not None:
            return times(plus(places[self.first], self.moved), self.stride)
        own = zip(places[self.first :], self.axes, packed(self.axes), strict=False)
        where = ((ZERO if n == ONE else place, stride) for place, n, stride in own)
        return times(Load(self.pointer, index(ZERO, *zip(*where, strict=True)), INDEX), self.stride)


@dataclass(frozen=True)
class Array:
    """An array in memory: the pointer to its first element, its axes, and its strides in elements.

    picks: for axes along which places are looked up, which have no strides.
    """

    pointer: str
    axes: Axes
    strides: Axes
    dtype: str
    picks: tuple[Pick, ...] = ()

    @property
    def packed(self) -> bool:
        """Whether the elements are contiguous, in C order."""
        pairs = zip(self.strides, packed(self.axes), self.axes, strict=True)
        return not self.picks and all(a == b or n == ONE for a, b, n in pairs)

    def within(self, axes: Axes) -> Axes:
        """The strides by which the array broadcasts to these axes."""
        lead = len(axes) - len(self.axes)
        spread = (ZERO if n == ONE else s for s, n in zip(self.strides, self.axes, strict=True))
        return (ZERO,) * lead + tuple(spread)

    def fills(self, axes: Axes) -> bool:
        """Whether the array has exactly these axes and is packed."""
        return self.axes == axes and self.packed

    def at(self, places: Sequence[Expr], axes: Axes) -> Load:
        """The element at some places of axes to which the array broadcasts."""
        found = index(ZERO, places, self.within(axes))
        for pick in self.picks:
            found = plus(found, pick.at(places[len(axes) - len(self.axes) :]))
        return Load(self.pointer, found, self.dtype)

    def picked(self, axes: Sequence[int], pointer: str, places: Axes, ends: str = "", runs: str = "") -> Array | None:
        """The parts of the array at places along adjacent axes; None if places along any of them are looked up already.

        pointer: of an array of places along one axis, or, for several axes, of offsets in elements.
        """
        first, last = axes[0], axes[-1] + 1
        if any(p.first < last and first < p.first + len(p.axes) for p in self.picks):
            return None
        more = len(places) - len(axes)
        picks = [replace(p, first=p.first + more * (p.first >= last)) for p in self.picks]
        found = (*self.axes[:first], *places, *self.axes[last:])
        strides = (*self.strides[:first], *(ZERO for _ in places), *self.strides[last:])
        apart = self.strides[first] if len(axes) == 1 else ONE
        pick = Pick(pointer, first, places, apart, ends, runs)
        return Array(self.pointer, found, strides, self.dtype, (*picks, pick))


@dataclass(frozen=True)
class Ahead:
    """A product of two matrices of which a loop may make rows some steps ahead.

    dims: m, k and n.  test: whether it does; then its factors, left and right, are packed.  ring: memory for the rows
    of these steps; rows: memory for all rows, if it does not.  each: elements of a step that reads
    several rows, which it makes itself; else 0.
    """

    dtype: str
    dims: tuple[Expr, Expr, Expr]
    test: Expr
    left: str
    right: str
    ring: str
    rows: str
    each: Expr = ZERO


Value = Scalar | Array


def element_of(value: Value, places: Sequence[Expr], lengths: Axes) -> Expr:
    """The element of a value at some places.  lengths: the axes of the places, or one for all of a packed array."""
    if isinstance(value, Scalar):
        return value.value
    if len(lengths) == 1 and len(value.axes) != 1:
        one = product(value.axes) == ONE
        return Load(value.pointer, ZERO if one else places[0], value.dtype)
    return value.at(places, lengths)


def index(start: Expr, places: Sequence[Expr], strides: Sequence[Expr]) -> Expr:
    """The index of an element, given its place along each axis."""
    for place, stride in zip(places, strides, strict=True):
        start = plus(start, times(place, stride))
    return start


def packed(axes: Axes) -> Axes:
    """The strides of an array in C order.

    >>> from scanopt.backends.kernels.ir import Var
    >>> packed((Var("n0"), Var("n1")))
    (Var(name='n1', dtype='int64'), Lit(value=1, dtype='int64'))
    """
    return tuple(product(axes[i + 1 :]) for i in range(len(axes)))


def nest(axes: Axes, names: Sequence[str], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Nested loops over all places of some axes, except those of length 1."""
    for n, name in reversed(list(zip(axes, names, strict=True))):
        if n != ONE:
            body = (For(name, n, body),)
    return body


def item_size(dtype: str) -> Lit:
    """The number of bytes of an element."""
    return Lit(np.dtype(dtype).itemsize)
