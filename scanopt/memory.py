"""How much memory programs may hold, as users say it: `2e9`, `"2GB"`, `"512 MiB"`, `"free"`."""

from __future__ import annotations

import math
import re
from numbers import Real

__all__ = ["FREE", "as_bytes", "bytes_text"]

FREE = "free"
"""The memory that the machine, or the container, has free."""

_UNITS: dict[str, int] = {"": 1, "B": 1} | {
    f"{letter}{two}B": (1024 if two else 1000) ** n for n, letter in enumerate("KMGT", 1) for two in ("", "I")
}


def as_bytes(memory: object) -> float | None:
    """The number of bytes that a number or a text stands for; None for "free".

    Raises TypeError or ValueError for anything else, saying what is expected.

    >>> as_bytes("2GB"), as_bytes("0.5 KiB"), as_bytes(1000), as_bytes("free")
    (2000000000.0, 512.0, 1000.0, None)
    >>> as_bytes("2 gigs")
    Traceback (most recent call last):
    ValueError: memory must be a positive number of bytes, a text such as '2GB' or '512 MiB', or 'free', found '2 gigs'
    """
    if memory == FREE and isinstance(memory, str):
        return None
    found = _of_text(memory) if isinstance(memory, str) else memory
    expected = f"memory must be a positive number of bytes, a text such as '2GB' or '512 MiB', or {FREE!r}"
    if isinstance(found, bool) or not isinstance(found, Real):
        kind = ValueError if isinstance(memory, str) else TypeError
        raise kind(f"{expected}, found {memory!r}")
    try:
        number = float(found)
    except OverflowError:  # an integer too large for a float
        number = math.inf if str(found)[:1] != "-" else -math.inf
    if not number > 0:  # NaN, too
        raise ValueError(f"{expected}, found {memory!r}")
    return number


def _of_text(text: str) -> float | None:
    parts = re.fullmatch(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?|inf)\s*([A-Za-z]*)\s*", text)
    if parts is None or parts[2].upper() not in _UNITS:
        return None
    try:
        number = float(parts[1])
    except ValueError:
        return None
    return number * _UNITS[parts[2].upper()]


def bytes_text(n: float) -> str:
    """A number of bytes for people.

    >>> bytes_text(800), bytes_text(2_400_000), bytes_text(float("inf"))
    ('800 bytes', '2.4 MB', 'any number of bytes')
    >>> bytes_text(999_999), bytes_text(1)
    ('1 MB', '1 byte')
    """
    if not math.isfinite(n):
        return "any number of bytes"
    for unit in ("TB", "GB", "MB", "KB"):
        if n >= 0.9995 * _UNITS[unit]:  # the numbers that round to at least one unit
            return f"{n / _UNITS[unit]:.3g} {unit}"
    return f"{n:.0f} byte{'s' * (round(n) != 1)}"
