"""The linear relaxation of an integer program; its solution is nearly always a choice, and then the cheapest one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from scanopt.extraction.integer_program import Array, IntegerProgram
from scanopt.records import dataclass

__all__ = ["Relaxed", "relaxed"]


@dataclass(frozen=True)
class Relaxed:
    """A solution of the relaxation.

    bound: no solution of the program costs less.  reduced: per variable, how much more than the bound a solution costs
    at least if the variable is not at its cheaper end.
    """

    x: Array
    bound: float
    reduced: Array

    def narrowed(self, program: IntegerProgram, most: float) -> IntegerProgram:
        """The program with those options fixed that every solution of at most this cost takes, or leaves."""
        left = most - self.bound
        never, ever = (program.options & (prices > left) for prices in (self.reduced, -self.reduced))
        return replace(
            program,
            least=np.where(ever, program.most, program.least),
            most=np.where(never, program.least, program.most),
        )


def relaxed(program: IntegerProgram, seconds: float) -> Relaxed | None:
    """A solution of the relaxation; None if none was found in time.

    The bound is computed here from the solver's dual values, and holds for any dual values that are not negative.
    """
    from scipy.optimize import linprog

    found = linprog(
        program.costs,
        A_ub=-program.matrix,
        b_ub=-program.low,
        bounds=np.stack([program.least, program.most], axis=1),
        method="highs",
        options={"time_limit": max(seconds, 0.01)},
    )
    if found.status != 0:
        return None
    prices = np.maximum(-found.ineqlin.marginals, 0.0)
    reduced = program.costs - program.matrix.T @ prices
    bound = prices @ program.low + reduced @ np.where(reduced > 0, program.least, program.most)
    return Relaxed(found.x, float(bound), reduced)
