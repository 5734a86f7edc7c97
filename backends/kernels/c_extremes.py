"""C functions for the extreme of a packed row, and for its place: they take a vector register of elements at a time.

Each lane keeps its first extreme and the place of that.  At the end of a row some elements are read a second time,
which changes nothing.  The result depends on the order only as to which NaN, or which of 0.0 and -0.0, is found: in
these cases NumPy's loop is called, or the place is found in order.
"""

from __future__ import annotations

from string import Template

import numpy as np

from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.numpy_loops import REAL

__all__ = ["EXTREMES", "FIRST_PLACES", "extreme"]

EXTREMES = {"maximum": ">", "minimum": "<"}
_FURTHER = {"greater": (">", "<="), "less": ("<", ">=")}
_MOST = 256
"""The longest row whose extreme is found here; for longer rows NumPy's loop is as fast."""
_FEW = 12
"""A row in which the place of the extreme is found in order: lanes would often wait for an element just written."""
_LANES = """\
#ifndef WIDTH_$T
#if defined(__AVX512F__)
#define WIDTH_$T (64 / (int)sizeof($T))
#elif defined(__AVX__)
#define WIDTH_$T (32 / (int)sizeof($T))
#else
#define WIDTH_$T (16 / (int)sizeof($T))
#endif
typedef $T lanes_$T __attribute__((vector_size(WIDTH_$T * sizeof($T)), aligned(sizeof($T)), may_alias));
typedef $I places_$T __attribute__((vector_size(WIDTH_$T * sizeof($T)), aligned(sizeof($T)), may_alias));
#define EITHER_$T(test, a, b) ((lanes_$T)(((test) & (places_$T)(a)) | (~(test) & (places_$T)(b))))
#define HERE_$T(x) (*(const lanes_$T *)(x))
#endif
"""
_PLACE = """\
static inline int64 first_${OP}_in_lanes_$T(const $T *x, int64 n)
{
    enum { L = WIDTH_$T };
    lanes_$T a = HERE_$T(x), b = HERE_$T(x + L);
    places_$T odd = (a != a) | (b != b), p = {0}, q = p + L;
    for (int64 i = 2 * L; i < n; i += 2 * L) {
        const int64 k = i + 2 * L <= n ? i : n - 2 * L;
        const lanes_$T c = HERE_$T(x + k), d = HERE_$T(x + k + L);
        const places_$T first = c $SIGN a, second = d $SIGN b, here = (places_$T){0} + ($I)k;
        odd |= (c != c) | (d != d);
        p = (first & here) | (~first & p);
        q = (second & (here + L)) | (~second & q);
        a = EITHER_$T(first, c, a);
        b = EITHER_$T(second, d, b);
    }
    const places_$T nearer = (b $SIGN a) | ((b == a) & (q < p));
    a = EITHER_$T(nearer, b, a);
    p = (nearer & q) | (~nearer & p);
    $T best[L];
    $I at[L], any = 0;
    _Pragma("GCC unroll 16")
    for (int i = 0; i < L; i++) { best[i] = a[i]; at[i] = p[i] + i; any |= odd[i]; }
    _Pragma("GCC unroll 16")
    for (int l = L / 2; l; l >>= 1)
        _Pragma("GCC unroll 16")
        for (int i = 0; i < l; i++) {
            const int other = (best[l + i] $SIGN best[i]) | ((best[l + i] == best[i]) & (at[l + i] < at[i]));
            best[i] = other ? best[l + i] : best[i];
            at[i] = other ? at[l + i] : at[i];
        }
    return any ? -1 : at[0];
}
static inline void first_${OP}_$T(int64 *y, const $T *x, int64 n)
{
    $T best = x[0];
    int64 at = n >= 2 * WIDTH_$T && n > $FEW && n <= 0x7fffffff ? first_${OP}_in_lanes_$T(x, n) : -1;
    if (at >= 0) { *y = at; return; }
    at = 0;
    for (int64 i = 1; i < n; i++)
        if (!(x[i] $NOT best) & (best == best)) {
            ONE_BY_ONE
            best = x[i];
            at = i;
        }
    *y = at;
}
"""
_EXTREME = """\
static inline int reduce_${OP}_$T($T *y, const $T *x, int64 n)
{
    enum { L = WIDTH_$T };
    $T found = *y;
    int odd = found != found, other = 0;
    if (n > $MOST) return 0;
    if (n < 2 * L)
        for (int64 i = 0; i < n; i++) {
            const $T element = x[i];
            odd |= element != element;
            found = found $SIGN element ? found : element;
        }
    else {
        lanes_$T a = (lanes_$T){0} + found, b = a;
        places_$T nan = {0};
        for (int64 i = 0; i < n; i += 2 * L) {
            const int64 k = i + 2 * L <= n ? i : n - 2 * L;
            const lanes_$T c = HERE_$T(x + k), d = HERE_$T(x + k + L);
            nan |= (c != c) | (d != d);
            a = EITHER_$T(a $SIGN c, a, c);
            b = EITHER_$T(b $SIGN d, b, d);
        }
        a = EITHER_$T(a $SIGN b, a, b);
        for (int i = 0; i < L; i++) {
            odd |= nan[i] != 0;
            found = found $SIGN a[i] ? found : a[i];
        }
    }
    if (odd) return 0;
    if (found == 0) {
        other = (*y == 0) & (!__builtin_signbit(*y) != !__builtin_signbit(found));
        for (int64 i = 0; i < n; i++) other |= (x[i] == 0) & (!__builtin_signbit(x[i]) != !__builtin_signbit(found));
        if (other) return 0;
    }
    *y = found;
    return 1;
}
"""


_FIRST_TRUTH = """\
static inline void first_${OP}_bool(int64 *y, const bool8 *x, int64 n)
{
    int64 i = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (; i + 8 <= n; i += 8) {
        uint64 a;
        __builtin_memcpy(&a, x + i, 8);
        $LOOK
        if (a) { *y = i + (__builtin_ctzll(a) >> 3); return; }
    }
#endif
    while (i < n && $GO) i++;
    *y = i < n ? i : 0;
}
"""
_ZERO_BYTES = "a = (a - 0x0101010101010101ull) & ~a & 0x8080808080808080ull;"


def extreme(op: str, dtype: str) -> str:
    """The C text of a function that finds the extreme of a row of floats; it returns 0 where NumPy's loop must run."""
    return _text(_EXTREME, dtype, OP=op, SIGN=EXTREMES[op], MOST=_MOST)


def _text(text: str, dtype: str, **words: object) -> str:
    own = f"int{8 * np.dtype(dtype).itemsize}"
    return Template(_LANES + text).substitute(words, FEW=_FEW, T=TYPES[dtype], I=own)


FIRST_PLACES = {
    f"first_{op}_{dtype}": _text(_PLACE, dtype, OP=op, SIGN=sign, NOT=opposite)
    for op, (sign, opposite) in _FURTHER.items()
    for dtype in REAL
    if np.dtype(dtype).itemsize >= 4
} | {
    f"first_{op}_bool": Template(_FIRST_TRUTH).substitute(OP=op, LOOK=look, GO=go)
    for op, look, go in (("greater", "", "!x[i]"), ("less", _ZERO_BYTES, "x[i]"))
}
"""The C text of functions that find the place of the first extreme of a row, by name."""
