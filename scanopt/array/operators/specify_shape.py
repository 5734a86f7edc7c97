"""specify_shape: lengths of an array that are promised, then checked; Theano's functions for broadcastable axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from scanopt.array.batching import split_dims
from scanopt.array.constants import as_variable
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.operators.shaping import as_dims
from scanopt.array.parameters import LENGTHS
from scanopt.array.registry import public
from scanopt.array.shapes import axes_text, axis_of, fill, filled, shape_text
from scanopt.array.types import Dim, TensorType
from scanopt.array.variable import Variable, apply, describe

__all__: list[str] = []


def _other(found: Sequence[Dim], shape: Sequence[Dim]) -> ValueError:
    axes = [i for i, (n, m) in enumerate(zip(found, shape, strict=True)) if None not in (n, m) and n != m]
    where = " and ".join(f"axis {i} has length {found[i]}, not {shape[i]}" for i in axes)
    return ValueError(f"specify_shape: the array has shape {shape_text(found)}: {where}")


def _wanted(shape: tuple[Dim, ...], dims: Sequence[Any]) -> tuple[Dim, ...]:
    """The lengths that are asked for: None where any is allowed or the length is not known yet."""
    return tuple(None if n == -1 else n for n in filled(shape, dims))


def _infer(x: Operand, *dims: Operand, shape: tuple[Dim, ...]) -> TensorType:
    wanted = _wanted(shape, dims)
    if x.ndim != len(wanted):
        raise ValueError(f"specify_shape: expected {axes_text(len(wanted))} for {shape_text(wanted)}, found {x.type}")
    parts = zip(x.shape, shape, wanted, strict=True)  # a computed length is only checked, if x has a known one
    return TensorType(
        x.dtype, tuple(n if m is None or (given is None and n is not None) else m for n, given, m in parts)
    )


def _refuse(x: Operand, *dims: Operand, shape: tuple[Dim, ...]) -> None:
    wanted = _wanted(shape, dims)
    if any(None not in (n, m) and n != m for n, m in zip(x.shape, wanted, strict=True)):
        raise _other(x.shape, wanted)


def _bind(xp: Any, shape: tuple[Dim, ...]) -> Any:
    def specify_shape(x: Any, *dims: Any) -> Any:
        wanted = fill(shape, dims)
        if any(m not in (-1, n) for n, m in zip(x.shape, wanted, strict=True)):
            raise _other(x.shape, tuple(None if m == -1 else m for m in wanted))
        return x

    return specify_shape


def _batch(op: Op, batched: Sequence[bool], args: Sequence[Variable]) -> Variable | None:
    if any(batched[1:]) or not batched[0]:
        return None
    return apply(Op.make("specify_shape", shape=(-1, *op.options["shape"])), *args)


register(
    OpSpec(
        "specify_shape",
        _bind,
        _infer,
        _batch,
        batch_exact=True,
        cost="free",
        view=True,
        can_raise=True,
        gradient=lambda op, args, out, g: [g, *(None for _ in args[1:])],
        refuse=_refuse,
        doc="x, whose axes must have these lengths, -1 for any",
        params={"shape": LENGTHS},
    )
)


@public("specify_shape")
def specify_shape(x: Any, shape: Any) -> Variable:
    """x, promised to have this shape; the promise is checked when the function runs.

    shape: a length for each axis: an int, an integer scalar, or None for any length.
    Raises ValueError if x is known to have another shape, else when the function runs.

    >>> from scanopt import tensor as T
    >>> specify_shape(T.dmatrix("x"), (3, None)).type.shape
    (3, None)

    Source: the documents' `T.specify_shape`.
    """
    v = as_variable(x)
    given = list(shape) if isinstance(shape, list | tuple) else list(as_dims(shape, v.ndim))
    lengths = [-1 if n is None else as_dims(n)[0] for n in given]
    if len(lengths) != v.ndim:
        raise ValueError(f"specify_shape was given {len(lengths)} lengths for {describe(v)}: give one for each axis")
    placeholders, inputs = split_dims(lengths)
    if any(n is not None and n < 0 and given[i] is not None for i, n in enumerate(placeholders)):
        raise ValueError(f"specify_shape was given {tuple(given)} for {describe(v)}: lengths are not negative")
    if all(n in (-1, m) for n, m in zip(placeholders, v.type.shape, strict=True) if n is not None) and not inputs:
        return v
    return apply(Op.make("specify_shape", shape=placeholders), v, *inputs)


def _marks(x: Variable, axes: Iterable[Any]) -> Variable:
    places = {axis_of(a, x) for a in axes}
    return specify_shape(x, [1 if i in places else None for i in range(x.ndim)])


@public("addbroadcast", "specify_broadcastable")
def addbroadcast(x: Any, *axes: int) -> Variable:
    """x, promised to have length 1 along these axes; that is checked when the function runs.

    >>> from scanopt import tensor as T
    >>> addbroadcast(T.dmatrix("x"), 1).type.shape
    (None, 1)
    """
    return _marks(as_variable(x), axes)


@public("unbroadcast")
def unbroadcast(x: Any, *axes: int) -> Variable:
    """x itself: an axis known to have length 1 is accepted where any length is."""
    v = as_variable(x)
    for a in axes:
        axis_of(a, v)
    return v


@public("patternbroadcast")
def patternbroadcast(x: Any, broadcastable: Sequence[bool]) -> Variable:
    """x, promised to have length 1 along axes where `broadcastable` is true; checked when the function runs."""
    v = as_variable(x)
    flags = [bool(b) for b in broadcastable]
    if len(flags) != v.ndim:
        raise ValueError(f"patternbroadcast was given {len(flags)} flags for {describe(v)}: give one for each axis")
    return _marks(v, [i for i, one in enumerate(flags) if one])
