"""Pauses of the garbage collector while many objects are made that will stay."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

from scanopt.forks import lock

__all__ = ["without_collections"]

_lock = lock(whole=True)
_pauses: list[bool] = []
"""For each pause in progress: whether the collector was on before the first of them."""


@contextmanager
def without_collections() -> Iterator[None]:
    """Pause the cyclic garbage collector in all threads: each collection would visit every object made so far.

    >>> with without_collections():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    with _lock:
        _pauses.append(_pauses[0] if _pauses else gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            if _pauses and _pauses.pop() and not _pauses:
                gc.enable()


def _forked() -> None:
    """End all pauses in a forked process: those of other threads would never end there."""
    if _pauses and _pauses[0]:
        gc.enable()
    _pauses.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
