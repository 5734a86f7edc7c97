"""Other orders of axes and entries: fliplr, rot90, rollaxis, matrix_transpose, atleast_3d."""

from __future__ import annotations

from typing import Any

from scanopt.array.batching import expand, transpose
from scanopt.array.constants import as_variable
from scanopt.array.functions.arguments import expect_axes, known_int
from scanopt.array.operators.axes import swapaxes
from scanopt.array.operators.selecting import flip
from scanopt.array.registry import public
from scanopt.array.shapes import axis_of
from scanopt.array.variable import Variable, describe

__all__ = ["matrix_transpose"]


@public("fliplr", numpy=("fliplr",))
def fliplr(m: Any) -> Variable:
    """m with its second axis backwards.  Raises ValueError for fewer than 2 axes."""
    return flip(expect_axes("fliplr", m, 2), 1)


@public("flipud", numpy=("flipud",))
def flipud(m: Any) -> Variable:
    """m with its first axis backwards.  Raises ValueError for a scalar."""
    return flip(expect_axes("flipud", m, 1), 0)


@public("rot90", numpy=("rot90",))
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Variable:
    """m turned k times by a right angle, from the first of two axes towards the second.

    Raises ValueError where these are not two axes of m.

    >>> import numpy as np
    >>> rot90(np.ones((2, 3))).type.shape
    (3, 2)
    """
    v = as_variable(m)
    first, second = (axis_of(i, v) for i in axes)
    if first == second:
        raise ValueError(f"rot90 needs two different axes, found {tuple(axes)}")
    turns = known_int(k)
    if turns is None:
        raise TypeError(f"how often rot90 turns must be an int known before the run, found {describe(as_variable(k))}")
    turns %= 4
    if turns == 0:
        return v
    if turns == 2:
        return flip(v, (first, second))
    return swapaxes(flip(v, second), first, second) if turns == 1 else flip(swapaxes(v, first, second), second)


@public("rollaxis", numpy=("rollaxis",))
def rollaxis(a: Any, axis: int, start: int = 0) -> Variable:
    """a with one axis moved in front of the axis `start` (or behind the last, where that is their number)."""
    v = as_variable(a)
    source = axis_of(axis, v)
    place = v.ndim if start == v.ndim else axis_of(start, v)
    order = [i for i in range(v.ndim) if i != source]
    order.insert(place - (source < place), source)
    return transpose(v, order)


@public("matrix_transpose", numpy=("matrix_transpose",))
def matrix_transpose(x: Any) -> Variable:
    """x with its last two axes exchanged.  Raises ValueError for fewer than 2 axes."""
    return swapaxes(expect_axes("matrix_transpose", x, 2), -1, -2)


@public("atleast_3d", numpy=("atleast_3d",))
def atleast_3d(*arys: Any) -> Any:
    """An array with at least 3 axes: of a vector the middle one is its own, of a matrix the first two.

    Several arrays give a tuple.
    """
    found = tuple(expand(v, ((0, 1, 2), (0, 2), (2,))[v.ndim] if v.ndim < 3 else ()) for v in map(as_variable, arys))
    return found[0] if len(found) == 1 else found
