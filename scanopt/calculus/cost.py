"""The default cost model: nanoseconds of one evaluation as array steps on NumPy.

A cost model is a function of `Work`; extraction multiplies by how often the work is done.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from scanopt.array.op import Op, Operand

__all__ = ["CostModel", "Work", "numpy_cost"]


@dataclass(frozen=True)
class Work:
    """One thing to pay for.

    kind: "apply" (op of args giving out), "seq" (a row read from args[0]), "delay" (a state
    read), "stack" (a row kept of the whole trace), "tail" and "at" (a row kept for the last steps
    only), "hold", "input", "const", "loop" (entering a loop) or "step" (one turn of a loop).
    Shapes are of the example, static or assumed lengths.
    """

    kind: str
    op: Op | None = None
    args: tuple[Operand, ...] = ()
    out: Operand = field(default_factory=lambda: Operand("bool", ()))


CostModel = Callable[[Work], float]

_CALL = {"free": 250.0, "sort": 2000.0, "product": 900.0, "memory": 1200.0, "reduction": 2500.0}
_ELEMENT = {
    "free": 0.0, "arith": 0.35, "division": 0.9, "transcendental": 6.0, "reduction": 0.35,
    "memory": 0.5, "sort": 30.0, "product": 0.06,
}  # fmt: skip
_KIND = {
    "seq": 60.0, "delay": 5.0, "hold": 0.0, "input": 0.0, "const": 0.0, "loop": 3000.0,
    "step": 60.0, "tail": 20.0, "at": 20.0,
}  # fmt: skip


def numpy_cost(work: Work) -> float:
    """Nanoseconds of one evaluation on NumPy, array steps.

    >>> numpy_cost(Work("hold"))
    0.0
    """
    if work.kind == "stack":
        return 80.0 + 0.3 * _size(work.out)
    if work.kind != "apply":
        return _KIND[work.kind]
    assert work.op is not None
    kind = work.op.spec.cost
    return _CALL.get(kind, 450.0) + _ELEMENT.get(kind, 0.35) * _elements(work, kind)


def _elements(work: Work, kind: str) -> float:
    out = _size(work.out)
    if kind == "product":
        # Multiply-adds: the size of the result times the contracted length k; |a| |b| = |out| k^2.
        return out * math.sqrt(max(1.0, math.prod(map(_size, work.args)) / max(out, 1.0)))
    weight = np.dtype(work.out.dtype).itemsize / 8
    return max(out, max((_size(a) for a in work.args), default=0.0) if kind != "memory" else 0) * weight


def _size(x: Operand) -> float:
    return float(math.prod(n or 0 for n in x.shape))
