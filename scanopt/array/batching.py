"""Helpers for writing batched forms of operators: lengths of axes, aligning and spreading arguments.

A batched argument has a new first axis with one entry per row; all batched arguments have the same number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.op import Op
from scanopt.array.shapes import broadcast
from scanopt.array.types import Dim
from scanopt.array.variable import Apply, Constant, Variable, apply

__all__ = [
    "align", "broadcast_to", "dim", "dims_of", "expand", "front", "has_lengths", "rows", "shift_axis_of_first",
    "split_dims", "spread", "takes_lengths", "transpose",
]  # fmt: skip

Length = int | Variable
Rule = Any


def dim(x: Variable, axis: int) -> Length:
    """The length of an axis: an int where it is known, else symbolic."""
    n = x.type.shape[axis]
    return apply(Op.make("shape_i", axis=axis % x.ndim), x) if n is None else n


def dims_of(x: Variable) -> tuple[Length, ...]:
    """The length of each axis."""
    return tuple(dim(x, i) for i in range(x.ndim))


def has_lengths(x: Variable, dims: Sequence[Length]) -> bool:
    """Whether x is known to have these lengths, given as numbers or as symbolic lengths that were read off x."""
    return len(dims) == x.ndim and all(_is_length(d, x, i) for i, d in enumerate(dims))


def _is_length(d: Length, x: Variable, axis: int) -> bool:
    known = x.type.shape[axis]
    if known is not None:
        return isinstance(d, int | Constant) and int(d.data if isinstance(d, Constant) else d) == known
    made = d.owner if isinstance(d, Variable) else None
    return isinstance(made, Apply) and made.op == Op.make("shape_i", axis=axis) and made.inputs[0] is x


def split_dims(dims: Sequence[Length]) -> tuple[tuple[Dim, ...], tuple[Variable, ...]]:
    """Split lengths into a shape, with None for each symbolic length, and the symbolic lengths that fill the Nones."""
    plain = [int(d.data) if isinstance(d, Constant) else d for d in dims]
    shape = tuple(None if isinstance(d, Variable) else d for d in plain)
    return shape, tuple(d for d in plain if isinstance(d, Variable))


def expand(x: Variable, axes: Sequence[int]) -> Variable:
    """x with axes of length 1 at these places of the result."""
    return apply(Op.make("expand_dims", axis=tuple(axes)), x) if axes else x


def transpose(x: Variable, axes: Sequence[int]) -> Variable:
    """x with its axes in this order."""
    same = tuple(axes) == tuple(range(x.ndim))
    return x if same else apply(Op.make("transpose", axes=tuple(axes)), x)


def broadcast_to(x: Variable, dims: Sequence[Length]) -> Variable:
    """x broadcast to these lengths."""
    shape, inputs = split_dims(dims)
    if x.type.shape == shape and None not in shape:
        return x
    return apply(Op.make("broadcast_to", shape=shape), x, *inputs)


def rows(batched: Sequence[bool], args: Sequence[Variable]) -> Length:
    """How many rows the batched arguments have."""
    having = [x for x, b in zip(args, batched, strict=True) if b]
    return next((n for x in having if (n := x.type.shape[0]) is not None), None) or dim(having[0], 0)


def front(x: Variable, ndim: int) -> Variable:
    """A batched x with axes of length 1 inserted after the first, so that its rows have `ndim` axes."""
    return expand(x, range(1, 1 + ndim - (x.ndim - 1)))


def align(batched: Sequence[bool], args: Sequence[Variable]) -> list[Variable]:
    """The arguments with axes of length 1 inserted, so that they broadcast against each other row by row."""
    ndim = max(x.ndim - b for x, b in zip(args, batched, strict=True))
    return [front(x, ndim) if b else x for x, b in zip(args, batched, strict=True)]


def spread(x: Variable, n: Length) -> Variable:
    """An argument that is not batched, repeated for n rows (a view)."""
    return broadcast_to(x, (n, *dims_of(x)))


def elementwise(op: Op, batched: Sequence[bool], args: Sequence[Variable]) -> Variable:
    """The batched form of every elementwise operator."""
    return apply(op, *align(batched, args))


def static_shape(*xs: Variable) -> tuple[Dim, ...]:
    """The broadcast shape of some variables."""
    return broadcast(*(x.type.shape for x in xs))


def int_constant(n: int) -> Constant:
    """An int64 constant."""
    return Constant(np.int64(n))


def takes_lengths(op: Op) -> bool:
    """Whether some lengths in the parameter `shape` of an operator are arguments."""
    return None in op.options["shape"]


def shift_axis_of_first(op: Op, batched: Sequence[bool], args: Sequence[Variable]) -> Variable | None:
    """The batched form of an operator along an axis of its first argument, whose others are lengths.

    There is none if a length is batched: rows would have different lengths.
    """
    if any(batched[1:]):
        return None
    return apply(Op.make(op.name, **{**op.options, "axis": op.options["axis"] + 1}), *args)
