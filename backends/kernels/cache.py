"""The compilation cache: shared objects on disk, one file per kernel, among the user's cached files.

A file is checked and copied to an unnamed file before it is loaded, so that nobody can change it in between.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from pathlib import Path
from typing import Any

from scanopt.cached_files import CachedFiles, read_published
from scanopt.forks import lock

__all__ = ["KERNELS", "folder", "key_of", "load", "publish"]

KERNELS = CachedFiles("kernels", ".so", most=400)
_LOADED: dict[str, Any] = {}
_GUARD = lock()


def key_of(text: str, identity: str) -> str:
    """The file name for a text, compiled by a compiler of this identity."""
    return KERNELS.name(f"{identity}\0{text}")


def folder() -> Path:
    """The directory of shared objects, private to the user.  Raises OSError if none can be made."""
    return KERNELS.folder()


def load(key: str, name: str) -> Any:
    """The function `name` of a published shared object; None if there is none that can be trusted."""
    with _GUARD:
        if key not in _LOADED:
            found = _read(folder() / key, name)
            if found is None:
                return None
            _LOADED[key] = found
        return _LOADED[key]


def _read(path: Path, name: str) -> Any:
    data = read_published(path)
    if data is None:
        return None
    try:
        function = getattr(_loaded(data, path.parent), name)
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_int64
    function.argtypes = [ctypes.c_void_p] * 3
    return function


def _loaded(data: bytes, place: Path) -> ctypes.CDLL:
    handle, name = tempfile.mkstemp(dir=place, suffix=".load")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        return ctypes.CDLL(name)
    finally:
        os.unlink(name)


def publish(key: str, made: Path) -> None:
    """Store a shared object under its name, followed by its digest.  Raises OSError."""
    KERNELS.write(folder() / key, made.read_bytes())
