"""Linear recurrences with fixed coefficients, bit for bit as the loop computes them.

SciPy's filter does the same operations in the same order, but turns infinities into NaN and may
lose the sign of a zero; where either could have happened, and where SciPy is missing, every step is
run by itself.  Results never depend on whether SciPy is there.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from scanopt.array.numerics.running import spread

__all__ = ["lfilter"]

WIDE = 128
"""With at least this many elements in a row, NumPy is faster row by row."""

WORTH = 20_000
"""From this many elements on, importing SciPy's filters pays."""

Filter = Callable[[Any, Any, list[Any]], Any]


def lfilter(xp: Any, init: Any, x: Any, *coefficients: Any) -> Any:
    """Row t is ((row t - 1) * a + (row t - 2) * b) + x[t]; without b for one coefficient.

    init: as many rows as coefficients, the oldest first, float32, float64 or integers.  x: a row for each
    step; coefficients: arrays; all broadcast to the rows of init.

    >>> lfilter(np, np.array([1.0]), np.array([0.0, 1.0]), np.array(0.5))
    array([0.5 , 1.25])
    """
    n, shape = x.shape[0], init.shape[1:]
    out = spread(xp, init, x)
    past, factors = [init[k] for k in range(init.shape[0])], [a.astype(init.dtype) for a in coefficients]
    known = init.dtype in (np.float32, np.float64)  # to SciPy's filter
    found = _filter(out.size) if xp is np and known and math.prod(shape) <= WIDE and n else None
    if found is None or any(a.size != 1 for a in factors) or not _plain(out):
        return _one_by_one(xp, past, out, factors)
    with np.errstate(all="ignore"):
        result = found(past, out, [a.reshape(()) for a in factors])
        finite = np.isfinite(result)
    if finite.all():
        return result
    # From the first infinity on, run every step by itself.
    first = int((~finite).reshape(n, -1).any(axis=1).argmax())
    result[first:] = out[first:]
    past = [*past, *result[max(first - len(past), 0) : first]][-len(past) :]
    _one_by_one(xp, past, result[first:], factors)
    return result


def _plain(x: Any) -> bool:
    """Whether x has no negative zero; then no zero of SciPy's result can have lost its sign."""
    zeros = x == 0
    return not (zeros.any() and np.signbit(x[zeros]).any())


def _one_by_one(xp: Any, past: list[Any], out: Any, factors: list[Any]) -> Any:
    """Run the recurrence step by step; `out` holds the rows of x and is overwritten with the result."""
    if out.ndim == 1 and out.dtype == np.float64 and xp is np:
        out[:] = _scalars([float(p) for p in past], out.tolist(), [float(a.reshape(())) for a in factors])
        return out
    if out.ndim == 1 and out.dtype == np.float32 and xp is np:  # scalars compute as arrays do, in a tenth of the time
        out[:] = _scalars([p[()] for p in map(np.asarray, past)], [*out], [a.reshape(())[()] for a in factors])
        return out
    if out.ndim == 1 and out.dtype.kind in "iu" and xp is np:
        numbers = _integers([int(p) for p in past], out.tolist(), [int(a.reshape(())) for a in factors])
        out[:] = np.array(numbers, np.uint64).astype(out.dtype)
        return out
    part, sum_ = xp.empty(out.shape[1:], out.dtype), xp.empty(out.shape[1:], out.dtype)
    for t in range(out.shape[0]):
        xp.multiply(past[-1], factors[0], out=sum_)
        for k, a in enumerate(factors[1:], 2):
            xp.multiply(past[-k], a, out=part)
            xp.add(sum_, part, out=sum_)
        row = out[t, ...]
        xp.add(sum_, row, out=row)
        past = [*past[1:], row]
    return out


def _scalars(past: list[Any], x: list[Any], factors: list[Any]) -> list[Any]:
    """As `_one_by_one` for rows of one number: Python's floats (float64) or NumPy's scalars."""
    out: list[Any] = []
    if len(factors) == 1:
        (s,), (a,) = past, factors
        for v in x:
            s = s * a + v
            out.append(s)
        return out
    r, s = past
    a, b = factors
    for v in x:
        r, s = s, (s * a + r * b) + v
        out.append(s)
    return out


def _integers(past: list[int], x: list[int], factors: list[int]) -> list[int]:
    """As `_one_by_one` for rows of one integer, modulo 2^64."""
    out: list[int] = []
    b, (r, s) = factors[1] if len(factors) > 1 else 0, (0, *past)[-2:]
    a = factors[0]
    for v in x:
        r, s = s, (s * a + r * b + v) & 0xFFFF_FFFF_FFFF_FFFF
        out.append(s)
    return out


def _filter(size: int) -> Filter | None:
    """SciPy's filter, if `size` elements are worth it and it is exact on this machine, else None."""
    if size < WORTH and "scipy.signal" not in sys.modules:
        return None
    return _scipy_filter()


@cache
def _scipy_filter() -> Filter | None:
    try:
        from scipy.signal import lfilter
    except ImportError:
        return None

    def filtered(past: list[Any], x: Any, factors: list[Any]) -> Any:
        zi = np.zeros((len(factors), *x.shape[1:]), x.dtype)
        for k in range(len(factors)):
            for a, s in zip(factors[k:], reversed(past), strict=False):
                zi[k] = s * a if a is factors[k] else zi[k] + s * a
        one = np.ones(1, x.dtype)
        denominator = np.array([1.0, *(-a for a in factors)], x.dtype)
        return np.asarray(lfilter(one, denominator, x, axis=0, zi=zi)[0])

    # A compiler may have fused multiplications and additions, which are then rounded only once.
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        x, start = rng.normal(size=200).astype(dtype), list(rng.normal(size=2).astype(dtype))
        factors = [np.array(0.9, dtype), np.array(-0.7, dtype)]
        for past, f in ((start[1:], factors[:1]), (start, factors)):
            expected = _one_by_one(np, [np.asarray(p) for p in past], x[:, None].copy(), f)[:, 0]
            if filtered(past, x, f).tobytes() != expected.tobytes():
                return None
    return filtered
