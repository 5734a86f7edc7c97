"""Branch and bound for the cheapest choice: option by option, pruned where no cheaper choice can follow.

For most programs few choices remain once a cheap one is known; for these no solver is loaded or called.  Options that
need one another in a circle are not chosen together again, and the search goes back at once to the last one of them
(conflict-directed backjumping [Prosser 1993]).
"""

from __future__ import annotations

import math
from collections import defaultdict

from scanopt.extraction.indexed_problem import Numbered
from scanopt.extraction.ordering import AcausalError, Choice, EvaluationOrder, order
from scanopt.extraction.problem import Problem

__all__ = ["MOST", "cheaper"]

_LOOKS = 3_000
"""The most options looked at: this takes about as long as a solver takes to begin."""

MOST = 200
"""The most instances of a problem that is searched: for more, so few looks have no hope."""

_ROUNDING = 1e-9


class _TooManyError(Exception):
    """There are more choices than the search may look at."""


def cheaper(problem: Problem, most: float) -> tuple[bool, tuple[Choice, EvaluationOrder] | None]:
    """Whether the search is conclusive, and the cheapest causal choice of less cost, if there is one.

    If bytes are limited, the cost of a choice is no sum over its options, so the search is not conclusive.
    """
    if len(problem.options) > MOST or math.isfinite(problem.limit.bytes):
        return False, None
    search = _Search(problem, most)
    try:
        search.go_on(search.begun, 0.0)
    except _TooManyError:
        return False, None
    return True, search.best


class _Search:
    """A search for cheaper choices.  begun: the instances that the results need, which are chosen for first."""

    def __init__(self, problem: Problem, most: float) -> None:
        self.problem = problem
        self.best: tuple[Choice, EvaluationOrder] | None = None
        self._most = most
        self._looks = 0
        self._numbered = numbered = Numbered(problem, 0)
        self._by_price = [sorted(range(len(prices)), key=prices.__getitem__) for prices in numbered.prices]
        self._picked = [-1] * len(numbered.instances)
        self._circles: defaultdict[tuple[int, int], list[dict[int, int]]] = defaultdict(list)
        self.begun = tuple(dict.fromkeys(numbered.roots))

    def go_on(self, open_: tuple[int, ...], cost: float) -> dict[int, int]:
        """Choose for what is open; return a circle of options, by instance, if all were chosen and are in one.

        cost: of the chosen options; an open instance costs at least its cheapest option.
        """
        numbered = self._numbered
        if not open_:
            return self._note(cost)
        # What has one option is chosen first: what it needs is then known to be paid for.
        n = min(open_, key=lambda i: len(numbered.prices[i]))
        left = tuple(i for i in open_ if i != n)
        for m in self._by_price[n]:
            self._looks += 1
            if self._looks > _LOOKS:
                raise _TooManyError
            self._picked[n] = m
            if self._is_circular(n, m):
                continue
            new = dict.fromkeys(j for j in numbered.all_needs[n][m] if self._picked[j] < 0)
            further = tuple(dict.fromkeys((*left, *new)))
            least = cost + numbered.prices[n][m]
            if least + sum([numbered.least[i] for i in further]) < self._most * (1 - _ROUNDING):
                circle = self.go_on(further, least)
                if circle and n not in circle:  # no other option of this instance opens it
                    self._picked[n] = -1
                    return circle
        self._picked[n] = -1
        return {}

    def _is_circular(self, n: int, m: int) -> bool:
        """Whether an option closes a circle that was met before."""
        return any(all(self._picked[i] == k for i, k in circle.items()) for circle in self._circles[n, m])

    def _note(self, cost: float) -> dict[int, int]:
        """Record a complete choice; if it has no order, return a circle that it has."""
        number = {self._numbered.instances[n]: n for n, m in enumerate(self._picked) if m >= 0}
        choice = {i: self._numbered.options[n][self._picked[n]] for i, n in number.items()}
        try:
            self.best = choice, order(self.problem, choice)
        except AcausalError as error:
            circle = {number[i]: self._picked[number[i]] for i, _ in error.together}
            for pair in circle.items():
                self._circles[pair].append(circle)
            return circle
        self._most = cost
        return {}
