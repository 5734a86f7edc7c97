"""Two operators that are each other's gradient: sliding windows along an axis (a view), and their sum.

Convolutions and pooling are written with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import dim, shift_axis_of_first
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.parameters import AXIS, Parameter, integer
from scanopt.array.shapes import axis_of
from scanopt.array.types import Dim, TensorType
from scanopt.array.variable import Variable, apply

__all__ = ["windows"]

Flags = Sequence[bool]
Args = Sequence[Variable]
Length = int | str
"""The parameter for a length: an int, or "in" for the second argument."""


def windows(x: Variable, axis: int, size: int | Variable, step: int = 1, dilation: int = 1) -> Variable:
    """Sliding windows of `size` entries along an axis of x, as a new last axis; none where x is shorter.

    step: the distance from one window to the next; dilation: the distance between entries of a window.

    >>> from scanopt import interpret, tensor as T
    >>> interpret(windows(T.constant([1, 2, 3, 4]), 0, 2))
    array([[1, 2],
           [2, 3],
           [3, 4]])
    """
    given = (size,) if isinstance(size, Variable) else ()
    options = {"axis": axis, "step": step, "dilation": dilation}
    return apply(Op.make("windows", size="in" if given else size, **options), x, *given)


def _count(n: Any, size: Any, step: int, dilation: int) -> Any:
    """The number of windows along an axis of length n."""
    return max((n - dilation * (size - 1) - 1) // step + 1, 0)


def _read(what: str, args: Sequence[Operand], length: Length) -> Dim:
    if isinstance(length, int):
        return length
    given = args[1]
    if given.ndim or np.dtype(given.dtype).kind not in "iu":
        raise TypeError(f"{what} is an integer scalar, found {given.type}")
    return None if given.value is None else int(given.value)


def _infer_windows(*args: Operand, axis: int, size: Length, step: int, dilation: int) -> TensorType:
    x, entries = args[0], _read("the size of windows", args, size)
    n = x.shape[axis_of(axis, x)]
    count = None if n is None or entries is None else _count(n, max(entries, 0), step, dilation)
    entries = None if entries is None else max(entries, 0)
    return TensorType(x.dtype, (*x.shape[:axis], count, *x.shape[axis + 1 :], entries))


def _refuse_windows(*args: Operand, axis: int, size: Length, step: int, dilation: int) -> None:
    entries = _read("the size of windows", args, size)
    if entries is not None and entries < 1:
        raise ValueError(f"windows of {entries} entries: there must be one at least")


def _bind_windows(xp: Any, axis: int, size: Length, step: int, dilation: int) -> Callable[..., Any]:
    def view(x: Any, entries: Any = size) -> Any:
        k = int(entries)
        if k < 1:
            raise ValueError(f"windows of {k} entries: there must be one at least")
        stride = x.strides[axis]
        shape = (*x.shape[:axis], _count(x.shape[axis], k, step, dilation), *x.shape[axis + 1 :], k)
        strides = (*x.strides[:axis], step * stride, *x.strides[axis + 1 :], dilation * stride)
        return xp.lib.stride_tricks.as_strided(x, shape, strides)

    return view


def _infer_overlap(*args: Operand, axis: int, length: Length, step: int, dilation: int) -> TensorType:
    x, n = args[0], _read("the length of a sum of windows", args, length)
    if x.ndim < 2:
        raise ValueError(f"expected windows as the last axis beside another, found {x.type}")
    axis_of(axis, x.ndim - 1)
    return TensorType(x.dtype, (*x.shape[:axis], None if n is None else max(n, 0), *x.shape[axis + 1 : -1]))


def _refuse_overlap(*args: Operand, axis: int, length: Length, step: int, dilation: int) -> None:
    x, n = args[0], _read("the length of a sum of windows", args, length)
    count, size = x.shape[axis], x.shape[-1]
    if size == 0:
        raise ValueError("windows of 0 entries: there must be one at least")
    if n is not None and count and size and n < _reach(count, size, step, dilation):
        raise ValueError(f"{count} windows of {size} entries are longer than {n}")


def _reach(count: int, size: int, step: int, dilation: int) -> int:
    return step * (count - 1) + dilation * (size - 1) + 1


def _bind_overlap(xp: Any, axis: int, length: Length, step: int, dilation: int) -> Callable[..., Any]:
    before = (slice(None),) * axis

    def add(x: Any, n: Any = length) -> Any:
        n, count, size = int(n), x.shape[axis], x.shape[-1]
        out = xp.zeros((*x.shape[:axis], n, *x.shape[axis + 1 : -1]), x.dtype)
        if not x.size:
            return out
        if n < _reach(count, size, step, dilation):
            raise ValueError(f"{count} windows of {size} entries are longer than {n}")
        for k in range(size):
            first = k * dilation
            out[(*before, slice(first, first + step * (count - 1) + 1, step))] += x[..., k]
        return out

    return add


def _of_windows(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    n, options = dim(args[0], op.options["axis"]), {k: op.options[k] for k in ("axis", "step", "dilation")}
    given = (n,) if isinstance(n, Variable) else ()
    return [apply(Op.make("overlap_add", length="in" if given else n, **options), g, *given), *(None for _ in args[1:])]


def _of_overlap(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    axis, step, dilation = (op.options[k] for k in ("axis", "step", "dilation"))
    back = windows(g, axis, dim(args[0], -1), step, dilation)
    back = back[(*(slice(None),) * axis, slice(dim(args[0], axis)))]
    return [back, *(None for _ in args[1:])]


def _length(low: int) -> Parameter:
    whole = integer(low)
    return Parameter(f'{whole.text}, or "in" where it is an argument', lambda x: x == "in" or whole.holds(x))


def _entry(name: str, length: str, low: int, bind: Any, infer: Any, refuse: Any, gradient: Any, **more: Any) -> None:
    register(
        OpSpec(
            name,
            bind,
            infer,
            shift_axis_of_first,
            batch_exact=True,
            can_raise=lambda op: op.options[length] == "in",
            data_shape=lambda op: op.options[length] == "in",
            refuse=refuse,
            gradient=gradient,
            params={"axis": AXIS, length: _length(low), "step": integer(1), "dilation": integer(1)},
            **more,
        )
    )


_entry(
    "windows", "size", 1, _bind_windows, _infer_windows, _refuse_windows, _of_windows, view=True, cost="free",
    doc="parts along an axis, one after the other, as a new last axis",
)  # fmt: skip
_entry(
    "overlap_add", "length", 0, _bind_overlap, _infer_overlap, _refuse_overlap, _of_overlap, cost="memory",
    doc="the sum of windows at their places along an axis",
)  # fmt: skip
