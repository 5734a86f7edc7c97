"""Operators on bit patterns: the same bytes read as another dtype, and the threefry hash of random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import align
from scanopt.array.derivatives import no_gradient
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.parameters import DTYPE
from scanopt.array.shapes import broadcast, shape_text
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply

__all__ = ["bitcast", "threefry"]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def bitcast(x: Variable, dtype: str) -> Variable:
    """The bytes of x read as another dtype: a shorter dtype adds a last axis, a longer one removes it.

    Raises TypeError for bool, ValueError where the last axis is not as long as the longer dtype needs.

    >>> from scanopt import interpret, tensor as T
    >>> interpret(bitcast(T.constant(np.float32([1.0])), "uint32"))
    array([1065353216], dtype=uint32)
    """
    return apply(Op.make("bitcast", dtype=np.dtype(dtype).name), x)


def threefry(k0: Variable, k1: Variable, x0: Variable, x1: Variable) -> Variable:
    """Two random words for each key and counter, along a new last axis: Threefry 2x32 with 20 rounds.

    k0, k1, x0, x1: uint32 arrays that broadcast.  Raises TypeError for other dtypes.

    >>> from scanopt import interpret, tensor as T
    >>> zero = T.constant(np.uint32(0))
    >>> [hex(w) for w in interpret(threefry(zero, zero, zero, zero))]
    ['0x6b200159', '0x99ba4efe']

    Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3".
    """
    return apply(Op.make("threefry"), k0, k1, x0, x1)


def _ratio(x: str, dtype: str) -> tuple[int, int]:
    """How many elements of x, and how many of `dtype`, fill the longer of their two item sizes."""
    a, b = np.dtype(x).itemsize, np.dtype(dtype).itemsize
    return max(b // a, 1), max(a // b, 1)


def _infer_bitcast(x: Operand, dtype: str) -> TensorType:
    if "bool" in (x.dtype, dtype):
        raise TypeError(f"bitcast of {x.dtype} to {dtype}: bool has no bit pattern of its own; cast it")
    joined, split = _ratio(x.dtype, dtype)
    shape = x.shape
    if joined > 1:
        if not shape or shape[-1] not in (joined, None):
            raise ValueError(f"bitcast of {x.type} to {dtype} needs a last axis of {joined}, found {shape_text(shape)}")
        shape = shape[:-1]
    return TensorType(dtype, (*shape, split) if split > 1 else shape)


def _bind_bitcast(xp: Any, dtype: str) -> Callable[..., Any]:
    def view(x: Any) -> Any:
        joined, split = _ratio(x.dtype.name, dtype)
        if joined > 1 and x.shape[-1] != joined:
            raise ValueError(f"bitcast to {dtype} needs a last axis of {joined}, found {x.shape}")
        flat = xp.ascontiguousarray(x).reshape(-1).view(dtype)
        return flat.reshape((*x.shape[:-1],) if joined > 1 else (*x.shape, split) if split > 1 else x.shape)

    return view


def _may_misfit(op: Op) -> bool:
    return np.dtype(op.options["dtype"]).itemsize > 1


def _infer_threefry(*words: Operand) -> TensorType:
    for x in words:
        if x.dtype != "uint32":
            raise TypeError(f"threefry is of uint32 words, found {x.type}")
    return TensorType("uint32", (*broadcast(*(x.shape for x in words)), 2))


def _bind_threefry(xp: Any) -> Callable[..., Any]:
    def mixed(k0: Any, k1: Any, x0: Any, x1: Any) -> Any:
        shape = np.broadcast_shapes(k0.shape, k1.shape, x0.shape, x1.shape)
        keys = [xp.atleast_1d(k0), xp.atleast_1d(k1)]  # scalars warn when sums overflow, arrays do not
        keys.append(keys[0] ^ keys[1] ^ _PARITY)
        a = xp.array(xp.broadcast_to(x0 + keys[0], shape or (1,)), order="C")
        b = xp.array(xp.broadcast_to(x1 + keys[1], shape or (1,)), order="C")
        for i in range(5):
            for r in _ROTATIONS[i % 2]:
                a += b
                b = (b << np.uint32(r)) | (b >> np.uint32(32 - r))
                b ^= a
            a += keys[(i + 1) % 3]
            b += keys[(i + 2) % 3] + np.uint32(i + 1)
        return xp.stack([a, b], axis=-1).reshape((*shape, 2))

    return mixed


def _batch(op: Op, batched: Sequence[bool], args: Sequence[Variable]) -> Variable:
    """As `batching.elementwise`, for operators whose results may have one axis more or less at the end."""
    return apply(op, *align(batched, args))


register(
    OpSpec(
        "bitcast",
        _bind_bitcast,
        _infer_bitcast,
        _batch,
        batch_exact=True,
        cost="free",
        view=True,
        can_raise=_may_misfit,
        gradient=None,
        doc="the same bytes read as another dtype",
        params={"dtype": DTYPE},
    )
)
register(
    OpSpec(
        "threefry",
        _bind_threefry,
        _infer_threefry,
        _batch,
        batch_exact=True,
        cost="transcendental",
        gradient=no_gradient,
        doc="two random words of a key and a counter: Threefry 2x32",
    )
)
