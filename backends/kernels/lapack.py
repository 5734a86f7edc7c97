"""Finds the addresses of SciPy's LAPACK routines, and makes C functions that call them as array steps do.

The results have the same bits because the same routines run.  LAPACK expects columns to be contiguous, so for it an
array in C order is the transpose of the matrix.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache

from scanopt.libraries import library

__all__ = ["ROUTINES", "lapack_function", "lapack_text"]

ROUTINES = {"lu_solve": "getrs", "lu_factor": "getrf", "solve_triangular": "trtrs", "cho_solve": "potrs"}
"""The routine that each operator of the table calls."""
_LETTERS = {"float32": "s", "float64": "d"}
_SIGNATURES = {
    "getrs": "char *, int *, int *, T *, int *, int *, T *, int *, int *",
    "getrf": "int *, int *, T *, int *, int *, int *",
    "trtrs": "char *, char *, char *, int *, int *, T *, int *, T *, int *, int *",
    "potrs": "char *, int *, int *, T *, int *, T *, int *, int *",
}
_TEXTS = {
    "lu_solve": """\
static int lu_solve_T(void *f, T *a, T *x, int *pivots, int64 order, int64 columns, int64 trans)
{
    int n = order, k = columns, info = 0;
    char way = trans;
    for (int i = 0; i < n; i++) {
        if (a[(int64)i * n + i] == 0) return -1;
        const T p = a[(int64)n * n + i] + (T)0.5;
        const int place = p > 0 && p < (T)2147483648.0 ? (int)p : 0; /* LAPACK writes there, wherever that is */
        pivots[i] = (place < n ? place : n - 1) + 1;
    }
    ((void (*)(SIGNATURE))f)(&way, &n, &k, a, &n, pivots, x, &n, &info);
    return 0;
}
""",
    "lu_factor": """\
static int lu_factor_T(void *f, T *x, int *pivots, int64 order)
{
    int n = order, info = 0;
    ((void (*)(SIGNATURE))f)(&n, &n, x, &n, pivots, &info);
    for (int i = 0; i < n; i++) x[(int64)n * n + i] = pivots[i] - 1;
    return 0;
}
""",
    "solve_triangular": """\
static int solve_triangular_T(void *f, T *a, T *x, int64 order, int64 columns, int64 triangle, int64 trans, int64 unit)
{
    int n = order, k = columns, info = 0;
    char uplo = triangle, way = trans, diagonal = unit;
    ((void (*)(SIGNATURE))f)(&uplo, &way, &diagonal, &n, &k, a, &n, x, &n, &info);
    return -(info > 0);
}
""",
    "cho_solve": """\
static int cho_solve_T(void *f, T *a, T *x, int64 order, int64 columns, int64 triangle)
{
    int n = order, k = columns, info = 0;
    char uplo = triangle;
    ((void (*)(SIGNATURE))f)(&uplo, &n, &k, a, &n, x, &n, &info);
    return 0;
}
""",
}


@cache
def lapack_function(name: str, dtype: str) -> int:
    """The address of the routine that an operator calls; 0 where there is none, or it takes other arguments.

    >>> lapack_function("exp", "float64")
    0
    """
    routine, letter = ROUTINES.get(name), _LETTERS.get(dtype)
    if routine is None or letter is None:
        return 0
    try:
        found = library("scipy.linalg.cython_lapack", "", name).__pyx_capi__[letter + routine]
    except (ImportError, AttributeError, KeyError):  # programs that were saved run without SciPy
        return 0
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    told: bytes = name_of(found)
    address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ctypes.cast(pointer_of, ctypes.c_void_p).value or 0
    )
    kinds = re.sub(r"__pyx_t_\w+_[sd] \*", "T *", told.decode())
    return address(found, told) or 0 if kinds == f"void ({_SIGNATURES[routine]})" else 0


def lapack_text(name: str, dtype: str) -> str:
    """The C text that calls a routine; "" for other names."""
    if name not in ROUTINES:
        return ""
    text = _TEXTS[name].replace("SIGNATURE", _SIGNATURES[ROUTINES[name]])
    return re.sub(r"\bT\b", dtype, text).replace(f"{name}_T(", f"{name}_{dtype}(")
