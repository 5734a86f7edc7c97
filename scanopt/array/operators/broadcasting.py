"""The operator that repeats an array along new axes and axes of length 1, without a copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanopt.array import batching
from scanopt.array.batching import dim, front, takes_lengths
from scanopt.array.constants import as_variable
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.operators.shaping import as_dims
from scanopt.array.operators.sum_to import sum_to
from scanopt.array.parameters import SHAPE
from scanopt.array.registry import public
from scanopt.array.shapes import fill, filled, lengths, shape_text
from scanopt.array.types import Dim, TensorType
from scanopt.array.variable import Variable

__all__ = ["broadcast_to"]

Flags = Sequence[bool]
Args = Sequence[Variable]
Shape = tuple[Dim, ...]


def _infer(x: Operand, *dims: Operand, shape: Shape) -> TensorType:
    _refuse(x, *(Operand(d.dtype, d.shape) for d in dims), shape=shape)
    new = lengths(filled(shape, dims))
    lead = len(new) - x.ndim
    joined = (want if have in (1, None) else have for have, want in zip(x.shape, new[lead:], strict=True))
    return TensorType(x.dtype, (*new[:lead], *joined))


def _refuse(x: Operand, *dims: Operand, shape: Shape) -> None:
    new = filled(shape, dims)
    lead = len(new) - x.ndim
    pairs = zip(x.shape, new[lead:], strict=False)
    misfit = any(want is not None and have not in (1, None, want) for have, want in pairs)
    if lead < 0 or any(n is not None and n < 0 for n in new) or misfit:
        raise ValueError(f"cannot broadcast {shape_text(x.shape)} to {shape_text(new)}")


def _batch(op: Op, batched: Flags, args: Args) -> Variable | None:
    if any(batched[1:]):
        return None
    shape = op.options["shape"]
    x, rest = front(args[0], len(shape)), iter(args[1:])
    return batching.broadcast_to(x, (dim(x, 0), *(next(rest) if n is None else n for n in shape)))


def _gradient(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    return [sum_to(g, args[0]), *(None for _ in args[1:])]


def _bind(xp: Any, shape: Shape) -> Callable[..., Any]:
    if None not in shape:
        return lambda x: xp.broadcast_to(x, shape)
    return lambda x, *dims: xp.broadcast_to(x, fill(shape, dims))


register(
    OpSpec(
        "broadcast_to",
        _bind,
        _infer,
        _batch,
        batch_exact=True,
        cost="free",
        view=True,
        can_raise=takes_lengths,
        data_shape=takes_lengths,
        gradient=_gradient,
        refuse=_refuse,
        doc="repeated along new axes and axes of length 1, without a copy",
        params={"shape": SHAPE},
    )
)


@public("broadcast_to", numpy=("broadcast_to",))
def broadcast_to(x: Any, shape: Any) -> Variable:
    """x broadcast to a shape (ints and integer scalars).  Raises ValueError when it does not fit.

    >>> broadcast_to([1.0, 2.0, 3.0], (2, 3)).type.shape
    (2, 3)
    """
    return batching.broadcast_to(as_variable(x), as_dims(shape))
