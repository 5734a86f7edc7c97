"""Where values are while a kernel is written: scalars in expressions, arrays as pointers with strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scanopt.backends.kernels.ir import ONE, ZERO, Expr, For, Load, Stmt, plus, product, times

__all__ = ["Array", "Scalar", "Value", "element_of", "nest", "packed"]

Axes = tuple[Expr, ...]


@dataclass(frozen=True)
class Scalar:
    """A number: an expression that can be repeated."""

    value: Expr
    dtype: str


@dataclass(frozen=True)
class Array:
    """Elements from a pointer on, their axes and strides counted in elements."""

    pointer: str
    axes: Axes
    strides: Axes
    dtype: str

    @property
    def packed(self) -> bool:
        """Whether the elements lie one after the other, in order."""
        pairs = zip(self.strides, packed(self.axes), self.axes, strict=True)
        return all(a == b or n == ONE for a, b, n in pairs)

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
        index: Expr = ZERO
        for place, stride in zip(places, self.within(axes), strict=True):
            index = plus(index, times(place, stride))
        return Load(self.pointer, index, self.dtype)


Value = Scalar | Array


def element_of(value: Value, places: Sequence[Expr], lengths: Axes) -> Expr:
    """The element at some places.  lengths: the axes that the places are of, or one for all of a packed array."""
    if isinstance(value, Scalar):
        return value.value
    if len(lengths) == 1 and len(value.axes) != 1:
        one = product(value.axes) == ONE
        return Load(value.pointer, ZERO if one else places[0], value.dtype)
    return value.at(places, lengths)


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
