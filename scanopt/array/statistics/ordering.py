"""Orders: partition, argpartition, lexsort, sort_complex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import dims_of
from scanopt.array.constants import as_variable
from scanopt.array.functions.arguments import on_axis, plain_ints
from scanopt.array.operators.elementwise import cast
from scanopt.array.operators.specify_shape import specify_shape
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import axis_of
from scanopt.array.variable import Variable, describe

__all__ = ["argpartition", "lexsort", "partition", "sort_complex"]


def _checked(name: str, v: Variable, kth: Any, axis: int) -> None:
    """Raise TypeError if kth is no integer or list of integers, ValueError if it is known to be out of bounds."""
    if isinstance(kth, Variable) and np.dtype(kth.dtype).kind in "iu":
        return
    found = plain_ints(kth if isinstance(kth, Sequence | np.ndarray) and np.ndim(kth) else [kth])
    if found is None:
        raise TypeError(f"kth must be an integer or a list of integers, found {kth!r}")
    n = v.type.shape[axis]
    for k in found:
        if n is not None and not -n <= k < n:
            raise ValueError(f"{name}: kth={k} is out of bounds for axis {axis} of {describe(v)}")


@public("partition", numpy=("partition",))
def partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Variable:
    """a partitioned, so that the element of rank kth is in its sorted place, smaller ones before it: here fully sorted.

    Raises TypeError, ValueError for a kth that is not an integer, or out of bounds.

    >>> partition([3, 1, 2], 1).eval()
    array([1, 2, 3])
    """
    v, i = on_axis(a, axis)
    _checked("partition", v, kth, i)
    result: Variable = FUNCTIONS["sort"](v, i)
    return result


@public("argpartition", numpy=("argpartition",))
def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Variable:
    """The indices that partition `a`: here the indices that sort it.

    >>> argpartition([3, 1, 2], 1).eval()
    array([1, 2, 0])
    """
    v, i = on_axis(a, axis)
    _checked("argpartition", v, kth, i)
    result: Variable = FUNCTIONS["argsort"](v, i)
    return result


@public("lexsort", numpy=("lexsort",))
def lexsort(keys: Any, axis: int = -1) -> Variable:
    """The indices that sort by the last key; where it is equal, by the one before it, and so on.

    keys: arrays of one shape, or an array whose entries along the first axis are the keys.
    Raises TypeError for no keys, or a number of them that is not known, ValueError for keys of different shapes.

    >>> lexsort(([1, 0, 2], [5, 5, 4])).eval()
    array([2, 1, 0])
    """
    many = [as_variable(k) for k in keys]
    if not many:
        raise TypeError("lexsort needs at least one key")
    i = axis_of(axis, many[0])
    along, argsort = FUNCTIONS["take_along_axis"], FUNCTIONS["argsort"]
    order: Variable = argsort(many[0], i, kind="stable")
    for k in many[1:]:
        key = specify_shape(k, dims_of(many[0]))
        order = along(order, argsort(along(key, order, i), i, kind="stable"), i)
    return order


@public("sort_complex", numpy=("sort_complex",))
def sort_complex(a: Any) -> Variable:
    """The elements along the last axis as complex numbers, sorted by their real parts, then by the imaginary ones.

    >>> sort_complex([2.0, 1.0]).eval()
    array([1.+0.j, 2.+0.j])
    """
    v = as_variable(a)
    small = v.dtype in ("int8", "int16", "uint8", "uint16", "complex64")
    result: Variable = FUNCTIONS["sort"](cast(v, "complex64" if small else "complex128"))
    return result
