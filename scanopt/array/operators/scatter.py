"""Combine values with entries of an array at indices that may repeat, as np.multiply.at does.

Sums have another operator, setitem with mode "inc".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import broadcast_to, dims_of
from scanopt.array.gradients.products import conj
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.operators.elementwise import elementwise, where
from scanopt.array.operators.indexing import batch_setitem, infer_setitem, key_of, refuse_setitem
from scanopt.array.parameters import INDEX, one_of
from scanopt.array.registry import FUNCTIONS
from scanopt.array.shapes import ufunc_dtypes
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply

__all__ = ["scatter"]

Args = Sequence[Variable]
Index = tuple[Any, ...]

_UFUNCS = ("multiply", "divide", "power", "minimum", "maximum")


def scatter(ufunc: str, part: Variable, y: Variable) -> Variable:
    """x with each entry of part = x[...] combined with y's by a ufunc; an entry named twice, one after the other."""
    node: Any = part.owner
    x, *inputs = node.inputs
    op = Op.make("scatter", index=node.op.options["index"], ufunc=ufunc)
    return apply(op, x, broadcast_to(y, dims_of(part)), *inputs)


def _infer(x: Operand, y: Operand, *inputs: Operand, index: Index, ufunc: str) -> TensorType:
    found = ufunc_dtypes(ufunc, (x.dtype, y.dtype))[-1]
    if found != x.dtype:
        raise TypeError(f"{ufunc} of {x.dtype} and {y.dtype} gives {found}, which an array of {x.dtype} cannot hold")
    return infer_setitem(x, y, *inputs, index=index, mode="set")


def _refuse(x: Operand, y: Operand, *inputs: Operand, index: Index, ufunc: str) -> None:
    refuse_setitem(x, y, *inputs, index=index, mode="set")


def _bind(xp: Any, index: Index, ufunc: str) -> Callable[..., Any]:
    at = getattr(np, ufunc).at

    def combine(x: Any, y: Any, *inputs: Any) -> Any:
        out, *given = (np.array(v, order="C") if xp is np else xp.asnumpy(v) for v in (x, y, *inputs))
        at(out, key_of(index, given[1:]), given[0])
        return xp.asarray(out)

    return combine


# Gradients


def _gradient(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    inputs = args[2:]
    index, ufunc = op.options["index"], op.options["ufunc"]

    def at(v: Variable) -> Variable:
        return apply(Op.make("getitem", index=index), v, *inputs)

    rule = _of_extremum if ufunc in ("minimum", "maximum") else _of_factors
    return [*rule(op, args, out, g, at), *(None for _ in inputs)]


def _of_extremum(op: Op, args: Args, out: Variable, g: Variable, at: Callable[[Variable], Variable]) -> list[Variable]:
    """Share g equally among all entries that are equal to the extremum."""
    x, y, *inputs = args
    mine, theirs = elementwise("equal", x, out), elementwise("equal", y, at(out))
    count = Op.make("setitem", index=op.options["index"], mode="inc")
    found = apply(count, FUNCTIONS["cast"](mine, g.dtype), FUNCTIONS["cast"](theirs, g.dtype), *inputs)
    share = g / where(elementwise("equal", found, 0), 1, found)
    return [where(mine, share, 0), where(theirs, at(share), 0)]


def _of_factors(op: Op, args: Args, out: Variable, g: Variable, at: Callable[[Variable], Variable]) -> list[Variable]:
    """For x times, divided by, or to the power of the product of all y; NaN with respect to a y that is 0."""
    x, y, *inputs = args
    ufunc = op.options["ufunc"]
    product = Op.make("scatter", index=op.options["index"], ufunc="multiply")
    ones: Variable = FUNCTIONS["ones_like"](x)
    factor = apply(product, ones, y, *inputs)
    if ufunc == "multiply":
        return [g * conj(factor), at(g * conj(out)) / conj(y)]
    if ufunc == "divide":
        return [g / conj(factor), -at(g * conj(out)) / conj(y)]
    by_x = g * conj(factor * x ** (factor - 1))
    return [by_x, at(g * conj(out * elementwise("log", x) * factor)) / conj(y)]


register(
    OpSpec(
        "scatter",
        _bind,
        _infer,
        batch_setitem,
        batch_exact=True,
        cost="memory",
        can_raise=True,
        refuse=_refuse,
        gradient=_gradient,
        doc="the array with entries multiplied (or by another ufunc) at places that may be named twice",
        params={"index": INDEX, "ufunc": one_of(*_UFUNCS)},
    )
)
