"""Functions of single precision for eight numbers at a time, with the bits of the GNU C library and of NumPy's loops.

They are computed by the operations of the library's functions, in their order: exponentials by those of Szabolcs Nagy,
in double precision, the others by those of Sun Microsystems, in single precision and without FMA.
"""

from __future__ import annotations

__all__ = ["SINGLES"]

SINGLES = """\
float32 expf(float32);
float32 expm1f(float32);
float32 log1pf(float32);
typedef float64 doubles __attribute__((vector_size(32)));
typedef int64 wide_bits __attribute__((vector_size(32)));
typedef float32 half_of_them __attribute__((vector_size(16)));
#define DOUBLES(x) ((doubles){x, x, x, x})
#define FMA_OF_DOUBLES(x, y, z) __builtin_ia32_vfmaddpd256(x, y, z)

/* 2 ** (whole / 32) from the table, times 2 ** r by a polynomial. */
static inline __attribute__((always_inline)) numbers exp_of(const float64 *table, numbers x)
{
    half_of_them halves[2];
    __builtin_memcpy(halves, &x, sizeof(x));
    UNROLLED
    for (int i = 0; i < 2; i++) {
        const doubles wide = __builtin_convertvector(halves[i], doubles), scale = DOUBLES(0x1.71547652b82fep5);
        const doubles whole = FMA_OF_DOUBLES(wide, scale, DOUBLES(0x1.8p52));
        const doubles r = FMA_OF_DOUBLES(wide, scale, -(whole - 0x1.8p52));
        const wide_bits at = 8 * ((wide_bits)whole & 31) + 1;
        const doubles at_zero = {table[at[0]], table[at[1]], table[at[2]], table[at[3]]};
        const doubles power = (doubles)((wide_bits)at_zero + ((wide_bits)whole << 47));
        const doubles high = FMA_OF_DOUBLES(r, DOUBLES(0x1.c6af84b912394p-20), DOUBLES(0x1.ebfce50fac4f3p-13));
        const doubles low = FMA_OF_DOUBLES(r, DOUBLES(0x1.62e42ff0c52d6p-6), DOUBLES(1.0));
        halves[i] = __builtin_convertvector(FMA_OF_DOUBLES(high, r * r, low) * power, half_of_them);
    }
    numbers found;
    __builtin_memcpy(&found, halves, sizeof(x));
    const bits none = x < -104.0f;
    found = choice(none, ALL(0.0f), found);
    ONE_BY_ONE(~none & ~(((bits)x & MAGNITUDE) < (bits)ALL(88.0f)), expf(x[i]))
    return found;
}

/* As the function of double precision, with shorter polynomials. */
static inline __attribute__((always_inline)) numbers log1p_of(const float64 *table, numbers x)
{
    (void)table;
    const bits size = (bits)x & MAGNITUDE;
    const bits near = ((bits)x < 0x3ed413d7) & (((bits)x > 0) | ((bits)x <= (int)0xbe95f61f));
    const numbers sum = 1.0f + x;
    bits top = ((bits)sum >> 23) - 127;
    const bits upper = (bits)sum & 0x7fffff, high = ~near & (upper >= 0x3504f7);
    const numbers rest = choice(top > 0, 1.0f - (sum - x), x - (sum - 1.0f)) / sum;
    const numbers c = choice(near, ALL(0.0f), rest);
    const numbers reduced = (numbers)(upper | ((0x3f800000 & ~high) | (0x3f000000 & high)));
    const numbers f = choice(near, x, reduced - 1.0f);
    top = ~near & (top - high);
    const numbers k = __builtin_convertvector(top, numbers), half = 0.5f * f * f;
    const numbers s = f / (2.0f + f), z = s * s;
    numbers r = 0x1.39a09ep-3f + z * 0x1.2f112ep-3f;
    r = 0x1.c71c52p-3f + z * (0x1.74664ap-3f + z * r);
    r = z * (0x1.555556p-1f + z * (0x1.99999ap-2f + z * (0x1.24924ap-2f + z * r)));
    const numbers low = s * (half + r) + (k * 0x1.2fefa2p-17f + c);
    numbers found = choice(top == 0, f - (half - s * (half + r)), k * 0x1.62e300p-1f - ((half - low) - f));
    const numbers small = choice(size < 0x24800000, x, x - x * x * 0.5f);
    found = choice(size < 0x31000000, small, found);
    const bits tiny_f = ~near & ((upper == 0) | (high & (upper > 0x7ffffc)));
    ONE_BY_ONE(tiny_f | (x <= -1.0f) | (size >= 0x5a000000), log1pf(x[i]))
    return found;
}

/* As the function of double precision (`vector_hyperbolics.py`), with a shorter polynomial. */
static inline __attribute__((always_inline)) numbers expm1_of(const float64 *table, numbers x)
{
    (void)table;
    const bits size = (bits)x & MAGNITUDE, reduced = size > 0x3eb17218, by_one = reduced & (size < 0x3f851592);
    const numbers sign = (numbers)(((bits)x & SIGN) | (bits)ALL(0.5f));
    const numbers rounded = __builtin_ia32_roundps256(0x1.715476p+0f * x + sign, 3);
    const numbers t = choice(reduced, choice(by_one, 2.0f * sign, rounded), ALL(0.0f));
    const bits k = __builtin_convertvector(t, bits);
    const numbers high = x - t * 0x1.62e300p-1f, less = t * 0x1.2fefa2p-17f;
    const numbers r = choice(reduced, high - less, x), c = high - r - less;
    const numbers half = 0.5f * r, z = r * half;
    numbers p = -0x1.4ce19ap-14f + z * (0x1.0cfca8p-18f + z * -0x1.afdb76p-23f);
    p = 1.0f + z * (-0x1.111112p-5f + z * (0x1.a01a02p-10f + z * p));
    const numbers q = 3.0f - p * half, fraction = z * ((p - q) / (6.0f - r * q));
    const numbers e = (r * (fraction - c) - c) - z;
    const numbers scale = (numbers)((k + 127) << 23), inverse = (numbers)((127 - k) << 23);
    const numbers few = ((1.0f - inverse) - (e - r)) * scale, many = ((r - (e + inverse)) + 1.0f) * scale;
    numbers found = choice(k < 23, few, many);
    found = choice(k < -1, (1.0f - (e - r)) * scale - 1.0f, found);
    found = choice(k == -1, 0.5f * (r - e) - 0.5f, found);
    found = choice(k == 1, choice(r < -0.25f, -2.0f * (e - (r + 0.5f)), 1.0f + 2.0f * (r - e)), found);
    found = choice(k == 0, r - (r * fraction - z), found);
    found = choice(size < 0x33000000, x, found);
    const bits far = size >= 0x4195b844, none = far & (x < -18.0f);
    found = choice(none, ALL(-1.0f), found);
    ONE_BY_ONE(far & ~none, expm1f(x[i]))
    return found;
}

/* The greater one and log(1 + exp(-|x - y|)), as NumPy's function. */
static inline __attribute__((always_inline)) numbers logaddexp_of(const float64 *table, numbers x, numbers y)
{
    const numbers apart = x - y, less = (numbers)((bits)apart | SIGN);
    const bits equal = x == y;
    const numbers part = exp_of(table, choice(equal, ALL(-1.0f), less));
    return choice(equal, x + 0x1.62e430p-1f, choice(apart > 0, x, y) + log1p_of(table, part));
}

/* A NaN that says so as soon as something is computed of it. */
#define SIGNALS(x) ((((bits)x ^ 0x400000) & MAGNITUDE) > 0x7fc00000)

/* Computed in double precision. */
static inline __attribute__((always_inline)) numbers hypot_of(const float64 *table, numbers x, numbers y)
{
    (void)table;
    half_of_them a[2], b[2];
    __builtin_memcpy(a, &x, sizeof(x));
    __builtin_memcpy(b, &y, sizeof(y));
    UNROLLED
    for (int i = 0; i < 2; i++) {
        const doubles u = __builtin_convertvector(a[i], doubles), v = __builtin_convertvector(b[i], doubles);
        a[i] = __builtin_convertvector(__builtin_ia32_sqrtpd256(u * u + v * v), half_of_them);
    }
    numbers found;
    __builtin_memcpy(&found, a, sizeof(x));
    const numbers infinite = ALL(__builtin_inff());
    const bits endless = (((bits)x & MAGNITUDE) == (bits)infinite) | (((bits)y & MAGNITUDE) == (bits)infinite);
    return choice(endless & ~SIGNALS(x) & ~SIGNALS(y), infinite, found);
}
"""
"""`exp_of`, `log1p_of`, `expm1_of`, `logaddexp_of` and `hypot_of`, in the words of `vector_functions.py`."""
