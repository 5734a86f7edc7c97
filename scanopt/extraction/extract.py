"""Extraction: the cheapest causal program in the e-graph, with a certificate."""

from __future__ import annotations

import itertools
import math
from contextlib import suppress
from functools import cached_property

from scanopt.extraction.branch_and_bound import MOST, cheaper
from scanopt.extraction.greedy import greedy, negotiated
from scanopt.extraction.milp import Solution, Solver, solve
from scanopt.extraction.ordering import AcausalError, Choice, EvaluationOrder, order, reached
from scanopt.extraction.peak_memory import peak
from scanopt.extraction.problem import NoProgramFoundError, Problem
from scanopt.records import dataclass

__all__ = ["Extraction", "cheap", "extract", "quickly", "the_only_choice", "total"]


@dataclass(frozen=True)
class Extraction:
    """A chosen program: its forms, their order, and how good it is.

    cost: of the choice.  bound: no choice costs less.  method: "only" (there was one choice), "tried"
    (few, each tried or known to be dearer), "milp", "greedy", or "written" (as the user wrote it, where the
    searches met none in their time).  optimal: proven the cheapest in the e-graph for the cost model.
    """

    problem: Problem
    choice: Choice
    schedule: EvaluationOrder
    cost: float
    bound: float
    method: str
    optimal: bool

    @property
    def gap(self) -> float:
        """The fraction of the cost that a better choice could save at most."""
        return max(0.0, 1.0 - self.bound / self.cost) if self.cost else 0.0

    @cached_property
    def held(self) -> float:
        """The bytes of all arrays that it makes, a loop's arrays counted once."""
        return sum(o.held for o in self.choice.values())

    @cached_property
    def peak(self) -> float:
        """The most bytes that it holds at one time."""
        return peak(self.problem, self.choice, self.schedule)


def cheap(problem: Problem, seconds: float) -> Extraction | None:
    """A cheap choice, found in little time, proven or not; None if there is none."""
    solution = solve(problem, seconds)
    found = (solution.choice, solution.schedule) if solution else greedy(problem)
    if found is None:
        return None
    return Extraction(problem, *found, total(found[0]), 0.0, "milp" if solution else "greedy", False)


def quickly(problem: Problem) -> Extraction:
    """The cheapest choice found by searches that are limited by a count, not a clock: it is always the same one.

    Raises NoProgramFoundError if they find none.
    """
    count = math.prod(map(len, problem.options.values()))
    if count == 1:
        return the_only_choice(problem)
    if count * len(problem.options) <= _FEW and (tried := _cheapest_of_all(problem)) is not None:
        return tried
    found = greedy(problem)
    if found is None:
        if problem.more_phases:
            raise NoProgramFoundError("no causal program was found by a quick search")
        return quickly(problem.wider())
    known, less = cheaper(problem, problem.total(found[0]))
    choice, schedule = less or found
    cost = total(choice)
    return Extraction(problem, choice, schedule, cost, cost if known else 0.0, "tried" if known else "greedy", known)


def total(choice: Choice) -> float:
    """The cost of a choice, without that of bytes beyond a limit; shared instances count once."""
    return sum(o.cost for o in choice.values())


def the_only_choice(problem: Problem) -> Extraction:
    """The program of a graph with one form per class: what the user wrote."""
    choice = reached({i: o[0] for i, o in problem.options.items()}, problem.roots)
    cost = total(choice)
    return Extraction(problem, choice, order(problem, choice), cost, cost, "only", True)


_FEW = 5_000
"""The most choices times instances that are tried one by one: to load a solver takes longer than they do."""


def _cheapest_of_all(problem: Problem) -> Extraction | None:
    every = itertools.product(*problem.options.values())
    choices = [reached(dict(zip(problem.options, picked, strict=True)), problem.roots) for picked in every]
    for choice in sorted(choices, key=problem.total):
        with suppress(AcausalError):
            cost = total(choice)
            return Extraction(problem, choice, order(problem, choice), cost, cost, "tried", True)
    return None


_LEAST_SECONDS = 3.0
"""Seconds that the exact search is always allowed."""


_NEAR = 1.01
"""A rounded choice that costs at most this many times the bound needs no greedy one beside it."""


def _quickly_found(problem: Problem, near: Solution | None, exact: bool) -> tuple[Choice, EvaluationOrder] | None:
    """A first upper bound: the choice near the relaxation, or a greedy one if that may be far from it."""
    found = [(near.choice, near.schedule)] if near else []
    if near is None or problem.total(near.choice) > _NEAR * near.bound:
        greedily = greedy(problem, first=exact)  # a bound, where a proof follows
        found += [greedily] if greedily else []
    return min(found, key=lambda t: problem.total(t[0]), default=None)


def _thorough(problem: Problem, known: bool) -> tuple[Choice, EvaluationOrder] | None:
    """The result of a thorough search; if it finds nothing, and nothing is known, prices are raised slowly."""
    found = greedy(problem, thorough=True)
    return found if found or known else negotiated(problem, thorough=True)


def extract(problem: Problem, seconds: float = 10.0, exact: bool = True, patience: float = math.inf) -> Extraction:
    """The cheapest choice found; proven the cheapest where the exact search ends in time.

    Where nothing is proven, a thorough search goes on, a second or two for large programs.  Where bytes are limited,
    what goes beyond counts in the search, and neither in the cost nor in the bound of what is found.  If nothing is
    found quickly, but something is with one more phase of every loop, the problem with these phases is searched.

    seconds: for the exact search, at most; if the quick one finds nothing, one of up to three seconds comes before it.
    patience: seconds that it may take per unit of cost of what was found quickly (three seconds are always allowed).

    Raises NoProgramFoundError when no causal choice is found at all.
    """
    count = math.prod(map(len, problem.options.values()))
    if count == 1:
        return the_only_choice(problem)
    if exact and count * len(problem.options) <= _FEW and (tried := _cheapest_of_all(problem)) is not None:
        return tried
    solver = Solver(problem)
    near = solver.relax(seconds) if exact and len(problem.options) > MOST else None
    if near and near.proven:
        cost = total(near.choice)
        return Extraction(problem, near.choice, near.schedule, cost, min(near.bound, cost), "milp", True)
    quick = _quickly_found(problem, near, exact)
    if quick is None and not problem.more_phases and greedy(wider := problem.wider(), first=True):
        return extract(wider, seconds, exact, patience)
    solution = solver.solve(min(seconds, _LEAST_SECONDS)) if exact and quick is None else None
    if quick is None:
        quick = (solution.choice, solution.schedule) if solution else negotiated(problem)
    most = problem.total(quick[0]) if quick else math.inf
    known, less = cheaper(problem, most) if exact and quick else (False, None)
    if known and quick:
        choice, schedule = less or quick
        cost = total(choice)
        return Extraction(problem, choice, schedule, cost, cost, "tried", True)
    if quick:
        seconds = min(seconds, max(_LEAST_SECONDS, total(quick[0]) * patience))
    if exact and (solution is None or (seconds > _LEAST_SECONDS and not solution.proven)):
        solution = solver.solve(seconds, most) or solution  # cheaper than what is known
    found = [(solution.choice, solution.schedule, "milp")] if solution else []
    proven = solution is not None and solution.proven
    thorough = _thorough(problem, solution is not None) if exact and not proven else None
    others = greedy(problem) if exact and quick and not proven else None
    found += [(*choice, "greedy") for choice in (quick, others, thorough) if choice and not proven]
    if not found:
        raise NoProgramFoundError("no causal program was found in the e-graph within the time given")
    choice, schedule, method = min(found, key=lambda t: problem.total(t[0]))
    cost = total(choice)
    bound = min(max(solution.bound if solution else 0.0, solver.bound), cost)
    return Extraction(problem, choice, schedule, cost, bound, method, proven and method == "milp")
