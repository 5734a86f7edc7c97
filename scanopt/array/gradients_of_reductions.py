"""Gradients of reductions, cumulative sums and products, sorting, softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanopt.array.batching import broadcast_to, dim, dims_of, expand
from scanopt.array.constants import as_variable
from scanopt.array.derivatives import fitting
from scanopt.array.op import Op
from scanopt.array.variable import FUNCTIONS, Variable, apply

__all__ = ["of_mean", "of_sum"]

Args = Sequence[Variable]
Parts = list[Variable | None]


def _kept(op: Op, x: Variable) -> Variable:
    """A result, or its gradient, with the axes that were reduced as axes of length 1."""
    return x if op.options["keepdims"] else expand(x, op.options["axis"])


def _count(op: Op, x: Variable) -> Any:
    """How many elements go into one of the result: a number where the lengths are known, else symbolic."""
    count: Any = 1
    for i in op.options["axis"]:
        count = count * dim(x, i)
    return count


def of_sum(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """The same for each element of the sum."""
    (x,) = args
    return [broadcast_to(fitting(_kept(op, g), x), dims_of(x))]


def of_mean(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """The same for each element, over their number."""
    (x,) = args
    count = FUNCTIONS["cast"](as_variable(_count(op, x)), g.dtype)
    return of_sum(op, args, out, g / count)
