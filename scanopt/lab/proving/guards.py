"""The meanings of operators that return their first argument, or raise."""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.array.op import Op
from scanopt.lab.proving.arrays import SymbolicArray, known
from scanopt.lab.proving.choices import NoProgramError
from scanopt.lab.proving.entries import lifted
from scanopt.lab.proving.model import Model
from scanopt.lab.proving.operators import meaning

__all__: list[str] = []


@meaning("shaped_like")
def _shaped_like(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    (x, y), axes = xs, op.options["axes"]
    if x.shape[len(x.shape) - axes :] != y.shape[len(y.shape) - axes :]:
        m.raises(True)
    return x


@meaning("given")
def _given(m: Model, op: Op, xs: Sequence[SymbolicArray]) -> SymbolicArray:
    x, steps = xs
    if (steps.dtype, steps.shape) != ("int64", ()):
        raise NoProgramError("given takes a number of steps")
    number = known(steps)
    m.raises(lifted(steps.entries[0], "int64") <= 0 if number is None else bool(number <= 0))
    return x
