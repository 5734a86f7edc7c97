"""Lines of Python: those of a user's files around the calls that made a loop, and those that define a law."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from scanopt.calculus.law import Law

__all__ = ["law_lines", "user_lines"]

_PLACE = re.compile(r"\(([^()]+):(\d+)\)$")
_BEFORE, _AFTER, _MOST = 30, 20, 400  # lines around a call, and of one file


def user_lines(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """For each file, the lines around all sites that the rows name: the number of the `first`, and the `lines`.

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


def law_lines(law: Law) -> str:
    """The definition of a law as it is written, with its decorator; "" where its file cannot be read any more."""
    for program in (*law.example, *law.never):
        code = getattr(program, "__code__", None)
        if code is not None and (text := _definitions(code.co_filename).get(law.name)):
            return text
    return ""


@lru_cache(maxsize=128)
def _definitions(file: str) -> Mapping[str, str]:
    """The functions of a file, by name."""
    lines = linecache.getlines(file)
    try:
        body = ast.parse("".join(lines)).body
    except (SyntaxError, ValueError):
        return {}
    found = (x for x in body if isinstance(x, ast.FunctionDef))
    return {x.name: "".join(lines[_first(x) - 1 : x.end_lineno]).rstrip() for x in found}


def _first(x: ast.FunctionDef) -> int:
    return min(x.lineno, *(d.lineno for d in x.decorator_list)) if x.decorator_list else x.lineno
