"""Operators on rows that loops need: repeat_rows repeats a value along a new first axis; swap_rows exchanges axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply

__all__ = ["repeat_rows"]


def _bind(xp: Any) -> Any:
    return lambda x, n: xp.broadcast_to(x, (int(n), *x.shape))


def _infer(x: Operand, n: Operand) -> TensorType:
    if n.ndim or np.dtype(n.dtype).kind not in "iu":
        raise TypeError(f"repeat_rows counts rows by an integer, found {n.type}")
    return TensorType(x.dtype, (None if n.value is None else int(n.value), *x.shape))


def _batch(op: Op, flags: Sequence[bool], args: Sequence[Variable]) -> Variable | None:
    x, n = args
    if flags[1]:
        return None  # the rows would have different lengths
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


def _swapped(axes: Sequence[int], first: int) -> tuple[int, ...]:
    """The axes with the one at `first` and the next one exchanged."""
    order = list(axes)
    order[first], order[first + 1] = order[first + 1], order[first]
    return tuple(order)


def _infer_swap(x: Operand) -> TensorType:
    if x.ndim < 2:
        raise ValueError(f"swap_rows exchanges the first two axes, found {x.type}")
    return TensorType(x.dtype, (x.shape[1], x.shape[0], *x.shape[2:]))


def _batch_swap(op: Op, flags: Sequence[bool], args: Sequence[Variable]) -> Variable:
    return apply(Op.make("transpose", axes=_swapped(range(args[0].ndim), 1)), args[0])


def _gradient_swap(op: Op, args: Sequence[Variable], out: Variable, g: Variable) -> list[Variable | None]:
    return [apply(op, g)]


register(
    OpSpec(
        "swap_rows",
        lambda xp: lambda x: xp.swapaxes(x, 0, 1),
        _infer_swap,
        _batch_swap,
        batch_exact=True,
        cost="free",
        view=True,
        gradient=_gradient_swap,
        doc="x with its first two axes exchanged",
    )
)


def repeat_rows(x: Variable, n: Variable) -> Variable:
    """x (of any shape) repeated n (an int64 scalar) times along a new first axis."""
    return apply(Op.make("repeat_rows"), x, n)
