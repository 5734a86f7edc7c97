"""repeat_rows: a value repeated along a new first axis, as loops need it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply

__all__ = ["repeat_rows"]


def _bind(xp: Any) -> Any:
    return lambda x, n: xp.broadcast_to(x, (int(n), *x.shape))


def _infer(x: Operand, n: Operand) -> TensorType:
    return TensorType(x.dtype, (None if n.value is None else int(n.value), *x.shape))


def _batch(op: Op, flags: Sequence[bool], args: Sequence[Variable]) -> Variable | None:
    x, n = args
    if flags[1]:
        return None  # rows of different lengths
    repeated = apply(op, x, n)
    return apply(Op.make("transpose", axes=(1, 0, *range(2, x.ndim + 1))), repeated)


def _gradient(op: Op, args: Sequence[Variable], out: Variable, g: Variable) -> list[Variable | None]:
    return [apply(Op.make("sum", axis=(0,), keepdims=False), g), None]


register(
    OpSpec(
        "repeat_rows",
        _bind,
        _infer,
        _batch,
        batch_exact=True,
        cost="free",
        view=True,
        data_shape=True,
        gradient=_gradient,
        doc="x, n times along a new first axis",
    )
)


def repeat_rows(x: Variable, n: Variable) -> Variable:
    """x (of any shape) repeated n (an int64 scalar) times along a new first axis."""
    return apply(Op.make("repeat_rows"), x, n)
