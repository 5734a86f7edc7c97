"""How arguments of NumPy's functions are read: arrays with enough axes, lengths, one axis or all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.constants import as_variable, is_weak
from scanopt.array.operators.elementwise import cast, elementwise
from scanopt.array.operators.shaping import flatten
from scanopt.array.shapes import axis_of
from scanopt.array.variable import Constant, Variable, describe

__all__ = ["expect_axes", "is_zero", "known_int", "length_of", "limited", "minus", "on_axis", "plain_ints", "plus"]


def expect_axes(function: str, x: Any, least: int, most: int | None = None) -> Variable:
    """x as a symbolic array.  Raises ValueError where it has fewer axes than `least` or more than `most`."""
    v = as_variable(x)
    if v.ndim < least or (most is not None and v.ndim > most):
        count = f"at least {least}" if most is None else f"{least}" if least == most else f"{least} to {most}"
        noun = "axis" if least == 1 and most in (None, 1) else "axes"
        raise ValueError(f"{function} needs {count} {noun}, found {describe(v)}")
    return v


def on_axis(x: Any, axis: int | None) -> tuple[Variable, int]:
    """x and an axis of it counted from the front; x as a vector where axis is None."""
    v = as_variable(x)
    return (flatten(v), 0) if axis is None else (v, axis_of(axis, v))


def known_int(n: Any) -> int | None:
    """A number that is known before the run as an int, else None."""
    if isinstance(n, Constant):
        return int(n.data) if n.ndim == 0 and np.dtype(n.dtype).kind in "iu" else None
    return int(n) if isinstance(n, int | np.integer) and not isinstance(n, bool) else None


def length_of(n: Any, what: str) -> Any:
    """A length or count given by the user: an int where it is known, else an integer scalar.

    Raises TypeError, naming `what`, for anything else.
    """
    known = known_int(n)
    if known is not None:
        return known
    if isinstance(n, Variable) and n.ndim == 0 and np.dtype(n.dtype).kind in "iu":
        return cast(n, "int64")
    if isinstance(n, np.ndarray) and n.ndim == 0 and n.dtype.kind in "iu":
        return int(n)
    raise TypeError(f"{what} must be an integer scalar, found {describe(n) if isinstance(n, Variable) else repr(n)}")


def is_zero(n: Any) -> bool:
    """Whether a length is known to be 0."""
    return isinstance(n, int) and n == 0


def plus(a: Any, b: Any) -> Any:
    """The sum of two lengths, each an int or symbolic."""
    return a + b if isinstance(a, int) and isinstance(b, int) else elementwise("add", a, b)


def minus(a: Any, b: Any) -> Any:
    """The difference of two lengths, each an int or symbolic."""
    return a - b if isinstance(a, int) and isinstance(b, int) else elementwise("subtract", a, b)


def limited(n: Any, least: int) -> Any:
    """The greater of a length and `least`."""
    return max(n, least) if isinstance(n, int) else elementwise("maximum", n, least)


def plain_ints(items: Any) -> list[int] | None:
    """A sequence or array of integers known before the run as a list of ints, else None."""
    if isinstance(items, Constant):
        items = items.data
    if isinstance(items, np.ndarray):
        return [int(n) for n in items] if items.ndim == 1 and items.dtype.kind in "iu" else None
    if not isinstance(items, Sequence):
        return None
    found = [known_int(n) for n in items]
    return [n for n in found if n is not None] if None not in found else None


def as_given(x: Any) -> Any:
    """A Python number as it is, anything else as a symbolic array."""
    return x if is_weak(x) else as_variable(x)
