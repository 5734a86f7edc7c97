"""Recurrences whose steps are composable maps, computed in chunks of steps that run side by side.

The maps of a chunk compose to one map, so the state at the start of every chunk is known after as
many steps as there are chunks; then all chunks run their steps at the same time, each step exactly
as the loop does it.  If the state that a chunk started with differs from the one the chunk before
ended with by more than a few units in the last place, the loop is run step by step after all
(composing maps may overflow, or lose digits that the loop would keep).

[Kogge and Stone, 1973; Blelloch, Prefix sums and their applications, 1990]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.numerics import regrouped
from scanopt.array.numerics.running import fitting

__all__ = ["clamped_sum", "linear_recurrence", "masked_flips", "regrouped_smoothing", "smoothing"]

CLOSE = 16
"""How many units in the last place, of the largest state of a chunk, its end and the next start may differ."""

LEAST = 4
"""Fewer chunks than this save nothing."""


def linear_recurrence(xp: Any, init: Any, a: Any, x: Any) -> Any:
    """Row t is a[t] * (row t - 1) + x[t]: integers modulo 2^k, floats up to rounding.

    init: one row; a, x: a row for each step, broadcasting to the rows of init.

    >>> linear_recurrence(np, np.array([1.0]), np.array([2.0, 0.5]), np.array([1.0, 1.0]))
    array([3. , 2.5])
    """
    if regrouped.suits(xp, init, a, x):
        return regrouped.linear(init, a, x)

    def step(s: Any, a: Any, x: Any, out: Any) -> None:
        xp.multiply(s, a, out=out)
        xp.add(out, x, out=out)

    def whole(a: Any, x: Any) -> Callable[[Any], Any]:
        factor, rest = xp.ones_like(a[0]), xp.zeros_like(a[0])
        for one, more in zip(a, x, strict=True):
            step(rest, one, more, rest)
            xp.multiply(factor, one, out=factor)
        return lambda k: lambda s: factor[k] * s + rest[k]

    return _by_chunks(xp, init, [a, x], [1.0, 0.0], step, whole)


def masked_flips(xp: Any, init: Any, mask: Any, flips: Any) -> Any:
    """Row t is ((row t - 1) & mask[t]) ^ flips[t], of bools or of the bits of integers.

    Every step composed of and, or, exclusive or and not of the state and of known bits has this form.

    >>> masked_flips(np, np.array([5]), np.array([4, 7]), np.array([0, 1]))
    array([4, 5])
    """

    def step(s: Any, mask: Any, flips: Any, out: Any) -> None:
        xp.bitwise_and(s, mask, out=out)
        xp.bitwise_xor(out, flips, out=out)

    def whole(mask: Any, flips: Any) -> Callable[[Any], Any]:
        kept, flipped = xp.full_like(mask[0], ones), xp.zeros_like(mask[0])
        for one, more in zip(mask, flips, strict=True):
            step(flipped, one, more, flipped)
            xp.bitwise_and(kept, one, out=kept)
        return lambda k: lambda s: (s & kept[k]) ^ flipped[k]

    ones = np.invert(np.zeros((), init.dtype))
    return _by_chunks(xp, init, [mask, flips], [ones, 0], step, whole)


def smoothing(xp: Any, init: Any, a: Any, x: Any) -> Any:
    """Row t is (row t - 1) + (x[t] - (row t - 1)) * a[t], up to rounding.

    >>> smoothing(np, np.array([1.0]), np.array([0.5, 0.5]), np.array([3.0, 0.0]))
    array([2., 1.])
    """
    if regrouped.suits(xp, init, a, x):
        return regrouped.smoothing(init, a, x)

    def step(s: Any, a: Any, x: Any, out: Any) -> None:
        xp.add(s, (x - s) * a, out=out)

    def whole(a: Any, x: Any) -> Callable[[Any], Any]:
        factor, rest = xp.ones_like(a[0]), xp.zeros_like(a[0])
        for one, more in zip(a, x, strict=True):
            step(rest, one, more, rest)
            xp.multiply(factor, 1 - one, out=factor)
        return lambda k: lambda s: factor[k] * s + rest[k]

    return _by_chunks(xp, init, [a, x], [0.0, 0.0], step, whole)


def regrouped_smoothing(xp: Any, init: Any, x: Any, a: Any) -> Any:
    """Row t is (row t - 1) + (x[t] - (row t - 1)) * a, up to rounding.

    >>> regrouped_smoothing(np, np.array([1.0]), np.array([3.0, 0.0]), np.array(0.5))
    array([2., 1.])
    """
    if not a.ndim and regrouped.suits(xp, init, x, a):
        return regrouped.held_smoothing(init, x, a)
    return smoothing(xp, init, xp.broadcast_to(a, (len(x), *a.shape)), x)


def clamped_sum(xp: Any, init: Any, x: Any, low: Any, high: Any) -> Any:
    """Row t is min(max((row t - 1) + x[t], low[t]), high[t]), up to rounding.

    init: one row; the others: a row for each step, broadcasting to the rows of init; all floating
    point; low or high may be None, for no limit.

    >>> clamped_sum(np, np.array([0.0]), np.array([2.0, -5.0]), np.zeros(2), np.ones(2))
    array([1., 0.])
    """
    limits = [(f, x) for f, x in ((xp.maximum, low), (xp.minimum, high)) if x is not None]

    def step(s: Any, x: Any, *more: Any) -> None:
        *bounds, out = more
        xp.add(s, x, out=out)
        for (f, _), bound in zip(limits, bounds, strict=True):
            f(out, bound, out=out)

    def whole(x: Any, *bounds: Any) -> Callable[[Any], Any]:
        total, bottom, top = xp.zeros_like(x[0]), xp.full_like(x[0], -math.inf), xp.full_like(x[0], math.inf)
        for row in zip(x, *bounds, strict=True):
            step(bottom, *row, bottom)
            step(top, *row, top)
            xp.add(total, row[0], out=total)
        return lambda k: lambda s: xp.minimum(xp.maximum(s + total[k], bottom[k]), top[k])

    neutral = [-math.inf if f is xp.maximum else math.inf for f, _ in limits]
    return _by_chunks(xp, init, [x, *(bound for _, bound in limits)], [0.0, *neutral], step, whole)


def _by_chunks(
    xp: Any,
    init: Any,
    rows: Sequence[Any],
    neutral: Sequence[Any],
    step: Callable[..., None],
    whole: Callable[..., Callable[[int], Callable[[Any], Any]]],
) -> Any:
    """Run a recurrence with all chunks side by side.

    rows: sequences; neutral: an entry for each that leaves a state unchanged.  step: one step of many
    states at once, (state, *entries, out).  whole: takes the entries of all chunks; returns a function
    from k to the map from the state before chunk k to the state after it.
    """
    n, shape = rows[0].shape[0], init.shape[1:]
    lanes = math.prod(shape)
    out = xp.empty((n, *shape), init.dtype)
    rows = [fitting(x, shape) for x in rows]
    chunks = _chunks(n, lanes)
    if chunks < LEAST or not lanes:
        return _one_by_one(init[0], rows, step, out)
    length = -(-n // chunks)
    parts = [_by_step(xp, x, shape, chunks, length, e, init.dtype) for x, e in zip(rows, neutral, strict=True)]
    maps, starts = whole(*parts), xp.empty((chunks, *shape), init.dtype)
    state = starts[0] = init[0]
    for k in range(chunks - 1):
        state = starts[k + 1] = maps(k)(state)
    done = xp.empty((length, chunks, *shape), init.dtype)
    before = starts
    for row, after in zip(zip(*parts, strict=True), done, strict=True):
        step(before, *row, after)
        before = after
    if init.dtype.kind in "biu":  # nothing was rounded
        return _in_order(xp, done, n)
    scale = xp.maximum(xp.abs(done).max(axis=0)[:-1], xp.abs(starts[1:]))
    close = xp.abs(done[-1][:-1] - starts[1:]) <= CLOSE * np.finfo(init.dtype).eps * scale
    if not bool(close.all()):
        return _one_by_one(init[0], rows, step, out)
    return _in_order(xp, done, n)


def _in_order(xp: Any, done: Any, n: int) -> Any:
    """The first n rows in the order of steps, from an array (step in the chunk, chunk, *shape)."""
    length, chunks, *shape = done.shape
    return xp.ascontiguousarray(xp.swapaxes(done, 0, 1).reshape(chunks * length, *shape)[:n])


def _chunks(n: int, lanes: int) -> int:
    """The number of chunks, in balance with their length; fewer with many lanes, so that all fit the cache."""
    return min(int(math.sqrt(2 * n)), 8192 // max(lanes, 1))


def _by_step(xp: Any, x: Any, shape: tuple[int, ...], chunks: int, length: int, neutral: Any, dtype: Any) -> Any:
    """The rows as an array (step in the chunk, chunk, *shape), filled up to whole chunks with `neutral`."""
    n = x.shape[0]
    out = xp.empty((length, chunks, *shape), dtype)
    by_chunk = xp.swapaxes(out, 0, 1)
    full = n // length
    by_chunk[:full] = x[: full * length].reshape(full, length, *x.shape[1:])
    if full < chunks:
        rest = n - full * length
        by_chunk[full, :rest] = x[full * length :]
        by_chunk[full, rest:] = neutral
        by_chunk[full + 1 :] = neutral
    return out


def _one_by_one(before: Any, rows: Sequence[Any], step: Callable[..., None], out: Any) -> Any:
    for t, row in enumerate(zip(*rows, strict=True)):
        step(before, *row, out[t, ...])
        before = out[t, ...]
    return out
