"""Copies of arguments in C order, for operators whose rounding depends on the memory layout (`OpSpec.by_layout`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.op import Op

__all__ = ["in_c_order", "laid_out"]


def in_c_order(x: Any) -> Any:
    """x with the strides and alignment of a new NumPy array: x itself if it surely has them, else a copy.

    NumPy calls an axis of length 1 contiguous whatever its stride, but how it rounds may depend on that stride; and it
    adds up the elements of an array that is not aligned in portions.

    >>> x = np.arange(4.0)[::-2][:1]
    >>> x.flags.c_contiguous, x.strides, in_c_order(x).strides
    (True, (-16,), (8,))
    """
    x = np.asarray(x, order="C")
    return x.copy() if 1 in x.shape or not x.flags.aligned else x


def laid_out(op: Op, args: Sequence[Any]) -> list[Any]:
    """The arguments of op; those whose layout affects rounding are put in C order."""
    count = op.by_layout([x.dtype.kind for x in args]) if op.spec.by_layout else 0
    return [*map(in_c_order, args[:count]), *args[count:]]
