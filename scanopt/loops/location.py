"""The place in the user's code where a loop was written."""

from __future__ import annotations

import sys
import warnings
from functools import cache
from pathlib import Path
from types import FrameType

from scanopt.array.shown import shown

__all__ = ["user_location", "warn_at"]

_PACKAGE = Path(__file__).resolve().parent.parent
_USER_CODE = ("rewrites", "backends")  # installed inside the package, but counted as user code


@cache
def _inside_engine(file: str) -> bool:
    try:
        parts = Path(file).resolve().relative_to(_PACKAGE).parts
    except (ValueError, OSError):  # OSError: the name is relative to a folder that no longer exists
        return False
    return not parts or parts[0] not in _USER_CODE


def user_location() -> str:
    """'file:line' of the innermost frame outside scanopt, '' when there is none.

    >>> user_location().startswith("<doctest")
    True
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _inside_engine(frame.f_code.co_filename):
        frame = frame.f_back
    return shown(f"{frame.f_code.co_filename}:{frame.f_lineno}") if frame is not None else ""


def warn_at(location: str, text: str, kind: type[Warning] = UserWarning) -> None:
    """Issue a warning for a line of the user's code.  location: from `user_location`."""
    file, _, line = location.rpartition(":")
    warnings.warn_explicit(text, kind, file or "<unknown>", int(line or 1))
