"""The operator convolve: the full discrete convolution of two vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanopt.array.batching import dim, expand
from scanopt.array.derivatives import fitting
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.operators.creation import full
from scanopt.array.operators.elementwise import cast, elementwise
from scanopt.array.operators.joining import concatenate
from scanopt.array.operators.lengths import times
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.selecting import flip
from scanopt.array.operators.shaping import reshape_to
from scanopt.array.operators.subtensor import getitem
from scanopt.array.shapes import common_dtype
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply

__all__ = ["CONVOLVE"]

CONVOLVE = Op.make("convolve")

Args = Sequence[Variable]


def _bind(xp: Any) -> Callable[..., Any]:
    def convolve(a: Any, v: Any) -> Any:
        n, m = a.shape[0], v.shape[0]
        return xp.convolve(a, v) if n and m else xp.zeros(max(n + m - 1, 0), xp.result_type(a, v))

    return convolve


def _infer(a: Operand, v: Operand) -> TensorType:
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError(f"convolve takes two vectors, found {a.type} and {v.type}")
    n, m = a.shape[0], v.shape[0]
    return TensorType(common_dtype((a.dtype, v.dtype)), (None if n is None or m is None else max(n + m - 1, 0),))


def _sum(a: Any, b: Any) -> Any:
    return a + b if isinstance(a, int) and isinstance(b, int) else elementwise("add", a, b)


def _batch(op: Op, batched: Sequence[bool], args: Args) -> Variable:
    """Sum all products after shifting those of each entry of a one place further than those of the entry before."""
    a, v = (x if b else expand(x, (0,)) for x, b in zip(args, batched, strict=True))
    products = elementwise("multiply", expand(a, (2,)), expand(v, (1,)))
    count, n, m = dim(products, 0), dim(a, 1), dim(v, 1)
    width = _sum(n, m)
    wide = concatenate([products, full((count, n, n), cast(0, products.dtype))], 2)
    length = _sum(width, -1)
    length = max(length, 0) if isinstance(length, int) else elementwise("maximum", length, 0)
    flat = getitem(reshape_to(wide, (count, times(n, width))), (slice(None), slice(None, times(n, length))))
    return reduce("sum", reshape_to(flat, (count, n, length)), (1,), False, products.dtype)


def _gradient(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    """The gradient with respect to each argument: the correlation of g with the other one."""
    found: list[Variable | None] = []
    for x, other in (args, args[::-1]):
        if not other.type.shape[0]:  # without entries in `other` the result is shorter than x
            g, other = (concatenate([v, full((1,), cast(0, v.dtype))]) for v in (g, other))
        other = elementwise("conjugate", other) if other.dtype.startswith("complex") else other
        start = _sum(dim(other, 0), -1)
        back = apply(CONVOLVE, g, flip(other))
        found.append(fitting(getitem(back, slice(start, _sum(start, dim(x, 0)))), x))
    return found


register(
    OpSpec(
        "convolve",
        _bind,
        _infer,
        _batch,
        by_layout=2,
        cost="product",
        gradient=_gradient,
        doc="all of the discrete convolution of two vectors",
    )
)
