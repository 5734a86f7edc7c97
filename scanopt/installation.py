"""Identifies the loaded files of this library by a text: a cached file is valid only for the text it was made with."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec

import numpy as np

__all__ = ["PACKAGES", "installation"]

PACKAGES = ("scanopt", "scanopt.rewrites", "scanopt.backends")
_LOADED = time.time()


@cache
def installation() -> str:
    """A text that changes with any file of this library and of those that it optimizes with, and with the machine.

    "" where that is not known: the library does not consist of files, or one of them has changed since it was loaded.
    """
    places = [p for name in PACKAGES if (spec := find_spec(name)) for p in spec.submodule_search_locations or ()]
    apart = [p for p in places if os.path.dirname(p) not in places]  # an installed package has the others inside it
    found = {path: about for place in apart for path, about in _sources(place)}
    others = [spec.origin for name in ("egglog", "scipy") if (spec := find_spec(name)) and spec.origin]
    found |= {path: os.stat(path) for path in others}
    if not found or max(x.st_mtime for x in found.values()) > _LOADED:
        return ""
    machine = os.uname().machine if hasattr(os, "uname") else sys.platform
    stamps = [f"{path} {about.st_size} {about.st_mtime_ns}" for path, about in sorted(found.items())]
    return "\n".join([sys.version, np.__version__, machine, *stamps])


def _sources(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """The source files below a folder, each with its size and time of change."""
    with os.scandir(folder) as entries:
        for x in entries:
            if x.name.endswith(".py"):
                yield x.path, x.stat()
            elif x.name != "__pycache__" and x.is_dir():
                yield from _sources(x.path)
