"""Functions of neural networks beside those of `operators.nnet`, by the names of Theano and JAX."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scanopt.array.batching import dims_of, expand
from scanopt.array.constants import as_variable
from scanopt.array.operators.creation import arange
from scanopt.array.operators.elementwise import as_float, cast, clip, elementwise, sigmoid, where
from scanopt.array.operators.nnet import categorical_crossentropy, softplus
from scanopt.array.operators.reductions import softmax
from scanopt.array.operators.shaping import as_dims
from scanopt.array.operators.special import special
from scanopt.array.registry import FUNCTIONS
from scanopt.array.shapes import axis_of
from scanopt.array.variable import Variable, describe
from scanopt.config import config

__all__ = [
    "batch_normalization", "celu", "crossentropy_categorical_1hot", "crossentropy_softmax_1hot",
    "crossentropy_softmax_1hot_with_bias", "crossentropy_softmax_argmax_1hot_with_bias", "gelu", "glu",
    "hard_sigmoid", "hard_tanh", "leaky_relu", "log_sigmoid", "one_hot", "relu6", "selu", "silu", "softmax_with_bias",
    "softsign", "swish",
]  # fmt: skip


def _positive(x: Variable) -> Variable:
    return elementwise("greater", x, 0)


def _below_zero(x: Variable) -> Variable:
    """min(x, 0), with derivative 1 at 0: the exponential of positive x, in a branch not chosen, must not overflow."""
    return where(_positive(x), 0, x)


def _between(x: Any, low: float, high: float) -> Variable:
    found: Variable = clip(x, low, high)
    return found


def gelu(x: Any, approximate: bool = True) -> Variable:
    """x times the probability that a normal number is less than x; by tanh where `approximate` (JAX's default).

    The exact one needs SciPy.

    >>> from scanopt import interpret, tensor as T
    >>> interpret(gelu(T.constant([0.0, 1.0]))).round(3)
    array([0.   , 0.841])
    """
    v = as_float(x)
    if approximate:
        inner = math.sqrt(2 / math.pi) * (v + 0.044715 * v * v * v)
        return 0.5 * v * (1 + elementwise("tanh", inner))
    return 0.5 * v * cast(special("erfc", -v * math.sqrt(0.5)), v.dtype)


def silu(x: Any) -> Variable:
    """x times its logistic function.

    >>> silu(np.zeros(3, "float32")).dtype
    'float32'
    """
    v = as_float(x)
    return v * sigmoid(v)


def swish(x: Any) -> Variable:
    """Another name of `silu`."""
    return silu(x)


def log_sigmoid(x: Any) -> Variable:
    """The logarithm of the logistic function, without underflow."""
    return elementwise("negative", softplus(elementwise("negative", as_float(x))))


def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Variable:
    """x where it is positive, else negative_slope times x."""
    v = as_float(x)
    return where(_positive(v), v, elementwise("multiply", negative_slope, v))


def relu6(x: Any) -> Variable:
    """x between 0 and 6."""
    return _between(x, 0, 6)


def selu(x: Any) -> Variable:
    """The self-normalizing elu: 1.0507 times x where it is positive, else 1.0507 * 1.6733 times exp(x) - 1."""
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    v = as_float(x)
    return scale * where(_positive(v), v, alpha * elementwise("expm1", _below_zero(v)))


def celu(x: Any, alpha: Any = 1.0) -> Variable:
    """x where it is positive, else alpha (exp(x / alpha) - 1)."""
    v = as_float(x)
    low = elementwise("multiply", alpha, elementwise("expm1", elementwise("divide", _below_zero(v), alpha)))
    return where(_positive(v), v, low)


def glu(x: Any, axis: int = -1) -> Variable:
    """The first half of x along an axis times the logistic function of the second.  Raises ValueError if it is odd."""
    v = as_float(x)
    i = axis_of(axis, v)
    n = dims_of(v)[i]
    if isinstance(n, int) and n % 2:
        raise ValueError(f"glu halves an axis, and axis {i} of {describe(v)} has {n} entries")
    before = (slice(None),) * i
    return v[(*before, slice(n // 2))] * sigmoid(v[(*before, slice(n // 2, None))])


def softsign(x: Any) -> Variable:
    """x / (1 + |x|)."""
    v = as_float(x)
    return v / (1 + elementwise("absolute", v))


def hard_sigmoid(x: Any) -> Variable:
    """0.2 x + 0.5 between 0 and 1, as Theano has it (JAX's is (x + 3) / 6: relu6(x + 3) / 6)."""
    return _between(0.2 * as_float(x) + 0.5, 0, 1)


def hard_tanh(x: Any) -> Variable:
    """x between -1 and 1."""
    return _between(as_float(x), -1, 1)


# Classes


def one_hot(x: Any, num_classes: Any, *, dtype: Any = None, axis: int = -1) -> Variable:
    """A 1 at place x of num_classes places along a new axis, else 0; all 0 where x is not one of these places.

    x: integers.  dtype: `config.floatX` by default.  num_classes: an int or an integer scalar.

    >>> from scanopt import interpret, tensor as T
    >>> interpret(one_hot(T.constant([0, 2]), 3))
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    v = as_variable(x)
    if np.dtype(v.dtype).kind not in "iu":
        raise TypeError(f"one_hot takes integers, found {describe(v)}")
    i = axis_of(axis, v.ndim + 1)
    (count,) = as_dims((num_classes,))
    places = expand(arange(count), [k for k in range(v.ndim + 1) if k != i])
    return cast(elementwise("equal", expand(v, (i,)), places), dtype or config.floatX)


def softmax_with_bias(x: Any, b: Any) -> Variable:
    """softmax of x + b, along rows, as in Theano."""
    return softmax(elementwise("add", x, b))


def crossentropy_categorical_1hot(coding_dist: Any, true_one_of_n: Any) -> Variable:
    """-log of the probability of the true class in each row, given by its number, as in Theano."""
    return categorical_crossentropy(coding_dist, true_one_of_n)


def crossentropy_softmax_argmax_1hot_with_bias(x: Any, b: Any, y_idx: Any) -> tuple[Variable, Variable, Variable]:
    """For p = softmax(x + b): -log of the probability of class y_idx in each row, p, and the most probable class."""
    total = as_float(elementwise("add", x, b))
    probabilities = softmax(total)
    logs: Variable = FUNCTIONS["logsoftmax"](total)
    rows = arange(dims_of(total)[0])
    return -logs[(rows, as_variable(y_idx))], probabilities, FUNCTIONS["argmax"](total, -1)


def crossentropy_softmax_1hot_with_bias(x: Any, b: Any, y_idx: Any) -> tuple[Variable, Variable]:
    """-log of the probability of class y_idx in each row of softmax(x + b), and that softmax."""
    return crossentropy_softmax_argmax_1hot_with_bias(x, b, y_idx)[:2]


def crossentropy_softmax_1hot(x: Any, y_idx: Any) -> tuple[Variable, Variable]:
    """-log of the probability of class y_idx in each row of softmax(x), and that softmax."""
    return crossentropy_softmax_1hot_with_bias(x, 0, y_idx)


# Normalization


def batch_normalization(inputs: Any, gamma: Any, beta: Any, mean: Any, std: Any, mode: str = "low_mem") -> Variable:
    """gamma (inputs - mean) / std + beta, as Theano's; mode: accepted and without effect.

    >>> from scanopt import interpret
    >>> interpret(batch_normalization(np.array([1.0, 3.0]), 1.0, 0.5, 2.0, 0.5))
    array([-1.5,  2.5])
    """
    centred = elementwise("subtract", as_float(inputs), mean)
    return elementwise("add", elementwise("divide", elementwise("multiply", centred, gamma), std), beta)
