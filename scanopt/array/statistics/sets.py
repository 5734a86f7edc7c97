"""Sets of the elements of arrays: unique and its relatives, isin, intersections, unions, differences."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scanopt import features
from scanopt.array.batching import dim, dims_of
from scanopt.array.constants import as_variable
from scanopt.array.operators.axes import moveaxis
from scanopt.array.operators.creation import arange
from scanopt.array.operators.elementwise import cast, elementwise
from scanopt.array.operators.joining import concatenate
from scanopt.array.operators.lengths import times
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.shaping import flatten, reshape, reshape_to
from scanopt.array.operators.subtensor import getitem
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import axis_of
from scanopt.array.variable import Variable

__all__ = ["intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique"]


class UniqueAll(NamedTuple):
    """The result of `unique_all`."""

    values: Variable
    indices: Variable
    inverse_indices: Variable
    counts: Variable


class UniqueCounts(NamedTuple):
    """The result of `unique_counts`."""

    values: Variable
    counts: Variable


class UniqueInverse(NamedTuple):
    """The result of `unique_inverse`."""

    values: Variable
    inverse_indices: Variable


def _first_of_each(ordered: Variable, equal_nan: bool) -> Variable:
    """A mask of the elements of a sorted vector that differ from the element before."""
    new = elementwise("not_equal", ordered[1:], ordered[:-1])
    if equal_nan and np.dtype(ordered.dtype).kind in "fc":
        nans = elementwise("isnan", ordered)
        new = elementwise("logical_and", new, elementwise("logical_not", nans[1:] & nans[:-1]))
    return concatenate([FUNCTIONS["ones_like"](ordered[:1], "bool"), new], 0)


@public("unique", numpy=("unique",))
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The different elements of an array, in order.

    return_index, return_inverse, return_counts: also return where each occurs first, which of them each element is (in
    the shape of `ar`), how often each occurs; the result is then a tuple.  axis: find the different entries along this
    axis, ordered by their first elements that differ.  equal_nan: whether all NaNs count as equal (not with an axis).

    >>> unique([3, 1, 3]).eval()
    array([1, 3])
    """
    v = as_variable(ar)
    if axis is not None:
        axis = axis_of(axis, v)
        if v.ndim > 1:
            entries = moveaxis(v, axis, 0)
            order = _order_of_entries(_as_rows(entries))
            ordered = getitem(entries, order)
            first = _first_of_entries(_as_rows(ordered))
            values = moveaxis(getitem(ordered, first), 0, axis)
            found = _and_more(values, order, first, return_index, return_inverse, return_counts)
            return tuple(found) if len(found) > 1 else found[0]
    flat = flatten(v) if v.ndim != 1 else v
    if not (return_index or return_inverse or return_counts):
        ordered = FUNCTIONS["sort"](flat, 0)
        return getitem(ordered, _first_of_each(ordered, equal_nan))
    order = FUNCTIONS["argsort"](flat, 0, kind="stable")
    ordered = getitem(flat, order)
    first = _first_of_each(ordered, equal_nan)
    found = _and_more(getitem(ordered, first), order, first, return_index, return_inverse, return_counts)
    if return_inverse and v.ndim != 1:
        found[1 + return_index] = reshape(found[1 + return_index], dims_of(v))
    return tuple(found)


def _and_more(
    values: Variable, order: Variable, first: Variable, index: bool, inverse: bool, counts: bool
) -> list[Any]:
    """The different entries, with their first places, inverse and counts as asked for.

    order: the places of the entries in sorted order.  first: a mask of those that differ from the one before.
    """
    found: list[Any] = [values]
    if index:
        found.append(getitem(order, first))
    if inverse:
        number = elementwise("subtract", FUNCTIONS["cumsum"](cast(first, "int64"), 0), 1)
        found.append(getitem(number, FUNCTIONS["argsort"](order, 0)))
    if counts:
        n = dim(order, 0)
        ends = concatenate([getitem(arange(n), first), reshape(as_variable(n), (1,))], 0)
        found.append(elementwise("subtract", ends[1:], ends[:-1]))
    return found


def _as_rows(v: Variable) -> Variable:
    """The entries along the first axis as rows of a matrix."""
    return v if v.ndim == 2 else reshape_to(v, (dim(v, 0), times(*dims_of(v)[1:])))


def _order_of_entries(rows: Variable) -> Variable:
    """The lexicographic order of rows: by the first element, where that is equal by the next one, and so on."""

    def by(order: Variable, column: Variable) -> tuple[Variable, None]:
        return getitem(order, FUNCTIONS["argsort"](getitem(column, order), 0, kind="stable")), None

    order, _ = features.loop(by, arange(dim(rows, 0)), FUNCTIONS["transpose"](rows), reverse=True)
    return as_variable(order)


def _first_of_entries(rows: Variable) -> Variable:
    """A mask of the sorted rows that differ from the row before; a NaN differs from everything."""
    new = reduce("any", elementwise("not_equal", rows[1:], rows[:-1]), (1,), False)
    one = FUNCTIONS["full"]((1,), True)[: dim(rows, 0)]
    return concatenate([one, new], 0)


@public("unique_values", numpy=("unique_values",))
def unique_values(x: Any) -> Variable:
    """The different elements, in order; each NaN counts as different."""
    values: Variable = unique(x, equal_nan=False)
    return values


@public("unique_counts", numpy=("unique_counts",))
def unique_counts(x: Any) -> UniqueCounts:
    """The different elements and how often each occurs."""
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


@public("unique_inverse", numpy=("unique_inverse",))
def unique_inverse(x: Any) -> UniqueInverse:
    """The different elements, and which of them each element is."""
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


@public("unique_all", numpy=("unique_all",))
def unique_all(x: Any) -> UniqueAll:
    """The different elements, where each occurs first, which of them each element is, how often each occurs."""
    return UniqueAll(*unique(x, True, True, True, equal_nan=False))


@public("isin", numpy=("isin",))
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Variable:
    """Whether each element is among test_elements (with `invert`, whether it is not): bool of its shape.

    >>> isin([1, 2, 3], [3, 1]).eval()
    array([ True, False,  True])
    """
    x, line = as_variable(element), FUNCTIONS["sort"](flatten(as_variable(test_elements)), 0)
    search = FUNCTIONS["searchsorted"]
    found = elementwise("greater", search(line, x, "right"), search(line, x, "left"))
    if np.dtype(x.dtype).kind in "fc":  # NaN is equal to nothing
        found = elementwise("logical_and", found, elementwise("equal", x, x))
    return elementwise("logical_not", found) if invert else found


@public("intersect1d", numpy=("intersect1d",))
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The elements that are in both arrays, in order, each once.

    return_indices: also return where each occurs first in ar1 and in ar2.

    >>> intersect1d([3, 1, 2], [2, 3, 5]).eval()
    array([2, 3])
    """
    x, y = _common(ar1, ar2)
    if not return_indices:
        values = unique(x)
        return getitem(values, isin(values, y))
    (values, first), (others, second) = unique(x, return_index=True), unique(y, return_index=True)
    return getitem(values, isin(values, y)), getitem(first, isin(values, y)), getitem(second, isin(others, x))


@public("union1d", numpy=("union1d",))
def union1d(ar1: Any, ar2: Any) -> Variable:
    """The elements of both arrays together, in order, each once.

    >>> union1d([3, 1], [2, 3]).eval()
    array([1, 2, 3])
    """
    values: Variable = unique(concatenate([*_common(ar1, ar2)], 0))
    return values


@public("setdiff1d", numpy=("setdiff1d",))
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Variable:
    """The elements of ar1 that are not in ar2: in order, each once (as they stand, with assume_unique).

    >>> setdiff1d([3, 1, 2], [2]).eval()
    array([1, 3])
    """
    values = flatten(as_variable(ar1)) if assume_unique else unique(ar1)
    return getitem(values, isin(values, ar2, invert=True))


@public("setxor1d", numpy=("setxor1d",))
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Variable:
    """The elements that are in exactly one of the two arrays, in order, each once.

    >>> setxor1d([3, 1], [2, 3]).eval()
    array([1, 2])
    """
    x, y = _common(ar1, ar2)
    result: Variable = FUNCTIONS["sort"](concatenate([setdiff1d(x, y), setdiff1d(y, x)], 0), 0)
    return result


def _common(x: Any, y: Any) -> tuple[Variable, Variable]:
    """Two arrays as vectors of one dtype."""
    a, b = flatten(as_variable(x)), flatten(as_variable(y))
    dtype = np.result_type(a.dtype, b.dtype).name
    return cast(a, dtype), cast(b, dtype)
