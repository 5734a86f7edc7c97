"""A quick choice: the cheapest form of each class by tree cost, mended until it is causal, then improved.

Improved by exchanges: another option for one instance, kept if the whole gets cheaper.  This is done from several
starts, their prices changed a little at random (always the same way).  What is done is bounded by counting, not by a
clock: the same problem gives the same choice on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from scanopt.calculus.causality import AcausalError, Choice, Schedule, order
from scanopt.calculus.numbered import Numbered
from scanopt.calculus.problem import Problem

__all__ = ["greedy"]

_STARTS = 3
_TRIES = 200
"""Mends of one start."""
_VISITS = 500_000
"""Instances looked at in all, about a quarter of a second of work."""


def greedy(problem: Problem) -> tuple[Choice, Schedule] | None:
    """A causal choice with its schedule, or None when none was found in a bounded search."""
    numbered, rng = Numbered(problem), random.Random(0)
    best: tuple[float, list[int]] | None = None
    for start in range(_STARTS):
        prices = (
            numbered.prices if not start else [[x * rng.lognormvariate(0, 0.5) for x in xs] for xs in numbered.prices]
        )
        picked = _causal(numbered, prices)
        if picked is not None:
            found = _exchanged(numbered, picked)
            best = found if best is None else min(best, found)
        if numbered.visits > _VISITS:
            break
    if best is None:
        return None
    choice = numbered.choice(best[1])
    return choice, order(problem, choice)


def _causal(numbered: Numbered, prices: Sequence[Sequence[float]]) -> list[int] | None:
    """The cheapest option of each instance by tree cost, given up one by one while they go round in circles.

    What a state is updated with counts when the choice is paid for, not when it is made.
    """
    banned: set[tuple[int, int]] = set()
    left = [len(os) for os in numbered.options]
    for _ in range(_TRIES):
        picked = numbered.cheapest(prices, banned)
        if not numbered.in_use(picked):
            return None
        cycle = _cycle(numbered, picked)
        if not cycle:
            return picked
        open_ = [t for t in cycle if left[t[0]] > 1]
        if not open_ or numbered.visits > _VISITS:
            return None
        n, m = max(open_, key=lambda t: prices[t[0]][t[1]])
        banned.add((n, m))
        left[n] -= 1
    return None


def _cycle(numbered: Numbered, picked: Sequence[int]) -> list[tuple[int, int]]:
    """Options of a choice that need one another; none where it has an order."""
    try:
        order(numbered.problem, numbered.choice(picked))
    except AcausalError as cycle:
        return [numbered.number_of[id(o)] for _, o in cycle.together]
    return []


def _exchanged(numbered: Numbered, start: list[int]) -> tuple[float, list[int]]:
    """A choice that no exchange of one option makes cheaper (or none was found in the time), and its cost."""
    best, cost, before = list(start), numbered.total(start), float("inf")
    barred: set[tuple[int, int]] = set()
    while cost < before and numbered.visits < _VISITS:
        before = cost
        picked = _one_pass(numbered, best, cost, barred)
        while cycle := _cycle(numbered, picked):
            changed = {(n, m) for n, m in cycle if m != best[n]}
            barred |= changed
            # What was not in use before may go round in circles by itself: then all is as before.
            for n in [n for n, _ in changed] or range(len(picked)):
                picked[n] = best[n]
        best, cost = min((best, cost), (picked, numbered.total(picked)), key=lambda t: t[1])
    return cost, best


def _one_pass(numbered: Numbered, start: list[int], cost: float, barred: set[tuple[int, int]]) -> list[int]:
    """Every exchange tried once, the dearest first; what is kept may go round in circles."""
    picked = list(start)
    for n in sorted(numbered.in_use(picked), key=lambda n: -numbered.prices[n][picked[n]]):
        for m in range(len(numbered.options[n])):
            kept = picked[n]
            if m != kept and (n, m) not in barred:
                picked[n] = m
                total = numbered.total(picked)
                if total < cost:
                    cost = total
                else:
                    picked[n] = kept
        if numbered.visits > _VISITS:
            break
    return picked
