"""Operators that arrange the numbers of arrays, and what they do to their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.op import Op

__all__ = ["ARRANGING", "arranged", "count_of_data"]

Array = np.ndarray[Any, Any]

ARRANGING = {"broadcast_to", "concatenate", "expand_dims", "full", "getitem", "reshape", "setitem", "specify_shape"}
ARRANGING |= {"squeeze", "stack", "transpose"}
"""Operators that compute nothing, but for places where something is added (`setitem`)."""


def count_of_data(op: Op, count: int) -> int:
    """How many of its first arguments an operator arranges; the others say where they go.

    >>> count_of_data(Op.make("getitem", index=("in",)), 2)
    1
    """
    return {"concatenate": count, "stack": count, "setitem": 2}.get(op.name, 1)


def arranged(op: Op, data: Sequence[Array], rest: Sequence[Array]) -> tuple[Array, Array] | None:
    """For each place of the result, the number there, and the number that is added to it, or -1; None if it raises.

    data: the numbers, as integers, of the arrays that are arranged.  rest: the other arguments.

    >>> flipped = Op.make("getitem", index=(("slice", None, None, -1),))
    >>> arranged(flipped, [np.array([7, 8])], [])
    (array([8, 7]), array([-1, -1]))
    """
    try:
        if op.name == "setitem" and op.options["mode"] == "inc":
            if "array" in op.options["index"]:  # which may add to one place several times
                return None
            places = Op.make("setitem", **{**op.options, "mode": "set"}).bind()
            return data[0], places(np.full_like(data[0], -1), data[1], *rest)
        found = op.bind()(*data, *rest)
    except (AssertionError, IndexError, ValueError):
        return None
    return found, np.full_like(found, -1)
