"""An order of e-classes that does not depend on the engine.

The engine numbers classes and lists rows in the order in which it meets them, so the choice among programs of equal
cost would depend on what was compiled before.  Here classes are ranked by the terms in them, those of the program
first.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scanopt.calculus.declarations import DECLARATIONS

__all__ = ["RANKED", "ranks"]

_SORTS = ("Value", "Clock", "State", "Args", "Move")
_LEFT_OUT = ("on", "on_args", "both", "both_args", "const_at")
"""Constructors of which each term is always equal to a term of another constructor."""

RANKED: dict[str, tuple[str, ...]] = {
    name: tuple(sorts.split())
    for name, sorts, out in re.findall(r"^\(constructor (\S+) \(([^)]*)\) (\w+)\)", DECLARATIONS, re.MULTILINE)
    if out in _SORTS and name not in _LEFT_OUT
}
"""The constructors that classes are ranked by, with the sorts of their arguments."""

Row = tuple[tuple[Any, ...], Any]


def ranks(rows: Mapping[str, Iterable[Row]], operators: Mapping[Any, object], first: Iterable[Any]) -> dict[Any, int]:
    """The rank of each class, by the engine's number, and of each operator.

    rows: those of the tables in `RANKED`.  operators: by the engine's numbers.  first: classes to rank before all
    others. Classes that contain only terms of one another (cycles) have no rank.
    """
    rank: dict[Any, int] = {}
    for x in (*sorted(operators, key=lambda o: str(operators[o])), *first):
        rank.setdefault(x, len(rank))
    waiting: dict[Any, list[_Waiting]] = defaultdict(list)
    ready = [x for x in _terms(rows) if x.out not in rank and x.needs(rank, waiting)]
    while ready:
        found, ready = sorted(ready, key=lambda x: x.key(rank)), []
        for term in found:
            if term.out not in rank:
                rank[term.out] = len(rank)
                ready += [x for x in waiting.pop(term.out, ()) if x.has_one_more()]
    return rank


def _terms(rows: Mapping[str, Iterable[Row]]) -> Iterator[_Waiting]:
    for place, (name, sorts) in enumerate(RANKED.items()):
        classes = [sort not in ("i64", "String") for sort in sorts]
        for args, out in rows.get(name, ()):
            yield _Waiting(place, args, classes, out)


class _Waiting:
    """A term that waits until its arguments are ranked.  place: of its constructor in `RANKED`.  classes: whether
    each argument is a class."""

    __slots__ = ("_args", "_classes", "_missing", "_place", "out")

    def __init__(self, place: int, args: Sequence[Any], classes: Sequence[bool], out: Any) -> None:
        self._place, self._args, self._classes, self.out = place, args, classes, out
        self._missing = 0

    def needs(self, rank: Mapping[Any, int], waiting: Mapping[Any, list[_Waiting]]) -> bool:
        """Register for the arguments that have no rank yet; return whether all have one."""
        classes = self._args if all(self._classes) else itertools.compress(self._args, self._classes)
        missing = {a for a in classes if a not in rank}
        self._missing = len(missing)
        for a in missing:
            waiting[a].append(self)
        return not missing

    def has_one_more(self) -> bool:
        """Count one more ranked argument; return whether all are ranked."""
        self._missing -= 1
        return not self._missing

    def key(self, rank: Mapping[Any, int]) -> tuple[Any, ...]:
        """The sort key of the term."""
        if all(self._classes):
            return (self._place, *map(rank.__getitem__, self._args))
        args = zip(self._args, self._classes, strict=True)
        return (self._place, *(rank[a] if is_class else a for a, is_class in args))
