"""Functions of neural networks, written with the operators of the table."""

from __future__ import annotations

from typing import Any

from scanopt.array.batching import dim
from scanopt.array.constants import as_variable, is_weak
from scanopt.array.operators.creation import arange
from scanopt.array.operators.elementwise import as_float, cast, elementwise, where
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.shaping import squeeze
from scanopt.array.operators.subtensor import getitem
from scanopt.array.registry import NUMPY_FUNCTIONS, public
from scanopt.array.shapes import axes_of
from scanopt.array.variable import Variable

__all__ = ["logsumexp", "relu", "softplus"]


@public("softplus")
def softplus(x: Any) -> Variable:
    """log(1 + exp(x)), without overflow."""
    return elementwise("logaddexp", as_float(x), 0.0)


@public("relu")
def relu(x: Any, alpha: Any = 0) -> Variable:
    """max(x, 0); with `alpha`, alpha * x for negative x."""
    if is_weak(alpha) and alpha == 0:
        return elementwise("maximum", x, 0)
    return where(elementwise("greater", x, 0), x, elementwise("multiply", alpha, x))


@public("elu")
def elu(x: Any, alpha: Any = 1) -> Variable:
    """x where positive, else alpha * (exp(x) - 1)."""
    positive = elementwise("greater", x, 0)
    negative = elementwise("expm1", where(positive, 0, x))  # the derivative of minimum(x, 0) at 0 is 1/2
    return where(positive, x, elementwise("multiply", alpha, negative))


@public("binary_crossentropy")
def binary_crossentropy(output: Any, target: Any) -> Variable:
    """-(target * log(output) + (1 - target) * log(1 - output)), element by element."""
    hit = elementwise("multiply", target, elementwise("log", output))
    miss = elementwise("log", elementwise("subtract", 1, output))
    rest = elementwise("multiply", elementwise("subtract", 1, target), miss)
    return elementwise("negative", elementwise("add", hit, rest))


@public("sigmoid_binary_crossentropy")
def sigmoid_binary_crossentropy(output: Any, target: Any) -> Variable:
    """`binary_crossentropy` of sigmoid(output), without overflow; all of its derivatives at 0 are right.

    >>> from scanopt import interpret, tensor as T
    >>> interpret(sigmoid_binary_crossentropy(T.constant([-1000.0, 1000.0]), 0.0))
    array([   0., 1000.])
    """
    x = as_float(output)
    positive = elementwise("greater", x, 0)
    tail = elementwise("log1p", elementwise("exp", where(positive, elementwise("negative", x), x)))
    return where(positive, x, 0) - elementwise("multiply", target, x) + tail


@public()
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    """log(sum(exp(x))) over axis, without overflow."""
    v = as_float(x)
    top = reduce("max", v, axis, True)
    top = where(elementwise("isfinite", top), top, 0.0)
    total = reduce("sum", elementwise("exp", elementwise("subtract", v, top)), axis, True)
    result = elementwise("add", elementwise("log", total), top)
    return result if keepdims else squeeze(result, axes_of(axis, v))


def _all_added(x: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    """`np.logaddexp.reduce`, in the dtype of the ufunc."""
    v = as_variable(x)
    return logsumexp(cast(v, elementwise("logaddexp", v, v).dtype), axis, keepdims)


NUMPY_FUNCTIONS["logaddexp.reduce"] = _all_added


@public("logsoftmax", "log_softmax")
def logsoftmax(x: Any, axis: int = -1) -> Variable:
    """log(softmax(x)), without overflow."""
    return elementwise("subtract", as_float(x), logsumexp(x, axis, keepdims=True))


@public("categorical_crossentropy")
def categorical_crossentropy(coding_dist: Any, true_dist: Any) -> Variable:
    """-log of the probability of the true class in each row of `coding_dist`; true_dist: its number, or a coding."""
    p, target = as_variable(coding_dist), as_variable(true_dist)
    if target.ndim == p.ndim:
        logs = elementwise("multiply", target, elementwise("log", p))
        return elementwise("negative", reduce("sum", logs, -1, False))
    picked = getitem(p, (arange(dim(p, 0)), target))
    return elementwise("negative", elementwise("log", picked))
