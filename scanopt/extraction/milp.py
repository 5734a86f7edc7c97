"""The cheapest choice, exactly: an integer program solved by HiGHS, its relaxation first."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import ParamSpec, TypeVar

import numpy as np

from scanopt.egraph.engine_memory import addresses_left
from scanopt.extraction.integer_program import Array, IntegerProgram, ProgramOfChoices
from scanopt.extraction.ordering import AcausalError, Choice, EvaluationOrder, order, reached
from scanopt.extraction.problem import Problem
from scanopt.extraction.relaxation import Relaxed, relaxed
from scanopt.progress import working
from scanopt.records import dataclass

__all__ = ["Solution", "Solver", "solve"]

_ROUNDS = 60
_LARGE = 600
"""Variables beyond which a row with the costs of all of them slows the solver more than it cuts off."""
_GAP = 1e-9
"""A choice that costs at most this fraction more than a bound has reached it."""
_ADDRESSES = 200_000_000, 20_000_000
"""Bytes of address space that SciPy and the solver take at most, and those that each core adds."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Solution:
    """A choice with its schedule, and a lower bound on the cost of any causal choice.

    proven: no causal choice of this problem is cheaper.
    """

    choice: Choice
    schedule: EvaluationOrder
    bound: float
    proven: bool


def solve(problem: Problem, seconds: float, most: float = np.inf) -> Solution | None:
    """The cheapest causal choice, or None if time ran out before any was found, or memory is short.

    most: the cost of a known choice; only cheaper ones are of interest, though a large model may still find others.
    """
    return Solver(problem).solve(seconds, most)


class Solver:
    """The searches for one problem; the second reuses what the first one learned.

    bound: no causal choice costs less, whether one was found or not.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.bound = 0.0
        self.near: Solution | None = None
        self._model: ProgramOfChoices | None = None
        self._relaxed: Relaxed | None = None

    def relax(self, seconds: float) -> Solution | None:
        """The choice nearest to the solution of the relaxation; proven if it is that solution.

        None if that is no choice or has no order, or if time or memory ran out.
        """
        least, core = _ADDRESSES
        if addresses_left() < least + core * (os.cpu_count() or 1):  # where SciPy's parts find too few, they wait
            return None
        self._model = model = ProgramOfChoices(self.problem)
        end = time.perf_counter() + seconds
        for _ in range(_ROUNDS):
            program = model.program()
            found = _apart(relaxed, program, end - time.perf_counter())
            if found is None:
                break
            self._relaxed = found
            self.bound = max(self.bound, found.bound * model.scale)
            if not self._tighter(model, program, found):
                break
        return self.near

    def _tighter(self, model: ProgramOfChoices, program: IntegerProgram, found: Relaxed) -> bool:
        """Take the choice nearest to a solution of the relaxation; return whether rows were added, to solve it
        again."""
        try:
            choice = model.rounded(found.x)
            schedule = order(self.problem, choice)
        except KeyError:
            pass
        except AcausalError as cycle:
            if program.whole(found.x):
                model.forbid(cycle.together)
                return True
        else:
            near = self._better(self.near, Solution(choice, schedule, found.bound * model.scale, False))
            proven = self.problem.total(near.choice) <= near.bound * (1 + _GAP)
            self.near = replace(near, proven=proven)
            if proven:
                return False
        return model.tighten(found.x, found.bound)

    def solve(self, seconds: float, most: float = np.inf) -> Solution | None:
        """As the function `solve`."""
        end = time.perf_counter() + seconds
        near = self.near or (self.relax(seconds) if self._model is None else None)
        model = self._model
        if model is None or (near and near.proven):
            return near
        most = min(most, self.problem.total(near.choice)) if near else most
        with working("looking for the cheapest program") as tell:
            for _ in range(_ROUNDS):
                x, bound, optimal = _apart(_minimized, self._program(model, most), most / model.scale, end)
                bound *= model.scale
                tell(f"it costs {bound:,.0f} or more, by {len(model.options):,} options")
                if x is None:
                    break
                chosen = {i: o for (i, o), v in zip(model.options, x, strict=False) if v > 0.5}
                try:
                    choice = reached(chosen, self.problem.roots)
                    found = Solution(choice, order(self.problem, choice), bound, optimal)
                except AcausalError as cycle:
                    model.forbid(cycle.together)
                else:
                    return self._better(near, found)
                if time.perf_counter() > end:
                    break
        return near

    def _program(self, model: ProgramOfChoices, most: float) -> IntegerProgram:
        """The integer program of the rows known so far, without options that the relaxation rules out."""
        program = model.program()
        if self._relaxed is None or not np.isfinite(most):
            return program
        return self._relaxed.narrowed(program, most / model.scale * (1 + _GAP))

    def _better(self, near: Solution | None, found: Solution) -> Solution:
        """The cheaper of two choices, with the best bound: that of `found` holds up to the cost of `near`."""
        if near is None:
            return found
        bound = max(near.bound, min(found.bound, self.problem.total(near.choice)))
        if found.proven or self.problem.total(found.choice) < self.problem.total(near.choice):
            return replace(found, bound=bound)
        return replace(near, bound=bound)


def _apart(call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """The result of a call, made in a thread that ends.

    HiGHS keeps threads for each thread that calls it, and would wait forever in a process forked from that thread.
    """
    with ThreadPoolExecutor(1) as passing:
        return passing.submit(call, *args, **kwargs).result()


def _minimized(program: IntegerProgram, most: float, end: float) -> tuple[Array | None, float, bool]:
    """A solution or None, a lower bound, and whether the solution is optimal.  most: the cost of a known one."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    constraints = [LinearConstraint(program.matrix, program.low, np.inf)]
    if 0 < most < np.inf and len(program.costs) <= _LARGE:
        constraints.append(LinearConstraint(program.costs[None] / most, -np.inf, 1 + _GAP))
    result = milp(
        program.costs,
        constraints=constraints,
        integrality=program.options,
        bounds=Bounds(program.least, program.most),
        options={"time_limit": max(end - time.perf_counter(), 0.01), "mip_rel_gap": _GAP},
    )
    bound = result.get("mip_dual_bound")
    return result.x, 0.0 if bound is None or not np.isfinite(bound) else float(bound), result.status == 0
