"""`sin` and `cos` of double precision for four numbers at a time, with the bits of the GNU C library.

They are computed by the operations of IBM's Accurate Mathematical Library as the C library has it, in their order: the
number less a multiple of pi / 2, with what is rounded off, then sines and cosines of multiples of 1 / 128, from a table
that is computed here, and short polynomials.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

__all__ = ["SINES", "sines"]

_DIGITS = 256
"""Binary digits of the numbers in the table before they are rounded."""
_ROWS = 110

SINES = """\
#define HALF_PI ALL(0x1.921fb54442d18p0)
#define REST ALL(0x1.1a62633145c07p-54)
#define LESS(x, y, z) FMA(-(x), y, z)

/* The nearest multiple of pi / 2, counted in the last bits; x less it, in two parts. */
static inline __attribute__((always_inline)) numbers less_turns(numbers x, numbers *low, bits *turns)
{
    const numbers t = FMA(x, ALL(0x1.45f306dc9c883p-1), ALL(0x1.8p52)), k = t - 0x1.8p52;
    const numbers y = LESS(k, ALL(-0x1.dde973cp-27), LESS(k, ALL(0x1.921fb58p0), x));
    const numbers z = LESS(k, ALL(-0x1.cb3b398p-55), y), rest = LESS(k, ALL(-0x1.cb3b398p-55), y - z);
    const numbers last = LESS(k, ALL(-0x1.d747f23e32ed7p-83), z);
    *low = rest + LESS(k, ALL(-0x1.d747f23e32ed7p-83), z - last);
    *turns = (bits)t;
    return last;
}

/* cos(x + low) where `even` is set, else sin(x + low), for |x| below 0.86. */
static inline __attribute__((always_inline))
numbers sine_or_cosine(const float64 *table, numbers x, numbers low, bits even)
{
    const numbers size = (numbers)((bits)x & MAGNITUDE), shifted = size + 0x1.8p45;
    const bits at = ((bits)shifted & 127) * 4;
    numbers c[4];
    columns(table, at, c);
    const numbers sine = c[0], sine_rest = c[1], cosine = c[2], cosine_rest = c[3];
    const numbers signed_low = (numbers)((bits)low ^ ((bits)x & SIGN));
    numbers r = size - (shifted - 0x1.8p45);
    r = choice(even, r + signed_low, r);
    const numbers r2 = r * r, odd = FMA(r2, ALL(0x1.11110e829872fp-7), ALL(-0x1.5555555555515p-3));
    const numbers s_even = FMA(r * r2, odd, r), s_odd = r + FMA(r * r2, odd, signed_low);
    const numbers of_four = FMA(r2, ALL(0x1.6c16bedd9e239p-10), ALL(-0x1.5555555555535p-5));
    const numbers c_even = r2 * FMA(r2, of_four, ALL(0.5));
    const numbers c_odd = FMA(r, signed_low, c_even);
    const numbers cos_x = cosine + LESS(sine, s_even, LESS(cosine, c_even, LESS(s_even, sine_rest, cosine_rest)));
    const numbers size_of_sin = sine + FMA(cosine, s_odd, LESS(sine, c_odd, FMA(s_odd, cosine_rest, sine_rest)));
    numbers sin_x = (numbers)(((bits)size_of_sin & MAGNITUDE) | ((bits)x & SIGN));
    const bits near = ~even & (size < 0.126);
    if (ANY(near)) {
        const numbers x2 = x * x;
        const numbers o = FMA(ALL(-0x1.addffc2fcdf59p-26), x2, ALL(0x1.71de27b9a7ed9p-19));
        const numbers p = FMA(o, x2, ALL(-0x1.a01a019db08b8p-13));
        const numbers q = FMA(FMA(p, x2, ALL(0x1.1111111110ecep-7)), x2, ALL(-0x1.5555555555555p-3));
        sin_x = choice(near, x + FMA(FMA(q, x, -(0.5 * low)), x2, low), sin_x);
    }
    return choice(even, cos_x, sin_x);
}

static inline __attribute__((always_inline)) numbers sin_of(const float64 *table, numbers x)
{
    const numbers size = (numbers)((bits)x & MAGNITUDE);
    const bits small = (bits)size < 0x3feb600000000000LL, middle = ~small & ((bits)size < 0x400368fd00000000LL);
    bits turns;
    numbers low, a = less_turns(x, &low, &turns);
    a = choice(small, x, choice(middle, HALF_PI - size, a));
    low = choice(small, ALL(0.0), choice(middle, REST, low));
    const bits even = middle | (~small & -(turns & 1));
    const bits sign = (middle & (bits)x & SIGN) ^ (~small & ~middle & (turns << 62) & SIGN);
    numbers found = (numbers)((bits)sine_or_cosine(table, a, low, even) ^ sign);
    found = choice((bits)size < 0x3e50000000000000LL, x, found);
    ONE_BY_ONE((bits)size >= 0x419921fb00000000LL, sin(x[i]))
    return found;
}

static inline __attribute__((always_inline)) numbers cos_of(const float64 *table, numbers x)
{
    const numbers size = (numbers)((bits)x & MAGNITUDE);
    const bits small = (bits)size < 0x3feb600000000000LL, middle = ~small & ((bits)size < 0x400368fd00000000LL);
    bits turns;
    numbers low, a = less_turns(x, &low, &turns);
    const numbers y = HALF_PI - size, y_sum = y + REST;
    a = choice(small, x, choice(middle, y_sum, a));
    low = choice(small, ALL(0.0), choice(middle, y - y_sum + REST, low));
    turns += 1;
    const bits even = small | (~middle & -(turns & 1)), sign = ~small & ~middle & (turns << 62) & SIGN;
    numbers found = (numbers)((bits)sine_or_cosine(table, a, low, even) ^ sign);
    ONE_BY_ONE((bits)size >= 0x419921fb00000000LL, cos(x[i]))
    return found;
}
"""
"""`sin_of(table, x)` and `cos_of(table, x)`, in the words of `vector_functions.py`."""


@cache
def sines() -> np.ndarray[Any, Any]:
    """The sine and cosine of k / 128, each rounded and what was rounded off, for each k.

    >>> sines()[:4].tolist()
    [0.0, 0.0, 1.0, 0.0]
    """
    one = 1 << _DIGITS
    table = np.empty((_ROWS, 4))
    for k in range(_ROWS):
        term, sums, n = one, [0, 0], 0
        while term:
            sums[n % 2] += term if n % 4 < 2 else -term
            n += 1
            term = term * k // (128 * n)
        for column, exact in ((2, sums[0]), (0, sums[1])):
            rounded = exact / one
            over, under = rounded.as_integer_ratio()
            table[k, column : column + 2] = rounded, (exact * under - over * one) / (one * under)
    return table.ravel()
