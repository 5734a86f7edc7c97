"""Running values of recurrences without a Python loop over the steps: accumulated, held, restarted.

Every function takes the row before the first one (`init`, with a first axis of length 1) and
sequences with a row for each step, which broadcast to the rows of init.  The results are those of
the loop, bit for bit on NumPy [tried for every ufunc and dtype of `ACCUMULATED`].
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["ACCUMULATED", "accumulate", "aligned", "fitting", "fold", "fold_in_order", "forward_fill", "segmented",
           "spread"]  # fmt: skip

ACCUMULATED = {
    "add": "biufc", "multiply": "biufc", "divide": "f", "floor_divide": "iu", "remainder": "iu", "maximum": "biuf",
    "minimum": "biuf", "logical_and": "b", "logical_or": "b", "logical_xor": "b", "bitwise_and": "biu",
    "bitwise_or": "biu", "bitwise_xor": "biu", "left_shift": "iu", "right_shift": "iu", "gcd": "iu", "lcm": "iu",
    "logaddexp": "f", "logaddexp2": "f", "hypot": "f",
}  # fmt: skip
"""Ufuncs that accumulate, with the kinds of dtype (products of complex numbers only up to rounding)."""

WIDE = 128
"""With at least this many elements in a row, NumPy is faster row by row."""


def _ufunc(xp: Any, name: str) -> Any:
    """The ufunc of this name, one of `ACCUMULATED`."""
    if name not in ACCUMULATED:
        raise ValueError(f"no ufunc that accumulates is named {name!r}")
    return getattr(xp, name)


def aligned(x: Any, ndim: int) -> Any:
    """x with axes of length 1 after the first, so that its rows have `ndim` axes."""
    return x.reshape(x.shape[0], *(1,) * (ndim - x.ndim + 1), *x.shape[1:])


def spread(xp: Any, init: Any, x: Any) -> Any:
    """A new array with the rows of x in the shape and dtype of init's rows.

    Raises ValueError where they do not broadcast to it.
    """
    out = xp.empty((x.shape[0], *init.shape[1:]), init.dtype)
    if x.shape[0]:
        out[...] = aligned(x, init.ndim - 1)
    return out


def fitting(x: Any, shape: tuple[int, ...]) -> Any:
    """The rows of x, with as many axes as `shape`.  Raises ValueError if they do not broadcast to it.

    No rows do, whatever their shape: that of a loop without steps is a guess where it depends on values.
    """
    rows = aligned(x, len(shape))
    if rows.shape[0]:
        np.broadcast_to(np.empty(rows.shape[1:]), shape)
    return rows


def accumulate(xp: Any, name: str, init: Any, x: Any) -> Any:
    """Row t is f(row t - 1, x[t]), with f the ufunc `name`.

    >>> accumulate(np, "add", np.array([10.0]), np.array([1.0, 2.0]))
    array([11., 13.])
    """
    f = _ufunc(xp, name)
    if math.prod(init.shape) > WIDE or (xp is not np and name in _ORDERED):
        return _row_by_row(f, spread(xp, init, x), init)
    out = spread(xp, init, x)
    if out.shape[0]:
        out[0] = f(init[0], out[0])
        if xp is np:
            f.accumulate(out, 0, None, out)
        else:
            _double(f, out)
    return out


_ORDERED = {"divide", "floor_divide", "remainder", "left_shift", "right_shift", "hypot"}  # not associative


def _row_by_row(f: Any, out: Any, init: Any) -> Any:
    before = init[0]
    for t, row in enumerate(out):
        if out.ndim > 1:
            f(before, row, out=row)
        else:
            out[t] = f(before, row)
        before = out[t]
    return out


def _double(f: Any, out: Any) -> None:
    """Accumulate an associative f in place by doubling: one call for each binary digit of the number of rows."""
    step = 1
    while step < out.shape[0]:
        out[step:] = f(out[:-step], out[step:])
        step *= 2


def fold(xp: Any, name: str, init: Any, x: Any) -> Any:
    """The last row of `accumulate` of an associative ufunc, in any order; the row of init where x has none.

    >>> fold(np, "maximum", np.array([1.0]), np.array([0.5, 3.0, 2.0]))
    array(3.)
    """
    f, rows = _ufunc(xp, name), fitting(x, init.shape[1:])
    if not rows.shape[0]:
        return init[0].copy()
    if xp is np:
        return np.asarray(f(init[0], f.reduce(rows, axis=0, dtype=init.dtype)))
    rows = rows.astype(init.dtype)
    while rows.shape[0] > 1:
        even = rows.shape[0] // 2 * 2
        rows = xp.concatenate([f(rows[:even:2], rows[1:even:2]), rows[even:]])
    return f(init[0], rows[0])


def fold_in_order(xp: Any, name: str, init: Any, x: Any) -> Any:
    """The last row of `accumulate`, bit for bit, with only a few rows in memory at a time.

    >>> fold_in_order(np, "divide", np.array([8.0]), np.array([2.0, 2.0]))
    array(2.)
    """
    lanes = math.prod(init.shape)
    length = max(BLOCK // max(lanes, 1), 1)
    rows, last = fitting(x, init.shape[1:]), init
    if xp is not np or lanes > WIDE:
        f, s = _ufunc(xp, name), xp.array(init[0])
        for row in rows:
            s = f(s, row, out=s) if s.ndim else f(s, row)
        return xp.asarray(s)
    for t in range(0, max(rows.shape[0], 1), length):
        last = np.concatenate([last, accumulate(np, name, last, rows[t : t + length])])[-1:]
    return np.array(last[0])


BLOCK = 1 << 15
"""The number of elements that are accumulated at a time."""


def forward_fill(xp: Any, init: Any, mask: Any, x: Any) -> Any:
    """Row t is x[t] where mask[t] holds, else row t - 1.

    >>> forward_fill(np, np.array([7]), np.array([False, True, False]), np.array([1, 2, 3]))
    array([7, 2, 2])
    """
    n, out = x.shape[0], spread(xp, init, x)
    if not n:
        return out
    held = aligned(mask, init.ndim - 1)
    places = xp.arange(n).reshape(n, *(1,) * (init.ndim - 1))
    last = accumulate(xp, "maximum", xp.full((1, *held.shape[1:]), -1), xp.where(held, places, -1))
    start = xp.broadcast_to(last < 0, out.shape)
    if last.size == n:
        out = out[xp.maximum(last.reshape(n), 0)]
    else:
        out = xp.take_along_axis(out, xp.broadcast_to(xp.maximum(last, 0), out.shape), axis=0)
    return xp.where(start, init, out)


def segmented(xp: Any, name: str, init: Any, restart: Any, y: Any, x: Any) -> Any:
    """Row t is y[t] where restart[t] holds, else f(row t - 1, x[t]), with f the ufunc `name`.

    >>> segmented(np, "add", np.array([10]), np.array([False, True, False]), np.array([0, 0, 0]), np.array([1, 2, 3]))
    array([11,  0,  3])
    """
    f, n = _ufunc(xp, name), x.shape[0]
    marks = aligned(restart, init.ndim - 1)
    out, first = spread(xp, init, x), spread(xp, init, y)
    if not n:
        return out
    out[0] = f(init[0], out[0])
    out = xp.where(marks, first, out)
    if marks.size != n:  # every lane has its own marks: treat all lanes one after the other, as one
        marks = xp.broadcast_to(marks, out.shape).copy()
        marks[0] = True
        shape = (*out.shape[1:], n)
        flat = xp.ascontiguousarray(xp.moveaxis(out, 0, -1)).reshape(-1)
        _segments(xp, f, xp.moveaxis(marks, 0, -1).reshape(-1), flat)
        return xp.ascontiguousarray(xp.moveaxis(flat.reshape(shape), -1, 0))
    marks = marks.reshape(n).copy()
    marks[0] = True
    _segments(xp, f, marks, out)
    return out


def _segments(xp: Any, f: Any, marks: Any, out: Any) -> None:
    """Accumulate each segment in place: long ones one by one, short ones all together, place by place."""
    starts = xp.flatnonzero(marks)
    lengths = xp.diff(xp.append(starts, out.shape[0]))
    if xp is np:
        by_length = np.sort(lengths)[::-1]
        # `most` segments are longer than `most`: each of these costs a call; the others cost a call for each place.
        most = int(np.count_nonzero(by_length > np.arange(1, len(by_length) + 1)))
        for s, n in zip(starts[lengths > most].tolist(), lengths[lengths > most].tolist(), strict=True):
            f.accumulate(out[s : s + n], 0, None, out[s : s + n])
        starts, lengths = starts[lengths <= most], lengths[lengths <= most]
    for place in range(1, int(lengths.max()) if lengths.size else 0):
        starts, lengths = starts[lengths > place], lengths[lengths > place]
        out[starts + place] = f(out[starts + place - 1], out[starts + place])
