"""Finds the lengths of slices whose computed ends are a known number of elements apart, as x[i:i+k] at each step i."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scanopt.backends.kernels.bodies import Body, walk
from scanopt.backends.kernels.nodes import WHOLE, Map, SetItem, View

__all__ = ["parts_by_computed_ends", "windows_of"]

Shape = tuple[int | None, ...]


def windows_of(body: Body, known: Mapping[str, int]) -> dict[str, Shape]:
    """For each such part, its lengths, with None for unknown ones.  known: the values of numbers.

    A slice that is cut off at the end of its array would have fewer elements: kernels check that when they run.
    """
    made = {n.out: n for n in walk(body.root.nodes) if isinstance(n, Map)}
    views = parts_by_computed_ends(body)
    found = {view.out: tuple(_length(entry, made, known) for entry in view.axes) for view in views}
    return {name: shape for name, shape in found.items() if any(n is not None for n in shape)}


def parts_by_computed_ends(body: Body) -> Iterator[View]:
    """Yield the parts of arrays that are taken by slices with computed ends."""
    for n in walk(body.root.nodes):
        view = n.part if isinstance(n, SetItem) else n
        if isinstance(view, View) and view.ends:
            yield view


def _length(entry: tuple[int, tuple[Any, ...]] | None, made: Mapping[str, Map], known: Mapping[str, int]) -> int | None:
    start, stop, step = WHOLE if entry is None else entry[1]
    if not (isinstance(start, str) and isinstance(stop, str)) or step not in (None, 1):
        return None
    (first, more), (last, most) = (_moved(name, made, known) for name in (start, stop))
    return max(most - more, 0) if first == last else None


def _moved(name: str, made: Mapping[str, Map], known: Mapping[str, int]) -> tuple[str, int]:
    """Write a number as another one plus a known number."""
    moved = 0
    while name in made and made[name].op in ("add", "subtract") and made[name].dtype == "int64":
        a, b = made[name].args
        sign = 1 if made[name].op == "add" else -1
        if b in known:
            name, moved = a, moved + sign * known[b]
        elif a in known and sign == 1:
            name, moved = b, moved + known[a]
        else:
            break
    return name, moved
