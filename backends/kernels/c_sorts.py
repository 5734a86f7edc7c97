"""Rows sorted in C: short ones by counting what is less, long ones by merging; NaNs last, as NumPy sorts."""

from __future__ import annotations

import re

import numpy as np

from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.numpy_loops import DTYPES

__all__ = ["SORTS"]

_TEXT = """\
static void sort_T(T *x, T *y, int64 *wrong, int64 n)
{
    int64 m = 0, above = 0, below = 0;
    T odd = 0;
    for (int64 i = 0; i < n; i++) {
        const T element = x[i];
        if (element != element) { odd = element; continue; }
        above |= ABOVE;
        below |= BELOW;
        x[m++] = element;
    }
    for (int64 i = m; i < n; i++) x[i] = odd;
    *wrong = above & below;
    for (int64 start = 0; start < m; start += 16) { /* an element stands behind what is less */
        const int64 stop = start + 16 < m ? start + 16 : m;
        for (int64 i = start; i < stop; i++) {
            int64 place = start;
            for (int64 j = start; j < stop; j++) place += (x[j] < x[i]) | ((x[j] == x[i]) & (j < i));
            y[place] = x[i];
        }
        for (int64 i = start; i < stop; i++) x[i] = y[i];
    }
    for (int64 half = 16; half < m; half *= 2) {
        for (int64 start = 0; start < m; start += 2 * half) {
            const int64 mid = start + half < m ? start + half : m, stop = mid + half < m ? mid + half : m;
            int64 a = start, b = mid;
            for (int64 k = start; k < stop; k++) y[k] = b >= stop || (a < mid && x[a] <= x[b]) ? x[a++] : x[b++];
        }
        for (int64 k = 0; k < m; k++) x[k] = y[k];
    }
}
"""
"""x: the row; y: room for as many.  wrong: whether there are zeros of both signs, whose order is NumPy's own."""
_ZERO = "(element == 0) & {}__builtin_signbit(element)"


def _text(dtype: str) -> str:
    signed = np.dtype(dtype).kind == "f"
    text = _TEXT.replace("ABOVE", _ZERO.format("!") if signed else "0")
    text = text.replace("BELOW", _ZERO.format("!!") if signed else "0")
    return re.sub(r"\bT\b", TYPES[dtype], text).replace("sort_T(", f"sort_{TYPES[dtype]}(")


SORTS = {f"sort_{TYPES[dtype]}": _text(dtype) for dtype in DTYPES}
"""By name the text of a function."""
