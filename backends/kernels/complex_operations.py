"""Operations on complex numbers in C, where trials find how NumPy's loops round them.

Each part of a product is a sum of two products.  On processors with FMA, NumPy's loops add one of these unrounded; for
which arrays they do depends on its version.  An operation is written in C only if one formula gives NumPy's bits
for arrays of all lengths and layouts that are tried; else NumPy's loop is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from string import Template
from typing import Any

import numpy as np

from scanopt.backends.kernels.orders import fused_sum

__all__ = ["PARTS", "complex_helper", "is_known"]

Array = np.ndarray[Any, Any]

PARTS = {"real": "(__real__ {0})", "imag": "(__imag__ {0})", "conjugate": "(~{0})"}
"""The text of operations on the parts alone; ~ is GCC's conjugate of complex numbers."""

_HELPER = """\
static inline $RESULT ${OP}_$T($ARGS)
{
    const $R p = __real__ a, q = __imag__ a$SECOND;
    $BODY
}
"""
_SECOND = ", r = __real__ b, s = __imag__ b"
_SUMS = {
    True: "return __builtin_complex(__builtin_fma$F({0}, {2}, -({1} * {3})), __builtin_fma$F({0}, {3}, {1} * {2}));",
    False: """\
#if defined(__FMA__)
    ONE_BY_ONE
#endif
    return __builtin_complex({0} * {2} - {1} * {3}, {0} * {3} + {1} * {2});""",
}
"""The product, by whether NumPy adds one part unrounded.  If it does not, but the processor could, numbers are taken
one by one: gcc 12 contracts the difference and the sum, in spite of its options, where it makes vectors of them."""
_BODIES = {
    "divide": """\
const $R t = __builtin_fabs$F(r), u = __builtin_fabs$F(s);
    if (t >= u) {
        if (t == 0 && u == 0) return __builtin_complex(p / t, q / t);
        const $R rate = s / r, scale = 1 / (r + s * rate);
        return __builtin_complex((p + q * rate) * scale, (q - p * rate) * scale);
    }
    const $R rate = r / s, scale = 1 / (s + r * rate);
    return __builtin_complex((p * rate + q) * scale, (q * rate - p) * scale);""",
    "reciprocal": """\
if (__builtin_fabs$F(q) <= __builtin_fabs$F(p)) {
        const $R rate = q / p, size = p + q * rate;
        return __builtin_complex(1 / size, -rate / size);
    }
    const $R rate = p / q, size = p * rate + q;
    return __builtin_complex(rate / size, -1 / size);""",
    "absolute": """\
const $R x = __builtin_fabs$F(p), y = __builtin_fabs$F(q), most = x > y ? x : y, rate = (x > y ? y : x) / most;
    const $R size = most * __builtin_sqrt$F(__builtin_fma$F(rate, rate, 1));
    return (x == __builtin_inf()) | (y == __builtin_inf()) ? __builtin_inf$F() : x != x ? x : most == 0 ? 0 : size;""",
    "isinf": "return __builtin_fabs$F(p) == __builtin_inf() || __builtin_fabs$F(q) == __builtin_inf();",
    "isfinite": "return __builtin_fabs$F(p) < __builtin_inf() && __builtin_fabs$F(q) < __builtin_inf();",
}
"""The parts of a are p and q, those of b are r and s."""
_RESULTS = {"isinf": "bool8", "isfinite": "bool8", "absolute": "$R"}
"""The type of the result, if it is no complex number."""


def complex_helper(op: str, dtype: str) -> str:
    """The text of the function that an operation on complex numbers calls; "" if it calls none."""
    if op in ("multiply", "square"):
        body = _SUMS[bool(_fused(op, dtype))].format(*("pqrs" if op == "multiply" else "pqpq"))
    elif op in _BODIES:
        body = _BODIES[op]
    else:
        return ""
    two = op in ("multiply", "divide")
    parts = {
        "BODY": body, "RESULT": _RESULTS.get(op, dtype), "SECOND": _SECOND if two else "",
        "ARGS": f"{dtype} a, {dtype} b" if two else f"{dtype} a",
    }  # fmt: skip
    text = Template(_HELPER).safe_substitute(parts)
    return Template(text).substitute(OP=op, T=dtype, R=_part_of(dtype), F="f" if dtype == "complex64" else "")


def is_known(op: str, dtype: str) -> bool:
    """Whether C rounds as NumPy's loops do; operations that round each part once always do.

    >>> is_known("multiply", "complex128") in (True, False), is_known("add", "complex128")
    (True, True)
    """
    if op in ("multiply", "square"):
        return _fused(op, dtype) is not None
    return op not in _FORMULAS or _agrees(op, dtype, _FORMULAS[op])


@cache
def _fused(op: str, dtype: str) -> bool | None:
    """Whether a product is added unrounded to the other one; None where neither gives NumPy's bits for all arrays."""
    for way, product in ((False, _plain_product), (True, _fused_product)):
        if _agrees(op, dtype, product if op == "multiply" else lambda a, product=product: product(a, a)):
            return way
    return None


def _part_of(dtype: str) -> str:
    return "float32" if dtype == "complex64" else "float64"


def _joined(real: Any, imag: Any, like: Array) -> Array:
    found = np.empty_like(like)
    found.real, found.imag = real, imag
    return found


def _plain_product(a: Array, b: Array) -> Array:
    return _joined(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real, a)


def _fused_product(a: Array, b: Array) -> Array:
    return _joined(_added(a.real, b.real, -(a.imag * b.imag)), _added(a.real, b.imag, a.imag * b.real), a)


def _added(x: Array, y: Array, z: Any) -> Array:
    """x * y + z, rounded once; where the C library cannot do that NaN, which agrees with no loop of NumPy's."""
    fused = fused_sum(x.dtype.name)
    if fused is None:
        return np.full_like(x, np.nan)
    found: Array = np.frompyfunc(fused, 3, 1)(x, y, z).astype(x.dtype)
    return found


def _quotient(a: Array, b: Array) -> Array:
    p, q, r, s = a.real, a.imag, b.real, b.imag
    wide, none = abs(r) >= abs(s), (r == 0) & (s == 0)
    rate = np.where(wide, s / r, r / s)
    scale = 1 / np.where(wide, r + s * rate, s + r * rate)
    real = np.where(wide, (p + q * rate) * scale, (p * rate + q) * scale)
    imag = np.where(wide, (q - p * rate) * scale, (q * rate - p) * scale)
    return _joined(np.where(none, p / abs(r), real), np.where(none, q / abs(r), imag), a)


def _reciprocal(a: Array) -> Array:
    p, q = a.real, a.imag
    wide = abs(q) <= abs(p)
    rate = np.where(wide, q / p, p / q)
    size = np.where(wide, p + q * rate, p * rate + q)
    return _joined(np.where(wide, 1 / size, rate / size), np.where(wide, -rate / size, -1 / size), a)


def _size(a: Array) -> Array:
    x, y, one = abs(a.real), abs(a.imag), a.real.dtype.type(1)
    most = np.where(x > y, x, y)
    rate = np.where(x > y, y, x) / most
    size = most * np.sqrt(_added(rate, rate, one))
    size = np.where(np.isnan(x), x, np.where(most == 0, 0, size))
    return np.where(np.isinf(x) | np.isinf(y), np.inf, size).astype(x.dtype)


_FORMULAS: dict[str, Callable[..., Array]] = {"divide": _quotient, "reciprocal": _reciprocal, "absolute": _size}


@cache
def _agrees(op: str, dtype: str, formula: Callable[..., Array]) -> bool:
    """Whether a formula gives the bits of NumPy's loop for all numbers and layouts that are tried."""
    f = getattr(np, op)
    a, b = _numbers(dtype, 0), _numbers(dtype, 1)
    args = (a, b)[: f.nin]
    with np.errstate(all="ignore"):
        expected = formula(*args)
        if not all(_same(found, expected) for found in _by_layout(f, args)):
            return False
        return all(_same(f(*pair), formula(*np.broadcast_arrays(*pair))) for pair in _with_numbers(args))


def _by_layout(f: np.ufunc, args: tuple[Array, ...]) -> Iterator[Array]:
    """The results of a ufunc for arrays that lie, and are divided, in various ways, none of them backwards."""
    yield f(*args)
    yield f(*(np.repeat(x, 2)[::2] for x in args))
    for i in range(len(args) if f is not np.absolute else 0):
        given = [x.copy() for x in args]
        yield f(*given, out=given[i])
    for n in (1, 2, 3, 5, 7):
        yield np.concatenate([f(*(x[i : i + n] for x in args)) for i in range(0, len(args[0]), n)])
    yield np.array([f(*(x[i, ...] for x in args)) for i in range(len(args[0]))])


def _with_numbers(args: tuple[Array, ...]) -> Iterator[tuple[Array, ...]]:
    if len(args) == 2:
        a, b = args
        yield from ((a, b[i : i + 1]) for i in (0, 5))
        yield from ((a[i : i + 1], b) for i in (0, 5))


def _same(x: Array, y: Array) -> bool:
    """Whether arrays have the same bits; NaNs count as equal."""
    parts = [np.stack([z.real, z.imag]) for z in (x, y)]
    alike = (parts[0] == parts[1]) & (np.signbit(parts[0]) == np.signbit(parts[1]))
    return bool((alike | (np.isnan(parts[0]) & np.isnan(parts[1]))).all())


def _numbers(dtype: str, seed: int) -> Array:
    """Numbers of many sizes, and all pairs of parts that are out of the ordinary, in an order of their own."""
    part, rng = np.dtype(_part_of(dtype)), np.random.default_rng(seed)
    parts = rng.normal(size=(2, 400)) * 10.0 ** rng.integers(-6, 7, (2, 400))
    about = np.finfo(part)
    odd = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, float(about.tiny), -float(about.max)]
    pairs = np.array([(x, y) for x in odd for y in odd]).T
    found = np.concatenate([parts, pairs[:, rng.permutation(pairs.shape[1])]], axis=1).astype(part)
    return _joined(found[0], found[1], np.empty(found.shape[1], dtype))
