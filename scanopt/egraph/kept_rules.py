"""What is derived from the laws and facts of this library, cached on disk: deriving it takes longer than most programs.

It holds for the files that it was made of (`scanopt/installation.py`).  With laws or facts from elsewhere it is made
anew.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from scanopt.cached_files import CachedFiles, unpickled
from scanopt.calculus.condition import Fact
from scanopt.calculus.law import RULESETS, Law, registered
from scanopt.installation import installation

__all__ = ["RULES", "kept"]

RULES = CachedFiles("rules", ".rules", most=32)

T = TypeVar("T")


def kept(name: str, of: Collection[Law | Fact], make: Callable[[], T]) -> T:
    """What `make` returns, read from disk if it was made before.  name, of: everything that decides what that is."""
    file = _file(name, of)
    if file is None:
        return make()
    found: T | None = unpickled(file)
    if found is None:
        found = make()
        RULES.save(file, found)
    return found


def _file(name: str, of: Collection[Law | Fact]) -> Path | None:
    """The cache file of what is derived from these laws and facts; None if it may not be kept, or has no folder."""
    if not (installation() and _ours(of)):
        return None
    told = "\n".join([installation(), name, *(x.name for x in of)])
    with suppress(OSError):
        return RULES.path(told)
    return None


def _ours(of: Collection[Law | Fact]) -> bool:
    """Whether laws and facts are those that the modules of this library define."""
    modules = {x.module for x in of if isinstance(x, Fact)}
    if not all(name.partition(".")[0] == "scanopt" for name in modules):
        return False
    laws = {id(x) for name, m in sys.modules.items() if name.startswith(f"{RULESETS}.") for x in registered(m)}
    facts = {id(x) for name in modules for x in vars(sys.modules[name]).values() if isinstance(x, Fact)}
    return all(id(x) in laws or id(x) in facts for x in of)
