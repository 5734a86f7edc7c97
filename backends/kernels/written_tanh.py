"""The hyperbolic tangent, of one number or four, computed as by NumPy's loop, with the coefficients in its library.

NumPy's loop has vector code for it: a polynomial around the centre of one of some intervals.  For one number, most of
its time is overhead.  The coefficients are found in the file of the library by the centres, whose bits are evenly
spaced; if they are not there, as in builds for other processors, the loop is called.
"""

from __future__ import annotations

import mmap
import re
from functools import cache
from typing import Any

import numpy as np

__all__ = ["TANH", "tanh_address", "tanh_table", "tanh_text"]

_LAYOUTS = {"float64": (0x3FCC << 48, 8 << 48, 14, 16), "float32": (0x3D700000, 0x200000, 30, 6)}
"""For each dtype: the bits of the first centre other than 0, the distance to the next, their number, and the degree."""
_WORDS = {
    "float64": {
        "BITS": "int64", "FINITE": "0x7ff8000000000000LL", "HUGE": "0x7fe0000000000000LL",
        "FIRST": "0x3fc0000000000000LL", "LAST": "0x78000000000000LL", "SHIFT": "51", "DEGREE": "16", "F": "",
    },
    "float32": {
        "BITS": "int32", "FINITE": "0x7fe00000", "HUGE": "0x7f000000",
        "FIRST": "0x3d400000", "LAST": "0x3e00000", "SHIFT": "21", "DEGREE": "6", "F": "f",
    },
}  # fmt: skip
_TEXT = """\
static inline T tanh_T(const T *table, T x)
{
    BITS bits;
    __builtin_memcpy(&bits, &x, sizeof(T));
    bits &= FINITE;
    if (bits > HUGE) return x == x ? __builtin_copysignF(1, x) : __builtin_nanF("");
    BITS place = bits - FIRST;
    place = place > 0 ? place : 0;
    place = place < LAST ? place : LAST;
    const T *c = table + (place >> SHIFT) * (DEGREE + 2);
    const T y = __builtin_fabsF(x) - c[0];
    T r = c[DEGREE + 1];
    UNROLLED
    for (int k = DEGREE; k >= 1; k--) r = __builtin_fmaF(r, y, c[k]);
    return __builtin_copysignF(r, x);
}
"""

TANH = """\
#define LAST 0x78000000000000LL
/* A polynomial around the centre of one of 16 intervals; its coefficients lie side by side. */
static inline __attribute__((always_inline)) numbers tanh_of(const float64 *table, numbers x)
{
    const bits top = (bits)x & 0x7ff8000000000000LL, place = top - 0x3fc0000000000000LL;
    const bits last = {LAST, LAST, LAST, LAST}, above = place & (place > 0), far = above > last;
    const bits at = ((above & ~far) | (last & far)) >> 51;
    numbers c[18];
    UNROLLED
    for (int k = 0; k < 16; k += 4) columns(table, 18 * at + k, c + k);
    columns(table, 18 * at + 14, c + 14);
    const numbers y = (numbers)((bits)x & MAGNITUDE) - c[0];
    numbers found = c[17];
    UNROLLED
    for (int k = 16; k >= 1; k--) found = FMA(found, y, c[k]);
    const bits huge = top > 0x7fe0000000000000LL;
    found = choice(huge, choice(x == x, ALL(1.0), x), found);
    return (numbers)(((bits)found & MAGNITUDE) | ((bits)x & SIGN));
}
"""
"""`tanh_of(table, x)` of double precision, in the words of `vector_functions.py`."""


@cache
def tanh_table(dtype: str = "float64") -> np.ndarray[Any, Any] | None:
    """For each interval, its centre and its coefficients, lowest power first; None if not found."""
    start, distance, count, degree = _LAYOUTS[dtype]
    centres = np.array([0, *(start + k * distance for k in range(count)), 0], f"u{np.dtype(dtype).itemsize}")
    try:
        with open(np._core._multiarray_umath.__file__, "rb") as file:  # type: ignore[attr-defined]
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (AttributeError, OSError, ValueError):
        return None
    wanted, place = centres.tobytes(), -1
    with data:
        while (place := data.find(wanted, place + 1)) >= 0:
            found = np.frombuffer(data[place : place + len(wanted) * (degree + 2)], dtype)
            if found.size == centres.size * (degree + 2):
                table = found.reshape(degree + 2, centres.size).T
                if table[0, 2] == 1 and table[-1, 1] == 1:  # other functions have tables of the same centres
                    return table.copy()
    return None


def tanh_address(dtype: str) -> int:
    """The address of the coefficients for a dtype; 0 where there are none.

    >>> tanh_address("int64")
    0
    """
    table = tanh_table(dtype) if dtype in _LAYOUTS else None
    return 0 if table is None else table.ctypes.data


def tanh_text(dtype: str) -> str:
    """The C text of the function, which takes the coefficients and a number."""
    words = _WORDS[dtype] | {"T": dtype}
    text = re.sub(r"\b(__builtin_\w+?)F\b", lambda m: m[1] + words["F"], _TEXT)
    text = text.replace("tanh_T", f"tanh_{dtype}")
    return re.sub(r"\b(T|BITS|FINITE|HUGE|FIRST|LAST|SHIFT|DEGREE)\b", lambda m: words[m[0]], text)
