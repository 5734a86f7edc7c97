"""Powers and polynomials with few calls of the power function.

Where such a formula would overflow, cancel, or lose digits that the loop keeps, the loop itself is run, so results
differ from the loop's only by rounding.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scanopt.array.numerics.running import aligned, fitting

__all__ = ["MULTIPLIED", "affine_power", "geometric", "polynomial", "powers"]

MULTIPLIED = 64
"""Lower powers are products, which round no more often than a loop that multiplies step by step does."""


def powers(xp: Any, x: Any, exponents: Any, dtype: str) -> Any:
    """x ** e for each e of a vector of integers, a row for each; small exponents share two short tables of powers.

    >>> powers(np, np.array(2.0), np.array([0, 1, 2, 5]), "float64")
    array([ 1.,  2.,  4., 32.])
    """
    base, n = x.astype(dtype), exponents.shape[0]
    low, high = (int(exponents.min()), int(exponents.max())) if n else (0, 0)
    if low < 0 or high > 4 * n + 64:
        return xp.power(base, aligned(exponents, base.ndim))
    few = math.isqrt(high) + 1
    if high < MULTIPLIED and base.dtype.name in ("float32", "float64"):
        small = _multiplied(xp, base, few)
        large = _multiplied(xp, small[-1] * base, high // few + 1)
    else:
        small = xp.power(base, aligned(xp.arange(few, dtype=dtype), base.ndim))
        large = xp.power(base, aligned(xp.arange(0, high + 1, few, dtype=dtype), base.ndim))
    table = (large[:, None] * small).reshape(large.shape[0] * few, *base.shape)[: high + 1]
    if n == high + 1 and bool((exponents == xp.arange(n)).all()):
        return table
    return table[exponents]


def _multiplied(xp: Any, base: Any, count: int) -> Any:
    """The first `count` powers 0, 1, 2 ... of a base, each the one before times the base."""
    rows = [xp.ones_like(base)]
    for _ in range(count - 1):
        rows.append(rows[-1] * base)
    return xp.stack(rows)


def geometric(xp: Any, init: Any, factor: Any, n: Any) -> Any:
    """The single row of init, multiplied n >= 1 times by factor; integers modulo 2^k, floats up to rounding.

    >>> geometric(np, np.array([3.0]), np.array(2.0), np.array(4))
    array(48.)
    """
    kind, dtype, start = init.dtype.kind, init.dtype, init[0]
    if kind == "b":
        return xp.asarray(xp.logical_and(start, factor))
    if kind in "iu":
        power = xp.power(factor.astype(np.uint64), n.astype(np.uint64))
        return xp.asarray(start.astype(np.uint64) * power).astype(dtype)
    base, tiny = factor.astype(dtype, copy=False), np.finfo(dtype).tiny
    power = xp.asarray(xp.power(base, n.astype(dtype)))
    out = xp.asarray(start * power)
    sizes = xp.abs(power)
    if not sizes.size or bool((sizes.min() >= tiny) & (sizes.max() < xp.inf)):
        return out
    # Where the power is out of range but the product is not, run the steps.
    s, a, times = xp.broadcast_arrays(start, base, n)
    lost = (xp.isinf(power) & xp.isfinite(a)) | ((sizes < tiny) & (a != 0))
    exponent = xp.log2(xp.abs(s)) + times * xp.log2(xp.abs(a))
    lost = lost & ((xp.abs(exponent) <= 1100) | (s == 0) | xp.isinf(s))
    if bool(lost.any()):
        out[lost] = _repeated(xp, s[lost], a[lost], xp.full_like(a[lost], -0.0), times[lost])
    return out


def affine_power(xp: Any, init: Any, a: Any, b: Any, n: Any) -> Any:
    """The single row of init after n >= 1 steps of s * a + b; integers modulo 2^k, floats up to rounding.

    Uses 1 + a + ... + a^(2k-1) = (1 + a^k) (1 + a + ... + a^(k-1)), so nothing is divided by 1 - a.

    >>> affine_power(np, np.array([1.0]), np.array(0.5), np.array(1.0), np.array(3))
    array(1.875)
    """
    dtype = init.dtype
    if dtype.kind in "iu":
        return xp.asarray(_affine_power_of_integers(xp, init[0], a, b, n).astype(dtype))
    s, a, b, times = xp.broadcast_arrays(init[0], a.astype(dtype), b.astype(dtype), n)
    total, k = xp.zeros(a.shape, dtype), xp.zeros(a.shape, dtype)
    for place in range(int(times.max() if times.size else 0).bit_length() - 1, -1, -1):
        total, k = total * (1 + xp.power(a, k)), 2 * k
        odd = (times >> place) % 2 == 1
        total, k = xp.where(odd, 1 + a * total, total), xp.where(odd, k + 1, k)
    old, new = xp.power(a, times.astype(dtype)) * s, b * total
    out = xp.asarray(old + new)
    most = 4 * xp.maximum(xp.maximum(xp.abs(s), xp.abs(b)), xp.abs(out))
    # Where something overflowed or cancelled, run the steps.
    lost = ~(xp.isfinite(out) & (xp.maximum(xp.abs(old), xp.abs(new)) <= most))
    if bool(lost.any()):
        out[lost] = _repeated(xp, s[lost], a[lost], b[lost], times[lost])
    return out


def _affine_power_of_integers(xp: Any, s: Any, a: Any, b: Any, n: Any) -> Any:
    """As `affine_power`, modulo 2^64; computes the powers of a along with their sums."""
    one = np.uint64(1)
    s, a, b, times = xp.broadcast_arrays(s.astype(one.dtype), a.astype(one.dtype), b.astype(one.dtype), n)
    total, power = xp.zeros_like(a), xp.ones_like(a)
    for place in range(int(times.max() if times.size else 0).bit_length() - 1, -1, -1):
        total, power = total * (one + power), power * power
        odd = (times >> place) % 2 == 1
        total, power = xp.where(odd, one + a * total, total), xp.where(odd, power * a, power)
    return xp.asarray(power * s + b * total)


def _repeated(xp: Any, s: Any, a: Any, b: Any, n: Any) -> Any:
    """s after n steps of s * a + b; stops early once a step changes nothing."""
    for t in range(int(n.max())):
        before, s = s, xp.where(t < n, s * a + b, s)
        if bool(((s == before) | (xp.isnan(s) & xp.isnan(before))).all()):
            break
    return s


def polynomial(xp: Any, init: Any, x: Any, coefficients: Any) -> Any:
    """The single row of init after a step s * x + c for each row c of the coefficients, up to rounding.

    Horner's scheme in blocks; each block is one product with powers of x.

    >>> polynomial(np, np.array([0.0]), np.array(2.0), np.array([1.0, 0.0, 5.0]))
    array(9.)
    """
    dtype, n, shape = init.dtype, coefficients.shape[0], init.shape[1:]
    x = xp.broadcast_to(x.astype(dtype), shape)
    rows = fitting(coefficients.astype(dtype), shape)
    if n >= FEW:
        wide = np.dtype(np.float64)
        found = _in_blocks(xp, init[0].astype(wide), x.astype(wide), rows.astype(wide)).astype(dtype)
        if bool(xp.isfinite(found).all()):
            return found
    s = init[0].copy()
    for row in rows:
        s = s * x + row
    return xp.asarray(s)


FEW = 64
"""Polynomials of fewer coefficients are evaluated one by one."""


def _in_blocks(xp: Any, s: Any, x: Any, rows: Any) -> Any:
    n, shape = rows.shape[0], x.shape
    length = math.isqrt(n)
    count = -(-n // length)
    blocks = xp.zeros((count * length, *rows.shape[1:]), x.dtype)
    blocks[count * length - n :] = rows
    falling = xp.power(x, aligned(xp.arange(length - 1.0, -1.0, -1.0), x.ndim))
    if rows.size == n:
        parts = (blocks.reshape(count, length) @ falling.reshape(length, -1)).reshape(count, *shape)
    else:
        parts = (blocks.reshape(count, length, *rows.shape[1:]) * falling).sum(axis=1)
    after = xp.power(x, aligned(length * xp.arange(count - 1.0, -1.0, -1.0), x.ndim))
    return s * xp.power(x, float(n)) + (parts * after).sum(axis=0)
