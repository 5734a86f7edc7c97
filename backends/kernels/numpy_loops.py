"""Finds the addresses of NumPy's and SciPy's inner loops: the functions that ufuncs call for a row of elements.

Kernels call them to get NumPy's bits.  `PyUFuncObject` is part of NumPy's public C interface: after the object's head
there are four ints, then the functions, their data, and their types.  Before any of this is used, it is compared with
the attributes that the ufunc shows in Python.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from functools import cache
from typing import Any

import numpy as np

from scanopt.array.numerics.scipy_special import special_function
from scanopt.array.operators.special import SPECIAL
from scanopt.array.types import COMPLEX
from scanopt.backends.kernels.direct_calls import direct_address
from scanopt.backends.kernels.dtype_functions import dtype_function
from scanopt.backends.kernels.lapack import lapack_function

__all__ = ["DTYPES", "REAL", "available", "inner_loop", "loop_dtypes"]

REAL = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
DTYPES = (*REAL, *COMPLEX)
"""The dtypes in which kernels compute; on devices they compute in `REAL` only."""


class _Ufunc(ctypes.Structure):
    """The fields of a ufunc object after its head."""

    _fields_ = (
        ("nin", ctypes.c_int), ("nout", ctypes.c_int), ("nargs", ctypes.c_int), ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)), ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int), ("reserved", ctypes.c_int), ("name", ctypes.c_void_p),
        ("types", ctypes.POINTER(ctypes.c_char)),
    )  # fmt: skip


_OF_MATRICES = (
    "solve", "solve1", "inv", "cholesky_lo", "det", "slogdet", "eigh_lo", "eigh_up", "eigvalsh_lo", "eigvalsh_up",
    "svd", "svd_s", "svd_f", "qr_r_raw", "qr_reduced",
)  # fmt: skip


def ufunc(name: str) -> Any:
    """The ufunc of this name, also those behind np.clip and in np.linalg; None where there is none."""
    if name in SPECIAL:
        try:
            return special_function("numpy", name)
        except ImportError:  # programs that were saved run without SciPy
            return None
    linalg = dict.fromkeys(_OF_MATRICES, "numpy.linalg._umath_linalg")
    fourier = dict.fromkeys(("fft", "ifft", "rfft_n_even", "rfft_n_odd", "irfft"), "numpy.fft._pocketfft_umath")
    place = {"clip": "numpy._core.umath", **linalg, **fourier}.get(name, "numpy")
    return getattr(importlib.import_module(place), name, None)


@cache
def available() -> bool:
    """Whether ufuncs and arrays lie in memory as expected.

    >>> available() in (True, False)
    True
    """
    if sys.implementation.name != "cpython" or not np.__version__.startswith("2."):
        return False
    x = np.zeros(2)
    data = ctypes.c_void_p.from_address(id(x) + object.__basicsize__).value
    return data == x.ctypes.data and all(_fits(f) for f in (np.add, np.exp, np.matmul))


def _read(f: Any) -> _Ufunc:
    return _Ufunc.from_address(id(f) + object.__basicsize__)


def _fits(f: Any) -> bool:
    """Whether the fields in memory agree with the attributes in Python; only the last test follows a pointer."""
    s = _read(f)
    if (s.nin, s.nout, s.nargs, s.ntypes) != (f.nin, f.nout, f.nargs, f.ntypes):
        return False
    kinds = [_types(s, i) for i in range(s.ntypes)]
    told = [bytes(np.dtype(c).num for c in text.replace("->", "")) for text in f.types]
    return kinds == told and ctypes.string_at(s.name or 0).decode() == f.__name__


def _types(s: _Ufunc, i: int) -> bytes:
    return bytes(s.types[i * s.nargs + k][0] for k in range(s.nargs))


@cache
def inner_loop(name: str, dtypes: tuple[str, ...]) -> tuple[int, int] | None:
    """The addresses of the function and the data of a ufunc for arguments and a result of these dtypes, if it has one.

    >>> inner_loop("tanh", ("float64", "bool")) is None
    True
    """
    of_dtype = (direct_address, dtype_function, lapack_function)
    if found := next((x for f in of_dtype if (x := f(name, dtypes[0]))), 0):
        return found, 0
    f = ufunc(name)
    if not available() or not isinstance(f, np.ufunc) or not _fits(f) or any(d not in DTYPES for d in dtypes):
        return None
    s, wanted = _read(f), bytes(np.dtype(d).num for d in dtypes)
    place = next((i for i in range(s.ntypes) if _types(s, i) == wanted), None)
    if place is None or not s.functions[place]:
        return None
    return s.functions[place], (s.data[place] or 0) if s.data else 0


@cache
def loop_dtypes(name: str, dtypes: tuple[str, ...]) -> tuple[str, ...] | None:
    """The dtypes in which a ufunc computes for arguments of these dtypes, its result last; None where kernels cannot.

    >>> loop_dtypes("divide", ("int64", "float32"))
    ('float64', 'float64', 'float64')
    """
    f = ufunc(name)
    if not isinstance(f, np.ufunc):
        return None
    try:
        found = f.resolve_dtypes((*map(np.dtype, dtypes), *(None,) * f.nout))
    except TypeError:
        return None
    names = tuple(d.name for d in found)
    return names if f.nout == 1 and all(n in DTYPES for n in names) else None
