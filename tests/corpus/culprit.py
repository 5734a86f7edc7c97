"""Which errors may vanish: those of an operator that is not said to raise.

Shapes that do not fit are no error to a program that no longer computes the array (`can_raise` of an operator).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scanopt.array.op import Op
from scanopt.array.variable import Apply, Variable
from scanopt.interpreter import _Machine

__all__ = ["may_vanish"]

Array = np.ndarray[Any, Any]


class _Witness(_Machine):
    """The interpreter, noting which operator failed."""

    culprit: Op | None = None

    def apply(self, node: Apply, args: list[Array]) -> Array:
        try:
            return super().apply(node, args)
        except Exception:
            self.culprit = node.op
            raise


def may_vanish(results: Sequence[Variable], values: Mapping[Variable, Array]) -> bool:
    """Whether what the interpreter raises is the error of such an operator."""
    machine = _Witness(False)
    try:
        with np.errstate(all="ignore"):
            machine.run(list(results), dict(values))
    except Exception:
        return machine.culprit is not None and not machine.culprit.can_raise
    return False
