"""The user's own lines: of each file that a loop of a program comes from, those around the calls that made it."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["user_lines"]

_PLACE = re.compile(r"\(([^()]+):(\d+)\)$")
_BEFORE, _AFTER, _MOST = 30, 20, 400  # lines around a call, and of one file


def user_lines(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """By file the lines around all sites that the rows name: the number of the `first`, and their `lines`.

    A file that cannot be read any more is left out.
    """
    places: dict[str, set[int]] = {}
    for site in {site for row in rows for site in row.get("sites", ())}:
        if found := _PLACE.search(site):
            places.setdefault(found[1], set()).add(int(found[2]))
    out: dict[str, dict[str, Any]] = {}
    for file, numbers in sorted(places.items()):
        text = linecache.getlines(file)
        if len(text) >= min(numbers):
            first = max(1, min(numbers) - _BEFORE)
            last = min(len(text), max(numbers) + _AFTER, first + _MOST - 1)
            out[file] = {"first": first, "lines": [line.rstrip("\n") for line in text[first - 1 : last]]}
    return out
