"""shaped_like: checks that a state keeps its shape when laws have removed the loop that would check it, and that
arrays have the same shape when laws have removed the operator that combined them.

spread_like: broadcasts a value as adding an array of zeros would, without making the zeros.

widen: repeats an axis of length 1 where another array needs it, as broadcasting does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanopt.array.batching import dim, expand, rows, spread
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.operators.sum_to import sum_to
from scanopt.array.parameters import integer
from scanopt.array.shapes import broadcast, shape_text, widened
from scanopt.array.types import MOST_AXES, Dim, TensorType
from scanopt.array.variable import Variable, apply

__all__: list[str] = []


def _last(x: Any, axes: int) -> tuple[Dim, ...]:
    return tuple(x.shape[len(x.shape) - axes :])


def _changed(x: Sequence[Dim], y: Sequence[Dim]) -> ValueError:
    return ValueError(
        f"a state of a loop changes its shape, or arrays put together do not have the same shape: found shapes "
        f"{shape_text(y)} and {shape_text(x)}{widened(y, x)}"
    )


def _infer(x: Operand, y: Operand, axes: int) -> TensorType:
    if axes > min(x.ndim, y.ndim):
        raise ValueError(f"{x.type} and {y.type} do not both have {axes} axes to compare")
    was, is_ = _last(y, axes), _last(x, axes)
    if any(n is not None and m is not None and n != m for n, m in zip(was, is_, strict=True)):
        raise _changed(is_, was)
    known = tuple(m if n is None else n for n, m in zip(is_, was, strict=True))
    return TensorType(x.dtype, (*x.shape[: x.ndim - axes], *known))


def _bind(xp: Any, axes: int) -> Any:
    def shaped_like(x: Any, y: Any) -> Any:
        if _last(x, axes) != _last(y, axes):
            raise _changed(_last(x, axes), _last(y, axes))
        return x

    return shaped_like


def _batch(op: Op, flags: Sequence[bool], args: Sequence[Variable]) -> Variable | None:
    x, y = args
    return apply(op, x if flags[0] else spread(x, rows(flags, args)), y)


register(
    OpSpec(
        "shaped_like",
        _bind,
        _infer,
        _batch,
        batch_exact=True,
        cost="free",
        view=True,
        doc="x, whose last axes must be as long as those of y",
        params={"axes": integer(0, MOST_AXES)},
    )
)


def _infer_spread(x: Operand, y: Operand) -> TensorType:
    shape = broadcast(x.shape, y.shape)
    if len(shape) != y.ndim or any(n is not None and m == 1 != n for n, m in zip(shape, y.shape, strict=True)):
        raise ValueError(f"{shape_text(x.shape)} does not broadcast to {shape_text(y.shape)}")
    return TensorType(x.dtype, tuple(n if m is None else m for n, m in zip(shape, y.shape, strict=True)))


def _bind_spread(xp: Any) -> Any:
    return lambda x, y: x if x.shape == y.shape else xp.broadcast_to(x, y.shape)


def _batch_spread(op: Op, flags: Sequence[bool], args: Sequence[Variable]) -> Variable:
    x, y = args
    if flags[0]:
        return apply(
            op, expand(x, range(1, 1 + y.ndim - flags[1] - (x.ndim - 1))), y if flags[1] else spread(y, dim(x, 0))
        )
    return apply(op, x, y)


register(
    OpSpec(
        "spread_like",
        _bind_spread,
        _infer_spread,
        _batch_spread,
        batch_exact=True,
        cost="free",
        view=True,
        doc="x, broadcast to the shape of y",
    )
)


def _infer_widened(x: Operand, n: Operand, axis: int) -> TensorType:
    was = x.shape[axis]
    length = was if was not in (1, None) else None if was is None or n.value is None else int(n.value)
    return TensorType(x.dtype, tuple(length if i == axis % len(x.shape) else m for i, m in enumerate(x.shape)))


def _bind_widened(xp: Any, axis: int) -> Any:
    def widen(x: Any, n: Any) -> Any:
        if x.shape[axis] != 1 or n == 1:
            return x
        return xp.broadcast_to(x, tuple(int(n) if i == axis % x.ndim else m for i, m in enumerate(x.shape)))

    return widen


def _batch_widened(op: Op, flags: Sequence[bool], args: Sequence[Variable]) -> Variable | None:
    axis = op.options["axis"]
    return None if flags[1] else apply(Op.make("widen", axis=axis + (axis >= 0)), *args)


def _gradient_widened(op: Op, args: Sequence[Variable], out: Variable, g: Variable) -> list[Variable | None]:
    return [sum_to(g, args[0], [op.options["axis"]]), None]


register(
    OpSpec(
        "widen",
        _bind_widened,
        _infer_widened,
        _batch_widened,
        batch_exact=True,
        cost="free",
        view=True,
        data_shape=True,
        gradient=_gradient_widened,
        doc="x, an axis of length 1 repeated n times",
        params={"axis": integer(0, MOST_AXES)},
    )
)
