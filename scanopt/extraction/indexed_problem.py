"""A problem in numbers: instances and their options by position, for searches that try many choices."""

from __future__ import annotations

import heapq
import math
from collections.abc import Container, Iterable, Sequence, Set

from scanopt.extraction.circles import Circles
from scanopt.extraction.dominators import summed_by_dominator
from scanopt.extraction.ordering import Choice
from scanopt.extraction.problem import Problem
from scanopt.records import dataclass

__all__ = ["Numbered", "Options", "Prices", "Trees"]

Prices = Sequence[Sequence[float]]
"""A price per instance, per option."""

Options = Set[tuple[int, int]]
"""Pairs of instance and option."""


@dataclass(frozen=True)
class Trees:
    """For each instance an option, -1 for none, and the cost of its dependency tree."""

    picked: list[int]
    cost: list[float]


class Numbered:
    """A problem whose instances and options are numbers.

    needs, all_needs, prices: per instance, per option.  least: per instance the least price.  visits: the work done so
    far, in instances looked at.  most: the work after which a search stops.
    """

    def __init__(self, problem: Problem, most: int) -> None:
        self.problem = problem
        self.instances = list(problem.options)
        number = {i: n for n, i in enumerate(self.instances)}
        self.options = [problem.options[i] for i in self.instances]
        self.needs = [[[number[j] for j in o.needs] for o in os] for os in self.options]
        self.all_needs = [[[number[j] for j in o.all_needs] for o in os] for os in self.options]
        self.prices = [[o.cost for o in os] for os in self.options]
        self.held = [[o.held for o in os] for os in self.options]
        self.limit = problem.limit
        self.least = [min(prices, default=math.inf) for prices in self.prices]
        self.roots = [number[r] for r in problem.roots]
        self._users: list[list[tuple[int, int]]] = [[] for _ in self.instances]
        self._distinct = [[[*set(needs)] for needs in per] for per in self.needs]
        for n, per in enumerate(self._distinct):
            for m, needs in enumerate(per):
                for j in needs:
                    self._users[j].append((n, m))
        self._circles = Circles(problem)
        self.visits, self.most = 0, most

    @property
    def limited(self) -> bool:
        """Whether the bytes of a choice are limited."""
        return math.isfinite(self.limit.bytes)

    @property
    def spent(self) -> bool:
        """Whether more work than `most` was done."""
        return self.visits > self.most

    def cheapest(self, prices: Prices, banned: Options) -> Trees:
        """For each instance the option of least tree cost, -1 if it has none.

        Knuth's generalization of Dijkstra's algorithm: settled from the leaves up, cheapest first.
        """
        trees = Trees([-1] * len(self.instances), [0.0] * len(self.instances))
        missing = {n: [*map(len, per)] for n, per in enumerate(self._distinct)}
        self._settle(trees, missing, prices, banned)
        return trees

    def give_up(self, trees: Trees, dear: Iterable[int], prices: Prices, banned: Options) -> None:
        """Choose again for instances whose tree contains a choice that was banned or became dearer; others stay."""
        picked = trees.picked
        again = {*dear}
        todo = [*again]
        while todo:
            for user, m in self._users[todo.pop()]:
                if picked[user] == m and user not in again:
                    again.add(user)
                    todo.append(user)
        for i in again:
            picked[i] = -1
        missing = {i: [sum([picked[j] < 0 for j in needs]) for needs in self._distinct[i]] for i in again}
        self._settle(trees, missing, prices, banned)

    def _settle(self, trees: Trees, missing: dict[int, list[int]], prices: Prices, banned: Options) -> None:
        """Choose for these instances.  missing: by option, how many of its needs have no cost yet."""
        picked, cost = trees.picked, trees.cost

        def total(n: int, m: int) -> float:
            return prices[n][m] + sum([cost[j] for j in self.needs[n][m]])

        heap = [(total(n, m), n, m) for n, per in missing.items() for m, count in enumerate(per) if not count]
        heapq.heapify(heap)
        while heap:
            least, n, m = heapq.heappop(heap)
            if picked[n] >= 0 or (n, m) in banned:
                continue
            picked[n], cost[n] = m, least
            for user, k in self._users[n]:
                if user in missing and picked[user] < 0:
                    missing[user][k] -= 1
                    if not missing[user][k]:
                        heapq.heappush(heap, (total(user, k), user, k))
        self.visits += len(self.instances)  # as much again is done to see whether the choice has an order

    def in_use(self, picked: Sequence[int]) -> list[int]:
        """The instances that the results need; empty if one of them has no option."""
        seen = bytearray(len(self.instances))
        todo, out = list(self.roots), list[int]()
        for n in todo:
            seen[n] = 1
        while todo:
            n = todo.pop()
            if picked[n] < 0:
                return []
            out.append(n)
            for j in self.all_needs[n][picked[n]]:
                if not seen[j]:
                    seen[j] = 1
                    todo.append(j)
        self.visits += len(out)
        return out

    def total(self, picked: Sequence[int]) -> float:
        """The cost of a choice; infinite if an instance has no option."""
        used = self.in_use(picked)
        if not used:
            return math.inf
        cost = sum(self.prices[n][picked[n]] for n in used)
        return cost + self.limit.excess(sum(self.held[n][picked[n]] for n in used)) if self.limited else cost

    def at_stake(self, picked: Sequence[int]) -> dict[int, float]:
        """For each instance in use, the cost of all that is used only for it, itself included (dominator tree)."""
        found = summed_by_dominator(
            self.roots, lambda n: self.all_needs[n][picked[n]], lambda n: self.prices[n][picked[n]]
        )
        self.visits += 3 * len(found)
        return found

    def least_more(self, n: int, m: int, used: Container[int]) -> float:
        """A lower bound on the added cost of an option, with what it needs beyond what is in use, rounded down a
        little."""
        new = sum([self.least[j] for j in self.all_needs[n][m] if j not in used])
        return (self.prices[n][m] + new) * (1 - 1e-9)

    def choice(self, picked: Sequence[int]) -> Choice:
        """The choice by instances."""
        return {self.instances[n]: self.options[n][picked[n]] for n in self._reached(picked)}

    def circle(self, picked: Sequence[int]) -> list[tuple[int, int]]:
        """Options of a choice that form a cycle; none if it has an order."""
        return self._circles.of(self._reached(picked), picked)

    def _reached(self, picked: Sequence[int]) -> list[int]:
        """The instances that the results need, in the order they are reached."""
        seen = bytearray(len(self.instances))
        todo, out = list(self.roots), list[int]()
        while todo:
            n = todo.pop()
            if not seen[n]:
                seen[n] = 1
                out.append(n)
                todo += self.all_needs[n][picked[n]]
        self.visits += len(out)
        return out
