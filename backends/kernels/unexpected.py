"""Errors in making a kernel that are bugs: array steps run in its place, and a warning says so."""

from __future__ import annotations

import warnings

__all__ = ["unexpected"]


def unexpected(error: Exception) -> str:
    """Warn of an error, unless memory or the stack was short, and return its text: why there is no kernel."""
    told = f"{type(error).__name__}: {error}"
    if not isinstance(error, MemoryError | RecursionError):
        text = f"a kernel could not be planned, array steps run in its place: {told}.  Please report this."
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    return told
