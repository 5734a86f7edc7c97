"""Functions of double precision for four numbers at a time, with the bits of NumPy's loops, where these are slow.

NumPy brings vector functions for processors with AVX-512.  For others its loops for `exp` and `log` call the C library
for each number, and its loop for `tanh` looks up the coefficients of a polynomial one by one.  Here they are computed
by the same operations in the same order: `exp` and `log` as by the GNU C library (Szabolcs Nagy's functions, with a
table of the powers of 2 ** (1 / 128), and the library's table), `tanh` with the coefficients in NumPy's library.  A
trial compares the bits and the times of a loop with NumPy's; kernels call it only if it has the same bits for some ten
thousand numbers and takes less time.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence
from functools import cache
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np

from scanopt.backends.kernels.build import Build
from scanopt.backends.kernels.print_c import NAME
from scanopt.backends.kernels.trials import call_of, least_seconds, same_bits
from scanopt.backends.kernels.written_tanh import tanh_address

__all__ = ["ask_for_vectors", "library", "put_vectors", "vector_loop"]

_FUNCTIONS = ("exp", "tanh", "log")
_DTYPES = ("float64", "float64")
_GAIN = 0.9
"""A loop must take at most this fraction of the time of NumPy's."""
_COUNT, _TIMED = 10_000, 1_000
"""Numbers for which bits are compared, and for which a loop is timed."""
_PATIENCE = 2.0
"""Seconds to wait for the functions, which are compiled once on a machine, when the first kernel is there."""
_LN2, _TABLE = ("0x1.62e42fefa3800p-1", "0x1.ef35793c76730p-45", "-0x1.0000000000001p-1"), 18 + 2 * 128
"""The numbers that the table of the C library's `log` begins with, and its length."""
_DIGITS = 256
"""Binary digits of the powers of 2 ** (1 / 128) before they are rounded."""

_TEXT = f"""\
typedef long long int64; typedef double float64;
#if defined(__AVX2__) && defined(__FMA__) && !defined(__AVX512F__)
typedef float64 numbers __attribute__((vector_size(32)));
typedef int64 bits __attribute__((vector_size(32)));
#define FMA(x, y, z) __builtin_ia32_vfmaddpd256(x, y, z)
#define ANY(x) __builtin_ia32_movmskpd256((numbers)(x))
#define ALL(x) ((numbers){{x, x, x, x}})
#define MAGNITUDE (bits){{~SIGN, ~SIGN, ~SIGN, ~SIGN}}
#define SIGN (1LL << 63)
#define LAST 0x78000000000000LL
#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#define MIX(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define UNROLLED _Pragma("GCC unroll 32")
#define MIX(a, b, i, j, k, l) __builtin_shuffle(a, b, (bits){{i, j, k, l}})
#endif
float64 exp(float64);
float64 log(float64);

static inline __attribute__((always_inline)) numbers choice(bits where, numbers a, numbers b)
{{
    return (numbers)((where & (bits)a) | (~where & (bits)b));
}}

/* The power: 2 ** (k / 128), and what was rounded off, by a polynomial of the rest of x. */
static inline __attribute__((always_inline)) numbers exp_of(const float64 *table, numbers x)
{{
    const numbers shift = ALL(0x1.8p52);
    const numbers whole = FMA(x, ALL(0x1.71547652b82fep7), shift), k = whole - shift;
    const numbers r = FMA(k, ALL(-0x1.cf79abc9e3b39p-47), FMA(k, ALL(-0x1.62e42fefa0000p-8), x)), r2 = r * r;
    const bits at = (bits)whole & 127;
    const float64 *const a = table + 2 * at[0], *const b = table + 2 * at[1];
    const float64 *const c = table + 2 * at[2], *const d = table + 2 * at[3];
    const numbers tail = {{a[0], b[0], c[0], d[0]}}, at_zero = {{a[1], b[1], c[1], d[1]}};
    const numbers power = (numbers)((bits)at_zero + ((bits)whole << 45));
    const numbers low = FMA(FMA(ALL(0x1.555555555543cp-3), r, ALL(0x1.ffffffffffdbdp-2)), r2, tail + r);
    const numbers high = FMA(r, ALL(0x1.1111167a4d017p-7), ALL(0x1.55555cf172b91p-5));
    numbers found = FMA(power, FMA(r2 * r2, high, low), power);
    const bits large = ((bits)x & MAGNITUDE) >= (bits)ALL(512.0);
    if (ANY(large))
        for (int i = 0; i < 4; i++)
            if (large[i]) found[i] = exp(x[i]);
    return found;
}}

/* A polynomial around the centre of one of 16 intervals; its coefficients lie side by side. */
static inline __attribute__((always_inline)) numbers tanh_of(const float64 *table, numbers x)
{{
    const bits top = (bits)x & 0x7ff8000000000000LL, place = top - 0x3fc0000000000000LL;
    const bits last = {{LAST, LAST, LAST, LAST}}, above = place & (place > 0), far = above > last;
    const bits at = ((above & ~far) | (last & far)) >> 51;
    numbers c[18];
    UNROLLED
    for (int k = 16; k >= 0; k -= 4) {{
        const int from = k == 16 ? 14 : k;
        numbers rows[4];
        UNROLLED
        for (int i = 0; i < 4; i++) __builtin_memcpy(rows + i, table + 18 * at[i] + from, sizeof(numbers));
        const numbers a = MIX(rows[0], rows[1], 0, 4, 2, 6), b = MIX(rows[0], rows[1], 1, 5, 3, 7);
        const numbers d = MIX(rows[2], rows[3], 0, 4, 2, 6), e = MIX(rows[2], rows[3], 1, 5, 3, 7);
        c[from] = MIX(a, d, 0, 1, 4, 5);
        c[from + 1] = MIX(b, e, 0, 1, 4, 5);
        c[from + 2] = MIX(a, d, 2, 3, 6, 7);
        c[from + 3] = MIX(b, e, 2, 3, 6, 7);
    }}
    const numbers y = (numbers)((bits)x & MAGNITUDE) - c[0];
    numbers found = c[17];
    UNROLLED
    for (int k = 16; k >= 1; k--) found = FMA(found, y, c[k]);
    const bits huge = top > 0x7fe0000000000000LL;
    found = choice(huge, choice(x == x, ALL(1.0), x), found);
    return (numbers)(((bits)found & MAGNITUDE) | ((bits)x & SIGN));
}}

/* k ln 2 + log(c) + log(z / c) for x = 2 ** k z, by a c near z in the table and a polynomial; a longer one near 1.
   The table begins with ln 2 in two parts and the coefficients of both. */
static inline __attribute__((always_inline)) numbers log_of(const float64 *table, numbers x)
{{
    const bits from = (bits)x - 0x3fe6000000000000LL, place = (from >> 45) & 127, power = from >> 52;
    const float64 *const a = table + 18 + 2 * place[0], *const b = table + 18 + 2 * place[1];
    const float64 *const c = table + 18 + 2 * place[2], *const d = table + 18 + 2 * place[3];
    const numbers inverse = {{a[0], b[0], c[0], d[0]}}, of_c = {{a[1], b[1], c[1], d[1]}};
    const numbers k = (numbers)(power + 0x4338000000000000LL) - 0x1.8p52;
    const numbers z = (numbers)((bits)x - (power << 52));
    const numbers w = FMA(k, ALL(table[0]), of_c), r = FMA(z, inverse, ALL(-1.0)), sum = r + w, r2 = r * r;
    const numbers low = FMA(r2, ALL(table[2]), FMA(k, ALL(table[1]), (w - sum) + r));
    const numbers odd = FMA(FMA(r, ALL(table[6]), ALL(table[5])), r2, FMA(ALL(table[4]), r, ALL(table[3])));
    numbers found = FMA(r * r2, odd, low) + sum;
    const bits near = ((bits)x >= 0x3fee000000000000LL) & ((bits)x < 0x3ff1090000000000LL);
    if (ANY(near)) {{
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
    }}
    const bits odd_ones = ((bits)x < 0x0010000000000000LL) | ((bits)x >= 0x7ff0000000000000LL);
    if (ANY(odd_ones))
        for (int i = 0; i < 4; i++)
            if (odd_ones[i]) found[i] = log(x[i]);
    return found;
}}

#define LOOP(NAME_OF, FUNCTION) \\
static void NAME_OF(char **G, const int64 *dims, const int64 *strides, void *table) \\
{{ \\
    const int64 n = dims[0], in = strides[0], out = strides[1]; \\
    const char *x = G[0]; \\
    char *y = G[1]; \\
    int64 i = 0; \\
    if (in == sizeof(float64) && out == in) \\
        for (; i + 4 <= n; i += 4, x += 4 * in, y += 4 * out) {{ \\
            numbers v; \\
            __builtin_memcpy(&v, x, sizeof(v)); \\
            v = FUNCTION(table, v); \\
            __builtin_memcpy(y, &v, sizeof(v)); \\
        }} \\
    for (; i < n; i += 4, x += 4 * in, y += 4 * out) {{ \\
        const int left = n - i < 4 ? (int)(n - i) : 4; \\
        numbers v = {{0}}; \\
        for (int k = 0; k < left; k++) v[k] = *(const float64 *)(x + k * in); \\
        v = FUNCTION(table, v); \\
        for (int k = 0; k < left; k++) *(float64 *)(y + k * out) = v[k]; \\
    }} \\
}}
LOOP(exp_float64, exp_of)
LOOP(tanh_float64, tanh_of)
LOOP(log_float64, log_of)
#else
#define exp_float64 0
#define tanh_float64 0
#define log_float64 0
#endif
int64 {NAME}(char **G, const int64 *N, void **F)
{{
    F[0] = exp_float64; F[1] = tanh_float64; F[2] = log_float64;
    return {len(_FUNCTIONS)};
}}
"""


@cache
def library() -> Build:
    """The build of the functions of this file, which are the same for all kernels and are compiled once."""
    return Build(_TEXT)


def ask_for_vectors(loops: Iterable[tuple[str, tuple[str, ...]]]) -> None:
    """Start to compile the functions of this file if a kernel with these loops may call them."""
    if any(name in _FUNCTIONS and dtypes == _DTYPES for name, dtypes in loops):
        library().poll()


def put_vectors(loops: Iterable[tuple[str, tuple[str, ...]]], pointers: MutableSequence[Any]) -> None:
    """Put loops of this file in place of NumPy's, where these are better.  pointers: of each loop and of its data."""
    wanted = [(slot, name) for slot, (name, dtypes) in enumerate(loops) if name in _FUNCTIONS and dtypes == _DTYPES]
    for slot, name in wanted:
        plain = pointers[2 * slot] or 0, pointers[2 * slot + 1] or 0
        pointers[2 * slot], pointers[2 * slot + 1] = vector_loop(name, plain)


@cache
def vector_loop(name: str, plain: tuple[int, int]) -> tuple[int, int]:
    """The addresses of a loop and of its data: of this file's, or of NumPy's, which is given, if that is better."""
    if library().poll(_PATIENCE) is None:
        return plain
    own = library().addresses(len(_FUNCTIONS))[_FUNCTIONS.index(name)], _table(name)
    return own if all(own) and _is_better(own, plain) else plain


def _table(name: str) -> int:
    """The address of the table that a loop reads; 0 if there is none."""
    if name == "tanh":
        return tanh_address("float64")
    table = _powers() if name == "exp" else _logarithms()
    return 0 if table is None else int(table.ctypes.data)


def _is_better(own: tuple[int, int], plain: tuple[int, int]) -> bool:
    """Whether one loop has the bits of another, for numbers of all kinds, and takes clearly less time."""
    x, found = _numbers(), np.empty((2, _COUNT))
    for (loop, data), out in zip((own, plain), found, strict=True):
        call_of(loop, (x, out), (_COUNT,), (x.itemsize, x.itemsize), data)()
    if not same_bits(*found):
        return False
    x = np.linspace(0.01, 8, _TIMED)
    timed = [call_of(loop, (x, found[0]), (_TIMED,), (x.itemsize, x.itemsize), data) for loop, data in (own, plain)]
    return least_seconds(timed[0]) < _GAIN * least_seconds(timed[1])


def _numbers() -> np.ndarray[Any, Any]:
    """Numbers of all sizes, numbers of random bits, and special ones; without np.random, which takes long to import."""
    words = np.arange(1, _COUNT + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    found: np.ndarray[Any, Any] = words.view("int64") * 2.0**-63 * np.resize([1e-9, 0.01, 1, 30, 800, 1], _COUNT)
    found[3::24] = 1 + 0.06 * found[3::24] / 30
    found[5::6] = words.view("float64")[5::6]
    odd = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 512.0, -745.2, 709.8]
    found[::101] = np.resize(odd, found[::101].size)
    return found


@cache
def _logarithms() -> np.ndarray[Any, Any] | None:
    """A copy of the C library's table for `log`, found by its first numbers; None if there is none."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if "/libm.so" in line or "/libm-" in line}
        data = b"".join(Path(path).read_bytes() for path in sorted(paths))
    except (OSError, IndexError):
        return None
    place = data.find(np.array([float.fromhex(x) for x in _LN2], "<f8").tobytes())
    if place < 0 or len(data) < place + 8 * _TABLE:
        return None
    return np.frombuffer(data[place : place + 8 * _TABLE], "<f8").copy()


@cache
def _powers() -> np.ndarray[Any, Any]:
    """What is rounded off, relatively, and the rounded power 2 ** (k / 128), less k << 45 in its bits, for each k.

    >>> _powers()[:2].tolist()
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
