"""ifelse: one of two values, of which only the one chosen is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.constants import as_tensor_variable
from scanopt.array.no_arrays import show
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply, describe

__all__ = ["IFELSE", "ifelse"]

IFELSE = Op.make("ifelse")


def _infer(condition: Operand, a: Operand, b: Operand) -> TensorType:
    if condition.dtype != "bool" or condition.ndim:
        raise TypeError(f"ifelse needs a bool scalar as condition, found {condition.type}")
    if (a.dtype, a.ndim) != (b.dtype, b.ndim):
        raise TypeError(f"ifelse needs two values of one dtype and number of axes, found {a.type} and {b.type}")
    if condition.value is not None:
        return a.type if condition.value else b.type
    return TensorType(a.dtype, tuple(n if n == m else None for n, m in zip(a.shape, b.shape, strict=True)))


def _gradient(op: Op, args: Sequence[Variable], out: Variable, g: Variable) -> list[Variable | None]:
    condition, a, b = args
    zeros = FUNCTIONS["zeros_like"]
    return [None, apply(op, condition, g, zeros(a)), apply(op, condition, zeros(b), g)]


# No batched form: it would compute both branches for every row.  A law makes it a `where` where that is allowed.
register(
    OpSpec(
        "ifelse",
        lambda xp: lambda condition, a, b: a if condition else b,
        _infer,
        None,
        view=True,
        data_shape=True,
        cost="free",
        gradient=_gradient,
        doc="a or b, by a scalar; only the one chosen is computed",
    )
)


@public()
def ifelse(condition: Any, then_branch: Any, else_branch: Any, name: str | None = None) -> Any:
    """`then_branch` where the scalar `condition` is true, else `else_branch`; only one of them is computed.

    then_branch, else_branch: arrays with the same number of axes (dtypes are promoted), or lists of them,
    in pairs; their shapes may differ.  name: of the result, where it is one array.
    Raises TypeError when the condition has axes or the two do not fit together.

    >>> from scanopt import tensor as T
    >>> x = T.vector("x", "float32")
    >>> str(ifelse(x.sum() > 0, x, -x).type)
    'float32[?]'
    """
    for branch in (then_branch, else_branch):
        if callable(branch):
            raise TypeError(
                f"ifelse takes arrays, and computes only one of them, found {show(branch)}: call it, or write "
                "scanopt.lax.cond(condition, true_fun, false_fun)"
            )
    test = as_tensor_variable(condition)
    if test.ndim:
        raise TypeError(f"ifelse needs a scalar condition, found {describe(test)}: use where for one per element")
    if test.dtype != "bool":
        test = FUNCTIONS["neq"](test, 0)
    if isinstance(then_branch, list | tuple):
        if not isinstance(else_branch, list | tuple) or len(then_branch) != len(else_branch):
            raise TypeError("ifelse with a list needs a list of the same length on the other side")
        return [_one(test, a, b) for a, b in zip(then_branch, else_branch, strict=True)]
    chosen = _one(test, then_branch, else_branch)
    chosen.name = name
    return chosen


vars(ifelse)["ifelse"] = ifelse  # in Theano, the function of this name is in a module of this name


def _one(test: Variable, then: Any, otherwise: Any) -> Variable:
    sides = [then, otherwise]
    weak = [isinstance(x, int | float | complex) and not isinstance(x, np.generic) for x in sides]
    known = [x if w else as_tensor_variable(x) for x, w in zip(sides, weak, strict=True)]
    dtypes: list[Any] = [x if w else np.dtype(x.dtype) for x, w in zip(known, weak, strict=True)]
    dtype = np.result_type(*dtypes).name
    a, b = (FUNCTIONS["cast"](as_tensor_variable(x), dtype) for x in known)
    if a.ndim != b.ndim:
        raise TypeError(f"ifelse needs values with the same number of axes, found {describe(a)} and {describe(b)}")
    return apply(Op.make("ifelse"), test, a, b)
