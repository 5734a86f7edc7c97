"""An order of what is in an e-graph that its engine has no part in.

The engine numbers classes, and lists rows, as it came upon them: where two programs cost the same, the one chosen
would depend on what was compiled before.  Here classes are ranked by the terms in them, those of the program first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scanopt.calculus.declarations import DECLARATIONS

__all__ = ["RANKED", "ranks"]

_SORTS = ("Value", "Clock", "State", "Args", "Move")
_LEFT_OUT = ("on", "on_args", "const_at")
"""Constructors of terms that are always written as others, too."""

RANKED: dict[str, tuple[str, ...]] = {
    name: tuple(sorts.split())
    for name, sorts, out in re.findall(r"^\(constructor (\S+) \(([^)]*)\) (\w+)\)", DECLARATIONS, re.MULTILINE)
    if out in _SORTS and name not in _LEFT_OUT
}
"""The constructors that classes are ranked by, with the sorts of their arguments."""

Row = tuple[tuple[Any, ...], Any]


def ranks(rows: Mapping[str, Iterable[Row]], operators: Mapping[Any, object], first: Iterable[Any]) -> dict[Any, int]:
    """The rank of each class, as the engine calls it, and of each operator.

    rows: of the tables in `RANKED`.  operators: by what the engine calls them.  first: the classes that come first.
    Classes that only have terms of one another have none.
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
    """A term whose arguments have no ranks yet.  place: of its constructor.  classes: which arguments are classes."""

    __slots__ = ("_args", "_classes", "_missing", "_place", "out")

    def __init__(self, place: int, args: Sequence[Any], classes: Sequence[bool], out: Any) -> None:
        self._place, self._args, self._classes, self.out = place, args, classes, out
        self._missing = 0

    def needs(self, rank: Mapping[Any, int], waiting: Mapping[Any, list[_Waiting]]) -> bool:
        """Wait for the arguments that have no ranks; whether there are none of these."""
        missing = {a for a, is_class in zip(self._args, self._classes, strict=True) if is_class and a not in rank}
        self._missing = len(missing)
        for a in missing:
            waiting[a].append(self)
        return not missing

    def has_one_more(self) -> bool:
        """One more of its arguments has a rank: whether all have one now."""
        self._missing -= 1
        return not self._missing

    def key(self, rank: Mapping[Any, int]) -> tuple[Any, ...]:
        """What terms are sorted by."""
        args = zip(self._args, self._classes, strict=True)
        return (self._place, *(rank[a] if is_class else a for a, is_class in args))
