"""Finds the addresses of functions that NumPy has for each dtype: they sort a row, find its order, or multiply vectors.

Kernels call them to get NumPy's results for ties, NaN and rounding.  `PyArray_ArrFuncs` is part of NumPy's public C
interface.  A function that sorts is tried once before it is used.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache

import numpy as np

from scanopt.backends.kernels.numpy_table import entry_of

__all__ = ["dtype_function", "dtype_text"]

_OF_DTYPE = 365
"""The place, in NumPy's table of C functions, of the function that returns the functions of a dtype."""
_PLACES = {
    f"{op} {kind}": place + i
    for op, place in (("sort", 33), ("argsort", 36), ("insert", 33))
    for kind, i in (("quicksort", 0), ("mergesort", 2), ("stable", 2))
} | {"convolve": 27}
"""The place of each function among those of a dtype; for a convolution, that of the product of two vectors."""
_MOST = 64
"""The longest row that is sorted without a call if it is in order but for its last two elements, which are inserted: a
step often puts an element into a sorted row.  Equal elements have equal bits, so all ways of sorting give the same."""
_TEXTS = {
    "sort": """\
static int sort_row_T(void *f, T *x, int64 n)
{
    int64 run = 1;
    int odd = n > MOST, zeros = 0; /* NumPy decides where NaN go, and in which order zeros of both signs are */
    while (run < n && !odd && !(x[run] < x[run - 1])) run++;
    odd |= run < n - 2;
    if (!odd)
        for (int64 i = 0; i < n; i++) {
            odd |= x[i] != x[i];
            zeros |= x[i] == 0 ? 1 + (__builtin_copysign(1.0, x[i]) < 0) : 0;
        }
    if (odd || zeros == 3) return ((int (*)(void *, int64, void *))f)(x, n, 0);
    for (int64 i = run; i < n; i++) {
        const T last = x[i];
        int64 k = i;
        for (; k > 0 && last < x[k - 1]; k--) x[k] = x[k - 1];
        x[k] = last;
    }
    return 0;
}
""",
    "insert": """\
static int insert_row_T(
    void *f, T *x, const T *y, T *all, int64 *known, int64 n, int64 start, int64 step, int64 behind);
static __attribute__((noinline)) int sorted_again_T(
    void *f, T *x, const T new, T *all, int64 *known, int64 n, int64 start, int64 step, int64 behind)
{
    T *least = step > 0 ? x : x + n - 1;
    const int sign = !__builtin_signbit((float64)new);
    int zeros = !*known || new != new;
    if (new == 0) for (int64 i = 0; i < n; i++) zeros |= x[i] == 0 && !__builtin_signbit((float64)x[i]) != sign;
    if (!zeros && start == (step > 0 ? 1 : n)) { /* the least element is left out */
        int64 k = 0;
        if (!(*least < new)) return 0;
        for (; k + 1 < n && least[(k + 1) * step] < new; k++) least[k * step] = least[(k + 1) * step];
        least[k * step] = new;
    } else if (!zeros) { /* the greatest one */
        int64 k = n - 1;
        if (!(new < least[k * step])) return 0;
        for (; k > 0 && new < least[(k - 1) * step]; k--) least[k * step] = least[(k - 1) * step];
        least[k * step] = new;
    } else { /* NumPy decides where NaN go, and in which order zeros of both signs are */
        for (int64 i = 0; i < n; i++) all[i + !behind] = x[i];
        all[behind ? n : 0] = new;
        if (((int (*)(void *, int64, void *))f)(all, n + 1, 0) < 0) return -1;
        int odd = 0;
        zeros = 0;
        for (int64 i = 0; i < n; i++) {
            x[i] = all[start + i * step];
            odd |= x[i] != x[i];
            zeros |= x[i] == 0 ? 1 + !!__builtin_signbit((float64)x[i]) : 0;
        }
        *known = !odd && zeros != 3;
    }
    return 0;
}
static int insert_row_T(
    void *f, T *x, const T *y, T *all, int64 *known, int64 n, int64 start, int64 step, int64 behind)
{
    const T new = *y;
    if (n < 1) return 0;
    const bool8 low = start == (step > 0 ? 1 : n);
    const T end = x[low == (step > 0) ? 0 : n - 1]; /* the element that is left out first */
    if (*known && (low ? new < end : new > end)) return 0;
    return sorted_again_T(f, x, new, all, known, n, start, step, behind);
}
""",
    "argsort": """\
static int argsort_row(void *f, void *x, int64 *places, int64 n)
{
    return ((int (*)(void *, int64 *, int64, void *))f)(x, places, n, 0);
}
""",
    "convolve": """\
static int convolve_T(void *f, const T *x, const T *y, T *turned, T *out, int64 n, int64 m)
{
    typedef void product(const T *, int64, const T *, int64, T *, int64, void *);
    if (n < m) {
        const T *a = x; x = y; y = a;
        const int64 k = n; n = m; m = k;
    }
    for (int64 i = 0; i < m; i++) turned[i] = y[m - 1 - i];
    for (int64 i = 1; i < m; i++) ((product *)f)(x, sizeof(T), turned + m - i, sizeof(T), out++, i, 0);
    if (m <= 11) {
        for (int64 i = 0; i <= n - m; i++) { /* as NumPy, one product after the other */
            T sum = 0;
            for (int64 k = 0; k < m; k++) sum += x[i + k] * turned[k];
            out[i] = sum;
        }
    } else {
        for (int64 i = 0; i <= n - m; i++) ((product *)f)(x + i, sizeof(T), turned, sizeof(T), out + i, m, 0);
    }
    x += n - m + 1;
    out += n - m + 1;
    for (int64 i = m - 1; i > 0; i--) ((product *)f)(x++, sizeof(T), turned, sizeof(T), out++, i, 0);
    return 0;
}
""",
}
"""C functions that call them; they return a negative number where there is no memory."""


@cache
def dtype_function(name: str, dtype: str) -> int:
    """The address of a function for a dtype, by a name such as "argsort stable"; 0 where there is none.

    >>> dtype_function("exp", "float64")
    0
    """
    place, of_dtype = _PLACES.get(name), entry_of(_OF_DTYPE)
    if place is None or not of_dtype:
        return 0
    functions = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(of_dtype)(np.dtype(dtype))
    found: int = (ctypes.c_void_p * (place + 1)).from_address(functions)[place] or 0
    if not found or name == "convolve":
        return found
    return found if _sorts(name, dtype, found) else 0


def _sorts(name: str, dtype: str, address: int) -> bool:
    """Whether a function sorts sample elements, many of them equal, as NumPy does when called from Python."""
    op, kind = name.replace("insert", "sort").split()
    x, places = np.resize([1, 0.0, -0.0], 100).astype(dtype), np.arange(100)
    expected = getattr(np, op)(x, kind=kind)
    arrays = [x] if op == "sort" else [x, places]
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
    types = (*(ctypes.c_void_p for _ in arrays), ctypes.c_ssize_t, ctypes.c_void_p)
    ctypes.CFUNCTYPE(ctypes.c_int, *types)(address)(*pointers, len(x), None)
    return bool(arrays[-1].tobytes() == expected.tobytes())


def dtype_text(name: str, dtype: str) -> str:
    """The C text that calls the function of this name; "" for another name."""
    if name not in _PLACES:
        return ""
    text, kind = _TEXTS[name.split()[0]], np.dtype(dtype).kind
    if kind != "f":  # integers and truth values are all ordered, and complex numbers are left to NumPy
        text = re.sub(r"\n +(zeros |if \(new == 0).*", "", text).replace("x[i] != x[i]", "0" if kind in "biu" else "1")
    typed = re.sub(r"\bMOST\b", str(_MOST), re.sub(r"\bT\b", "bool8" if dtype == "bool" else dtype, text))
    return typed.replace("_T(", f"_{dtype}(")
