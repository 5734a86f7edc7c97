"""Places and values of elements that are not 0: functions whose results have lengths that depend on values."""

from __future__ import annotations

from typing import Any

from scanopt.array.batching import dim, dims_of
from scanopt.array.constants import as_variable
from scanopt.array.functions.arguments import expect_axes, on_axis
from scanopt.array.operators.creation import arange
from scanopt.array.operators.elementwise import as_condition, elementwise, where
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.shaping import flatten
from scanopt.array.operators.subtensor import getitem
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.variable import Variable

__all__ = ["argwhere", "compress", "count_nonzero", "extract", "flatnonzero", "nonzero", "trim_zeros"]


@public("flatnonzero", numpy=("flatnonzero",))
def flatnonzero(a: Any) -> Variable:
    """The places in the flattened array of the elements that are not 0: int64.

    >>> flatnonzero([[0, 3], [4, 0]]).eval()
    array([1, 2])
    """
    mask = flatten(as_condition(as_variable(a)))
    return getitem(arange(dim(mask, 0)), mask)


@public("nonzero", numpy=("nonzero",))
def nonzero(a: Any, return_matrix: bool = False) -> Any:
    """The places of elements that are not 0, as a tuple with an int64 vector for each axis (or rows of a matrix).

    Raises ValueError for an array without axes.

    >>> [v.eval().tolist() for v in nonzero([[0, 3], [4, 0]])]
    [[0, 1], [1, 0]]
    """
    v = expect_axes("nonzero", a, 1)
    places, found = flatnonzero(v), list[Variable]()
    for n in reversed(dims_of(v)[1:]):
        found.append(elementwise("remainder", places, n))
        places = elementwise("floor_divide", places, n)
    each = (places, *reversed(found))
    return FUNCTIONS["stack"](each) if return_matrix else each


@public("where", numpy=("where",))
def where_of(condition: Any, x: Any = None, y: Any = None) -> Any:
    """x where the condition holds (is not 0), y elsewhere; shapes broadcast.  With a condition alone: where it holds.

    Raises ValueError if only one of x and y is given.

    >>> where_of([True, False], 1, 2).eval()
    array([1, 2])
    >>> where_of([True, False])[0].eval()
    array([0])
    """
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("where takes a condition alone, or with both x and y: one of them is missing")
    return where(condition, x, y)


@public("argwhere", numpy=("argwhere",))
def argwhere(a: Any) -> Variable:
    """The places of elements that are not 0, a row for each.

    >>> argwhere([[0, 3], [4, 0]]).eval()
    array([[0, 1],
           [1, 0]])
    """
    v = as_variable(a)
    if not v.ndim:
        found: Variable = FUNCTIONS["zeros"]((FUNCTIONS["cast"](as_condition(v), "int64"), 0), "int64")
        return found
    stacked: Variable = FUNCTIONS["stack"](nonzero(v), 1)
    return stacked


@public("extract", numpy=("extract",))
def extract(condition: Any, arr: Any) -> Variable:
    """The elements of arr, in order, where the condition, of as many elements, is not 0.

    >>> extract([True, False, True], [1, 2, 3]).eval()
    array([1, 3])
    """
    return getitem(flatten(as_variable(arr)), flatnonzero(condition))


@public("compress", numpy=("compress",))
def compress(condition: Any, a: Any, axis: int | None = None) -> Variable:
    """The slices of `a` along an axis (flattened where None) where the condition, a vector, is not 0.

    Raises ValueError for a condition that is not a vector; IndexError when run, where it is longer than the axis.

    >>> compress([0, 1], [[1, 2], [3, 4], [5, 6]], axis=0).eval()
    array([[3, 4]])
    """
    v, i = on_axis(a, axis)
    picked = flatnonzero(expect_axes("compress", condition, 1, 1))
    return getitem(v, (*[slice(None)] * i, picked))


@public("count_nonzero", numpy=("count_nonzero",))
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Variable:
    """How many elements are not 0, over axis: an int, several, or None for all.

    >>> count_nonzero([[0, 3], [4, 5]], axis=0).eval()
    array([1, 2])
    """
    return reduce("sum", as_condition(as_variable(a)), axis, keepdims, "int64")


@public("trim_zeros", numpy=("trim_zeros",))
def trim_zeros(filt: Any, trim: str = "fb") -> Variable:
    """A vector without the zeros that it begins with ("f" in `trim`) and ends with ("b").

    Raises ValueError for an array with more axes, or another `trim`.

    >>> trim_zeros([0, 0, 1, 0, 2, 0]).eval()
    array([1, 0, 2])
    """
    v = expect_axes("trim_zeros", filt, 1, 1)
    if set(trim.lower()) - {"f", "b"}:
        raise ValueError(f"trim must be made of 'f' for the front and 'b' for the back, found {trim!r}")
    here = as_condition(v)
    cumsum, kept = FUNCTIONS["cumsum"], None
    for way, letter in ((1, "f"), (-1, "b")):
        if letter in trim.lower():
            seen = elementwise("greater", cumsum(here[::way], 0), 0)[::way]
            kept = seen if kept is None else elementwise("logical_and", kept, seen)
    return v if kept is None else getitem(v, kept)
