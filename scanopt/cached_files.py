"""Files in the user's cache: private to the user, complete under their names, checked before they are used.

A file is its content followed by a mark and its digest.  It appears under its name at once and complete.  A file that
was changed, was cut short or belongs to another user is treated as missing.  Where nothing can be written in the user's
cache, a temporary directory of the process takes its place.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from scanopt.records import dataclass

__all__ = ["CachedFiles", "private_folder", "prune", "published", "read_published", "unpickled"]

_MARK = b"\nscanopt cached "
_TAIL = len(_MARK) + 32
STALE = 3600.0
"""Age in seconds beyond which an unfinished file counts as abandoned."""


@cache
def private_folder(name: str) -> Path:
    """The directory of this name in the user's cache, private to the user.  Raises OSError where none can be made."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~")) / ".cache"
    path = home / "scanopt" / name
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


def read_published(path: Path) -> bytes | None:
    """The data published under `path`, which then counts as just used; None where there is no trustworthy file."""
    try:
        if not _is_private(path):
            return None
        data = path.read_bytes()
    except OSError:
        return None
    if len(data) <= _TAIL or data[-_TAIL:] != _MARK + hashlib.sha256(data[:-_TAIL]).digest():
        return None
    with suppress(OSError):
        os.utime(path)
    return data[:-_TAIL]


def published(path: Path, data: bytes) -> None:
    """Put data under a path, at once and complete.  Raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data + _MARK + hashlib.sha256(data).digest())
            file.flush()
            os.fchmod(file.fileno(), 0o700)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def prune(path: Path, suffix: str, most: int) -> None:
    """Delete the least recently used files with `suffix` beyond the newest `most`, and abandoned unfinished ones."""
    with suppress(OSError):
        with os.scandir(path) as entries:
            found = [*entries]
        whole = [x for x in found if x.name.endswith(suffix)]
        # Most often there is nothing to delete: files are asked for their dates only where there are too many.
        surplus = sorted(whole, key=lambda x: x.stat().st_mtime)[: len(whole) - most] if len(whole) > most else []
        left = [x for x in found if not x.name.endswith(suffix) and x.stat().st_mtime < time.time() - STALE]
        for x in (*surplus, *left):
            if x.is_dir():
                shutil.rmtree(x.path, ignore_errors=True)
            else:
                os.unlink(x.path)


@dataclass(frozen=True)
class CachedFiles:
    """One kind of cached files: they share a directory, and each is named by everything that decides its content."""

    directory: str
    suffix: str
    most: int
    """The most files that are kept; beyond that, the least recently used are deleted."""

    def folder(self) -> Path:
        """The directory, private to the user.  Raises OSError where none can be made."""
        return private_folder(self.directory)

    def files(self) -> list[Path]:
        """The files that are kept for the next process.  Raises OSError where no directory can be made."""
        return sorted(self.folder().glob(f"*{self.suffix}"))

    def name(self, decides: str) -> str:
        """The name of the file for a content that this text decides."""
        return f"{hashlib.sha256(decides.encode()).hexdigest()[:40]}{self.suffix}"

    def path(self, decides: str) -> Path:
        """The file for a content that this text decides.  Raises OSError where no directory can be made."""
        return self.folder() / self.name(decides)

    def write(self, path: Path, data: bytes) -> None:
        """Put data under a path, and delete files beyond the most.  Raises OSError."""
        published(path, data)
        prune(path.parent, self.suffix, self.most)

    def save(self, path: Path, value: object, largest: float = float("inf")) -> None:
        """Pickle a value into a file, where that takes no more than `largest` bytes and can be written."""
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        if len(data) <= largest:
            with suppress(OSError):
                self.write(path, data)


def unpickled(path: Path) -> Any:
    """The value saved in a file; None if there is none, or if it cannot be read: it is then made anew."""
    data = read_published(path)
    with suppress(Exception):
        return None if data is None else pickle.loads(data)
    return None
