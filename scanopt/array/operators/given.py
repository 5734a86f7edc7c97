"""given: a value that exists only if a loop takes at least one step; otherwise reading it raises IndexError."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply

__all__: list[str] = []


def _infer(x: Operand, steps: Operand) -> TensorType:
    if steps.dtype != "int64" or steps.ndim:
        raise ValueError(f"given takes a value and a number of steps, found {x.type} and {steps.type}")
    return x.type


def _bind(xp: Any) -> Callable[..., Any]:
    def given(x: Any, steps: Any) -> Any:
        if steps <= 0:
            raise IndexError("index -1 is out of bounds for axis 0 with size 0")
        return x

    return given


def _batch(op: Op, batched: Sequence[bool], args: Sequence[Variable]) -> Variable | None:
    return None if batched[1] else apply(op, *args)


# Laws write it when a row of a trace is computed without the trace, but the row might not have existed.
register(
    OpSpec(
        "given",
        _bind,
        _infer,
        _batch,
        batch_exact=True,
        cost="free",
        view=True,
        can_raise=True,
        gradient=lambda op, args, out, g: [g, None],
        doc="x, if a number of steps is not 0; otherwise the error of reading a row that is not there",
    )
)
