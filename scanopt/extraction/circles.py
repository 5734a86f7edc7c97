"""Cycles among the options of a choice: as `order` finds them, but by numbers and many times as fast.

Searches check each choice that they try.  The loops around an instance do not depend on the choice, so the order
that an option demands is found once per option.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from scanopt.extraction.ordering import meet, places_of
from scanopt.extraction.problem import Instance, Problem

__all__ = ["Circles"]

Edges = dict[int, dict[int, int]]
"""Per number those that come before it, each with the instance that needs it earlier."""


class Circles:
    """Finds cycles in choices of a problem, whose instances and options are given by position."""

    def __init__(self, problem: Problem) -> None:
        self._instances = list(problem.options)
        self._options = list(problem.options.values())
        self._places = places_of(problem, problem.options)
        self._number = {i: n for n, i in enumerate(problem.options)}
        self._level = [self._of(around[-1]) if around else -1 for around in self._places.values()]
        self._known: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def of(self, used: Sequence[int], picked: Sequence[int]) -> list[tuple[int, int]]:
        """Options of a choice that form a cycle; none if the choice has an order.

        used: the instances in use.  picked: the option of each instance.
        """
        edges: Edges = {}
        members: defaultdict[int, list[int]] = defaultdict(list)
        for n in used:
            members[self._level[n]].append(n)
            for then, first in self._before(n, picked[n]):
                edges.setdefault(then, {})[first] = n
        done: dict[int, bool] = {}
        for inside in members.values():
            for start in inside:
                if start not in done and (users := _circle(start, edges, done)):
                    return [(n, picked[n]) for n in sorted(users)]
        return []

    def _before(self, n: int, m: int) -> list[tuple[int, int]]:
        """The order that an option demands: pairs of a later and an earlier instance."""
        if (found := self._known.get((n, m))) is None:
            i = self._instances[n]
            met = [meet(self._places, i, j) for j in self._options[n][m].needs]
            found = [(self._of(then), self._of(first)) for _, first, then in met if first != then or first == i]
            self._known[n, m] = found
        return found

    def _of(self, i: Instance) -> int:
        return self._number.setdefault(i, len(self._number))


def _circle(start: int, edges: Edges, done: dict[int, bool]) -> set[int]:
    """Depth-first search, without recursion; done[n] is False while n waits for its predecessors.

    Returns the options that cause a cycle; none if there is no cycle.
    """
    path = [(start, iter(edges.get(start, ())))]
    done[start] = False
    while path:
        n, waiting = path[-1]
        for j in waiting:
            if j not in done:
                done[j] = False
                path.append((j, iter(edges.get(j, ()))))
                break
            if not done[j]:
                loop = [p for p, _ in path]
                return {edges[b][a] for b, a in pairwise([*loop[loop.index(j) :], j])}
        else:
            done[n] = True
            path.pop()
    return set()
