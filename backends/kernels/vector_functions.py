"""Functions for four or eight numbers at a time, with the bits of NumPy's and SciPy's loops, where these are slow.

NumPy brings vector functions for processors with AVX-512, but none of `erf`, `hypot` and `logaddexp`.  For others most
of its loops and SciPy's call the C library for each number, and its loop for `tanh` looks up the coefficients of a
polynomial one by one.  Here they are computed by the same operations in the same order: as by the GNU C library
(`vector_exponentials.py`, `vector_sines.py`, `vector_hyperbolics.py`, in single precision `vector_singles.py`), as by
SciPy (`vector_errors.py`), or with the coefficients in NumPy's library (`written_tanh.py`).  A trial compares the bits
and the times of a loop with NumPy's; kernels call it only if it has the same bits for some ten thousand numbers and
takes less time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, MutableSequence
from functools import cache
from typing import Any

import numpy as np

from scanopt.backends.kernels.build import Build
from scanopt.backends.kernels.ir import NAME
from scanopt.backends.kernels.processor import has
from scanopt.backends.kernels.trials import call_of, least_seconds, same_bits
from scanopt.backends.kernels.vector_errors import ERRORS
from scanopt.backends.kernels.vector_exponentials import EXPONENTIALS, logarithms, powers, powers_and_logarithms
from scanopt.backends.kernels.vector_hyperbolics import HYPERBOLICS, HYPOT
from scanopt.backends.kernels.vector_sines import SINES, sines
from scanopt.backends.kernels.vector_singles import SINGLES
from scanopt.backends.kernels.written_tanh import TANH, tanh_table
from scanopt.records import dataclass

__all__ = ["library", "put_vectors", "vector_loop", "vectors_known"]


@dataclass(frozen=True)
class _Vectors:
    """A function for several numbers: the C text that defines it, its table, how many inputs it has, and its call.

    one: the call of a function of the C library for one number; "" if there is none with the same bits.
    computed: the dtype in which it computes.
    """

    text: str
    table: Callable[[], np.ndarray[Any, Any] | None]
    inputs: int
    call: str
    one: str = ""
    computed: str = "float64"


_FUNCTIONS = {
    ("exp", "float64"): _Vectors(EXPONENTIALS, powers, 1, "exp_of(table, x)", "exp(x)"),
    ("log", "float64"): _Vectors(EXPONENTIALS, logarithms, 1, "log_of(table, x)", "log(x)"),
    ("log10", "float64"): _Vectors(EXPONENTIALS, logarithms, 1, "log10_of(table, x)", "log10(x)"),
    ("log1p", "float64"): _Vectors(EXPONENTIALS, powers, 1, "log1p_of(table, x)", "log1p(x)"),
    ("expm1", "float64"): _Vectors(HYPERBOLICS, powers, 1, "expm1_of(table, x)", "expm1(x)"),
    ("sinh", "float64"): _Vectors(HYPERBOLICS, powers, 1, "sinh_of(table, x)", "sinh(x)"),
    ("cosh", "float64"): _Vectors(HYPERBOLICS, powers, 1, "cosh_of(table, x)", "cosh(x)"),
    ("hypot", "float64"): _Vectors(HYPOT, powers, 2, "hypot_of(table, x, y)", "hypot(x, y)"),
    ("logaddexp", "float64"): _Vectors(EXPONENTIALS, powers, 2, "logaddexp_of(table, x, y)"),
    ("power", "float64"): _Vectors(EXPONENTIALS, powers_and_logarithms, 2, "power_of(table, x, y)", "pow(x, y)"),
    ("sin", "float64"): _Vectors(SINES, sines, 1, "sin_of(table, x)", "sin(x)"),
    ("cos", "float64"): _Vectors(SINES, sines, 1, "cos_of(table, x)", "cos(x)"),
    ("tanh", "float64"): _Vectors(TANH, tanh_table, 1, "tanh_of(table, x)"),
    ("hypot", "float32"): _Vectors(SINGLES, powers, 2, "hypot_of(table, x, y)", "", "float32"),
    ("log1p", "float32"): _Vectors(SINGLES, powers, 1, "log1p_of(table, x)", "log1pf(x)", "float32"),
    ("expm1", "float32"): _Vectors(SINGLES, powers, 1, "expm1_of(table, x)", "expm1f(x)", "float32"),
    ("logaddexp", "float32"): _Vectors(SINGLES, powers, 2, "logaddexp_of(table, x, y)", "", "float32"),
    **{(name, dtype): _Vectors(ERRORS, powers, 1, f"{name}_of(table, x)")
       for name in ("erf", "erfc", "ndtr") for dtype in ("float64", "float32")},
}  # fmt: skip
"""By name and dtype."""
_SLOW_ANYWHERE = ("logaddexp", "hypot", "erf", "erfc", "ndtr")
_WANTED = {x for x in _FUNCTIONS if x[0] in _SLOW_ANYWHERE or not has("AVX512F")}
"""Those that may be better than NumPy's on this processor."""
_GAIN = 0.9
"""A loop must take at most this fraction of the time of NumPy's."""
_COUNT, _TIMED = 10_000, 1_000
"""Numbers for which bits are compared, and for which a loop is timed."""
_SIZES = (1e-9, 0.01, 1, 30, 800, 1, 2.5, 1e6)
"""Sizes of the numbers."""
_EXPONENTS = (2.0, 1.0, 0.5, 0.0, -1.0, 3.0, -0.5, 1.7)
"""Exponents that are tried for all numbers alike: NumPy's loop treats some of them apart."""
_TEXT = """\
typedef long long int64; typedef double float64; typedef float float32;
#if defined(__AVX2__) && defined(__FMA__)
#if IN_SINGLES
typedef int bits __attribute__((vector_size(32)));
#define WIDTH 8
#define ANY(x) __builtin_ia32_movmskps256((numbers)(x))
#define ALL(x) ((numbers){x, x, x, x, x, x, x, x})
#define SIGN ((int)(1u << 31))
#else
typedef int64 bits __attribute__((vector_size(32)));
#define WIDTH 4
#define FMA(x, y, z) __builtin_ia32_vfmaddpd256(x, y, z)
#define ANY(x) __builtin_ia32_movmskpd256((numbers)(x))
#define ALL(x) ((numbers){x, x, x, x})
#define SIGN (1LL << 63)
#endif
typedef COMPUTED numbers __attribute__((vector_size(32)));
typedef ELEMENT elements __attribute__((vector_size(WIDTH * sizeof(ELEMENT))));
#define MAGNITUDE ~SIGN
#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#define MIX(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define UNROLLED _Pragma("GCC unroll 32")
#define MIX(a, b, i, j, k, l) __builtin_shuffle(a, b, (bits){i, j, k, l})
#endif
float64 exp(float64);
float64 log(float64);
float64 log10(float64);
float64 log1p(float64);
float64 expm1(float64);
float64 sinh(float64);
float64 cosh(float64);
float64 hypot(float64, float64);
float64 pow(float64, float64);
float64 sin(float64);
float64 cos(float64);
float64 sqrt(float64);

static inline __attribute__((always_inline)) numbers choice(bits where, numbers a, numbers b)
{
    return (numbers)((where & (bits)a) | (~where & (bits)b));
}

#if !IN_SINGLES
/* Column k of four rows of a table, which begin at these places, in found[k]. */
static inline __attribute__((always_inline)) void columns(const float64 *table, bits at, numbers *found)
{
    numbers rows[4];
    UNROLLED
    for (int i = 0; i < 4; i++) __builtin_memcpy(rows + i, table + at[i], sizeof(numbers));
    const numbers a = MIX(rows[0], rows[1], 0, 4, 2, 6), b = MIX(rows[0], rows[1], 1, 5, 3, 7);
    const numbers c = MIX(rows[2], rows[3], 0, 4, 2, 6), d = MIX(rows[2], rows[3], 1, 5, 3, 7);
    found[0] = MIX(a, c, 0, 1, 4, 5);
    found[1] = MIX(b, d, 0, 1, 4, 5);
    found[2] = MIX(a, c, 2, 3, 6, 7);
    found[3] = MIX(b, d, 2, 3, 6, 7);
}
#endif

/* Numbers for which the vector code does not do. */
#define ONE_BY_ONE(where, value) \\
    const bits odd_ones = where; \\
    if (ANY(odd_ones)) \\
        for (int i = 0; i < WIDTH; i++) \\
            if (odd_ones[i]) found[i] = value;

FUNCTIONS
static inline __attribute__((always_inline)) numbers numbers_at(const char *x, int64 stride, int count)
{
    elements v = {0};
    if (stride == sizeof(ELEMENT) && count == WIDTH) __builtin_memcpy(&v, x, sizeof(v));
    else for (int k = 0; k < count; k++) v[k] = *(const ELEMENT *)(x + k * stride);
    return __builtin_convertvector(v, numbers);
}

static void every(char **G, const int64 *dims, const int64 *strides, void *table)
{
    const int64 n = dims[0];
    for (int64 i = 0; i < n; i += WIDTH) {
        const int count = n - i < WIDTH ? (int)(n - i) : WIDTH;
#if IN_C
        if (count < 3) { /* the C library takes less time for so few */
            for (int64 k = i; k < n; k++) {
                const ELEMENT x = *(const ELEMENT *)(G[0] + k * strides[0]);
                const ELEMENT y = *(const ELEMENT *)(G[INPUTS - 1] + k * strides[INPUTS - 1]);
                *(ELEMENT *)(G[INPUTS] + k * strides[INPUTS]) = ONE;
            }
            return;
        }
#endif
        const numbers x = numbers_at(G[0] + i * strides[0], strides[0], count);
        const numbers y = INPUTS > 1 ? numbers_at(G[1] + i * strides[1], strides[1], count) : x;
        const elements found = __builtin_convertvector(CALL, elements);
        char *const out = G[INPUTS] + i * strides[INPUTS];
        if (strides[INPUTS] == sizeof(ELEMENT) && count == WIDTH) __builtin_memcpy(out, &found, sizeof(found));
        else for (int k = 0; k < count; k++) *(ELEMENT *)(out + k * strides[INPUTS]) = found[k];
    }
}

/* As in NumPy's loop, some exponents that are the same for all numbers are no matter of logarithms. */
static void powers(char **G, const int64 *dims, const int64 *strides, void *table)
{
    const float64 y = dims[0] ? *(const float64 *)G[1] : 0;
    if (strides[1] || !(y == 2 || y == 1 || y == 0.5 || y == 0 || y == -1)) {
        every(G, dims, strides, table);
        return;
    }
    for (int64 i = 0; i < dims[0]; i++) {
        const float64 x = *(const float64 *)(G[0] + i * strides[0]);
        *(float64 *)(G[2] + i * strides[2]) = y == 2 ? x * x : y == 1 ? x : y == 0.5 ? sqrt(x) : y == 0 ? 1 : 1 / x;
    }
}
#endif
int64 NAME(char **G, const int64 *N, void **F)
{
#if defined(__AVX2__) && defined(__FMA__)
    F[0] = LOOP;
#else
    F[0] = 0;
#endif
    return 1;
}
"""


@cache
def library(name: str, dtype: str = "float64") -> Build:
    """The build of a function, which is the same for all kernels and is compiled once on a machine."""
    f = _FUNCTIONS[name, dtype]
    loop = "powers" if name == "power" else "every"
    words = {"INPUTS": str(f.inputs), "CALL": f.call, "NAME": NAME, "LOOP": loop, "FUNCTIONS": f.text, "ONE": f.one}
    words |= {"IN_C": str(int(bool(f.one))), "IN_SINGLES": str(int(f.computed == "float32"))}
    words |= {"ELEMENT": dtype, "COMPUTED": f.computed}
    return Build(re.sub(rf"\b({'|'.join(words)})\b", lambda m: words[m[0]], _TEXT))


def _wanted(loops: Iterable[tuple[str, tuple[str, ...]]]) -> dict[int, tuple[str, str]]:
    """The functions of this file that may take the place of loops, by the numbers of these."""
    found = {slot: (name, dtypes[0]) for slot, (name, dtypes) in enumerate(loops) if len(set(dtypes)) == 1}
    return {slot: function for slot, function in found.items() if function in _WANTED}


def vectors_known(loops: Iterable[tuple[str, tuple[str, ...]]], wait: float = 0.0) -> bool:
    """Whether the functions of this file that a kernel with these loops may call are compiled, or cannot be.

    The first call starts to compile them.  wait: seconds to wait for each.
    """
    builds = [library(*x) for x in dict.fromkeys(_wanted(loops).values())]
    for x in builds:
        x.poll()
    return all(x.poll(wait) is not None or x.trouble for x in builds)


def put_vectors(loops: Iterable[tuple[str, tuple[str, ...]]], pointers: MutableSequence[Any]) -> None:
    """Put loops of this file in place of NumPy's, where these are better.  pointers: of each loop and of its data."""
    for slot, function in _wanted(loops).items():
        plain = pointers[2 * slot] or 0, pointers[2 * slot + 1] or 0
        pointers[2 * slot], pointers[2 * slot + 1] = vector_loop(*function, plain)


@cache
def vector_loop(name: str, dtype: str, plain: tuple[int, int]) -> tuple[int, int]:
    """The addresses of a loop and of its data: of this file's, or of NumPy's, which is given, if that is better."""
    f, build = _FUNCTIONS[name, dtype], library(name, dtype)
    table = f.table()
    if table is None or build.function is None:
        return plain
    own = build.addresses(1)[0], int(table.ctypes.data)
    return own if all(own) and _is_better(own, plain, dtype, f.inputs > 1) else plain


def _is_better(own: tuple[int, int], plain: tuple[int, int], dtype: str = "float64", two: bool = False) -> bool:
    """Whether one loop has the bits of another, for numbers of all kinds, and takes clearly less time.

    two: whether they have two inputs.
    """
    numbers, item = _numbers(dtype), np.dtype(dtype).itemsize
    every: list[tuple[np.ndarray[Any, Any], ...]] = [(numbers,)]
    if two:
        x, exponents = np.abs(numbers), np.roll(numbers, _COUNT // 3)
        with np.errstate(invalid="ignore"):
            whole = np.rint(exponents)
        every = [(x, exponents), (-x, whole), (x, x), (x, np.roll(x, 8))]
        every += [(x, np.array([y], dtype)) for y in _EXPONENTS]
    found = np.empty((2, _COUNT), dtype)
    for given in every:
        for (loop, data), out in zip((own, plain), found, strict=True):
            strides = (*(item * (x.size > 1) for x in given), item)
            call_of(loop, (*given, out), (_COUNT,), strides, data)()
        if not same_bits(*found):
            return False
    x = np.linspace(0.01, 8, _TIMED, dtype=dtype)
    arrays = (x, x[::-1].copy(), found[0]) if two else (x, found[0])
    timed = [call_of(loop, arrays, (_TIMED,), (item,) * len(arrays), data) for loop, data in (own, plain)]
    return least_seconds(timed[0]) < _GAIN * least_seconds(timed[1])


def _numbers(dtype: str) -> np.ndarray[Any, Any]:
    """Numbers of all sizes, numbers of random bits, and special ones; without np.random, which takes long to import."""
    words = np.arange(1, _COUNT + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    found: np.ndarray[Any, Any] = words.view("int64") * 2.0**-63 * np.resize(_SIZES, _COUNT)
    found[3::24] = 1 + 0.06 * found[3::24] / 30
    odd = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 512.0, -745.2, 709.8, 2.5, -1e8]
    found[::101] = np.resize(odd, found[::101].size)
    with np.errstate(over="ignore"):
        numbers = found.astype(dtype)
    numbers[5::6] = words.view(dtype)[5:_COUNT:6]
    return numbers
