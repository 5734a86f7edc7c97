"""Functions that NumPy has for each dtype, as addresses: those that sort a row, or find the order of its elements.

`PyArray_ArrFuncs` is part of NumPy's public C interface.  A function is tried once before it is used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

import numpy as np

from scanopt.backends.kernels.numpy_table import entry_of

__all__ = ["called", "dtype_function"]

_OF_DTYPE = 365
"""The place of the function that gives those of a dtype in the table of functions for C."""
_PLACES = {
    f"{op} {kind}": place + i
    for op, place in (("sort", 33), ("argsort", 36))
    for kind, i in (("quicksort", 0), ("mergesort", 2), ("stable", 2))
}
"""Where they are among the functions of a dtype."""
_TYPES = {"sort": "int (*)(char *, int64, void *)", "argsort": "int (*)(char *, int64 *, int64, void *)"}


@cache
def dtype_function(name: str, dtype: str) -> int:
    """The address of a function, such as "argsort stable", for a dtype; 0 where there is none.

    >>> dtype_function("exp", "float64")
    0
    """
    place, of_dtype = _PLACES.get(name), entry_of(_OF_DTYPE)
    if place is None or not of_dtype:
        return 0
    functions = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(of_dtype)(np.dtype(dtype))
    found: int = (ctypes.c_void_p * (place + 1)).from_address(functions)[place] or 0
    return found if found and _sorts(name, dtype, found) else 0


def _sorts(name: str, dtype: str, address: int) -> bool:
    """Whether a function does with some elements, many of them equal, what NumPy does in Python."""
    op, kind = name.split()
    x, places = np.resize([1, 0.0, -0.0], 100).astype(dtype), np.arange(100)
    expected = getattr(np, op)(x, kind=kind)
    arrays = [x] if op == "sort" else [x, places]
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
    types = (*(ctypes.c_void_p for _ in arrays), ctypes.c_ssize_t, ctypes.c_void_p)
    ctypes.CFUNCTYPE(ctypes.c_int, *types)(address)(*pointers, len(x), None)
    return bool(arrays[-1].tobytes() == expected.tobytes())


def called(name: str, pointer: str, args: Sequence[str]) -> str:
    """The text that calls such a function, whose result is negative where it lacks memory; "" for another name."""
    if name not in _PLACES:
        return ""
    first, *rest = args
    return f"(({_TYPES[name.split()[0]]}){pointer})({', '.join([f'(char *){first}', *rest, '0'])})"
