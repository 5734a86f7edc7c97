"""On how many threads a function's kernels may run."""

from __future__ import annotations

from typing import Any

from scanopt.array.shown import shown
from scanopt.config import config

__all__ = ["threads_of"]


def threads_of(asked: Any) -> int | None:
    """The most threads asked for, here or by config; None for as many as there are processors.

    Raises TypeError or ValueError for anything else.

    >>> threads_of(2), threads_of("auto")
    (2, None)
    """
    if asked is None:
        asked = config.threads
    if isinstance(asked, bool) or not isinstance(asked, int | str):
        raise TypeError(f"threads must be 'auto' or a number of threads, found {shown(str(asked))}")
    if asked in ("auto", 0):
        return None
    if isinstance(asked, str) or asked < 0:
        raise ValueError(f"threads must be 'auto' or a number of threads, found {asked!r}")
    return asked
