"""Arrays with entries added, left out or replaced: append, delete, insert, resize, put_along_axis, fill_diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanopt.array.batching import broadcast_to, dim, dims_of, expand
from scanopt.array.constants import as_variable, assigned
from scanopt.array.functions.arguments import expect_axes, is_zero, known_int, minus, on_axis, plus
from scanopt.array.operators.axes import moveaxis
from scanopt.array.operators.creation import arange, full
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.operators.joining import concatenate
from scanopt.array.operators.lengths import times
from scanopt.array.operators.shaping import as_dims, flatten, reshape_to
from scanopt.array.operators.subtensor import along, getitem, set_subtensor
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import axes_text, axis_of
from scanopt.array.variable import Variable, describe

__all__ = ["append", "delete", "insert", "resize"]


@public("append", numpy=("append",))
def append(arr: Any, values: Any, axis: int | None = None) -> Variable:
    """values after the entries of arr along an axis (both flattened where it is None).

    Raises ValueError where other lengths differ.
    """
    return concatenate([as_variable(arr), as_variable(values)], axis)


def _places(obj: Any, n: Any, short: bool = False) -> tuple[Any, bool]:
    """The places that `obj` names on an axis of length n, as an integer or a vector; and whether it is an integer.

    short: whether a mask may have another length.
    """
    if isinstance(obj, slice):
        return getitem(arange(n), obj), False
    if isinstance(obj, bool | np.bool_):
        obj = [bool(obj)]
    known = known_int(obj)
    if known is not None:
        return known, True
    v = as_variable(obj)
    if v.ndim > 1 or np.dtype(v.dtype).kind not in ("iub" if v.ndim else "iu"):
        if v.type.shape == (0,):
            return cast(v, "int64"), False
        raise TypeError(f"places along an axis are integers, a slice or a mask, found {describe(v)}")
    if v.dtype == "bool":
        return getitem(arange(dim(v, 0) if short else n), v), False
    return cast(v, "int64"), v.ndim == 0


def _holds_variable(obj: Any) -> bool:
    return isinstance(obj, list | tuple) and any(isinstance(o, Variable) for o in obj)


@public("delete", numpy=("delete",))
def delete(arr: Any, obj: Any, axis: int | None = None) -> Variable:
    """arr without the entries at some places along an axis (flattened where it is None).

    obj: an integer, a slice, a vector of integers (which may repeat) or a mask.
    Raises IndexError for a place out of range, in the run where it is not known before.

    >>> delete(np.arange(5), [1, -1]).eval()
    array([0, 2, 3])
    """
    v, i = on_axis(arr, axis)
    n = dim(v, i)
    if isinstance(obj, slice) and isinstance(n, int):
        obj = np.arange(n)[obj]
    if isinstance(n, int) and not isinstance(obj, Variable | slice) and not _holds_variable(obj):
        return along(v, i, np.delete(np.arange(n), obj))
    places, one = _places(obj, n)
    if not one:
        keep = full((n,), True)
        return along(v, i, set_subtensor(getitem(keep, places), False))
    checked = getitem(arange(n), places)
    others = arange(minus(n, 1))
    return along(v, i, elementwise("add", others, cast(elementwise("greater_equal", others, checked), "int64")))


@public("insert", numpy=("insert",))
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Variable:
    """arr with values in front of some places along an axis (flattened where it is None), cast to its dtype.

    obj: an integer, a slice, a vector of integers (places in arr as it is) or a mask; values broadcast to the new
    entries.  Raises IndexError for a place out of range, in the run where it is not known before.

    >>> insert(np.arange(3), 1, 9).eval()
    array([0, 9, 1, 2])
    """
    v, i = on_axis(arr, axis)
    n = dim(v, i)
    places, one = _places(obj, n, short=True)
    new = assigned(values, v)
    new = new if not one and places.type.shape != (1,) else expand(new, range(v.ndim - new.ndim))
    if one:
        return _insert_together(v, places, moveaxis(new, 0, i), i)
    if places.type.shape == (1,):
        return _insert_together(v, getitem(places, 0), new, i)
    return _insert_apart(v, places, new, i)


def _gap(place: Any, n: Any) -> Any:
    """Where to insert among n entries, counted from the front: 0 to n.  Raises IndexError for any other place."""
    if isinstance(place, int) and isinstance(n, int):
        if not -n <= place <= n:
            raise IndexError(f"insert at {place} is out of bounds for an axis with length {n}")
        return place % n if place < 0 else place
    at = where(elementwise("less", as_variable(place), 0), elementwise("add", place, n), place)
    gaps = plus(n, 1)
    return getitem(arange(gaps), where(elementwise("less", at, 0), gaps, at))


def _insert_together(v: Variable, place: Any, new: Variable, axis: int) -> Variable:
    """Insert all new entries in front of one place."""
    dims = list(dims_of(v))
    start = _gap(place, dims[axis])
    dims[axis] = dim(new, axis)
    return concatenate(
        [along(v, axis, slice(None, start)), broadcast_to(new, dims), along(v, axis, slice(start, None))], axis
    )


def _insert_apart(v: Variable, places: Variable, new: Variable, axis: int) -> Variable:
    """Insert one new entry in front of each place; several in front of the same place keep their order."""
    n, count = dim(v, axis), dim(places, 0)
    places = where(elementwise("less", places, 0), elementwise("add", places, n), places)
    order = FUNCTIONS["argsort"](places, kind="stable")
    taken = elementwise("add", getitem(places, order), arange(count))
    target = set_subtensor(getitem(full((count,), 0, "int64"), order), taken)
    total = plus(n, count)
    old = getitem(arange(total), set_subtensor(getitem(full((total,), True), target), False))
    dims = [total if j == axis else m for j, m in enumerate(dims_of(v))]
    found = set_subtensor(along(full(dims, cast(as_variable(0), v.dtype)), axis, old), v)
    return set_subtensor(along(found, axis, target), new)


@public("resize", numpy=("resize",))
def resize(a: Any, new_shape: Any) -> Variable:
    """The elements of a in order in another shape, repeated as often as needed; zeros where a has none.

    new_shape: ints and integer scalars.  Raises ValueError for a negative length.

    >>> resize(np.arange(3), (2, 2)).eval()
    array([[0, 1],
           [2, 0]])
    """
    v, dims = flatten(as_variable(a)), as_dims(new_shape)
    total: Any = 1
    for n in dims:
        total = times(total, n)
    have = dim(v, 0)
    if is_zero(have):
        return full(dims, cast(as_variable(0), v.dtype))
    if not isinstance(have, int):  # one more zero, which is read where a has no elements
        v = concatenate([v, full((1,), cast(as_variable(0), v.dtype))])
    least = have if isinstance(have, int) else elementwise("maximum", have, 1)
    return reshape_to(getitem(v, elementwise("remainder", arange(total), least)), dims)


@public("put_along_axis")
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> Variable:
    """arr with values at the places that `indices` name along an axis; arr itself is not changed.

    indices: integers, of as many axes as arr, whose other lengths broadcast to those of arr.  values: broadcast to
    them.
    NumPy's function changes arr in place: here it is `x = put_along_axis(x, indices, values, axis)`.
    """
    if axis is None:
        v = as_variable(arr)
        return reshape_to(put_along_axis(flatten(v), flatten(as_variable(indices)), values, 0), dims_of(v))
    v, places = as_variable(arr), as_variable(indices)
    i = axis_of(axis, v)
    if places.ndim != v.ndim:
        raise ValueError(f"put_along_axis needs indices with {axes_text(v.ndim)}, found {describe(places)}")
    key = tuple(
        places if j == i else expand(arange(n), [k for k in range(v.ndim) if k != j]) for j, n in enumerate(dims_of(v))
    )
    return set_subtensor(getitem(v, key), assigned(values, v))


@public("fill_diagonal")
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> Variable:
    """a with val on its main diagonal, of all axes; a itself is not changed.

    val: a number, or a vector that is repeated as often as needed.  wrap: of a matrix with more rows than columns,
    again after one row.  NumPy's function changes a in place: here it is `x = fill_diagonal(x, val)`.
    Raises ValueError for fewer than 2 axes, and for more with lengths that are known to differ.
    """
    v = expect_axes("fill_diagonal", a, 2)
    dims = dims_of(v)
    if v.ndim > 2 and len({n for n in v.type.shape if n is not None}) > 1:
        raise ValueError(f"fill_diagonal needs axes of equal length, found {describe(v)}")
    value = flatten(assigned(val, v))
    size: Any = 1
    for n in dims:
        size = times(size, n)
    step = _diagonal_step(dims)
    end = size if wrap or v.ndim > 2 else elementwise("minimum", size, times(dims[1], dims[1]))
    places = arange(0, end, step)
    count = dim(places, 0)
    filled = getitem(value, elementwise("remainder", arange(count), dim(value, 0)))
    return reshape_to(set_subtensor(getitem(flatten(v), places), filled), dims)


def _diagonal_step(dims: tuple[Any, ...]) -> Any:
    """The distance of neighbours on the main diagonal in the flattened array of this shape."""
    step: Any = 1
    total: Any = 1
    for n in reversed(dims[1:]):
        total = times(total, n)
        step = plus(step, total)
    return step
