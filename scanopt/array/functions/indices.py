"""Arrays of indices: of triangles and diagonals, and conversions between flat indices and one index per axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.array.batching import dim, dims_of, expand
from scanopt.array.constants import as_variable
from scanopt.array.functions.arguments import expect_axes, length_of, minus
from scanopt.array.operators.creation import arange, full, on_diagonal
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.operators.shaping import as_dims
from scanopt.array.operators.subtensor import getitem
from scanopt.array.registry import public
from scanopt.array.variable import Variable, describe

__all__ = ["mask_indices", "unravel_index"]

Pair = tuple[Variable, Variable]


def _of_mask(mask: Variable) -> Pair:
    """Rows and columns where a matrix holds True."""
    n, m = dims_of(mask)
    rows, columns = (expand(arange(k), (axis,)) for k, axis in ((n, 1), (m, 0)))
    nothing = elementwise("multiply", rows, 0), elementwise("multiply", columns, 0)
    spread = elementwise("add", rows, nothing[1]), elementwise("add", nothing[0], columns)
    return getitem(spread[0], mask), getitem(spread[1], mask)


def _triangle(n: Any, k: Any, m: Any, compare: str) -> Pair:
    rows = length_of(n, "the number of rows")
    columns = rows if m is None else length_of(m, "the number of columns")
    return _of_mask(on_diagonal(rows, columns, as_variable(length_of(k, "the diagonal")), compare))


@public("tril_indices")
def tril_indices(n: Any, k: Any = 0, m: Any = None) -> Pair:
    """Rows and columns of the lower triangle of an n x m matrix (m = n if None), up to diagonal k.

    >>> [i.eval().tolist() for i in tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return _triangle(n, k, m, "less_equal")


@public("triu_indices")
def triu_indices(n: Any, k: Any = 0, m: Any = None) -> Pair:
    """Rows and columns of the upper triangle of an n x m matrix (m = n if None), from diagonal k on."""
    return _triangle(n, k, m, "greater_equal")


@public("tril_indices_from", numpy=("tril_indices_from",))
def tril_indices_from(arr: Any, k: Any = 0) -> Pair:
    """`tril_indices` of a matrix of this shape.  Raises ValueError for another number of axes than two."""
    n, m = dims_of(expect_axes("tril_indices_from", arr, 2, 2))
    return tril_indices(n, k, m)


@public("triu_indices_from", numpy=("triu_indices_from",))
def triu_indices_from(arr: Any, k: Any = 0) -> Pair:
    """`triu_indices` of a matrix of this shape.  Raises ValueError for another number of axes than two."""
    n, m = dims_of(expect_axes("triu_indices_from", arr, 2, 2))
    return triu_indices(n, k, m)


@public("mask_indices")
def mask_indices(n: Any, mask_func: Callable[..., Any], k: Any = 0) -> Pair:
    """Rows and columns of the entries of an n x n matrix that mask_func (such as `triu`) keeps; k is passed to it."""
    size = length_of(n, "the number of rows")
    left = mask_func(full((size, size), 1), k)
    return _of_mask(elementwise("not_equal", left, 0))


@public("diag_indices")
def diag_indices(n: Any, ndim: int = 2) -> tuple[Variable, ...]:
    """The indices of the main diagonal of an array of `ndim` axes of length n: `x[diag_indices(n)]` is the diagonal."""
    return (arange(length_of(n, "the length of the axes")),) * ndim


@public("diag_indices_from", numpy=("diag_indices_from",))
def diag_indices_from(arr: Any) -> tuple[Variable, ...]:
    """`diag_indices` of an array whose axes are equally long.  Raises ValueError where they are known not to be."""
    v = expect_axes("diag_indices_from", arr, 2)
    if len({n for n in v.type.shape if n is not None}) > 1:
        raise ValueError(f"diag_indices_from needs axes of equal length, found {describe(v)}")
    return diag_indices(dim(v, 0), v.ndim)


def _order(order: str, function: str) -> bool:
    """Whether the last axis varies fastest.  Raises ValueError for another order than 'C' and 'F'."""
    if order not in ("C", "F"):
        raise ValueError(f"{function} knows order 'C' and 'F', found {order!r}")
    return order == "C"


def _within(index: Variable, n: Any) -> Variable:
    """The index as it is; one that is not in 0 to n - 1 raises in the run."""
    return getitem(arange(n), where(elementwise("less", index, 0), n, index))


@public("unravel_index", numpy=("unravel_index",))
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Variable, ...]:
    """The index along each axis of the entries with these flat indices, in an array of the given shape.

    indices: integers.  shape: ints and integer scalars.  order: "C" (the last axis varies fastest) or "F".
    Raises TypeError for indices that are not integers, in the run IndexError for those out of range.

    >>> [int(i.eval()) for i in unravel_index(5, (2, 3))]
    [1, 2]
    """
    rest = _integers("unravel_index", indices)
    dims = as_dims(shape)
    axes = list(range(len(dims)))
    *inner, outer = axes[::-1] if _order(order, "unravel_index") else axes
    found: dict[int, Variable] = {}
    for i in inner:
        found[i] = elementwise("remainder", rest, dims[i])
        rest = elementwise("floor_divide", rest, dims[i])
    found[outer] = _within(rest, dims[outer])
    return tuple(found[i] for i in axes)


def _integers(function: str, x: Any) -> Variable:
    v = as_variable(x)
    if np.dtype(v.dtype).kind not in "iu":
        raise TypeError(f"{function} takes integers, found {describe(v)}")
    return cast(v, "int64")


def _flat(indices: list[Any], dims: tuple[Any, ...]) -> Any:
    """The flat index of an entry from its index along each axis, all in range; the last axis varies fastest."""
    total: Any = 0
    for index, n in zip(indices, dims, strict=True):
        total = index if isinstance(total, int) else elementwise("add", elementwise("multiply", total, n), index)
    return total


@public("ravel_multi_index", numpy=("ravel_multi_index",))
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Variable:
    """The flat indices of entries, from their indices along each axis of an array of shape `dims`.

    multi_index: as many arrays of integers as axes.  dims: ints and integer scalars.  mode: "wrap" or "clip", for
    indices out of range, or a tuple of them; "raise" raises IndexError in the run.  order: "C" or "F".
    """
    lengths = as_dims(dims)
    given = [_integers("ravel_multi_index", multi_index[i]) for i in range(len(lengths))]
    modes = (mode,) * len(lengths) if isinstance(mode, str) else tuple(mode)
    found = [_in_range(i, n, m) for i, n, m in zip(given, lengths, modes, strict=True)]
    step = 1 if _order(order, "ravel_multi_index") else -1
    return as_variable(_flat(found[::step], lengths[::step]))


def _in_range(index: Variable, n: Any, mode: str) -> Variable:
    if mode == "wrap":
        return elementwise("remainder", index, n)
    if mode == "clip":
        return elementwise("maximum", elementwise("minimum", index, minus(n, 1)), 0)
    if mode != "raise":
        raise ValueError(f"the mode is 'raise', 'wrap' or 'clip', found {mode!r}")
    return _within(index, n)
