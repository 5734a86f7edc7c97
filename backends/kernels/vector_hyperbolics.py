"""exp(x) - 1, hyperbolic functions and distances of doubles for four numbers at a time, with the bits of the C library.

They are computed by the operations of the library's functions, in their order: distances by those of Carlos Borges,
the others by those of Sun Microsystems, compiled for processors with FMA.
"""

from __future__ import annotations

from scanopt.backends.kernels.vector_exponentials import EXPONENTIALS

__all__ = ["HYPERBOLICS", "HYPOT"]

HYPERBOLICS = (
    EXPONENTIALS
    + """\
/* Numbers of at most 38.8 in size, as x = k ln 2 + r, with what of r is rounded off: exp(r) - 1 from a fraction, and
   then times 2 ** k. */
static inline __attribute__((always_inline)) numbers expm1_within(numbers x)
{
    const bits top = ((bits)x & MAGNITUDE) >> 32, reduced = top > 0x3fd62e42, by_one = reduced & (top < 0x3ff0a2b2);
    const numbers sign = (numbers)(((bits)x & SIGN) | (bits)ALL(0.5));
    const numbers rounded = __builtin_ia32_roundpd256(0x1.71547652b82fep0 * x + sign, 3);
    const numbers t = choice(reduced, choice(by_one, 2.0 * sign, rounded), ALL(0.0));
    const bits k = (bits)(t + 0x1.8p52) - 0x4338000000000000LL;
    const numbers high = FMA(-t, ALL(0x1.62e42feep-1), x), less = t * 0x1.a39ef35793c76p-33;
    const numbers r = choice(reduced, high - less, x), c = high - r - less;
    const numbers half = 0.5 * r, z = r * half, z2 = z * z;
    const numbers first = FMA(z, ALL(-0x1.11111111110f4p-5), ALL(1.0));
    const numbers second = FMA(z, ALL(-0x1.4ce199eaadbb7p-14), ALL(0x1.a01a019fe5585p-10));
    const numbers third = FMA(z, ALL(-0x1.afdb76e09c32dp-23), ALL(0x1.0cfca86e65239p-18));
    const numbers p = FMA(z2 * z2, third, FMA(z2, second, first)), q = FMA(-p, half, ALL(3.0));
    const numbers fraction = (p - q) / FMA(-r, q, ALL(6.0)) * z;
    const numbers e = FMA(r, fraction - c, -c) - z;
    const numbers scale = (numbers)((k + 1023) << 52), inverse = (numbers)((1023 - k) << 52);
    const numbers few = ((1.0 - inverse) - (e - r)) * scale, many = ((r - (e + inverse)) + 1.0) * scale;
    numbers found = choice(k < 20, few, many);
    found = choice(k < -1, (1.0 - (e - r)) * scale - 1.0, found);
    found = choice(k == -1, 0.5 * (r - e) - 0.5, found);
    found = choice(k == 1, choice(r < -0.25, -2.0 * (e - (r + 0.5)), 1.0 + 2.0 * (r - e)), found);
    found = choice(k == 0, r - FMA(r, fraction, -z), found);
    return choice(top < 0x3c900000, x, found);
}

static inline __attribute__((always_inline)) numbers expm1_of(const float64 *table, numbers x)
{
    (void)table;
    const bits far = ((bits)x & MAGNITUDE) >= 0x4043687a00000000LL, none = far & (x < -38.0);
    numbers found = choice(none, ALL(-1.0), expm1_within(x));
    ONE_BY_ONE(far & ~none, expm1(x[i]))
    return found;
}

static inline __attribute__((always_inline)) numbers sinh_of(const float64 *table, numbers x)
{
    const numbers size = (numbers)((bits)x & MAGNITUDE), half = (numbers)(((bits)x & SIGN) | (bits)ALL(0.5));
    const bits near = size < 22.0, tiny = size < 0x1p-28;
    numbers found = x;
    if (ANY(near & ~tiny)) {
        const numbers t = expm1_within(choice(near, size, ALL(1.0)));
        const numbers small = half * (2.0 * t - t * t / (t + 1.0)), more = half * (t + t / (t + 1.0));
        found = choice(tiny, x, choice(size < 1.0, small, more));
    }
    if (ANY(~near)) found = choice(near, found, half * exp_of(table, size));
    ONE_BY_ONE(~(size < 709.0), sinh(x[i]))
    return found;
}

static inline __attribute__((always_inline)) numbers cosh_of(const float64 *table, numbers x)
{
    const numbers size = (numbers)((bits)x & MAGNITUDE), e = exp_of(table, size);
    const bits near = (bits)size < 0x3fd62e4300000000LL;
    numbers found = choice(size < 22.0, 0.5 * e + 0.5 / e, 0.5 * e);
    if (ANY(near)) {
        const numbers t = expm1_within(choice(near, size, ALL(0.0))), w = 1.0 + t;
        found = choice(near, choice((bits)size < 0x3c80000000000000LL, w, 1.0 + t * t / (w + w)), found);
    }
    ONE_BY_ONE(~(size < 709.0), cosh(x[i]))
    return found;
}
"""
)
"""`expm1_of`, `sinh_of` and `cosh_of`, in the words of `vector_functions.py`."""

HYPOT = """\
static inline __attribute__((always_inline)) numbers hypot_of(const float64 *table, numbers x, numbers y)
{
    (void)table;
    const numbers a = (numbers)((bits)x & MAGNITUDE), b = (numbers)((bits)y & MAGNITUDE);
    const numbers high = choice(a < b, b, a), low = choice(a < b, a, b);
    const numbers h = __builtin_ia32_sqrtpd256(high * high + low * low);
    const numbers from_low = h - low, from_high = h - high;
    const bits alike = h <= 2.0 * low;
    const numbers first = choice(alike, high * (2.0 * from_low - high), 2.0 * from_high * (high - 2.0 * low));
    const numbers apart = (4.0 * from_high - low) * low + from_high * from_high;
    const numbers second = choice(alike, (from_low - 2.0 * (high - low)) * from_low, apart);
    numbers found = h - (first + second) / (2.0 * h);
    found = choice(low <= high * 0x1p-54, high + low, found);
    ONE_BY_ONE(~(high <= 0x1p+511) | (low < 0x1p-459), hypot(x[i], y[i]))
    return found;
}
"""
"""`hypot_of`, in the words of `vector_functions.py`."""
