"""Batched operators that may raise: a branch that runs nothing where there are no rows (`operators/idle.py`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from scanopt.analysis.batched_operators import recipe
from scanopt.array.op import Op
from scanopt.array.variable import Constant, Variable
from scanopt.calculus.forms import Batched, Operator
from scanopt.program.ir import Branch, Compute

__all__ = ["guarded"]


def guarded(branch: Branch, value: Callable[[str], Variable]) -> tuple[Op, tuple[str, ...], tuple[str, ...]] | None:
    """The operator that a branch guards, the flags of each batching, innermost first, and its arguments.

    None where a branch is anything else.  value: the variable of a name made before the branch.
    """
    if len(branch.results) != 1 or len(branch.otherwise) != 1:
        return None
    (either,), (idle,) = branch.results, branch.otherwise
    if not isinstance(idle, Compute) or idle.op.name != "no_rows" or either.otherwise != idle.out:
        return None
    op, flags = Op.parse(idle.op.options["op"]), idle.op.options["flags"]
    return (op, flags, idle.args) if _is_recipe(branch, op, flags, idle.args, value) else None


def _is_recipe(
    branch: Branch, op: Op, flags: tuple[str, ...], args: tuple[str, ...], value: Callable[[str], Variable]
) -> bool:
    """Whether the steps of the side that runs are exactly the recipe of the batched operator."""
    start: Operator = op
    made = recipe(reduce(Batched, flags, start), [value(a).operand for a in args])
    if made is None or len(made.steps) != len(branch.then):
        return False
    slots: list[str | np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = [*args, *made.constants]
    for step, (expected, inputs) in zip(branch.then, made.steps, strict=True):
        if not isinstance(step, Compute) or step.op != expected or len(step.args) != len(inputs):
            return False
        for name, i in zip(step.args, inputs, strict=True):
            slot = slots[i]
            if slot != name if isinstance(slot, str) else not _is_constant(value(name), slot):
                return False
        slots.append(step.out)
    return slots[made.result] == branch.results[0].then


def _is_constant(v: Variable, expected: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> bool:
    return isinstance(v, Constant) and v.dtype == expected.dtype.name and np.array_equal(v.data, expected)
