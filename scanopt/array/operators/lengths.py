"""The operator that gives the length of an axis, and functions written with it: shape, size, number of axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanopt.array import batching
from scanopt.array.batching import dim, dims_of, int_constant
from scanopt.array.constants import as_variable
from scanopt.array.derivatives import no_gradient
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.operators.elementwise import elementwise
from scanopt.array.parameters import AXIS
from scanopt.array.registry import public
from scanopt.array.shapes import axis_of
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply

__all__ = ["ndim", "shape", "size", "times"]

Flags = Sequence[bool]
Args = Sequence[Variable]


def _infer(x: Operand, axis: int) -> TensorType:
    axis_of(axis, x)
    return TensorType("int64", ())


def _batch(op: Op, batched: Flags, args: Args) -> Variable:
    x = args[0]
    n = apply(Op.make("shape_i", axis=op.options["axis"] + 1), x)
    return batching.broadcast_to(n, (dim(x, 0),))


def _bind(xp: Any, axis: int) -> Callable[..., Any]:
    return lambda x: xp.asarray(x.shape[axis], dtype="int64")


register(
    OpSpec(
        "shape_i",
        _bind,
        _infer,
        _batch,
        batch_exact=True,
        cost="free",
        gradient=no_gradient,
        doc="the length of one axis, an int64 scalar",
        params={"axis": AXIS},
    )
)


def times(a: Any, b: Any) -> Any:
    """The product of two lengths, each an int or symbolic."""
    return a * b if isinstance(a, int) and isinstance(b, int) else elementwise("multiply", a, b)


def _note_reading(x: Variable) -> None:
    """Mark x and all it is computed from as read, if it has a known length: an input read for its length is used."""
    todo = [] if all(n is None for n in x.type.shape) else [x]
    while todo:
        v = todo.pop()
        if not v.shape_read:
            v.shape_read = True
            todo.extend(v.owner.inputs if v.owner is not None else ())


@public("shape", numpy=("shape",))
def shape(x: Any) -> tuple[Variable, ...]:
    """The length of each axis, as int64 scalars (constants where they are known)."""
    v = as_variable(x)
    _note_reading(v)
    dims = dims_of(v)
    return tuple(int_constant(n) if isinstance(n, int) else n for n in dims)


@public("size", numpy=("size",))
def size(x: Any, axis: int | None = None) -> Variable:
    """The number of elements (along one axis), an int64 scalar."""
    v = as_variable(x)
    _note_reading(v)
    total: Any = 1
    for n in dims_of(v) if axis is None else (dim(v, axis_of(axis, v)),):
        total = times(total, n)
    return int_constant(total) if isinstance(total, int) else total


@public("ndim", numpy=("ndim",))
def ndim(x: Any) -> int:
    """The number of axes, a plain int."""
    return as_variable(x).ndim
