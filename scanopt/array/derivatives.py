"""What gradients of operators are written with: the entry of an elementwise operator is its partial derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.op import Gradient, Op
from scanopt.array.ops_sum_to import sum_to
from scanopt.array.variable import FUNCTIONS, Variable

__all__ = ["elementwise_gradient", "no_gradient", "smooth", "zero_gradient"]

Partial = Callable[..., Any] | None


def smooth(x: Variable) -> bool:
    """Whether x can have a gradient: its dtype is float or complex."""
    return np.dtype(x.dtype).kind in "fc"


def elementwise_gradient(*partials: Partial) -> Gradient:
    """The gradient of an elementwise operator by its partial derivatives, one for each argument.

    A partial is called with all arguments and the result, as symbolic arrays (parameters of the op
    as keywords), and returns the derivative by its argument, an array or a number; None where the
    result does not depend smoothly on it.  What broadcasting spread is summed.

    >>> from scanopt.array.variable import TensorType
    >>> gradient = elementwise_gradient(lambda x, y, out: y, lambda x, y, out: x)
    """

    def gradient(op: Op, args: Sequence[Variable], out: Variable, g: Variable) -> list[Variable | None]:
        return [
            None if partial is None or not smooth(x) else sum_to(_times(g, partial(*args, out, **op.options), x), x)
            for partial, x in zip(partials, args, strict=True)
        ]

    return gradient


def _times(g: Variable, d: Any, x: Variable) -> Variable:
    """g by the derivative d: its conjugate where it is complex; real where x is."""
    if isinstance(d, int | float):
        product = g if d == 1 else FUNCTIONS["neg"](g) if d == -1 else g * d
    else:
        product = g * (FUNCTIONS["conj"](d) if np.dtype(d.dtype).kind == "c" else d)
    if np.dtype(product.dtype).kind == "c" and np.dtype(x.dtype).kind != "c":
        product = FUNCTIONS["real"](product)
    return product


def no_gradient(op: Op, args: Sequence[Variable], out: Variable, g: Variable) -> list[Variable | None]:
    """The gradient of an operator whose result does not depend smoothly on any argument: disconnected."""
    return [None for _ in args]


def zero_gradient(op: Op, args: Sequence[Variable], out: Variable, g: Variable) -> list[Variable | None]:
    """The gradient of an operator that is constant in steps (floor, sign): zero for each argument."""
    return [FUNCTIONS["zeros_like"](x) if smooth(x) else None for x in args]
