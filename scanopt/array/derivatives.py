"""Helpers for writing gradients of operators; an elementwise operator is differentiated by its partial derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import broadcast_to
from scanopt.array.lengths import lengths, same_length, same_shape
from scanopt.array.op import Gradient, Op
from scanopt.array.operators.sum_to import sum_to
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Apply, Variable

__all__ = [
    "UNKNOWN",
    "Partial",
    "elementwise_gradient",
    "fitting",
    "no_gradient",
    "smooth",
    "unspread",
    "zero_gradient",
]


class UnknownType:
    """The type of `UNKNOWN`."""


UNKNOWN: Any = UnknownType()
"""Stands for a derivative, or a gradient with respect to an argument, that exists but has no formula here."""

Partial = Callable[..., Any] | complex | UnknownType | None
"""A derivative by one argument: a function of all arguments and the result, or a number."""


def smooth(x: Variable) -> bool:
    """Whether x can have a gradient: its dtype is float or complex."""
    return np.dtype(x.dtype).kind in "fc"


def elementwise_gradient(*partials: Partial) -> Gradient:
    """The gradient of an elementwise operator by its partial derivatives, one for each argument.

    A partial is a number, or is called with all arguments and the result, as symbolic arrays
    (parameters of the op as keywords), and returns the derivative by its argument: an array, a number,
    or a pair of them for a fraction; a bool array says where the result is that argument (elsewhere
    the gradient is 0, even where g is NaN).  None: the result does not depend smoothly on it.
    UNKNOWN: asking for that gradient is an error.  The gradient is summed over axes along which the
    argument was broadcast.

    >>> from scanopt.array.variable import TensorType
    >>> gradient = elementwise_gradient(lambda x, y, out: y, lambda x, y, out: x)
    """

    def gradient(op: Op, args: Sequence[Variable], out: Variable, g: Variable) -> list[Variable | None]:
        return [
            None
            if partial is None or not smooth(x)
            else UNKNOWN
            if isinstance(partial, UnknownType)
            else _part(g, partial, op, args, out, i)
            for i, (partial, x) in enumerate(zip(partials, args, strict=True))
        ]

    return gradient


def _part(
    g: Variable, partial: Callable[..., Any] | complex, op: Op, args: Sequence[Variable], out: Variable, i: int
) -> Variable:
    d = partial(*args, out, **op.options) if callable(partial) else partial
    if isinstance(d, complex | float | int) and d == 0:
        zeros: Variable = FUNCTIONS["zeros_like"](args[i])
        return zeros
    if not isinstance(d, tuple | Variable) and d == -1:  # -(-x) is x, also after summing over broadcast axes
        return _times(unspread(g, args, i), d)
    return unspread(_times(g, d), args, i)


def _times(g: Variable, d: Any) -> Variable:
    """g times the derivative d (its conjugate where d is complex), in the shape of g."""
    if not isinstance(d, tuple | Variable) and d == 1:
        return g
    x = _number(g)
    product = _by(x, d)
    return product if x is g else _spread_to(product, g)  # d broadcasts to the shape of g


def _by(x: Variable, d: Any) -> Variable:
    product: Variable
    if isinstance(d, tuple):
        product = _by(x, d[0]) / _conjugate(d[1])
    elif not isinstance(d, Variable):
        product = FUNCTIONS["neg"](x) if d == -1 else x if d == 1 else x * d.conjugate()
    elif d.dtype == "bool":
        product = FUNCTIONS["where"](d, x, 0)
    else:
        product = x * _conjugate(d)
    return product


def _number(g: Variable) -> Variable:
    """The scalar that g repeats in every element, as the gradient of a sum does; else g."""
    x = g
    while isinstance(x.owner, Apply) and x.owner.op.name in ("broadcast_to", "expand_dims"):
        x = x.owner.inputs[0]
    return g if x.ndim else x


def _spread_to(x: Variable, g: Variable) -> Variable:
    """x broadcast to the shape of g."""
    return x if x.ndim == g.ndim and same_shape(x, g) else broadcast_to(x, lengths(g))


def _conjugate(d: Variable) -> Variable:
    return FUNCTIONS["conj"](d) if np.dtype(d.dtype).kind == "c" else d


def unspread(part: Variable, args: Sequence[Variable], i: int) -> Variable:
    """Sum a gradient of the result's shape to the shape of argument i of an elementwise operator.

    >>> from scanopt import tensor as T
    >>> unspread(T.matrix("g"), [T.matrix("x"), T.scalar("y")], 1).ndim
    0
    """
    return sum_to(fitting(part, args[i]), args[i], _spread(args, i))


def _spread(args: Sequence[Variable], i: int) -> list[int]:
    """The axes along which argument i may be broadcast: its length may be 1 and that of another argument not."""
    x, found = args[i], list[int]()
    for axis, n in enumerate(x.type.shape):
        places = [(y, axis + y.ndim - x.ndim) for j, y in enumerate(args) if j != i and y is not x]
        others = [(y, k) for y, k in places if k >= 0 and y.type.shape[k] != 1]
        if n == 1 and others:
            found.append(axis)
        elif n is None:
            found += [] if all(same_length(x, axis, *place) for place in others) else [axis]
    return found


def fitting(part: Variable, x: Variable) -> Variable:
    """A gradient as one with respect to x: only its real part where x is real.

    >>> from scanopt import tensor as T
    >>> fitting(T.zvector("g"), T.dvector("x")).dtype
    'float64'
    """
    kinds = np.dtype(part.dtype).kind, np.dtype(x.dtype).kind
    real: Variable = FUNCTIONS["real"](part) if kinds[0] == "c" and kinds[1] != "c" else part
    return real


def no_gradient(op: Op, args: Sequence[Variable], out: Variable, g: Variable) -> list[Variable | None]:
    """The gradient of an operator whose result does not depend smoothly on any argument: disconnected."""
    return [None for _ in args]


def zero_gradient(op: Op, args: Sequence[Variable], out: Variable, g: Variable) -> list[Variable | None]:
    """The gradient of an operator that is constant in steps (floor, sign): zero for each argument."""
    return [FUNCTIONS["zeros_like"](x) if smooth(x) else None for x in args]
