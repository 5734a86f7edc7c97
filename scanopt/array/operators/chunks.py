"""Operators on rows in chunks, for loops that end early: they compute one chunk of steps after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import elementwise, transpose
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.parameters import AXIS, integer
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply

__all__: list[str] = []

Flags = Sequence[bool]
Args = Sequence[Variable]


def _length(n: int, size: int) -> int:
    """How many rows are in a chunk of n rows: `size`, or all where there are fewer."""
    return max(min(n, size), 1)


# in_chunks: x as (chunks, rows of a chunk, ...); the last chunk is filled up with copies of the last row


def _infer_in_chunks(x: Operand, size: int) -> TensorType:
    n = x.shape[0]
    if n is None:
        return TensorType(x.dtype, (None, None, *x.shape[1:]))
    length = _length(n, size)
    return TensorType(x.dtype, (-(-n // length), length, *x.shape[1:]))


def _bind_in_chunks(xp: Any, size: int) -> Any:
    def run(x: Any) -> Any:
        n = x.shape[0]
        length = _length(n, size)
        missing = -n % length
        if missing:
            x = xp.concatenate([x, xp.broadcast_to(x[-1:], (missing, *x.shape[1:]))])
        return x.reshape(-(-n // length), length, *x.shape[1:])

    return run


def _batch_in_chunks(op: Op, flags: Flags, args: Args) -> Variable:
    (x,) = args
    rest = range(2, x.ndim)
    return transpose(apply(op, transpose(x, (1, 0, *rest))), (2, 0, 1, *(i + 1 for i in rest)))


register(
    OpSpec(
        "in_chunks",
        _bind_in_chunks,
        _infer_in_chunks,
        _batch_in_chunks,
        batch_exact=True,
        cost="memory",
        view=True,
        doc="rows in chunks of `size`, or all in one; the last chunk is filled up with copies of the last row",
        params={"size": integer(1)},
    )
)


# chunk_count: how many chunks n rows make


def _count(xp: Any, size: int) -> Any:
    def run(n: Any) -> Any:
        length = xp.maximum(xp.minimum(n, size), 1)
        return xp.asarray(-(-n // length)).astype(np.int64)

    return run


register(
    OpSpec(
        "chunk_count",
        _count,
        lambda n, size: TensorType("int64", n.shape),
        elementwise,
        batch_exact=True,
        cost="free",
        doc="how many chunks of `size` rows n rows make",
        params={"size": integer(1)},
    )
)


# join_rows: joins the first two axes


def _infer_join_rows(x: Operand) -> TensorType:
    first, second = x.shape[:2]
    n = None if first is None or second is None else first * second
    return TensorType(x.dtype, (n, *x.shape[2:]))


def _batch_join_rows(op: Op, flags: Flags, args: Args) -> Variable:
    (x,) = args
    rest = range(3, x.ndim)
    return transpose(apply(op, transpose(x, (1, 2, 0, *rest))), (1, 0, *(i - 1 for i in rest)))


register(
    OpSpec(
        "join_rows",
        lambda xp: lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]),
        _infer_join_rows,
        _batch_join_rows,
        batch_exact=True,
        cost="free",
        view=True,
        doc="the first two axes as one",
    )
)


# first_true: how many rows there are up to the first that is true


def _infer_first_true(x: Operand, axis: int) -> TensorType:
    if x.dtype != "bool":
        raise TypeError(f"first_true takes bools, found {x.dtype}")
    return TensorType("int64", (*x.shape[:axis], *x.shape[axis + 1 :]))


def _bind_first_true(xp: Any, axis: int) -> Any:
    def run(x: Any) -> Any:
        if not x.shape[axis]:
            return xp.zeros((*x.shape[:axis], *x.shape[axis + 1 :]), np.int64)
        found = xp.where(x.any(axis=axis), x.argmax(axis=axis) + 1, x.shape[axis])
        return xp.asarray(found).astype(np.int64)

    return run


register(
    OpSpec(
        "first_true",
        _bind_first_true,
        _infer_first_true,
        lambda op, flags, args: apply(Op.make("first_true", axis=op.options["axis"] + 1), *args),
        batch_exact=True,
        cost="reduction",
        doc="how many entries there are up to the first that is true, it included; all where none is",
        params={"axis": AXIS},
    )
)
