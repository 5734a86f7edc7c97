"""The cheapest choice, exactly: a mixed integer program solved by HiGHS.

One binary variable per option, and one variable for the bytes beyond a limit.  An option needs an option of everything
that it uses, and what a loop reads has to be computed before it (`rows`).  Remaining cycles are cut off when a solution
has one.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from scanopt.egraph.engine_memory import addresses_left
from scanopt.extraction.loop_formulas import Variables, circle_rows, formulas, made_rows, order_rows
from scanopt.extraction.ordering import AcausalError, Choice, EvaluationOrder, order, reached
from scanopt.extraction.problem import Instance, Option, Problem
from scanopt.progress import working

__all__ = ["Solution", "solve"]

_ROUNDS = 60
_LARGE = 5_000
"""Variables beyond which a row with the costs of all of them slows the solver more than it cuts off."""
_FAR = 1000.0
"""So many times the limit is as bad as more, which would not go with the solver's tolerance."""


@dataclass(frozen=True)
class Solution:
    """A choice with its schedule, and a lower bound on the cost of any causal choice.

    proven: no causal choice of this problem is cheaper.
    """

    choice: Choice
    schedule: EvaluationOrder
    bound: float
    proven: bool


class _Model:
    def __init__(self, problem: Problem, most: float) -> None:
        self.problem, self.most = problem, most
        self.options = [(i, o) for i, os in problem.options.items() for o in os]
        self.number = {(i, id(o)): n for n, (i, o) in enumerate(self.options)}
        self.of: dict[Instance, list[int]] = {}
        for n, (i, _) in enumerate(self.options):
            self.of.setdefault(i, []).append(n)
        self.rows: list[dict[int, float]] = []
        self.low: list[float] = []
        self.size = len(self.options)
        self.over: int | None = None
        self._base()
        self._limit()
        variables = Variables(self.of, self._fresh)
        for rows in (order_rows, made_rows, circle_rows):
            for row in rows(problem, variables):
                self.add(row, 0.0)

    def add(self, row: dict[int, float], low: float) -> None:
        self.rows.append(row)
        self.low.append(low)

    def _fresh(self) -> int:
        """One more variable, of no cost, between 0 and 1."""
        self.size += 1
        return self.size - 1

    def _base(self) -> None:
        for r in self.problem.roots:
            self.add(dict.fromkeys(self.of[r], 1.0), 1.0)
        for i, numbers in self.of.items():
            if len(numbers) > 1:
                self.add(dict.fromkeys(numbers, -1.0), -1.0)
            users: dict[tuple[Instance, bool], list[int]] = {}
            for n in numbers:
                o = self.options[n][1]
                for j, later in dict.fromkeys([*((j, False) for j in o.needs), *((j, True) for j in o.updates)]):
                    users.setdefault((j, later), []).append(n)
            for (j, later), needing in users.items():
                # What i is made of is not made of i, but for what is needed one step later only.
                row = {n: 1.0 for n in self.of[j] if later or i not in self.options[n][1].needs}
                for n in needing:
                    row[n] = row.get(n, 0.0) - 1.0
                self.add(row, 0.0)

    def _limit(self) -> None:
        """What is over the limit: so many times the limit."""
        held = [min(o.held / self.problem.limit.bytes, _FAR) for _, o in self.options]
        if sum(held) > 1:
            self.over = self._fresh()
            row = {n: -x for n, x in enumerate(held) if x}
            self.add(row | {self.over: 1.0}, -1.0)

    def forbid(self, together: tuple[tuple[Instance, Option], ...]) -> None:
        """These options do not go together: they need one another."""
        circle = {i for i, _ in together}
        if all(circle.intersection(o.needs) for _, o in together):
            for row in formulas(self.problem, self.of, circle):
                self.add(row, 0.0)
            return
        numbers = {self.number[i, id(o)] for i, o in together}
        self.add(dict.fromkeys(numbers, -1.0), 1.0 - len(numbers))

    def minimize(self, seconds: float) -> tuple[np.ndarray[Any, Any] | None, float, bool]:
        """Chosen (0 or 1 per option) or None, lower bound, and whether it is optimal."""
        from concurrent.futures import ThreadPoolExecutor

        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        data = [v for row in self.rows for v in row.values()]
        columns = [n for row in self.rows for n in row]
        starts = np.cumsum([0, *(len(row) for row in self.rows)])
        matrix = csr_array((data, columns, starts), shape=(len(self.rows), self.size))
        costs, most = np.zeros(self.size), np.ones(self.size)
        costs[: len(self.options)] = [o.cost for _, o in self.options]
        scale = max(1.0, *(o.cost for _, o in self.options)) / 1e6
        if self.over is not None:
            costs[self.over] = self.problem.limit.price * self.problem.limit.bytes
            most[self.over] = np.inf
        constraints = [LinearConstraint(matrix, np.array(self.low), np.inf)]
        if 0 < self.most < np.inf and self.size <= _LARGE:
            constraints.append(LinearConstraint(costs[None] / self.most, -np.inf, 1 + 1e-9))
        # HiGHS keeps threads for each thread that calls it, and waits for ever in a process forked from that thread.
        with ThreadPoolExecutor(1) as passing:
            result = passing.submit(
                milp,
                costs / scale,
                constraints=constraints,
                integrality=np.arange(self.size) < len(self.options),
                bounds=Bounds(0, most),
                options={"time_limit": max(seconds, 0.01), "mip_rel_gap": 1e-9},
            ).result()
        bound = result.get("mip_dual_bound")
        low = 0.0 if bound is None or not np.isfinite(bound) else float(bound) * scale
        return result.x, low, result.status == 0


_ADDRESSES = 200_000_000, 20_000_000
"""Bytes of addresses that SciPy and the solver take at most, and those that each core adds."""


def solve(problem: Problem, seconds: float, most: float = np.inf) -> Solution | None:
    """The cheapest causal choice, or None when time ran out before any was found, or there is no memory to look.

    most: the cost of a known choice; only cheaper ones are of interest, though a large model may still find others.
    """
    least, core = _ADDRESSES
    if addresses_left() < least + core * (os.cpu_count() or 1):  # where SciPy's parts find too few, they wait for ever
        return None
    model = _Model(problem, most)
    end = time.perf_counter() + seconds
    with working("looking for the cheapest program") as tell:
        for _ in range(_ROUNDS):
            x, bound, optimal = model.minimize(end - time.perf_counter())
            tell(f"it costs {bound:,.0f} or more, by {len(model.options):,} options")
            if x is None:
                return None
            chosen = {i: o for (i, o), v in zip(model.options, x, strict=False) if v > 0.5}
            try:
                choice = reached(chosen, problem.roots)
                return Solution(choice, order(problem, choice), bound, optimal)
            except AcausalError as cycle:
                model.forbid(cycle.together)
            if time.perf_counter() > end:
                return None
    return None
