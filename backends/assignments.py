"""Writes the simultaneous assignments that end a step of a generated loop, as when two states swap their rows.

They are written one by one, unless one of them overwrites a name that a later one reads; then all of them are a
single tuple assignment, whose right sides Python evaluates before it assigns.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.records import dataclass

__all__ = ["Assignment", "in_order"]


@dataclass(frozen=True)
class Assignment:
    """An assignment between steps: target = text, where text reads the names `reads`."""

    target: str
    text: str
    reads: tuple[str, ...]


def in_order(moves: Sequence[Assignment]) -> list[str]:
    """Return lines that do all assignments as if at once: each reads the values from before.

    >>> in_order([Assignment("a", "b", ("b",)), Assignment("b", "a", ("a",))])
    ['a, b = b, a']
    """
    assigned: set[str] = set()
    for move in moves:
        if assigned & set(move.reads):
            return [f"{', '.join(m.target for m in moves)} = {', '.join(m.text for m in moves)}"]
        assigned.add(move.target)
    return [f"{move.target} = {move.text}" for move in moves]
