"""Programs for other sizes, from the same e-graph.

All searches here are limited by a count, not a clock, so the same sizes give the same program on every machine.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

from scanopt.analysis.sizes import Sizes
from scanopt.array.op import Operand
from scanopt.calculus.forms import TermGraph
from scanopt.extraction.cost import CACHE, CostModel, at_hand
from scanopt.extraction.extract import Extraction, quickly, total
from scanopt.extraction.memory_budget import fits, fitting
from scanopt.extraction.ordering import Choice, EvaluationOrder
from scanopt.extraction.problem import Instance, NoProgramFoundError, Option, Problem
from scanopt.records import dataclass

__all__ = ["MANY", "Chosen", "for_sizes"]

QUICK = 2000.0
"""A program that takes at most these nanoseconds is not replaced: the call itself takes about as long."""
WORTH = 0.9
"""A program takes the place of the first one if it costs no more than this part of its cost."""
SAVED = 1e6
"""Or if it takes this many nanoseconds less, whatever part of a long call they are."""
SPARE = 0.9
"""Or if it costs no more, and makes no more than this part of the bytes, where these are more than a cache has."""
MANY = 4000
"""In an e-graph with more forms than this, the search would take longer than a call should wait."""


@dataclass(frozen=True)
class Chosen:
    """A program, and the graph in which it was chosen."""

    graph: TermGraph
    choice: Choice
    schedule: EvaluationOrder
    method: str

    def at(self, problem: Problem) -> Extraction:
        """The same program, priced for the sizes of another problem."""
        choice = {i: _priced(i, o, problem) for i, o in self.choice.items()}
        return Extraction(problem, choice, self.schedule, total(choice), 0.0, self.method, False)

    def only(self) -> TermGraph:
        """The graph restricted to the forms of the program."""
        forms = sorted(((i.id, o.form) for i, o in self.choice.items() if o.form), key=lambda x: x[0])
        classes = {c: list(dict.fromkeys(f for _, f in same)) for c, same in itertools.groupby(forms, lambda x: x[0])}
        return replace(self.graph, classes=classes)


def for_sizes(
    graph: TermGraph, first: Chosen, operands: Mapping[str, Operand], cost: CostModel, budget: float
) -> Extraction | None:
    """The cheapest program found for arguments of these sizes; `first`, at these sizes, unless another one is cheaper.

    graph: the e-graph in which `first` was found.  cost: in nanoseconds.  budget: the bytes that a program may hold, if
    one that holds no more is found.  None stands for `first`, if it cannot be priced at these sizes.
    """
    cost = at_hand(cost)
    kept = _kept(first, operands, cost)
    if kept and kept.cost <= QUICK and fits(kept, budget):
        return kept
    try:
        problem = Problem(graph, Sizes(graph, operands), cost)
        found = quickly(problem)
    except NoProgramFoundError:
        return kept
    if first.graph is graph:
        kept = first.at(problem)
    if kept is None or (fits(found, budget) and (_is_better(found, kept) or not fits(kept, budget))):
        return found
    return kept if fits(kept, budget) else fitting(problem, [found, kept], budget, quickly)


def _is_better(found: Extraction, kept: Extraction) -> bool:
    """Whether `found` is so much better that it takes the place of `kept`."""
    if kept.held > CACHE and found.held <= SPARE * kept.held:
        return found.cost <= kept.cost
    return found.cost <= WORTH * kept.cost or found.cost <= kept.cost - SAVED


def _kept(first: Chosen, operands: Mapping[str, Operand], cost: CostModel) -> Extraction | None:
    """The first program at other sizes; None if that needs the whole e-graph."""
    try:
        own = first.only()
        return first.at(Problem(own, Sizes(own, operands), cost))
    except NoProgramFoundError:
        return None


def _priced(i: Instance, o: Option, problem: Problem) -> Option:
    if o.form is None:
        return o._replace(cost=problem.run_price(i.id))
    cost, held = problem.price(i.id, o.form)
    return o._replace(cost=cost, held=held)
