"""Writes operators of the table as nodes of ONNX models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scanopt.array.shapes import ufunc_dtypes
from scanopt.array.types import TensorType
from scanopt.bridges.peers import Refused
from scanopt.bridges.rules import RuleRegistry
from scanopt.program.ir import Compute

if TYPE_CHECKING:
    from scanopt.bridges.onnx_models.writing import ModelWriter

__all__ = ["WRITTEN", "emit", "written"]

Rule = Callable[["ModelWriter", Compute], None]

WRITTEN: RuleRegistry[Rule] = RuleRegistry()
"""For each operator of the table the function that writes it."""

written = WRITTEN.rule

_UFUNCS = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "negative": "Neg", "absolute": "Abs",
    "fabs": "Abs", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "floor": "Floor", "ceil": "Ceil", "rint": "Round",
    "sign": "Sign", "sin": "Sin", "cos": "Cos", "tan": "Tan", "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan",
    "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh",
    "reciprocal": "Reciprocal", "power": "Pow", "float_power": "Pow", "maximum": "Max", "minimum": "Min",
    "equal": "Equal", "less": "Less", "less_equal": "LessOrEqual", "greater": "Greater",
    "greater_equal": "GreaterOrEqual", "isnan": "IsNaN", "isinf": "IsInf", "bitwise_and": "BitwiseAnd",
    "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor", "invert": "BitwiseNot", "positive": "Identity",
}  # fmt: skip
_LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor", "logical_not": "Not"}
_OF_BOOLS = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor", "invert": "Not", "multiply": "And",
             "maximum": "Or", "minimum": "And", "add": "Or"}  # fmt: skip


def emit(w: ModelWriter, step: Compute) -> None:
    """Write one operator.  Raises Refused if ONNX cannot express it."""
    name = step.op.name
    found = WRITTEN.get(name)
    if found is not None:
        found(w, step)
    elif name in _UFUNCS or name in _LOGICAL:
        _ufunc(w, step)
    else:
        raise Refused(f"to_onnx: ONNX has no operator {step.op} of {', '.join(str(w.types[a]) for a in step.args)}")
    w.types[step.out] = step.type


def _ufunc(w: ModelWriter, step: Compute) -> None:
    """Write a ufunc, with arguments cast to the dtypes in which NumPy computes it."""
    name = step.op.name
    if name in _LOGICAL:
        w.node(_LOGICAL[name], [truth(w, a) for a in step.args], step.type, step.out)
        return
    dtypes = ufunc_dtypes(name, tuple(w.dtype(a) for a in step.args))
    args = [w.cast(a, d) for a, d in zip(step.args, dtypes[:-1], strict=True)]
    if dtypes[0] == "bool" and name in _OF_BOOLS:
        w.node(_OF_BOOLS[name], args, step.type, step.out)
    elif dtypes[0] == "bool" and name not in ("equal", "positive"):
        raise Refused(f"to_onnx: ONNX has no {name} of bool: cast it")
    elif name == "divide" and np.dtype(dtypes[0]).kind in "iu":
        raise Refused("to_onnx: a quotient of integers in integers")
    else:
        w.node(_UFUNCS[name], args, step.type, step.out)


def truth(w: ModelWriter, name: str) -> str:
    """The name of a bool array that says which entries are not 0."""
    if w.dtype(name) == "bool":
        return name
    same = w.node("Equal", [name, w.constant(0, w.dtype(name))], TensorType("bool", w.types[name].shape))
    return w.node("Not", [same], w.types[same])


def number(w: ModelWriter, x: float, dtype: str) -> str:
    """The name of a number as a constant of this dtype."""
    return w.constant(x, dtype)


def promoted(w: ModelWriter, names: Sequence[str]) -> list[str]:
    """The names of the arguments cast to their common dtype."""
    dtype = np.result_type(*(np.dtype(w.dtype(a)) for a in names)).name
    return [w.cast(a, dtype) for a in names]


def simple(w: ModelWriter, step: Compute, *nodes: tuple[str, Sequence[Any]]) -> str:
    """Write a chain of elementwise nodes; inputs are names, numbers, and None for the result of the node before."""
    last, dtype = "", step.type.dtype
    for i, (op, inputs) in enumerate(nodes):
        given = [last if x is None else x if isinstance(x, str) else number(w, x, dtype) for x in inputs]
        out = step.out if i == len(nodes) - 1 else None
        last = w.node(op, given, step.type, out)
    return last


@written("not_equal")
def _not_equal(w: ModelWriter, step: Compute) -> None:
    args = promoted(w, step.args)
    same = w.node("Equal", args, step.type)
    w.node("Not", [same], step.type, step.out)


@written("square")
def _square(w: ModelWriter, step: Compute) -> None:
    x = w.cast(step.args[0], step.type.dtype)
    simple(w, step, ("Mul", [x, x]))


@written("isfinite")
def _isfinite(w: ModelWriter, step: Compute) -> None:
    x = step.args[0]
    bad = [w.node(op, [x], step.type) for op in ("IsNaN", "IsInf")]
    w.node("Not", [w.node("Or", bad, step.type)], step.type, step.out)


@written("log1p")
def _log1p(w: ModelWriter, step: Compute) -> None:
    """Precise near 0: log(u) x / (u - 1) with u = 1 + x rounded."""
    x, t = w.cast(step.args[0], step.type.dtype), step.type
    one = number(w, 1, t.dtype)
    u = w.node("Add", [x, one], t)
    whole = w.node("Sub", [u, one], t)
    small = w.node("Equal", [whole, number(w, 0, t.dtype)], TensorType("bool", t.shape))
    far = w.node("IsInf", [u], TensorType("bool", t.shape))
    safe = w.node("Where", [w.node("Or", [small, far], TensorType("bool", t.shape)), one, whole], t)
    ratio = w.node("Where", [far, one, w.node("Div", [x, safe], t)], t)
    w.node("Where", [small, x, w.node("Mul", [w.node("Log", [u], t), ratio], t)], t, step.out)


@written("expm1")
def _expm1(w: ModelWriter, step: Compute) -> None:
    """Precise near 0: 2 sinh(x / 2) exp(x / 2) = tanh(x / 2) (exp(x) + 1)."""
    x, t = w.cast(step.args[0], step.type.dtype), step.type
    one = number(w, 1, t.dtype)
    e = w.node("Exp", [x], t)
    half = w.node("Tanh", [w.node("Mul", [x, number(w, 0.5, t.dtype)], t)], t)
    w.node("Mul", [half, w.node("Add", [e, one], t)], t, step.out)


@written("logaddexp")
def _logaddexp(w: ModelWriter, step: Compute) -> None:
    t = step.type
    a, b = (w.cast(x, t.dtype) for x in step.args)
    top = w.node("Max", [a, b], t)
    apart = w.node("Neg", [w.node("Abs", [w.node("Sub", [a, b], t)], t)], t)
    same = w.node("Equal", [a, b], TensorType("bool", t.shape))  # the difference of equal infinities would be NaN
    apart = w.node("Where", [same, number(w, 0, t.dtype), apart], t)
    rest = w.node("Log", [w.node("Add", [w.node("Exp", [apart], t), number(w, 1, t.dtype)], t)], t)
    w.node("Add", [top, rest], t, step.out)


@written("exp2", "cbrt")
def _of_exp(w: ModelWriter, step: Compute) -> None:
    x, t = w.cast(step.args[0], step.type.dtype), step.type
    if step.op.name == "exp2":
        w.node("Pow", [number(w, 2, t.dtype), x], t, step.out)
        return
    root = w.node("Pow", [w.node("Abs", [x], t), number(w, 1 / 3, t.dtype)], t)
    w.node("Mul", [w.node("Sign", [x], t), root], t, step.out)


@written("log2", "log10")
def _logarithm(w: ModelWriter, step: Compute) -> None:
    x = w.cast(step.args[0], step.type.dtype)
    simple(w, step, ("Log", [x]), ("Mul", [None, 1 / np.log(2 if step.op.name == "log2" else 10)]))


@written("trunc")
def _trunc(w: ModelWriter, step: Compute) -> None:
    x, t = step.args[0], step.type
    w.node("Mul", [w.node("Sign", [x], t), w.node("Floor", [w.node("Abs", [x], t)], t)], t, step.out)


@written("floor_divide", "remainder", "fmod")
def _divided(w: ModelWriter, step: Compute) -> None:
    t = step.type
    a, b = (w.cast(x, t.dtype) for x in step.args)
    if step.op.name == "floor_divide":
        if np.dtype(t.dtype).kind == "f":
            w.node("Floor", [w.node("Div", [a, b], t)], t, step.out)
            return
        rest = w.node("Mod", [a, b], t)
        w.node("Div", [w.node("Sub", [a, rest], t), b], t, step.out)
    elif step.op.name == "fmod" or np.dtype(t.dtype).kind in "iu":
        w.node("Mod", [a, b], t, step.out, fmod=int(step.op.name == "fmod"))
    else:
        rest = w.node("Mod", [a, b], t, fmod=1)
        whole = TensorType("bool", t.shape)
        zero = number(w, 0, t.dtype)
        below = [w.node("Less", [v, zero], whole) for v in (rest, b)]
        other = w.node("Xor", below, whole)
        wrong = w.node("And", [other, w.node("Not", [w.node("Equal", [rest, zero], whole)], whole)], whole)
        w.node("Where", [wrong, w.node("Add", [rest, b], t), rest], t, step.out)


@written("sigmoid", "erf")
def _named(w: ModelWriter, step: Compute) -> None:
    w.node({"sigmoid": "Sigmoid", "erf": "Erf"}[step.op.name], list(step.args), step.type, step.out)


@written("erfc", "ndtr")
def _of_erf(w: ModelWriter, step: Compute) -> None:
    x = step.args[0]
    if step.op.name == "erfc":
        simple(w, step, ("Erf", [x]), ("Neg", [None]), ("Add", [None, 1]))
    else:
        simple(w, step, ("Mul", [x, 2**-0.5]), ("Erf", [None]), ("Add", [None, 1]), ("Mul", [None, 0.5]))


@written("cast")
def _cast(w: ModelWriter, step: Compute) -> None:
    (x,) = step.args
    if step.type.dtype == "bool":
        w.node("Identity", [truth(w, x)], step.type, step.out)
    else:
        w.cast(x, step.type.dtype, step.out)


@written("where")
def _where(w: ModelWriter, step: Compute) -> None:
    test, *sides = step.args
    w.node("Where", [test, *(w.cast(x, step.type.dtype) for x in sides)], step.type, step.out)


@written("clip")
def _clip(w: ModelWriter, step: Compute) -> None:
    x, low, high = (w.cast(a, step.type.dtype) for a in step.args)
    w.node("Min", [w.node("Max", [x, low], step.type), high], step.type, step.out)


@written("disconnected_grad", "zero_grad", "grad_clip", "specify_shape", "shaped_like", "require", "given")
def _same(w: ModelWriter, step: Compute) -> None:
    """The first argument; its checks are left out, since a model cannot raise errors."""
    w.node("Identity", [step.args[0]], step.type, step.out)


@written("ifelse")
def _ifelse(w: ModelWriter, step: Compute) -> None:
    graphs = []
    for value in step.args[1:]:
        with w.inner() as nodes:
            out = w.node("Identity", [value], w.types[value], w.fresh("side"))
        kind = TensorType(step.type.dtype, (None,) * step.type.ndim)
        graphs.append(w.graph(nodes, w.fresh("side"), [], [w.info(out, kind)]))
    w.nodes("If", [step.args[0]], [step.out], [step.type], then_branch=graphs[0], else_branch=graphs[1])


# Products, reductions, order


@written("dot", "matmul")
def _dot(w: ModelWriter, step: Compute) -> None:
    a, b = promoted(w, step.args)
    if 0 in (w.ndim(a), w.ndim(b)):
        w.node("Mul", [a, b], step.type, step.out)
    else:
        w.node("MatMul", [a, b], step.type, step.out)


@written("outer")
def _outer(w: ModelWriter, step: Compute) -> None:
    a, b = promoted(w, step.args)
    column = w.node("Unsqueeze", [a, w.constant([1], "int64")], TensorType(w.dtype(a), (None, 1)))
    row = w.node("Unsqueeze", [b, w.constant([0], "int64")], TensorType(w.dtype(a), (1, None)))
    w.node("Mul", [column, row], step.type, step.out)


@written("tensordot")
def _tensordot(w: ModelWriter, step: Compute) -> None:
    a, b = promoted(w, step.args)
    of_a, of_b = step.op.options["axes"]
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left = [next(letters) for _ in range(w.ndim(a))]
    right = [left[of_a[of_b.index(i)]] if i in of_b else next(letters) for i in range(w.ndim(b))]
    free = [x for i, x in enumerate(left) if i not in of_a] + [x for i, x in enumerate(right) if i not in of_b]
    equation = f"{''.join(left)},{''.join(right)}->{''.join(free)}"
    w.node("Einsum", [a, b], step.type, step.out, equation=equation)


_REDUCED = {"sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin", "mean": "ReduceMean"}


@written("sum", "prod", "max", "min", "mean", "any", "all")
def _reduce(w: ModelWriter, step: Compute) -> None:
    x, o = step.args[0], step.op.options
    axes = range(w.ndim(x)) if o["axis"] is None else o["axis"]
    name, given = step.op.name, w.constant([int(a) for a in axes], "int64")
    options: dict[str, Any] = {"keepdims": int(o["keepdims"]), "noop_with_empty_axes": 1}
    if step.type.dtype == "bool":
        whole = w.cast(truth(w, x), "int32")
        kind = TensorType("int32", step.type.shape)
        found = w.node("ReduceMax" if name in ("any", "max") else "ReduceMin", [whole, given], kind, **options)
        w.cast(found, "bool", step.out)
        return
    w.node(_REDUCED[name], [w.cast(x, step.type.dtype), given], step.type, step.out, **options)


@written("var", "std")
def _spread(w: ModelWriter, step: Compute) -> None:
    o, t = step.op.options, step.type
    if o["ddof"]:
        raise Refused("to_onnx: var with ddof")
    x = w.cast(step.args[0], t.dtype)
    axes = w.constant([int(a) for a in (range(w.ndim(x)) if o["axis"] is None else o["axis"])], "int64")
    mean = w.node("ReduceMean", [x, axes], t, keepdims=1)
    apart = w.node("Sub", [x, mean], w.types[x])
    squares = w.node("Mul", [apart, apart], w.types[x])
    last = o["keepdims"]
    found = w.node("ReduceMean", [squares, axes], t, step.out if step.op.name == "var" else None, keepdims=int(last))
    if step.op.name == "std":
        w.node("Sqrt", [found], t, step.out)


@written("sum_to")
def _sum_to(w: ModelWriter, step: Compute) -> None:
    """Sum over the axes whose given length is 1; the model finds these axes when it runs."""
    x, *lengths = step.args
    vector = TensorType("int64", (len(lengths),))
    given = w.node("Concat", [w.vector(n) for n in lengths], vector, axis=0)
    flags = w.node("Equal", [given, w.constant(1, "int64")], TensorType("bool", vector.shape))
    axes = w.constant([int(a) for a in step.op.options["axis"]], "int64")
    chosen = w.node("Compress", [axes, flags], TensorType("int64", (None,)), axis=0)
    w.node("ReduceSum", [x, chosen], step.type, step.out, keepdims=1, noop_with_empty_axes=1)


@written("argmax", "argmin")
def _arg(w: ModelWriter, step: Compute) -> None:
    op = "ArgMax" if step.op.name == "argmax" else "ArgMin"
    w.node(op, [step.args[0]], step.type, step.out, axis=step.op.options["axis"], keepdims=0)


@written("sort", "argsort")
def _sort(w: ModelWriter, step: Compute) -> None:
    x, axis = step.args[0], int(step.op.options["axis"])
    n = w.node("Shape", [x], TensorType("int64", (1,)), start=axis, end=axis + 1)
    names = [step.out, w.fresh()] if step.op.name == "sort" else [w.fresh(), step.out]
    w.nodes("TopK", [x, n], names, [w.types[x], TensorType("int64", step.type.shape)], axis=axis, largest=0)


@written("cumsum")
def _cumsum(w: ModelWriter, step: Compute) -> None:
    x = w.cast(step.args[0], step.type.dtype)
    w.node("CumSum", [x, w.constant(step.op.options["axis"], "int64")], step.type, step.out)


@written("softmax")
def _softmax(w: ModelWriter, step: Compute) -> None:
    w.node("Softmax", [step.args[0]], step.type, step.out, axis=step.op.options["axis"])
