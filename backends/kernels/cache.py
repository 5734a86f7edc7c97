"""Shared objects on disk: one file per kernel, private to the user, checked before it is loaded.

A file is a shared object followed by its digest.  It appears under its name at once and complete; one that was
changed, cut short or belongs to somebody else is not loaded, but made anew.  What is loaded is a copy without a name of
what was checked, which nobody can change any more.  Where nothing can be written in the user's cache, a directory of
the process takes its place.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from scanopt.forks import lock

__all__ = ["FILES", "folder", "key_of", "load", "publish"]

FILES = 400
"""So many are kept; beyond that those that were not used for longest are deleted."""
STALE = 3600.0
"""Seconds after which nobody is at work on a file any more."""
_MARK = b"\nscanopt kernel "
_TAIL = len(_MARK) + 32
_LOADED: dict[str, Any] = {}
_GUARD = lock()


def key_of(text: str, identity: str) -> str:
    """The name of what a text becomes, compiled by a compiler of this identity."""
    return hashlib.sha256(f"{identity}\0{text}".encode()).hexdigest()[:40]


@cache
def folder() -> Path:
    """The directory of shared objects, private to the user.  Raises OSError where none can be made."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~")) / ".cache"
    path = home / "scanopt" / "kernels"
    with suppress(OSError):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(path):
            with tempfile.TemporaryFile(dir=path):
                return path
    made = Path(tempfile.mkdtemp(prefix="scanopt-"))
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(made, ignore_errors=True) if os.getpid() == owner else None)
    return made


def _is_private(path: Path) -> bool:
    """Whether a directory or a file is the user's own, and nobody else can write to it."""
    found = os.lstat(path)
    return found.st_uid == os.geteuid() and not stat.S_ISLNK(found.st_mode) and not found.st_mode & 0o077


def load(key: str, name: str) -> Any:
    """The function `name` of a shared object that was published; None where there is none that can be trusted."""
    with _GUARD:
        if key not in _LOADED:
            found = _read(folder() / f"{key}.so", name)
            if found is None:
                return None
            _LOADED[key] = found
        return _LOADED[key]


def _read(path: Path, name: str) -> Any:
    try:
        if not _is_private(path):
            return None
        data = path.read_bytes()
        if len(data) <= _TAIL or data[-_TAIL:] != _MARK + hashlib.sha256(data[:-_TAIL]).digest():
            return None
        function = getattr(_loaded(data, path.parent), name)
    except (OSError, AttributeError):
        return None
    with suppress(OSError):
        os.utime(path)
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
    """Put a shared object under its name, its digest behind it.  Raises OSError."""
    data = made.read_bytes()
    target = folder() / f"{key}.so"
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data + _MARK + hashlib.sha256(data).digest())
            file.flush()
            os.fchmod(file.fileno(), 0o700)
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _prune(target.parent)


def _prune(path: Path) -> None:
    """Delete what was not used for longest, and what processes left behind that were stopped."""
    with suppress(OSError):
        with os.scandir(path) as entries:
            found = sorted((x.stat().st_mtime, x.path) for x in entries)
        whole = [name for _, name in found if name.endswith(".so")]
        left = [name for age, name in found if not name.endswith(".so") and age < time.time() - STALE]
        for name in [*whole[: max(0, len(whole) - FILES)], *left]:
            if os.path.isdir(name):
                shutil.rmtree(name, ignore_errors=True)
            else:
                os.unlink(name)
