"""A quick choice: the cheapest form of each class by tree cost, mended until it is causal."""

from __future__ import annotations

import heapq
from collections import defaultdict

from scanopt.calculus.causality import AcausalError, Choice, Schedule, order, reached
from scanopt.calculus.problem import Instance, Option, Problem

__all__ = ["greedy"]

_TRIES = 200


def greedy(problem: Problem) -> tuple[Choice, Schedule] | None:
    """A causal choice with its schedule, or None when none was found in a bounded search.

    What a state is updated with counts when the choice is paid for, not when it is made.
    """
    banned: set[tuple[Instance, Option]] = set()
    for _ in range(_TRIES):
        best = _cheapest(problem, banned)
        try:
            choice = reached(best, problem.roots)
            return choice, order(problem, choice)
        except KeyError:
            return None
        except AcausalError as cycle:
            # Give up the form on the way round whose instance has another one left.
            open_ = [t for t in cycle.together if _others(problem, t, banned)]
            if not open_:
                return None
            banned.add(max(open_, key=lambda t: t[1].cost))
    return None


def _others(problem: Problem, t: tuple[Instance, Option], banned: set[tuple[Instance, Option]]) -> bool:
    return sum((t[0], o) not in banned for o in problem.options[t[0]]) > 1


def _cheapest(problem: Problem, banned: set[tuple[Instance, Option]]) -> Choice:
    """Knuth's generalization of Dijkstra: forms are settled from the leaves up, cheapest first."""
    cost: dict[Instance, float] = {}
    choice: Choice = {}
    users: dict[Instance, list[tuple[Instance, int]]] = defaultdict(list)
    heap: list[tuple[float, int, Instance, int]] = []
    count = 0

    def offer(i: Instance, n: int) -> None:
        nonlocal count
        o = problem.options[i][n]
        total = o.cost
        for j in o.needs:
            if j not in cost:
                return
            total += cost[j]
        count += 1
        heapq.heappush(heap, (total, count, i, n))

    for i, options in problem.options.items():
        for n, o in enumerate(options):
            if (i, o) in banned:
                continue
            for j in o.needs:
                users[j].append((i, n))
            offer(i, n)
    while heap:
        total, _, i, n = heapq.heappop(heap)
        if i in cost:
            continue
        cost[i], choice[i] = total, problem.options[i][n]
        for user, m in users[i]:
            if user not in cost:
                offer(user, m)
    return choice
