"""ONNX operators that work element by element."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.operators.special import special
from scanopt.array.ufuncs import elementwise
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.onnx_models.reading import OnnxNode, dtype_of, rule

UFUNCS = {
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "Neg": "negative", "Abs": "absolute", "Exp": "exp",
    "Log": "log", "Sqrt": "sqrt", "Floor": "floor", "Ceil": "ceil", "Round": "rint", "Sign": "sign", "Sin": "sin",
    "Cos": "cos", "Tan": "tan", "Asin": "arcsin", "Acos": "arccos", "Atan": "arctan", "Sinh": "sinh", "Cosh": "cosh",
    "Tanh": "tanh", "Asinh": "arcsinh", "Acosh": "arccosh", "Atanh": "arctanh", "And": "logical_and",
    "Or": "logical_or", "Xor": "logical_xor", "Not": "logical_not", "Equal": "equal", "Less": "less",
    "LessOrEqual": "less_equal", "Greater": "greater", "GreaterOrEqual": "greater_equal", "IsNaN": "isnan",
    "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor", "BitwiseNot": "invert",
    "Reciprocal": "reciprocal",
}  # fmt: skip
"""Operators that are functions of NumPy under another name."""


def number(x: float, like: Variable) -> Constant:
    """A number as a constant of the dtype of an array."""
    return Constant(np.asarray(x, like.dtype))


@rule(*UFUNCS)
def _ufunc(node: OnnxNode) -> Variable:
    return elementwise(UFUNCS[node.op], *(node.x(i) for i in range(len(node.inputs))))


@rule("Div")
def _div(node: OnnxNode) -> Variable:
    """Divide; a quotient of integers is rounded towards zero."""
    x, y = node.x(0), node.x(1)
    if np.dtype(x.dtype).kind not in "iu":
        return elementwise("divide", x, y)
    down = elementwise("floor_divide", x, y)
    inexact = T.neq(down * y, x) & T.neq(T.lt(x, 0), T.lt(y, 0))
    found: Variable = T.where(inexact, down + number(1, down), down)
    return found


@rule("Mod")
def _mod(node: OnnxNode) -> Variable:
    return elementwise("fmod" if node.get("fmod", 0) else "remainder", node.x(0), node.x(1))


@rule("Pow")
def _pow(node: OnnxNode) -> Variable:
    x = node.x(0)
    found: Variable = T.cast(elementwise("power", x, node.x(1)), x.dtype)
    return found


@rule("Min", "Max", "Sum", "Mean")
def _variadic(node: OnnxNode) -> Variable:
    f = {"Min": "minimum", "Max": "maximum"}.get(node.op, "add")
    many = [node.x(i) for i in range(len(node.inputs))]
    found = reduce(lambda a, b: elementwise(f, a, b), many)
    return found / number(len(many), found) if node.op == "Mean" else found


@rule("Identity", "Dropout")
def _identity(node: OnnxNode) -> Any:
    """Identity, and Dropout, which changes nothing outside training."""
    if node.op == "Dropout" and node.optional(2) is not None and node.known(2):
        raise node.refused("dropout while training draws random numbers of the runtime")
    mask = [T.ones_like(node.x(), dtype="bool")] if node.op == "Dropout" and node.count > 1 else []
    return [node.x(), *mask]


@rule("Cast", "CastLike")
def _cast(node: OnnxNode) -> Variable:
    dtype = dtype_of(node.get("to")) if node.op == "Cast" else node.x(1).dtype
    x = node.x()
    found: Variable = T.neq(x, number(0, x)) if dtype == "bool" and x.dtype != "bool" else T.cast(x, dtype)
    return found


@rule("Where")
def _where(node: OnnxNode) -> Variable:
    found: Variable = T.where(node.x(0), node.x(1), node.x(2))
    return found


@rule("Clip")
def _clip(node: OnnxNode) -> Variable:
    x = node.x()
    for i, f in ((1, "maximum"), (2, "minimum")):
        bound = node.optional(i)
        x = x if bound is None else elementwise(f, x, bound)
    return x


@rule("IsInf")
def _isinf(node: OnnxNode) -> Variable:
    x = node.x()
    found = elementwise("isinf", x)
    if not node.get("detect_negative", 1):
        found = found & T.gt(x, number(0, x))
    if not node.get("detect_positive", 1):
        found = found & T.lt(x, number(0, x))
    return found


@rule("Erf")
def _erf(node: OnnxNode) -> Variable:
    return special("erf", node.x())


@rule("BitShift")
def _shift(node: OnnxNode) -> Variable:
    return elementwise("left_shift" if node.get("direction") == "LEFT" else "right_shift", node.x(0), node.x(1))


# Activations


def softplus(x: Variable) -> Variable:
    """log(1 + exp(x))."""
    return elementwise("logaddexp", x, number(0, x))


def _elu(x: Variable, alpha: float = 1.0, gamma: float = 1.0) -> Variable:
    below = number(alpha, x) * T.expm1(T.minimum(x, number(0, x)))
    found: Variable = T.where(T.gt(x, number(0, x)), x, below)
    return found if gamma == 1.0 else number(gamma, x) * found


def _hard_sigmoid(x: Variable, alpha: float = 0.2, beta: float = 0.5) -> Variable:
    line = number(alpha, x) * x + number(beta, x)
    return elementwise("minimum", elementwise("maximum", line, number(0, x)), number(1, x))


def _leaky(x: Variable, alpha: float = 0.01) -> Variable:
    found: Variable = T.where(T.lt(x, number(0, x)), number(alpha, x) * x, x)
    return found


ACTIVATIONS: dict[str, Callable[..., Variable]] = {
    "Sigmoid": lambda x: T.sigmoid(x),
    "Tanh": lambda x: T.tanh(x),
    "Relu": lambda x: T.maximum(x, number(0, x)),
    "LeakyRelu": _leaky,
    "Elu": _elu,
    "Softplus": softplus,
    "Softsign": lambda x: x / (number(1, x) + abs(x)),
    "HardSigmoid": _hard_sigmoid,
    "Affine": lambda x, alpha=1.0, beta=0.0: number(alpha, x) * x + number(beta, x),
    "ScaledTanh": lambda x, alpha=1.0, beta=1.0: number(alpha, x) * T.tanh(number(beta, x) * x),
    "ThresholdedRelu": lambda x, alpha=1.0: T.where(T.gt(x, number(alpha, x)), x, number(0, x)),
}
"""Activations by ONNX's names, as functions with their parameters alpha and beta."""


@rule("Sigmoid", "Relu", "LeakyRelu", "Elu", "Softplus", "Softsign", "HardSigmoid", "ThresholdedRelu")
def _activation(node: OnnxNode) -> Variable:
    return ACTIVATIONS[node.op](node.x(), **node.attributes)


@rule("Selu", "Celu")
def _scaled(node: OnnxNode) -> Variable:
    x = node.x()
    if node.op == "Selu":
        return _elu(x, node.get("alpha", 1.67326319217681884765625), node.get("gamma", 1.05070102214813232421875))
    alpha = node.get("alpha", 1.0)
    below = number(alpha, x) * T.expm1(T.minimum(x, number(0, x)) / number(alpha, x))
    return elementwise("maximum", x, number(0, x)) + below


@rule("PRelu")
def _prelu(node: OnnxNode) -> Variable:
    x, slope = node.x(0), node.x(1)
    found: Variable = T.where(T.lt(x, number(0, x)), slope * x, x)
    return found


@rule("Gelu")
def _gelu(node: OnnxNode) -> Variable:
    found: Variable = T.nnet.gelu(node.x(), approximate=node.get("approximate", "none") == "tanh")
    return found


@rule("HardSwish", "Mish")
def _swish(node: OnnxNode) -> Variable:
    x = node.x()
    return x * (_hard_sigmoid(x, 1 / 6, 0.5) if node.op == "HardSwish" else T.tanh(softplus(x)))
