"""Discrete Fourier transforms along one axis, as entries of the operator table; those along more axes use these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import dim, expand, shift_axis_of_first
from scanopt.array.derivatives import fitting
from scanopt.array.op import Gradient, Op, Operand, OpSpec, register
from scanopt.array.operators.creation import arange, full
from scanopt.array.operators.elementwise import elementwise, where
from scanopt.array.operators.subtensor import set_subtensor
from scanopt.array.parameters import AXIS, FLAG, Parameter, integer, one_of
from scanopt.array.registry import FUNCTIONS
from scanopt.array.shapes import axis_of
from scanopt.array.types import Dim, TensorType
from scanopt.array.variable import Variable, apply

__all__ = ["NORMS", "resized", "swapped_norm", "transform"]

Flags = Sequence[bool]
Args = Sequence[Variable]
Parts = list[Variable | None]

NORMS = ("backward", "ortho", "forward")
"""Normalizations: the inverse transform is divided by the length, both by its square root, or the forward one is."""


def swapped_norm(norm: str) -> str:
    """The norm with which a transform in the other direction has the same factor."""
    return {"backward": "forward", "forward": "backward"}.get(norm, norm)


def transform(name: str, x: Variable, axis: int, n: Any, norm: str, **more: Any) -> Variable:
    """One use of an entry.  n: the number of points, an int, an integer scalar, or None for the length of the axis."""
    given = (n,) if isinstance(n, Variable) else ()
    return apply(Op.make(name, axis=axis, n="in" if given else n, norm=norm, **more), x, *given)


# Types

Points = int | str | None
"""The parameter for the number of points: an int, "in" for the second argument, None for the length of the axis."""

_SINGLE = ("float16", "float32", "complex64")


def _complex(dtype: str) -> str:
    return "complex64" if dtype in _SINGLE else "complex128"


def _points(name: str, args: Sequence[Operand], axis: int, n: Points) -> Dim:
    """The number of points that are transformed, None if unknown."""
    x = args[0]
    axis_of(axis, x)
    if isinstance(n, int):
        return n
    if n is None:
        own = x.shape[axis]
        return 2 * (own - 1) if name == "irfft" and own is not None else own
    given = args[1]
    if given.ndim or np.dtype(given.dtype).kind not in "iu":
        raise TypeError(f"{name} takes an integer scalar as its number of points, found {given.type}")
    return None if given.value is None else int(given.value)


def _with_length(x: Operand, axis: int, n: Dim) -> tuple[Dim, ...]:
    length = None if n is None else max(n, 0)
    return tuple(length if i == axis else k for i, k in enumerate(x.shape))


def _infer_fft(*args: Operand, axis: int, n: Points, norm: str, inverse: bool) -> TensorType:
    return TensorType(_complex(args[0].dtype), _with_length(args[0], axis, _points("fft", args, axis, n)))


def _infer_rfft(*args: Operand, axis: int, n: Points, norm: str) -> TensorType:
    x, points = args[0], _points("rfft", args, axis, n)
    if np.dtype(x.dtype).kind == "c":
        raise TypeError(f"rfft takes real numbers, found {x.type}: use fft")
    return TensorType(_complex(x.dtype), _with_length(x, axis, None if points is None else points // 2 + 1))


def _infer_irfft(*args: Operand, axis: int, n: Points, norm: str) -> TensorType:
    x = args[0]
    dtype = "float16" if x.dtype == "float16" else "float32" if x.dtype in _SINGLE else "float64"
    return TensorType(dtype, _with_length(x, axis, _points("irfft", args, axis, n)))


def _refuse(name: str) -> Callable[..., None]:
    def refuse(*args: Operand, axis: int, n: Points, norm: str, **more: Any) -> None:
        points = _points(name, args, axis, n)
        if points is not None and points < 1:
            raise ValueError(f"{name} of {points} points: there must be one at least ({args[0].type}, axis {axis})")

    return refuse


# Crops and zeros


def resized(x: Variable, axis: int, n: int | Variable) -> Variable:
    """x with n entries along an axis: the first ones, and zeros where it has fewer.

    >>> from scanopt import interpret, tensor as T
    >>> interpret(resized(T.constant([1.0, 2.0]), 0, 3))
    array([1., 2., 0.])
    """
    have, before = x.type.shape[axis], (slice(None),) * axis
    if have is not None and isinstance(n, int):
        if have >= n:
            return x if have == n else x[(*before, slice(n))]
        zeros = full([n - have if i == axis else dim(x, i) for i in range(x.ndim)], 0, x.dtype)
        joined: Variable = FUNCTIONS["concatenate"]([x, zeros], axis)
        return joined
    both = elementwise("minimum", dim(x, axis), n)
    zeros = full([n if i == axis else dim(x, i) for i in range(x.ndim)], 0, x.dtype)
    return set_subtensor(zeros[(*before, slice(both))], x[(*before, slice(both))])


# Gradients: the transform in the other direction


def _of_fft(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    axis, norm = op.options["axis"], op.options["norm"]
    return _back(transform("fft", g, axis, None, swapped_norm(norm), inverse=not op.options["inverse"]), op, args)


def _of_rfft(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """rfft is the first half of fft, so g is extended with zeros and transformed back."""
    axis, n, norm = (op.options[k] for k in ("axis", "n", "norm"))
    points = dim(args[0], axis) if n is None else args[1] if n == "in" else n
    return _back(transform("fft", g, axis, points, swapped_norm(norm), inverse=True), op, args)


def _of_irfft(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """Each frequency counts twice, except the first, and the last if the number of points is even."""
    axis, norm = op.options["axis"], op.options["norm"]
    back = transform("rfft", g, axis, None, swapped_norm(norm))
    place, points = arange(dim(back, axis)), dim(g, axis)
    once = elementwise("equal", place, 0) | elementwise("equal", 2 * place, points)
    count = FUNCTIONS["cast"](where(once, 1, 2), g.dtype)
    return _back(back * expand(count, [i for i in range(g.ndim) if i != axis]), op, args)


def _back(g: Variable, op: Op, args: Args) -> Parts:
    """Give a gradient the length of the argument, which the transform had cut or filled with zeros."""
    x, axis = args[0], op.options["axis"]
    cut = g if op.options["n"] is None else resized(g, axis, dim(x, axis))
    return [fitting(cut, x), *(None for _ in args[1:])]


# Entries


def _bind(name: str) -> Callable[..., Any]:
    def bind(xp: Any, axis: int, n: Points, norm: str, inverse: bool = False) -> Callable[..., Any]:
        f = xp.fft.ifft if inverse else _of_real(xp) if name == "irfft" else getattr(xp.fft, name)
        if n == "in":
            return lambda x, points: f(x, int(points), axis, norm)
        return lambda x: f(x, n, axis, norm)

    return bind


def _of_real(xp: Any) -> Callable[..., Any]:
    """irfft that returns zeros if there are no frequencies, as the others do: NumPy 2 returns uninitialized memory."""

    def irfft(x: Any, n: int | None, axis: int, norm: str) -> Any:
        if n is not None and not x.shape[axis]:
            x = xp.zeros([1 if i == axis % x.ndim else m for i, m in enumerate(x.shape)], x.dtype)
        return xp.fft.irfft(x, n, axis, norm)

    return irfft


_N = integer(1)
_POINTS = Parameter(
    f'{_N.text}, "in" where it is an argument, or null for the length of the axis',
    lambda x: x in (None, "in") or _N.holds(x),
)


def _entry(name: str, infer: Callable[..., TensorType], gradient: Gradient, doc: str, **more: Parameter) -> None:
    register(
        OpSpec(
            name,
            _bind(name),
            infer,
            shift_axis_of_first,
            batch_exact=True,
            can_raise=lambda op: not isinstance(op.options["n"], int),
            data_shape=lambda op: op.options["n"] == "in",
            refuse=_refuse(name),
            cost="transcendental",
            gradient=gradient,
            doc=doc,
            params={"axis": AXIS, "n": _POINTS, "norm": one_of(*NORMS), **more},
        )
    )


_entry("fft", _infer_fft, _of_fft, "np.fft.fft along an axis, or ifft", inverse=FLAG)
_entry("rfft", _infer_rfft, _of_rfft, "np.fft.rfft along an axis")
_entry("irfft", _infer_irfft, _of_irfft, "np.fft.irfft along an axis")
