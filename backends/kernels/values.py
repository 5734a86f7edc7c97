"""Where values are while a kernel is written: scalars in expressions, arrays as pointers with strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Expr, For, Lit, Load, Stmt, plus, product, times

__all__ = ["Ahead", "Array", "Pick", "Scalar", "Value", "element_of", "index", "item_size", "nest", "packed"]

Axes = tuple[Expr, ...]


@dataclass(frozen=True)
class Scalar:
    """A number: an expression that can be repeated."""

    value: Expr
    dtype: str


@dataclass(frozen=True)
class Pick:
    """Places along an axis of an array, looked up in another array: pointer, of places in range.

    first, axes: which axes of the result it has.  stride: how far apart the places lie.  ends: of each place an array
    says where the places end that follow it one by one, and the variable `runs` how often that is; "" if not known.
    moved: by how much the places differ from their numbers, where that is known.
    """

    pointer: str
    first: int
    axes: Axes
    stride: Expr
    ends: str = ""
    runs: str = ""
    moved: Expr | None = None

    def at(self, places: Sequence[Expr]) -> Expr:
        """How far on the elements are at some places of the result."""
        if self.moved is not None:
            return times(plus(places[self.first], self.moved), self.stride)
        own = zip(places[self.first :], self.axes, packed(self.axes), strict=False)
        where = ((ZERO if n == ONE else place, stride) for place, n, stride in own)
        return times(Load(self.pointer, index(ZERO, *zip(*where, strict=True)), INDEX), self.stride)


@dataclass(frozen=True)
class Array:
    """Elements from a pointer on, their axes and strides counted in elements.

    picks: of axes along which places are looked up, which have no strides.
    """

    pointer: str
    axes: Axes
    strides: Axes
    dtype: str
    picks: tuple[Pick, ...] = ()

    @property
    def packed(self) -> bool:
        """Whether the elements lie one after the other, in order."""
        pairs = zip(self.strides, packed(self.axes), self.axes, strict=True)
        return not self.picks and all(a == b or n == ONE for a, b, n in pairs)

    def within(self, axes: Axes) -> Axes:
        """The strides by which it broadcasts to more axes."""
        lead = len(axes) - len(self.axes)
        spread = (ZERO if n == ONE else s for s, n in zip(self.strides, self.axes, strict=True))
        return (ZERO,) * lead + tuple(spread)

    def fills(self, axes: Axes) -> bool:
        """Whether it has these axes and is packed."""
        return self.axes == axes and self.packed

    def at(self, places: Sequence[Expr], axes: Axes) -> Load:
        """The element at some places of an array that it broadcasts to."""
        found = index(ZERO, places, self.within(axes))
        for pick in self.picks:
            found = plus(found, pick.at(places[len(axes) - len(self.axes) :]))
        return Load(self.pointer, found, self.dtype)

    def picked(self, axes: Sequence[int], pointer: str, places: Axes, ends: str = "", runs: str = "") -> Array | None:
        """Its parts at places along neighbouring axes; None along some whose places are looked up already.

        pointer: of places along one axis, or, of several, of how far on the elements are.
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
    """The product of two matrices whose rows a loop makes some steps ahead.

    dims: m, k and n.  test: whether it does; then its factors, left and right, are packed.  ring: memory for the rows
    of these steps; rows: for all of them, where it does not.
    """

    dtype: str
    dims: tuple[Expr, Expr, Expr]
    test: Expr
    left: str
    right: str
    ring: str
    rows: str


Value = Scalar | Array


def element_of(value: Value, places: Sequence[Expr], lengths: Axes) -> Expr:
    """The element at some places.  lengths: the axes that the places are of, or one for all of a packed array."""
    if isinstance(value, Scalar):
        return value.value
    if len(lengths) == 1 and len(value.axes) != 1:
        one = product(value.axes) == ONE
        return Load(value.pointer, ZERO if one else places[0], value.dtype)
    return value.at(places, lengths)


def index(start: Expr, places: Sequence[Expr], strides: Sequence[Expr]) -> Expr:
    """The index of an element, of its place along each axis."""
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
    """Loops over all places of some axes, those of length 1 left out."""
    for n, name in reversed(list(zip(axes, names, strict=True))):
        if n != ONE:
            body = (For(name, n, body),)
    return body


def item_size(dtype: str) -> Lit:
    """The bytes of an element."""
    return Lit(np.dtype(dtype).itemsize)
