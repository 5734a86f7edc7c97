"""shaped_like: a state of a loop keeps its shape, also where laws leave no loop that would see that it does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanopt.array.batching import rows, spread
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.parameters import integer
from scanopt.array.shapes import shape_text
from scanopt.array.types import MOST_AXES, Dim, TensorType
from scanopt.array.variable import Variable, apply

__all__: list[str] = []


def _last(x: Any, axes: int) -> tuple[Dim, ...]:
    return tuple(x.shape[len(x.shape) - axes :])


def _changed(x: Sequence[Dim], y: Sequence[Dim]) -> ValueError:
    return ValueError(
        f"a state of a loop changes its shape: it had shape {shape_text(y)}, but after a step it has shape "
        f"{shape_text(x)}; the rows of a trace must all have one shape"
    )


def _infer(x: Operand, y: Operand, axes: int) -> TensorType:
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
