"""Exponentials, logarithms and powers of doubles for four numbers at a time, with the bits of the GNU C library.

They are computed by the operations of Szabolcs Nagy's functions, in their order: with the powers of 2 ** (1 / 128),
which are computed here, and with the library's tables of logarithms, which are found in its file.
"""

from __future__ import annotations

from functools import cache
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["EXPONENTIALS", "logarithms", "powers", "powers_and_logarithms"]

_DIGITS = 256
"""Binary digits of the powers of 2 ** (1 / 128) before they are rounded."""
_LN2 = ("0x1.62e42fefa3800p-1", "0x1.ef35793c76730p-45")
_OF_LOG, _OF_POWER = ((*_LN2, "-0x1.0000000000001p-1"), 18 + 2 * 128), ((*_LN2, "-0x1p-1"), 9 + 4 * 128)
"""The numbers that the library's tables for `log` and `power` begin with, and the lengths of the tables."""

EXPONENTIALS = """\
/* 128 x / ln 2, rounded, in the last bits; and what of x is left for such a whole number. */
#define WHOLE(x) FMA(x, ALL(0x1.71547652b82fep7), ALL(0x1.8p52))
#define LEFT(x, whole) \\
    FMA(whole - 0x1.8p52, ALL(-0x1.cf79abc9e3b39p-47), FMA(whole - 0x1.8p52, ALL(-0x1.62e42fefa0000p-8), x))

/* 2 ** (whole / 128) from the table, times exp(r) by a polynomial. */
static inline __attribute__((always_inline)) numbers exp_from(const float64 *table, numbers whole, numbers r)
{
    const bits at = (bits)whole & 127;
    const float64 *const a = table + 2 * at[0], *const b = table + 2 * at[1];
    const float64 *const c = table + 2 * at[2], *const d = table + 2 * at[3];
    const numbers tail = {a[0], b[0], c[0], d[0]}, at_zero = {a[1], b[1], c[1], d[1]};
    const numbers power = (numbers)((bits)at_zero + ((bits)whole << 45)), r2 = r * r;
    const numbers low = FMA(FMA(ALL(0x1.555555555543cp-3), r, ALL(0x1.ffffffffffdbdp-2)), r2, tail + r);
    const numbers high = FMA(r, ALL(0x1.1111167a4d017p-7), ALL(0x1.55555cf172b91p-5));
    return FMA(power, FMA(r2 * r2, high, low), power);
}

static inline __attribute__((always_inline)) numbers exp_of(const float64 *table, numbers x)
{
    const numbers whole = WHOLE(x);
    const bits none = x < -746.0, huge = x > 710.0;
    numbers found = choice(huge, ALL(__builtin_inf()), exp_from(table, whole, LEFT(x, whole)));
    found = choice(none, ALL(0.0), found);
    ONE_BY_ONE(~none & ~huge & (((bits)x & MAGNITUDE) >= (bits)ALL(512.0)), exp(x[i]))
    return found;
}

/* k ln 2 + log(c) + log(z / c) for x = 2 ** k z, by a c near z in the table and a polynomial; a longer one near 1.
   The table begins with ln 2 in two parts and the coefficients of both. */
static inline __attribute__((always_inline)) numbers log_of(const float64 *table, numbers x)
{
    const bits from = (bits)x - 0x3fe6000000000000LL, place = (from >> 45) & 127, power = from >> 52;
    const float64 *const a = table + 18 + 2 * place[0], *const b = table + 18 + 2 * place[1];
    const float64 *const c = table + 18 + 2 * place[2], *const d = table + 18 + 2 * place[3];
    const numbers inverse = {a[0], b[0], c[0], d[0]}, of_c = {a[1], b[1], c[1], d[1]};
    const numbers k = (numbers)(power + 0x4338000000000000LL) - 0x1.8p52;
    const numbers z = (numbers)((bits)x - (power << 52));
    const numbers w = FMA(k, ALL(table[0]), of_c), r = FMA(z, inverse, ALL(-1.0)), sum = r + w, r2 = r * r;
    const numbers low = FMA(r2, ALL(table[2]), FMA(k, ALL(table[1]), (w - sum) + r));
    const numbers odd = FMA(FMA(r, ALL(table[6]), ALL(table[5])), r2, FMA(ALL(table[4]), r, ALL(table[3])));
    numbers found = FMA(r * r2, odd, low) + sum;
    const bits near = ((bits)x >= 0x3fee000000000000LL) & ((bits)x < 0x3ff1090000000000LL);
    if (ANY(near)) {
        const float64 *const e = table + 7;
        const numbers s = x - 1.0, s2 = s * s, s3 = s * s2;
        const numbers first = FMA(s2, ALL(e[3]), FMA(ALL(e[2]), s, ALL(e[1])));
        const numbers second = FMA(s2, ALL(e[6]), FMA(ALL(e[5]), s, ALL(e[4])));
        const numbers third = FMA(s3, ALL(e[10]), FMA(s2, ALL(e[9]), FMA(ALL(e[8]), s, ALL(e[7]))));
        const numbers rest = FMA(FMA(third, s3, second), s3, first);
        const numbers high = FMA(ALL(-0x1p27), s, FMA(s, ALL(0x1p27), s)), square = high * high;
        const numbers most = FMA(square, ALL(e[0]), s), left = FMA(square, ALL(e[0]), s - most);
        const numbers less = FMA(ALL(e[0]) * (s - high), s + high, left);
        found = choice(near, most + FMA(rest, s3, less), found);
    }
    ONE_BY_ONE(((bits)x < 0x0010000000000000LL) | ((bits)x >= 0x7ff0000000000000LL), log(x[i]))
    return found;
}

/* log(z) / log(10) + k log10(2) for x = 2 ** k z, where z is at most 1 if k is not. */
static inline __attribute__((always_inline)) numbers log10_of(const float64 *table, numbers x)
{
    const bits power = ((bits)x >> 52) - 1023, one = (power < 0) & 1;
    const numbers z = (numbers)(((bits)x & 0xfffffffffffffLL) | ((1023 - one) << 52));
    const numbers k = (numbers)(power + one + 0x4338000000000000LL) - 0x1.8p52;
    numbers found = k * 0x1.9fef311f12b36p-42 + 0x1.bcb7b1526e50ep-2 * log_of(table, z);
    found = found + k * 0x1.34413509f6000p-2;
    ONE_BY_ONE(((bits)x < 0x0010000000000000LL) | ((bits)x >= 0x7ff0000000000000LL), log10(x[i]))
    return found;
}

/* k ln 2 + log(1 + f) for 1 + x = 2 ** k (1 + f), with c for what is rounded off in that sum, as by the C library's
   function, which is that of Sun Microsystems. */
static inline __attribute__((always_inline)) numbers log1p_of(const float64 *table, numbers x)
{
    (void)table;
    const bits size = (bits)x & MAGNITUDE;
    const bits near = ((bits)x < 0x3fda827a00000000LL) & (((bits)x > 0) | ((bits)x < (bits)ALL(-0x1.2bec4p-2)));
    const numbers sum = 1.0 + x;
    bits top = (bits)sum >> 52;
    const bits upper = (bits)sum & 0xfffffffffffffLL, high = ~near & (upper >= 0x6a09e00000000LL);
    numbers c = choice(top > 1023, 1.0 - (sum - x), x - (sum - 1.0)) / sum;
    const numbers reduced = (numbers)(upper | ((0x3ff0000000000000LL & ~high) | (0x3fe0000000000000LL & high)));
    const numbers f = choice(near, x, reduced - 1.0);
    top = ~near & (top - 1023 - high);
    c = choice(near, ALL(0.0), c);
    const numbers k = (numbers)(top + 0x4338000000000000LL) - 0x1.8p52, half = 0.5 * f * f;
    const numbers s = f / (2.0 + f), z = s * s, z2 = z * z, z4 = z2 * z2;
    const numbers second = FMA(z, ALL(0x1.2492494229359p-2), ALL(0x1.999999997fa04p-2));
    const numbers third = FMA(z, ALL(0x1.7466496cb03dep-3), ALL(0x1.c71c51d8e78afp-3));
    const numbers fourth = FMA(z, ALL(0x1.2f112df3e5244p-3), ALL(0x1.39a09d078c69fp-3));
    const numbers first = FMA(z, ALL(0x1.5555555555593p-1), z2 * second);
    const numbers r = s * (FMA(z2 * z4, fourth, FMA(z4, third, first)) + half);
    const numbers low = FMA(k, ALL(0x1.a39ef35793c76p-33), c) + r;
    const bits tiny_f = ~near & ((upper < 0x100000000LL) | (upper >= 0xffffd00000000LL));
    numbers found = choice(top == 0, f - (half - r), FMA(k, ALL(0x1.62e42feep-1), -(half - low - f)));
    const numbers small = choice(size < 0x3c90000000000000LL, x, FMA(x * x, ALL(-0.5), x));
    found = choice(size < 0x3e20000000000000LL, small, found);
    ONE_BY_ONE(tiny_f | (x <= -1.0) | (size >= 0x4340000000000000LL), log1p(x[i]))
    return found;
}

/* The greater one and log(1 + exp(-|x - y|)), as NumPy's function. */
static inline __attribute__((always_inline)) numbers logaddexp_of(const float64 *table, numbers x, numbers y)
{
    const numbers apart = x - y, less = (numbers)((bits)apart | SIGN);
    const bits equal = x == y;
    const numbers part = exp_of(table, choice(equal, ALL(-1.0), less));
    return choice(equal, x + 0x1.62e42fefa39efp-1, choice(apart > 0, x, y) + log1p_of(table, part));
}

/* exp(y log(|base|)), signed, where the logarithm has a second part for what is rounded off.
   The table: that of exp_of, ln 2 in two parts, the coefficients, the logarithms. */
static inline __attribute__((always_inline)) numbers power_of(const float64 *table, numbers base, numbers y)
{
    const numbers x = (numbers)((bits)base & MAGNITUDE), near_y = y + 0x1.8p52;
    const bits below = (bits)base >> 63, whole_y = (bits)(near_y - 0x1.8p52 == y);
    const float64 *const e = table + 256;
    const bits from = (bits)x - 0x3fe6955500000000LL, place = (from >> 45) & 127, exponent = from >> 52;
    numbers c[4];
    columns(e + 9, 4 * place, c);
    const numbers inverse = c[0], of_c = c[2], rest = c[3];
    const numbers k = (numbers)(exponent + 0x4338000000000000LL) - 0x1.8p52;
    const numbers z = (numbers)((bits)x - (exponent << 52));
    const numbers r = FMA(z, inverse, ALL(-1.0)), most = FMA(k, ALL(e[0]), of_c), sum = most + r;
    const numbers half = -0.5 * r, square = r * half, high = sum + square;
    const numbers low = FMA(k, ALL(e[1]), rest) + (most - sum + r) + FMA(half, r, -square) + (sum - high + square);
    const numbers last = FMA(square, FMA(r, ALL(e[8]), ALL(e[7])), FMA(r, ALL(e[6]), ALL(e[5])));
    const numbers less = FMA(r * square, FMA(square, last, FMA(r, ALL(e[4]), ALL(e[3]))), low);
    const numbers log_x = high + less, log_rest = high - log_x + less;
    const numbers of = y * log_x, of_rest = FMA(y, log_rest, FMA(y, log_x, -of));
    const numbers whole = WHOLE(of);
    const bits none = of < -746.0, huge = of > 710.0;
    numbers found = choice(huge, ALL(__builtin_inf()), exp_from(table, whole, LEFT(of, whole) + of_rest));
    found = choice(none, ALL(0.0), found);
    found = (numbers)((bits)found ^ (below & ((bits)near_y << 63)));
    const bits zero = ((bits)base == 0) & (y > 0);
    found = choice(zero, ALL(0.0), found);
    const bits top = (bits)x >> 52, top_y = ((bits)y >> 52) & 0x7ff, top_of = ((bits)of >> 52) & 0x7ff;
    const bits odd_x = (top < 1) | (top >= 0x7ff) | (below & ~whole_y), odd_y = (top_y < 0x3be) | (top_y >= 0x432);
    ONE_BY_ONE(~zero & (odd_x | odd_y | (~none & ~huge & (top_of >= 0x408))), pow(base[i], y[i]))
    return found;
}
"""
"""`exp_of`, `log_of`, `log10_of`, `log1p_of`, `logaddexp_of` and `power_of`, in the words of `vector_functions.py`."""


@cache
def powers_and_logarithms() -> np.ndarray[Any, Any] | None:
    """The table for `power`; None if there is none."""
    found = _in_library(*_OF_POWER)
    return None if found is None else np.concatenate([powers(), found])


@cache
def logarithms() -> np.ndarray[Any, Any] | None:
    """The table for `log`; None if there is none."""
    return _in_library(*_OF_LOG)


def _in_library(first: tuple[str, ...], length: int) -> np.ndarray[Any, Any] | None:
    """A copy of a table of the C library, found by its first numbers; None if it is not there."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if "/libm.so" in line or "/libm-" in line}
        data = b"".join(Path(path).read_bytes() for path in sorted(paths))
    except (OSError, IndexError):
        return None
    place = data.find(np.array([float.fromhex(x) for x in first], "<f8").tobytes())
    if place < 0 or len(data) < place + 8 * length:
        return None
    return np.frombuffer(data[place : place + 8 * length], "<f8").copy()


@cache
def powers() -> np.ndarray[Any, Any]:
    """The table for `exp`: for each k, the power 2 ** (k / 128), rounded, less k << 45 in its bits, after what was
    rounded off, relatively.

    >>> powers()[:2].tolist()
    [0.0, 1.0]
    """
    one = 1 << _DIGITS
    root = 2 * one
    for _ in range(7):
        root = isqrt(root * one)
    table, power = np.empty((128, 2)), one
    for k in range(128):
        rounded = power / one
        over, under = rounded.as_integer_ratio()
        table[k] = (power * under - over * one) / (over * one), rounded
        power = power * root // one
    table.view("int64")[:, 1] -= np.arange(128) << 45
    return table.ravel()
