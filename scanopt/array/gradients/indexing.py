"""The gradients of indexing: that of reading writes g back to the entries that were read, that of writing reads g."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.op import Op
from scanopt.array.operators.sum_to import sum_to
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Constant, Variable, apply

__all__ = ["distinct", "gradient_of_getitem", "gradient_of_setitem"]

Args = Sequence[Variable]


def gradient_of_getitem(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    """Zeros with g added to the entries that were read; an entry that was read twice gets both.

    If each entry of x was read exactly once, that is g in the order of x.
    """
    x, *inputs = args
    if _reads_each_once(op.options["index"], x):
        return [_in_order(op.options["index"], g)]
    back = Op.make("setitem", index=op.options["index"], mode="inc")
    return [apply(back, FUNCTIONS["zeros_like"](x), g, *inputs), *(None for _ in inputs)]


_FULL = ("slice", None, None, None)
_BACKWARDS = ("slice", None, None, -1)


def _reads_each_once(index: tuple[Any, ...], x: Variable) -> bool:
    """Whether the index takes each axis whole, forwards or backwards, or the only entry of an axis of length 1."""
    return "newaxis" not in index and all(
        e in (_FULL, _BACKWARDS) or (n == 1 and isinstance(e, int)) for e, n in zip(index, x.type.shape, strict=False)
    )


def _in_order(index: tuple[Any, ...], g: Variable) -> Variable:
    kept = [e for e in index if not isinstance(e, int)]
    if _BACKWARDS in kept:
        g = FUNCTIONS["getitem"](g, tuple(slice(None, None, e[3]) for e in kept))
    found: Variable = FUNCTIONS["expand_dims"](g, [i for i, e in enumerate(index) if isinstance(e, int)])
    return found


def gradient_of_setitem(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    """With respect to x: g, but 0 where x was overwritten; to y: g where y was written, summed over broadcast axes."""
    _, y, *inputs = args
    read = Op.make("getitem", index=op.options["index"])
    part = apply(read, g, *inputs)
    by_x = g
    if op.options["mode"] == "set":
        by_x = apply(op, g, Constant(np.zeros((), g.dtype)), *inputs)
        if not distinct(op.options["index"], inputs):
            part = FUNCTIONS["where"](_lasts(op, read, g, part, inputs), part, 0)
    return [by_x, sum_to(part, y), *(None for _ in inputs)]


def distinct(index: tuple[Any, ...], inputs: Args) -> bool:
    """Whether it is known that the index names no entry twice: only arrays of integers could."""
    arrays = [x for x in inputs if x.ndim and x.dtype != "bool"]
    if not arrays:
        return True
    data = [x.data for x in arrays if isinstance(x, Constant) and (x.data >= 0).all()]
    if len(data) < len(arrays) or "mask" in index:
        return False
    places = np.stack([a.ravel() for a in np.broadcast_arrays(*data)])
    return np.unique(places, axis=1).shape == places.shape


def _lasts(op: Op, read: Op, g: Variable, part: Variable, inputs: Args) -> Variable:
    """For each entry written whether it is the one that stays: of several written to one place only one does."""
    numbers = FUNCTIONS["reshape"](FUNCTIONS["arange"](FUNCTIONS["size"](part)), FUNCTIONS["shape"](part))
    written = apply(op, FUNCTIONS["zeros_like"](g, "int64"), numbers, *inputs)
    stays: Variable = FUNCTIONS["eq"](apply(read, written, *inputs), numbers)
    return stays
