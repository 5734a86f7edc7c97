"""Reads NumPy's table of C functions (`_ARRAY_API`), at the places that NumPy's headers define."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

__all__ = ["entry_of"]

_NUMPY_2 = 0x02000000


@cache
def _table() -> ctypes.Array[ctypes.c_void_p] | None:
    try:
        table = ctypes.pythonapi.PyCapsule_GetPointer
        table.restype, table.argtypes = ctypes.POINTER(ctypes.c_void_p), [ctypes.py_object, ctypes.c_char_p]
        found = table(sys.modules["numpy._core._multiarray_umath"]._ARRAY_API, None)
    except (KeyError, AttributeError, ValueError):
        return None
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(found[0] or 0)()
    return found if version == _NUMPY_2 else None


def entry_of(place: int) -> int:
    """The address at a place of the table; 0 where the table is not available."""
    table = _table()
    return (table[place] or 0) if table is not None else 0
