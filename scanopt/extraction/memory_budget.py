"""A program within a memory budget: bytes beyond a limit are made expensive.

The bytes that a choice makes (each loop's arrays once) are a sum over its options, which searches can count.  The bytes
that it holds at its peak are fewer, since not everything is live at once, and are only known for a whole choice.  So
the sum is limited: at first to what the cheapest choice makes minus half of the excess of its peak, and so on from
choice to choice, until a peak is within the budget or the sum itself is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from scanopt.egraph.engine_memory import available
from scanopt.extraction.extract import Extraction
from scanopt.extraction.problem import Limit, NoProgramFoundError, Problem

__all__ = ["budget_of", "fits", "fitting"]

Search = Callable[[Problem], Extraction]

NEGLIGIBLE = 64 * 2**20
"""Bytes that any machine has: for programs that hold less, the free memory is not asked for."""

_STEEP = 100.0
"""The price of bytes beyond the limit: a hundredth of the budget costs as much as the cheapest program."""

_TRIES = 8
"""The most choices tried beside the cheapest one."""


def budget_of(memory: float | None, found: Extraction, assumed: bool) -> float:
    """The bytes that a program may hold: as given, or the free memory if that may matter.

    assumed: whether sizes are assumed; a comparison with the free memory then means nothing.
    """
    if memory is None:
        memory = available() if found.held > NEGLIGIBLE and not assumed else math.inf
    return max(memory, 1.0)


def fits(found: Extraction, budget: float) -> bool:
    """Whether a choice is within the budget.  (Its peak is at most twice the bytes that it makes.)"""
    return 2 * found.held <= budget or found.peak <= budget


def fitting(problem: Problem, known: Sequence[Extraction], budget: float, search: Search) -> Extraction:
    """The cheapest choice found within the budget; if there is none, the one that holds least.

    known: choices found before, first the cheapest one, which holds more.  search: finds the cheapest choice of a
    problem.
    """
    met, last = [*known], known[0]
    most, price = last.held, _STEEP * last.cost / budget
    for n in range(_TRIES):
        most = budget if n == _TRIES - 1 else max(budget, min(most, last.held) - (last.peak - budget) / 2)
        try:
            last = search(Problem(problem.graph, problem.sizes, problem.cost, Limit(most, price)))
        except NoProgramFoundError:
            break
        met.append(last)
        if fits(last, budget) or most <= budget:
            break
    best = min(met, key=lambda x: (0.0, x.cost) if fits(x, budget) else (1.0, x.peak))
    return best if best is known[0] else replace(best, bound=min(known[0].bound, best.cost), optimal=False)
