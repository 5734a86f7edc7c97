"""A problem in numbers: instances and their options by position, for searches that try many choices."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

from scanopt.calculus.causality import Choice, reached
from scanopt.calculus.problem import Problem

__all__ = ["Numbered"]


class Numbered:
    """needs, all_needs, prices: per instance, per option.

    visits: how much work was done, in instances looked at.  most: when it is enough.
    """

    def __init__(self, problem: Problem, most: int) -> None:
        self.problem = problem
        self.instances = list(problem.options)
        number = {i: n for n, i in enumerate(self.instances)}
        self.options = [problem.options[i] for i in self.instances]
        self.needs = [[[number[j] for j in o.needs] for o in os] for os in self.options]
        self.all_needs = [[[number[j] for j in o.all_needs] for o in os] for os in self.options]
        self.prices = [[o.cost for o in os] for os in self.options]
        self.roots = [number[r] for r in problem.roots]
        self.number_of = {id(o): (n, m) for n, os in enumerate(self.options) for m, o in enumerate(os)}
        self._users: list[list[tuple[int, int]]] = [[] for _ in self.instances]
        self._distinct = [[len(set(needs)) for needs in per] for per in self.needs]
        for n, per in enumerate(self.needs):
            for m, needs in enumerate(per):
                for j in set(needs):
                    self._users[j].append((n, m))
        self.visits, self.most = 0, most

    @property
    def spent(self) -> bool:
        """Whether enough work was done."""
        return self.visits > self.most

    def cheapest(self, prices: Sequence[Sequence[float]], banned: set[tuple[int, int]]) -> list[int]:
        """Per instance the option of least tree cost, -1 where it has none.

        Knuth's generalization of Dijkstra's algorithm: settled from the leaves up, cheapest first.
        """
        missing = [list(counts) for counts in self._distinct]
        out, cost = [-1] * len(self.instances), [0.0] * len(self.instances)
        heap = [(prices[n][m], n, m) for n, per in enumerate(missing) for m, count in enumerate(per) if not count]
        heapq.heapify(heap)
        while heap:
            total, n, m = heapq.heappop(heap)
            if out[n] >= 0 or (n, m) in banned:
                continue
            out[n], cost[n] = m, total
            for user, k in self._users[n]:
                missing[user][k] -= 1
                if not missing[user][k] and out[user] < 0:
                    heapq.heappush(heap, (prices[user][k] + sum(cost[j] for j in self.needs[user][k]), user, k))
        self.visits += len(self.instances)
        return out

    def in_use(self, picked: Sequence[int]) -> list[int]:
        """What the results need; empty where something of it has no option."""
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
        """What a choice costs; without end where something has no option."""
        used = self.in_use(picked)
        return sum(self.prices[n][picked[n]] for n in used) if used else math.inf

    def choice(self, picked: Sequence[int]) -> Choice:
        """The choice by instances."""
        chosen = {self.instances[n]: self.options[n][picked[n]] for n in self.in_use(picked)}
        return reached(chosen, self.problem.roots)
