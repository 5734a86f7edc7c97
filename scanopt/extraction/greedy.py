"""A greedy choice: the cheapest form of each class by tree cost, repaired until it is causal, then improved.

It is improved by exchanging the option of one instance, which is kept if the whole gets cheaper.  This is done from
several starts, whose prices are changed a little at random (always in the same way), and if these find nothing, from
one that runs no loop.  A thorough search uses all starts, gives up the most expensive options one by one, and chooses
the rest anew.  If giving up options leads nowhere from any start, and an exact search finds nothing either, the prices
of conflicting options can be raised instead, as in routing of wires [McMurchie and Ebeling 1995, PathFinder].

The work is limited by a count, not by a clock: the same problem gives the same choice on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from scanopt.extraction.indexed_problem import Numbered, Options, Prices
from scanopt.extraction.ordering import Choice, EvaluationOrder, order
from scanopt.extraction.problem import Problem

__all__ = ["greedy", "negotiated"]

_STARTS = 3
_TRIES = 200
"""The most repairs of one start."""
_VISITS = 500_000
"""Instances looked at in all, about half a second of exchanges."""
_RAISED, _RAISED_SLOWLY = 100.0, 8.0
"""The factors by which the price of an option is raised for each circle that it is in."""
_RAISES = 1_500_000
"""The most instances looked at while prices are raised, each time all of them: a few seconds."""
_THOROUGH = 2
"""How many times `_VISITS` a thorough search may do, no start more than its share of what is left."""


def greedy(problem: Problem, thorough: bool = False, first: bool = False) -> tuple[Choice, EvaluationOrder] | None:
    """A causal choice with its schedule, or None when none was found in a bounded search.

    thorough: also give up expensive options.  first: stop at the first start that leads to a choice.
    """
    numbered = Numbered(problem, _VISITS)
    best: tuple[float, list[int]] | None = None
    for n, (prices, banned) in enumerate(_starts(numbered)):
        if thorough:
            numbered.most = numbered.visits + (_THOROUGH * _VISITS - numbered.visits) // (_STARTS + 1 - n)
        elif numbered.spent or (best is not None and (banned or first)):
            break
        picked = _causal(numbered, prices, banned)
        if picked is not None:
            found = _exchanged(numbered, picked)
            if thorough:
                found = _exchanged(numbered, _made_anew(numbered, prices, banned, found[1]))
            elif not first:
                found = _exchanged_further(numbered, found)
            best = found if best is None else min(best, found)
    return None if best is None else _ordered(numbered, best[1])


def negotiated(problem: Problem, thorough: bool = False) -> tuple[Choice, EvaluationOrder] | None:
    """A causal choice with its schedule if giving up options found none; None if this finds none either.

    thorough: take more turns.
    """
    numbered = Numbered(problem, _VISITS)
    picked = _negotiated(numbered, _RAISED_SLOWLY if thorough else _RAISED)
    if picked is None:
        return None
    numbered.most = numbered.visits + _VISITS
    return _ordered(numbered, _exchanged(numbered, picked)[1])


def _ordered(numbered: Numbered, picked: list[int]) -> tuple[Choice, EvaluationOrder]:
    choice = numbered.choice(picked)
    return choice, order(numbered.problem, choice)


def _starts(numbered: Numbered) -> Iterator[tuple[Prices, Options]]:
    """Prices, and banned options: in the last start, those that run loops.

    If bytes are limited, the prices of the first start count all bytes, not only those beyond the limit.
    """
    rng = random.Random(0)
    if numbered.limited:
        each = numbered.limit.price
        pairs = zip(numbered.prices, numbered.held, strict=True)
        yield [[x + each * b for x, b in zip(xs, bs, strict=True)] for xs, bs in pairs], frozenset()
    else:
        yield numbered.prices, frozenset()
    for _ in range(_STARTS - 1):
        yield [[x * rng.lognormvariate(0, 0.5) for x in xs] for xs in numbered.prices], frozenset()
    runs = [n for n, i in enumerate(numbered.instances) if i.loop]
    if runs:
        yield numbered.prices, frozenset((n, m) for n in runs for m in range(len(numbered.options[n])))


def _causal(numbered: Numbered, prices: Prices, barred: Options) -> list[int] | None:
    """The cheapest option of each instance by tree cost; options are given up one by one while there are cycles.

    The update of a state counts in the cost of the result, but not in the choice.
    """
    banned = set(barred)
    left = [len(os) for os in numbered.options]
    for n, _ in banned:
        left[n] -= 1
    trees = numbered.cheapest(prices, banned)
    for _ in range(_TRIES):
        picked = trees.picked
        if not numbered.in_use(picked):
            return None
        cycle = numbered.circle(picked)
        if not cycle:
            return picked
        open_ = [t for t in cycle if left[t[0]] > 1]
        if not open_ or numbered.spent:
            return None
        n, m = max(open_, key=lambda t: prices[t[0]][t[1]])
        banned.add((n, m))
        left[n] -= 1
        numbered.give_up(trees, [n], prices, banned)
    return None


def _negotiated(numbered: Numbered, factor: float) -> list[int] | None:
    """A causal choice: options on cycles get more expensive by a factor until there is no cycle."""
    prices = [list(xs) for xs in numbered.prices]
    known = sorted(x for xs in prices for x in xs if x > 0)
    least = known[len(known) // 2] if known else 1.0
    trees = numbered.cheapest(prices, frozenset())
    for _ in range(_RAISES // len(numbered.instances)):
        if not numbered.in_use(trees.picked):
            return None
        cycle = numbered.circle(trees.picked)
        if not cycle:
            return trees.picked
        open_ = [(n, m) for n, m in cycle if len(prices[n]) > 1]
        if not open_:
            return None
        for n, m in open_:
            prices[n][m] = factor * prices[n][m] + least
        numbered.give_up(trees, (n for n, _ in open_), prices, frozenset())
    return None


def _made_anew(numbered: Numbered, prices: Prices, barred: Options, start: list[int]) -> list[int]:
    """A choice without some of its most expensive options, each given up for good if choosing anew is cheaper."""
    picked, cost, banned, tried = start, numbered.total(start), barred, set[tuple[int, int]]()
    while not numbered.spent:
        dear = {(n, picked[n]) for n in numbered.in_use(picked) if len(numbered.options[n]) > 1} - tried
        if not dear:
            break
        given_up = max(dear, key=lambda t: (numbered.prices[t[0]][t[1]], t))
        tried.add(given_up)
        other = _causal(numbered, prices, banned | {given_up})
        if other is not None and (total := numbered.total(other)) < cost:
            picked, cost, banned = other, total, banned | {given_up}
    return picked


def _exchanged(numbered: Numbered, start: list[int]) -> tuple[float, list[int]]:
    """A choice that no single exchange makes cheaper (or the search found none), and its cost."""
    best, cost, before = list(start), numbered.total(start), float("inf")
    barred: set[tuple[int, int]] = set()
    while cost < before and not numbered.spent:
        before = cost
        picked = _one_pass(numbered, best, cost, barred)
        while cycle := numbered.circle(picked):
            changed = {(n, m) for n, m in cycle if m != best[n]}
            barred |= changed
            # What was not in use before may go round in circles by itself: then all is as before.
            for n in [n for n, _ in changed] or range(len(picked)):
                picked[n] = best[n]
        best, cost = min((best, cost), (picked, numbered.total(picked)), key=lambda t: t[1])
    return cost, best


def _exchanged_further(numbered: Numbered, found: tuple[float, list[int]]) -> tuple[float, list[int]]:
    """A choice that exchanges do not improve, even if they may use new instances, and its cost.

    found: a choice that no single exchange improves.  By tree cost, instances that are not in use pay again for what is
    in use; so their options are chosen anew, with everything in use for free, and exchanges are tried again.
    """
    while not numbered.spent:
        cost, picked = found
        used = {*numbered.in_use(picked)}
        free = {(n, picked[n]) for n in used}
        prices = [[0.0 if (n, m) in free else x for m, x in enumerate(xs)] for n, xs in enumerate(numbered.prices)]
        beside = numbered.cheapest(prices, frozenset()).picked
        start = [m if n in used or beside[n] < 0 else beside[n] for n, m in enumerate(picked)]
        better = _exchanged(numbered, start)
        if better[0] >= cost:
            break
        found = better
    return found


def _one_pass(numbered: Numbered, start: list[int], cost: float, barred: set[tuple[int, int]]) -> list[int]:
    """Try every exchange once, the most expensive option first; the result may have cycles.

    An exchange saves no more than the cost of what is in use only for the old option.
    """
    picked = list(start)
    at_stake = numbered.at_stake(picked)
    for n in sorted(numbered.in_use(picked), key=lambda n: -numbered.prices[n][picked[n]]):
        for m in range(len(numbered.options[n])):
            kept = picked[n]
            if m == kept or (n, m) in barred or numbered.least_more(n, m, at_stake) > at_stake.get(n, 0.0):
                continue
            picked[n] = m
            total = numbered.total(picked)
            if total < cost:
                cost, at_stake = total, numbered.at_stake(picked)
            else:
                picked[n] = kept
        if numbered.spent:
            break
    return picked
