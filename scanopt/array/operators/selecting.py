"""Functions written with indexing: take, flip, roll, diff, diagonal and the like."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from scanopt.array.batching import broadcast_to, dim, dims_of, expand, int_constant, transpose
from scanopt.array.constants import as_variable
from scanopt.array.operators.creation import arange, full, offset_of, on_diagonal
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.operators.joining import concatenate
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.shaping import flatten, reshape
from scanopt.array.operators.subtensor import getitem
from scanopt.array.registry import public
from scanopt.array.shapes import axes_text, axis_of
from scanopt.array.variable import Constant, Variable, describe

__all__ = ["diagonal", "take"]


@public("take", numpy=("take",))
def take(x: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Variable:
    """Entries of x along an axis (flattened where None), by an integer or an array of them.

    mode: for indices out of range "raise", "wrap" or "clip".  Raises ValueError for another one.
    """
    v, places = as_variable(x), as_variable(indices)
    if axis is None:
        v, axis = flatten(v), 0
    i = axis_of(axis, v)
    if mode == "wrap":
        places = elementwise("remainder", places, dim(v, i))
    elif mode == "clip":
        places = elementwise("maximum", elementwise("minimum", places, elementwise("subtract", dim(v, i), 1)), 0)
    elif mode != "raise":
        raise ValueError(f"the mode is 'raise', 'wrap' or 'clip', found {mode!r}")
    return getitem(v, (*[slice(None)] * i, places))


@public("take_along_axis", numpy=("take_along_axis",))
def take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Variable:
    """For each place the entry of x along axis that `indices` names there (axis None: in the flattened array).

    Raises ValueError where the numbers of axes differ.
    """
    v, picks = as_variable(x), as_variable(indices)
    if axis is None:
        v, axis = flatten(v), 0
    i = axis_of(axis, v)
    if picks.ndim != v.ndim:
        raise ValueError(
            f"take_along_axis needs indices with {axes_text(v.ndim)} for {describe(v)}, found {describe(picks)}"
        )
    key: list[Any] = []
    for j, n in enumerate(dims_of(v)):
        others = [k for k in range(v.ndim) if k != j]
        key.append(picks if j == i else expand(arange(n), others))
    return getitem(v, tuple(key))


@public("flip", numpy=("flip",))
def flip(x: Any, axis: Any = None) -> Variable:
    """x in reverse order along axis (an int, several, or None for all)."""
    v = as_variable(x)
    many = range(v.ndim) if axis is None else axis if isinstance(axis, Iterable) else (axis,)
    axes = {axis_of(i, v) for i in many}
    return getitem(v, tuple(slice(None, None, -1 if i in axes else None) for i in range(v.ndim)))


@public("roll", numpy=("roll",))
def roll(x: Any, shift: Any, axis: Any = None) -> Variable:
    """x with its entries moved cyclically by `shift` places along an axis (or several, each by its own shift)."""
    v = as_variable(x)
    if axis is None:
        return reshape(roll(flatten(v), shift, 0), dims_of(v)) if v.ndim != 1 else roll(v, shift, 0)
    for by, i in _moves(shift, list(axis) if isinstance(axis, Iterable) else [axis]):
        v = _rolled(v, by, i)
    return v


def _moves(shift: Any, axes: list[Any]) -> list[tuple[Any, Any]]:
    """Shifts and their axes, one of which may stand for all others as in NumPy; shifts of one axis add up."""
    shift = shift.tolist() if isinstance(shift, np.ndarray) else shift
    if isinstance(shift, Variable) and shift.ndim == 1:
        if len(axes) == 1:
            return [(reduce("sum", shift, None, False), axes[0])]
        many = broadcast_to(shift, (len(axes),))
        shifts: list[Any] = [many[k] for k in range(len(axes))]
    else:
        shifts = list(shift) if isinstance(shift, Iterable) and not isinstance(shift, Variable) else [shift]
    if any(np.ndim(by) for by in shifts):
        raise ValueError(f"the shifts of roll are numbers or a vector, found {shift!r}")
    many_axes = axes * len(shifts) if len(axes) == 1 else axes
    many_shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    if len(many_axes) != len(many_shifts):
        raise ValueError(f"roll needs a shift for each axis, found {len(shifts)} shifts and {len(axes)} axes")
    return list(zip(many_shifts, many_axes, strict=True))


def _rolled(v: Variable, shift: Any, axis: Any) -> Variable:
    i = axis_of(axis, v)
    before, n = (slice(None),) * i, dim(v, i)
    if isinstance(shift, int) and isinstance(n, int):
        cut = -shift % n if n else 0
        if cut == 0:
            return v
        parts = (getitem(v, (*before, slice(cut, None))), getitem(v, (*before, slice(None, cut))))
        return concatenate(parts, i)
    if isinstance(shift, Variable | np.ndarray | np.generic) and shift.dtype == "uint64":  # else a float
        shift = cast(elementwise("remainder", as_variable(shift), cast(as_variable(n), "uint64")), "int64")
    return getitem(v, (*before, elementwise("remainder", elementwise("subtract", arange(n), shift), n)))


@public("diff", numpy=("diff",))
def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Variable:
    """Differences of neighbours along axis, n times over.

    prepend, append: what comes before and after x, an array or one number for all.  Raises ValueError for n < 0.
    """
    if n < 0:
        raise ValueError(f"diff takes differences n times over, 0 or more, found {n}")
    v = as_variable(x)
    i = axis_of(axis, v)
    sides = [None if side is None else _beside(v, i, side) for side in (prepend, append)]
    parts = [part for part in (sides[0], v, sides[1]) if part is not None]
    v = concatenate(parts, i) if len(parts) > 1 and n else v
    before = (slice(None),) * axis_of(axis, v)
    for _ in range(n):
        high, low = getitem(v, (*before, slice(1, None))), getitem(v, (*before, slice(None, -1)))
        v = elementwise("not_equal" if v.dtype == "bool" else "subtract", high, low)
    return v


def _beside(x: Variable, axis: int, side: Any) -> Variable:
    """The array to put before or after x along an axis: `side`, or a number as one entry."""
    v = as_variable(side)
    return v if v.ndim else broadcast_to(v, [1 if i == axis else n for i, n in enumerate(dims_of(x))])


@public("diagonal", numpy=("diagonal",))
def diagonal(x: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """The entries where index2 - index1 is `offset`, an int or an integer scalar, as the last axis."""
    v = as_variable(x)
    i, j = axis_of(axis1, v), axis_of(axis2, v)
    if i == j:
        raise ValueError(f"diagonal of the one axis {i}")
    v = transpose(v, (*[k for k in range(v.ndim) if k not in (i, j)], i, j))
    n, m = dims_of(v)[-2:]
    k = offset_of(offset)
    down, right = (max(i, 0) if isinstance(i, int) else elementwise("maximum", i, 0) for i in (-k, k))
    if isinstance(n, int) and isinstance(m, int) and isinstance(k, int):
        steps = arange(max(min(n - down, m - right), 0))
    else:
        ends = elementwise("subtract", n, down), elementwise("subtract", m, right)
        steps = arange(elementwise("minimum", *ends))
    at = elementwise("add", steps, down), elementwise("add", steps, right)
    return getitem(v, (Ellipsis, *at))


@public("diag", numpy=("diag",))
def diag(x: Any, k: Any = 0) -> Variable:
    """A vector as diagonal k of a square matrix, or diagonal k of a matrix as a vector.

    k: an int or an integer scalar.

    >>> diag(np.ones(3), 1).type.shape
    (4, 4)
    """
    v = as_variable(x)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError(f"diag takes a vector or a matrix, found {describe(v)}")
    zero = Constant(np.zeros((), v.dtype))
    n, k = dim(v, 0), offset_of(k)
    if isinstance(k, Variable):
        before, after = elementwise("maximum", k, 0), elementwise("maximum", -k, 0)
        columns = concatenate([full((before,), zero), v, full((after,), zero)], 0)
        length = dim(columns, 0)
        return where(on_diagonal(length, length, k, "equal"), columns, zero)
    square = where(on_diagonal(n, n, int_constant(0), "equal"), v, zero)
    if k == 0:
        return square
    side, length = full((n, abs(k)), zero), full((abs(k), elementwise("add", n, abs(k))), zero)
    wide = concatenate([side, square] if k > 0 else [square, side], 1)
    return concatenate([wide, length] if k > 0 else [length, wide], 0)


@public("trace", numpy=("trace",))
def trace(x: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Variable:
    """The sum of a diagonal."""
    return reduce("sum", diagonal(x, offset, axis1, axis2), -1, False, dtype)


@public("copy", numpy=("copy",))
def copy(x: Any) -> Variable:
    """x: symbolic arrays are never changed, so a copy is the array itself."""
    return as_variable(x)
