"""The integer program of a problem: the cheapest choice, exactly.

One binary variable per option, and one variable for the bytes beyond a limit.  An option needs an option of everything
that it uses, and what a loop reads has to be computed before it.  Further rows cut off no choice that has an order and
holds nothing needless, but fractions of choices (`loop_formulas`, `exclusive`, and `cut_sets` where a solution of the
relaxation shows fractions all the same).  Remaining cycles are cut off when a solution has one.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property
from typing import Any

import numpy as np

from scanopt.extraction.cut_sets import CutSets
from scanopt.extraction.exclusive import exclusive_rows
from scanopt.extraction.loop_formulas import Row, Variables, always_rows, circle_rows, formulas, made_rows, order_rows
from scanopt.extraction.necessary import always_used, groups_of
from scanopt.extraction.ordering import Choice, reached
from scanopt.extraction.problem import Instance, Option, Problem
from scanopt.records import dataclass

__all__ = ["Array", "IntegerProgram", "ProgramOfChoices"]

Array = np.ndarray[Any, Any]

_FAR = 1000.0
"""Bytes count as at most this many times the limit: larger numbers would not go with the solver's tolerance."""
_SOME = 1e-6
"""A fraction of an option that counts as none of it."""
_TURNS = 4
"""How often, at most, rows are added that a solution of the relaxation violates."""
_RAISED = 1e-4
"""Rows that raise the bound by a smaller fraction than this hardly raise it."""


@dataclass(frozen=True)
class IntegerProgram:
    """Minimize costs, with matrix @ x >= low and x between `least` and `most`; the variables of options are
    integers."""

    matrix: Any
    low: Array
    costs: Array
    least: Array
    most: Array
    options: Array

    def whole(self, x: Array) -> bool:
        """Whether a solution is integral: it takes each option or leaves it."""
        return bool((np.abs(x - np.round(x))[self.options] < _SOME).all())


class ProgramOfChoices:
    """The integer program of a problem; it grows by rows that cut off solutions without an order."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.options = [(i, o) for i, os in problem.options.items() for o in os]
        self.number = {(i, id(o)): n for n, (i, o) in enumerate(self.options)}
        self.of: dict[Instance, list[int]] = {}
        for n, (i, _) in enumerate(self.options):
            self.of.setdefault(i, []).append(n)
        self.rows: list[Row] = []
        self.low: list[float] = []
        self.size = len(self.options)
        self.over: int | None = None
        self._turns, self._bound, self._cuts = _TURNS, 0.0, list[Row]()
        self._groups = groups_of(problem)
        variables = Variables(self.of, self._fresh, self._groups, always_used(problem, self._groups))
        self._base({i for g in variables.always if len(g) == 1 for i in g})
        self._limit()
        for row in always_rows(problem, variables):
            self.add(row, 1.0)
        for rows in (order_rows, made_rows, circle_rows, exclusive_rows):
            for row in rows(problem, variables):
                self.add(row, 0.0)

    def add(self, row: Row, low: float) -> None:
        """Add a row, whose sum is at least this."""
        self.rows.append(row)
        self.low.append(low)

    def _fresh(self) -> int:
        """Add a variable, of no cost, between 0 and 1."""
        self.size += 1
        return self.size - 1

    def _base(self, always: Set[Instance]) -> None:
        """The rows of needs.  always: instances that every choice uses."""
        for r in self.problem.roots:
            self.add(dict.fromkeys(self.of[r], 1.0), 1.0)
        for i, numbers in self.of.items():
            if len(numbers) > 1:
                self.add(dict.fromkeys(numbers, -1.0), -1.0)
            users: dict[tuple[Instance, bool], list[int]] = {}
            for n in numbers:
                o = self.options[n][1]
                now, then = dict.fromkeys(o.needs), dict.fromkeys(o.updates)
                for use in [*((j, False) for j in now), *((j, True) for j in then)]:
                    if use[0] not in always:
                        users.setdefault(use, []).append(n)
            for (j, later), needing in users.items():
                # What i needs is computed by no option that needs i, except what i needs only one step later.
                row = {n: 1.0 for n in self.of[j] if later or i not in self.options[n][1].needs}
                for n in needing:
                    row[n] = row.get(n, 0.0) - 1.0
                self.add(row, 0.0)

    def _limit(self) -> None:
        """Add a variable for the bytes over the limit, as multiples of the limit."""
        held = self._held()
        if sum(held) > 1:
            self.over = self._fresh()
            row = {n: -x for n, x in enumerate(held) if x}
            self.add(row | {self.over: 1.0}, -1.0)

    def _held(self) -> list[float]:
        return [min(o.held / self.problem.limit.bytes, _FAR) for _, o in self.options]

    def forbid(self, together: tuple[tuple[Instance, Option], ...]) -> None:
        """Forbid a cycle: these options must not all be chosen."""
        circle = {i for i, _ in together}
        if all(circle.intersection(o.needs) for _, o in together):
            for row in formulas(self.problem, self.of, circle):
                self.add(row, 0.0)
            return
        numbers = {self.number[i, id(o)] for i, o in together}
        self.add(dict.fromkeys(numbers, -1.0), 1.0 - len(numbers))

    @cached_property
    def _cut_sets(self) -> CutSets:
        return CutSets(self.problem, self.of, self._groups)

    def tighten(self, x: Array, bound: float) -> bool:
        """Add rows that a solution of the relaxation violates; return whether there were any.

        This is done a few times only, and ends where the last rows hardly raised the bound.
        """
        if bound < self._bound * (1 + _RAISED):
            self._turns = 0
        self._bound = bound
        new = list(self._cut_sets.broken(x.tolist())) if self._turns else []
        self._turns -= bool(new)
        self._cuts += new
        return bool(new)

    @cached_property
    def scale(self) -> float:
        """The number by which costs are divided for the solver."""
        return max(1.0, *(o.cost for _, o in self.options)) / 1e6

    def program(self) -> IntegerProgram:
        """The matrix of all rows, and the costs to be minimized, divided by the scale."""
        from scipy.sparse import csr_array

        rows = [*self.rows, *self._cuts]
        data = [v for row in rows for v in row.values()]
        columns = [n for row in rows for n in row]
        starts = np.cumsum([0, *(len(row) for row in rows)])
        matrix = csr_array((data, columns, starts), shape=(len(rows), self.size))
        low = np.array([*self.low, *[0.0] * len(self._cuts)])
        costs, most = np.zeros(self.size), np.ones(self.size)
        costs[: len(self.options)] = [o.cost for _, o in self.options]
        if self.over is not None:
            costs[self.over] = self.problem.limit.price * self.problem.limit.bytes
            most[self.over] = sum(self._held())
        options = np.arange(self.size) < len(self.options)
        return IntegerProgram(matrix, low, costs / self.scale, np.zeros(self.size), most, options)

    def rounded(self, x: Array) -> Choice:
        """For each instance the option with the largest fraction in a solution; KeyError if a needed instance has
        none."""
        best: Choice = {}
        taken = np.round(x, 6).tolist()
        for i, numbers in self.of.items():
            n = max(numbers, key=lambda n: (taken[n], -self.options[n][1].cost, -n)) if len(numbers) > 1 else numbers[0]
            if taken[n] > 0:
                best[i] = self.options[n][1]
        return reached(best, self.problem.roots)
