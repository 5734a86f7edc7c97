"""sum_to: sums over the axes that broadcasting added or stretched; the gradient of every broadcast."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from scanopt.array.batching import broadcast_to, dim
from scanopt.array.constants import as_variable
from scanopt.array.lengths import length
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.parameters import AXES
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply

__all__ = ["sum_to"]


def _infer(x: Operand, *lengths: Operand, axis: tuple[int, ...]) -> TensorType:
    shape = list(x.shape)
    for i, n in zip(axis, lengths, strict=True):
        # whether the lengths fit is checked when x is summed: in a loop of no steps they need not
        shape[i] = None if n.value is None else int(n.value)
    return TensorType(x.dtype, tuple(shape))


def _bind(xp: Any, axis: tuple[int, ...]) -> Any:
    def sum_to(x: Any, *lengths: Any) -> Any:
        shape = x.shape
        for i, n in zip(axis, lengths):  # noqa: B905  twice as fast; mostly nothing was spread
            if shape[i] != int(n):
                if not x.size:
                    return xp.zeros(_asked(shape, axis, lengths), x.dtype)
                return x.sum(axis=_spread(shape, axis, lengths), keepdims=True)
        return x

    return sum_to


def _asked(shape: Sequence[int], axis: Sequence[int], lengths: Sequence[Any]) -> list[int]:
    """The shape with these lengths along `axis`; used for zero rows, whose lengths need not fit."""
    asked = dict(zip(axis, map(int, lengths), strict=True))
    return [asked.get(i, n) for i, n in enumerate(shape)]


def _spread(shape: Sequence[int], axis: Sequence[int], lengths: Sequence[Any]) -> tuple[int, ...]:
    """The axes that were broadcast from length 1.  Raises ValueError for one whose length differs and was not 1."""
    pairs = [(i, int(n)) for i, n in zip(axis, lengths, strict=True) if shape[i] != int(n)]
    for i, n in pairs:
        if n != 1:
            raise ValueError(f"axis {i} is to be summed to another length than 1: {shape[i]} and {n}")
    return tuple(i for i, _ in pairs)


def _batch(op: Op, flags: Sequence[bool], args: Sequence[Variable]) -> Variable | None:
    x, *lengths = args
    if any(flags[1:]):
        return None  # the rows would have different lengths
    return apply(Op.make("sum_to", axis=tuple(i + 1 for i in op.options["axis"])), x, *lengths)


def _gradient(op: Op, args: Sequence[Variable], out: Variable, g: Variable) -> list[Variable | None]:
    x = args[0]
    return [broadcast_to(g, [dim(x, i) for i in range(x.ndim)]), *(None for _ in args[1:])]


register(
    OpSpec(
        "sum_to",
        _bind,
        _infer,
        _batch,
        cost="arith",  # mostly nothing was broadcast
        view=True,
        by_layout=1,
        data_shape=True,
        gradient=_gradient,
        doc="x summed along those axes whose given length is 1, which stay",
        params={"axis": AXES},
    )
)


def sum_to(x: Variable, like: Variable, spread: Collection[int] | None = None) -> Variable:
    """x, whose shape is a broadcast of the shape of `like`, summed to the shape of `like`.

    spread: the axes of `like` that may have been broadcast, if that is known.

    >>> from scanopt import tensor as T
    >>> str(sum_to(T.matrix("m", "float32", (3, 4)), T.vector("v", "float32", (4,))).type)
    'float32[4]'
    """
    more = x.ndim - like.ndim
    if more:
        x = apply(Op.make("sum", axis=tuple(range(more)), keepdims=False), x)
    asked = range(like.ndim) if spread is None else spread
    sure = tuple(i for i in asked if like.type.shape[i] == 1 != x.type.shape[i])
    if sure:
        x = apply(Op.make("sum", axis=sure, keepdims=True), x)
    open_ = tuple(i for i in asked if like.type.shape[i] is None and x.type.shape[i] != 1)
    if not open_:
        return x
    return apply(Op.make("sum_to", axis=open_), x, *(as_variable(length(like, i)) for i in open_))
