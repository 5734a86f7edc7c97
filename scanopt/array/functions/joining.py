"""Arrays put together: dstack, column_stack, block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanopt.array.batching import expand, transpose
from scanopt.array.constants import as_variable
from scanopt.array.functions.axes import atleast_3d
from scanopt.array.operators.axes import shape_padleft
from scanopt.array.operators.joining import concatenate
from scanopt.array.registry import public
from scanopt.array.variable import Variable

__all__ = ["block", "column_stack", "dstack"]


@public("dstack", numpy=("dstack",))
def dstack(tup: Sequence[Any]) -> Variable:
    """Arrays beside each other along the third axis.  Raises ValueError where their other lengths differ."""
    return concatenate([atleast_3d(x) for x in tup], 2)


@public("column_stack", numpy=("column_stack",))
def column_stack(tup: Sequence[Any]) -> Variable:
    """Vectors as the columns of a matrix, beside matrices.  Raises ValueError where their lengths differ.

    >>> import numpy as np
    >>> column_stack([np.ones(3), np.ones((3, 2))]).type.shape
    (3, 3)
    """
    arrays = [as_variable(x) for x in tup]
    return concatenate([transpose(shape_padleft(v, 2 - v.ndim), (1, 0)) if v.ndim < 2 else v for v in arrays], 1)


@public("block", numpy=("block",))
def block(arrays: Any) -> Variable:
    """An array of blocks: the innermost lists are joined along the last axis, those around along the one before.

    arrays: lists in lists of one depth, of arrays or numbers.  Raises ValueError for lists of several depths, for an
    empty one, and where lengths differ; TypeError for a tuple.

    >>> import numpy as np
    >>> block([[np.eye(2), np.zeros((2, 3))], [np.ones((1, 5))]]).type.shape
    (3, 5)
    """
    depth = _depth(arrays)
    ndim = max([depth, *(as_variable(x).ndim for x in _leaves(arrays))])
    return _joined(arrays, ndim, ndim - depth)


def _depth(arrays: Any) -> int:
    if isinstance(arrays, tuple):
        raise TypeError("block takes lists of arrays, found a tuple")
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(x) for x in arrays}
    if len(depths) != 1:
        raise ValueError("block takes lists of one depth, none of them empty")
    return depths.pop() + 1


def _leaves(arrays: Any) -> list[Any]:
    return [leaf for x in arrays for leaf in _leaves(x)] if isinstance(arrays, list) else [arrays]


def _joined(arrays: Any, ndim: int, axis: int) -> Variable:
    if not isinstance(arrays, list):
        v = as_variable(arrays)
        return expand(v, range(ndim - v.ndim))
    return concatenate([_joined(x, ndim, axis + 1) for x in arrays], axis)
