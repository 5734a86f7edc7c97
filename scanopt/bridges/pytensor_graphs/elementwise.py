"""Elementwise operators of PyTensor, on arrays or on scalars, and reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.operators.reductions import reduce as reduce_axes
from scanopt.array.operators.special import SPECIAL, special
from scanopt.array.registry import FUNCTIONS
from scanopt.array.ufuncs import elementwise
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.pytensor_graphs.reading import Reader, TensorNode, rule

UFUNCS = {
    "Sub": "subtract", "TrueDiv": "divide", "IntDiv": "floor_divide", "Mod": "remainder", "Pow": "power",
    "Neg": "negative",
    "Abs": "absolute", "Exp": "exp", "Exp2": "exp2", "Expm1": "expm1", "Log": "log", "Log2": "log2", "Log10": "log10",
    "Log1p": "log1p", "Sqrt": "sqrt", "Sqr": "square", "Sin": "sin", "Cos": "cos", "Tan": "tan", "ArcSin": "arcsin",
    "ArcCos": "arccos", "ArcTan": "arctan", "ArcTan2": "arctan2", "Sinh": "sinh", "Cosh": "cosh", "Tanh": "tanh",
    "ArcSinh": "arcsinh", "ArcCosh": "arccosh", "ArcTanh": "arctanh", "Floor": "floor", "Ceil": "ceil",
    "Trunc": "trunc", "Sign": "sign", "Reciprocal": "reciprocal", "RoundHalfToEven": "rint", "LT": "less",
    "LE": "less_equal", "GT": "greater", "GE": "greater_equal", "EQ": "equal", "NEQ": "not_equal", "IsNan": "isnan",
    "IsInf": "isinf", "Invert": "invert", "Deg2Rad": "deg2rad", "Rad2Deg": "rad2deg", "Conj": "conjugate",
}  # fmt: skip
"""Scalar operators that are functions of NumPy under another name."""

VARIADIC = {
    "Add": "add", "Mul": "multiply", "Maximum": "maximum", "Minimum": "minimum", "ScalarMaximum": "maximum",
    "ScalarMinimum": "minimum", "AND": "bitwise_and", "OR": "bitwise_or", "XOR": "bitwise_xor",
}  # fmt: skip
"""Scalar operators that take any number of arguments."""

_SPECIAL = {
    "Erf": "erf", "Erfc": "erfc", "Erfcx": "erfcx", "Erfinv": "erfinv", "Erfcinv": "erfcinv", "Gamma": "gamma",
    "GammaLn": "gammaln", "Psi": "psi", "GammaInc": "gammainc", "GammaIncC": "gammaincc", "BetaInc": "betainc",
    "J0": "j0", "J1": "j1", "I0": "i0", "I1": "i1",
}  # fmt: skip


def _one(x: Variable) -> Constant:
    return Constant(np.ones((), x.dtype))


def _truth(x: Variable) -> Variable:
    found: Variable = x if x.dtype == "bool" else T.neq(x, Constant(np.zeros((), x.dtype)))
    return found


def _float(x: Variable) -> Variable:
    found: Variable = FUNCTIONS["cast"](x, np.result_type(x.dtype, "float32").name) if x.dtype[0] in "biu" else x
    return found


def _softplus(x: Variable) -> Variable:
    return elementwise("logaddexp", _float(x), Constant(np.zeros((), _float(x).dtype)))


def _second(x: Variable, y: Variable) -> Variable:
    """y broadcast to the common shape of x and y."""
    if not x.ndim:
        return y
    if all(n == 1 for n in y.type.shape):
        filled: Variable = T.full_like(x, T.reshape(y, ()))
        return filled
    found: Variable = T.broadcast_arrays(x, y)[1]
    return found


def _bits(name: str, xs: Sequence[Variable]) -> Variable:
    logical = name.replace("bitwise", "logical") if all(x.dtype == "bool" for x in xs) else name
    return reduce(lambda a, b: elementwise(logical, a, b), xs)


OTHERS: dict[str, Callable[..., Any]] = {
    "Second": _second,
    "Switch": lambda c, x, y: T.where(_truth(c), x, y),
    "Identity": lambda x: x,
    "Cast": lambda x: x,
    "Clip": lambda x, low, high: elementwise("minimum", elementwise("maximum", x, low), high),
    "Sigmoid": lambda x: T.sigmoid(x),
    "Softplus": _softplus,
    "Log1mexp": lambda x: T.log1mexp(x),
    "RoundHalfAwayFromZero": lambda x: elementwise(
        "copysign", elementwise("floor", abs(x) + Constant(np.asarray(0.5, x.dtype))), x
    ),
    "Real": lambda x: T.real(x),
    "Imag": lambda x: T.imag(x),
    "ScalarFromTensor": lambda x: x,
}


def scalar_result(op: Any, xs: Sequence[Variable], reader: Reader) -> list[Any]:
    """The results of a scalar operator of PyTensor, element by element; [None] if it has no rule."""
    name = type(op).__name__
    if name == "Composite" or hasattr(op, "fgraph"):
        inner = Reader(dict(zip(op.fgraph.inputs, xs, strict=True)))
        return inner.read(op.fgraph.outputs)
    if name in UFUNCS:
        xs = [_float(x) for x in xs] if name in ("TrueDiv",) else xs
        if name == "Invert" and xs[0].dtype == "bool":
            return [elementwise("logical_not", xs[0])]
        return [elementwise(UFUNCS[name], *xs)]
    if name in ("AND", "OR", "XOR"):
        return [_bits(VARIADIC[name], xs)]
    if name in VARIADIC:
        return [reduce(lambda a, b: elementwise(VARIADIC[name], a, b), xs)]
    if name in _SPECIAL and _SPECIAL[name] in SPECIAL:
        return [special(_SPECIAL[name], *xs)]
    if name in OTHERS:
        return [OTHERS[name](*xs)]
    return [None]


def _plain(x: Variable, axes: int, dtype: str) -> Variable:
    """x; a constant with one element as a scalar, if that broadcasts alike, and integers cast to `dtype`."""
    if not isinstance(x, Constant) or x.data.size != 1 or x.ndim > axes:
        return x
    return Constant(x.data.reshape(()).astype(dtype if x.data.dtype.kind in "iu" else x.dtype))


@rule("Elemwise")
def _elemwise(node: TensorNode) -> list[Any]:
    out = np.dtype(node.node.outputs[0].type.dtype)
    axes = max((x.ndim for x in node.inputs if not isinstance(x, Constant)), default=0)
    plain = out.kind == "f" and type(node.op.scalar_op).__name__ not in ("Switch", "Composite")
    given = [_plain(x, axes, out.name if plain else x.dtype) for x in node.inputs]
    found = scalar_result(node.op.scalar_op, given, node.reader)
    return Reader._performed(node) if found == [None] else found


@rule("ScalarOp")
def _scalar(node: TensorNode) -> list[Any]:
    found = scalar_result(node.op, node.inputs, node.reader)
    return Reader._performed(node) if found == [None] else found


# Reductions


_REDUCED = {"Sum": "sum", "Prod": "prod", "Max": "max", "Min": "min", "All": "all", "Any": "any"}


@rule("CAReduce")
def _reduction(node: TensorNode) -> list[Any]:
    name, x = type(node.op).__name__, node.inputs[0]
    if name not in _REDUCED:
        return Reader._performed(node)
    axis = node.op.axis
    axes = tuple(range(x.ndim)) if axis is None else tuple(int(a) for a in axis)
    if not axes:
        return [x]
    dtype = node.node.outputs[0].type.dtype
    more = (getattr(node.op, "acc_dtype", None) or dtype,) if name in ("Sum", "Prod") else ()
    return [reduce_axes(_REDUCED[name], x, axes, False, *more)]


@rule("Argmax")
def _argmax(node: TensorNode) -> Variable:
    x, axis = node.inputs[0], node.op.axis
    axes = list(range(x.ndim)) if axis is None else [int(a) for a in axis]
    kept = [i for i in range(x.ndim) if i not in axes]
    joined = T.reshape(T.transpose(x, (*kept, *axes)), (*(T.shape(x)[i] for i in kept), -1)) if len(axes) != 1 else x
    found: Variable = T.argmax(joined, axes[0] if len(axes) == 1 else -1)
    return found


@rule("CumOp")
def _cumulative(node: TensorNode) -> Variable:
    x, axis = node.inputs[0], node.op.axis
    f = T.cumsum if node.op.mode == "add" else T.cumprod
    found: Variable = f(T.flatten(x), 0) if axis is None else f(x, int(axis))
    return found


@rule("Softmax", "LogSoftmax")
def _softmax(node: TensorNode) -> Variable:
    x, axis = node.inputs[0], node.op.axis
    axes = tuple(range(x.ndim)) if axis is None else tuple(np.atleast_1d(axis).tolist())
    if type(node.op).__name__ == "Softmax" and len(axes) == 1:
        return T.nnet.softmax(x, axes[0])
    shifted = x - T.max(x, axis=axes, keepdims=True)
    total = T.sum(T.exp(shifted), axis=axes, keepdims=True)
    return shifted - T.log(total) if type(node.op).__name__ == "LogSoftmax" else T.exp(shifted) / total


@rule("SoftmaxGrad")
def _softmax_gradient(node: TensorNode) -> Variable:
    g, s = node.inputs
    axis: Any = None if node.op.axis is None else tuple(np.atleast_1d(node.op.axis).tolist())
    both = g * s
    found: Variable = both - T.sum(both, axis=axis, keepdims=True) * s
    return found


@rule("SortOp", "ArgSortOp")
def _sort(node: TensorNode) -> Variable:
    x, axis = node.inputs[0], int(node.known(1))
    if type(node.op).__name__ == "SortOp":
        return T.sort(x, axis)
    return T.argsort(x, axis, kind="stable" if node.op.kind in ("stable", "mergesort") else "quicksort")
