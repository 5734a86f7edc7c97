"""given: a value that there is only if another one can be computed."""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply

__all__: list[str] = []


def _infer(x: Operand, y: Operand) -> TensorType:
    return x.type


def _batch(op: Op, batched: Sequence[bool], args: Sequence[Variable]) -> Variable | None:
    return apply(op, *args) if batched[0] else None


# Laws write it where y is no more needed, but would have raised.
register(
    OpSpec(
        "given",
        lambda xp: lambda x, y: x,
        _infer,
        _batch,
        batch_exact=True,
        cost="free",
        view=True,
        gradient=lambda op, args, out, g: [g, None],
        doc="x, after y was computed, which may raise",
    )
)
