"""Cutting planes: rows of the integer program for values that the relaxation computes in part but needs in full.

The relaxation computes a value half in one way and half in another, and both ways may need the same thing: row by row,
half of it is enough for each.  But a choice that uses the value takes one of the options that need the thing, or one
that avoids it: a set of options that cuts all ways.  There are many such rows, so only those that a solution breaks are
written.

All this is done for groups (`necessary`), which depend on one another without cycles: a value, or a trace with its
entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from scanopt.extraction.loop_formulas import Row
from scanopt.extraction.necessary import Group, needs_of, ways
from scanopt.extraction.problem import Instance, Problem

__all__ = ["CutSets"]

_LITTLE = 1e-6
"""A fraction of an option that counts as none of it."""
_MOST = 300
"""The most groups between a value and what it needs."""


class _Way(NamedTuple):
    """A way to compute a member of a group: its variable, and the numbers of the groups that it needs."""

    variable: int
    needs: tuple[int, ...]


class CutSets:
    """The rows of a problem.  of: per instance the variables of its options."""

    def __init__(self, problem: Problem, of: Mapping[Instance, list[int]], groups: Sequence[Group]) -> None:
        self._members = [[of[i] for i in g] for g in groups]
        self._number = {i: n for n, g in enumerate(groups) for i in g}
        self._ways = [
            [_Way(of[i][m], tuple(dict.fromkeys(self._number[j] for j in o.needs))) for i, m, o in ways(problem, g)]
            for g in groups
        ]
        self._needs = needs_of([[way.needs for way in some] for some in self._ways])

    def broken(self, x: Sequence[float]) -> Iterator[Row]:
        """The rows that a solution of the relaxation violates."""
        taken = _Taken(self._members, self._ways, x)
        for i in taken.ways:
            for j in taken.needed_in_part(i):
                yield from self._cut(i, j, taken, x, itself=True)
            for j in taken.parts(i):
                if self._needs[i] >> j & 1:
                    yield from self._cut(i, j, taken, x, itself=False)

    def _cut(self, i: int, j: int, taken: _Taken, x: Sequence[float], itself: bool) -> Iterator[Row]:
        """The violated rows which say that i is not computed without j.

        itself: j is computed, or a way that needs it is taken; this says more if others use j, too.
        """
        cut = {w.variable for w in self._ways[j]} if itself else set[int]()
        seen, todo, left = {i}, [i], taken.used[i] - _LITTLE - sum(x[n] for n in cut)
        while todo and left > 0 and len(seen) <= _MOST:
            at = todo.pop()
            for way in self._ways[at]:
                towards = at if itself and j in way.needs else self._towards(j, way, taken, x)
                if towards is None and way.variable not in cut:
                    cut.add(way.variable)
                    left -= x[way.variable]
                elif towards is not None and towards not in seen:
                    seen.add(towards)
                    todo.append(towards)
        if todo or left <= 0:
            return
        for options in self._members[i]:
            if sum(x[n] for n in cut) < sum(x[n] for n in options) - _LITTLE:
                row = dict.fromkeys(cut, 1.0) | {n: float(n in cut) - 1.0 for n in options}
                yield {n: a for n, a in row.items() if a}

    def _towards(self, j: int, way: _Way, taken: _Taken, x: Sequence[float]) -> int | None:
        """A group that a way needs and that needs j; None where the way needs j itself, or avoids it."""
        if j in way.needs:
            return None
        for k in way.needs:
            if self._needs[k] >> j & 1:
                return k
        if x[way.variable] > _LITTLE:
            return next((k for k in way.needs if j in taken.needs.get(k, ())), None)
        return None


class _Taken:
    """The groups of which a solution of the relaxation takes a part.

    used: the part of each group that is used.  ways: per group that is computed in part, or in several ways, the ways
    taken.  needs: per such group those that all ways taken need, itself included.
    """

    def __init__(self, members: Sequence[list[list[int]]], ways: Sequence[list[_Way]], x: Sequence[float]) -> None:
        self.used = [max(sum([x[n] for n in options]) for options in g) for g in members]
        self.ways: dict[int, list[_Way]] = {}
        self.needs: dict[int, set[int]] = {}
        for g, some in enumerate(ways):  # each after all that it may need
            if any(_LITTLE < x[w.variable] < 1 - _LITTLE for w in some):
                self.ways[g] = taken = [w for w in some if x[w.variable] > _LITTLE]
                self.needs[g] = {g}.union(set[int].intersection(*map(self._all_of, taken)))

    def _all_of(self, way: _Way) -> set[int]:
        return set[int]().union(*(self.needs[k] for k in way.needs if k in self.needs))

    def needed_in_part(self, i: int) -> list[int]:
        """The groups that all ways taken to i need and that are used to a lesser part than i: only the nearest to i."""
        needs, used = self.needs, self.used
        between = [k for k in needs[i] if k != i and used[k] > used[i] - _LITTLE]
        known = set[int]().union(*(needs[k] for k in between))
        less = [j for j in needs[i] - known if used[j] < used[i] - _LITTLE]
        return sorted(j for j in less if not any(j in needs[k] for k in less if k != j))

    def parts(self, i: int) -> list[int]:
        """The groups needed by the ways that are taken in part to compute i, each once."""
        seen, todo, out = {i}, [i], dict[int, None]()
        while todo:
            for way in self.ways[todo.pop()]:
                for j in way.needs:
                    out[j] = None
                    if j in self.ways and j not in seen and self.used[j] < 1 - _LITTLE:
                        seen.add(j)
                        todo.append(j)
        return [*out]
