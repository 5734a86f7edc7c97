"""Values chosen by conditions and functions applied along axes: select, choose, piecewise, apply_along_axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from scanopt import features
from scanopt.array.batching import broadcast_to, dim, dims_of, expand, transpose
from scanopt.array.constants import as_variable, assigned, promoted
from scanopt.array.functions.arguments import minus, on_axis
from scanopt.array.functions.grids import common_lengths
from scanopt.array.operators.creation import arange, full_like
from scanopt.array.operators.elementwise import as_condition, cast, elementwise, where
from scanopt.array.operators.joining import stack
from scanopt.array.operators.lengths import times
from scanopt.array.operators.shaping import expand_dims, reshape_to
from scanopt.array.operators.subtensor import getitem
from scanopt.array.registry import public
from scanopt.array.variable import Variable, describe

__all__ = ["choose", "piecewise", "select"]


@public("select", numpy=("select",))
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Variable:
    """For each element the first of the choices whose condition holds, else default; all broadcast.

    Raises ValueError for lists of different lengths or none, TypeError for conditions that are not bool.

    >>> select([np.array([True, False])], [1.5], 2).eval()
    array([1.5, 2. ])
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"select needs a choice for each condition, found {len(condlist)} and {len(choicelist)}")
    if not condlist:
        raise ValueError("select needs at least one condition")
    conditions = [as_variable(c) for c in condlist]
    for i, condition in enumerate(conditions):
        if condition.dtype != "bool":
            raise TypeError(f"condition {i} of select must be bool, found {describe(condition)}")
    *choices, found = promoted(*choicelist, default)
    dtype = np.result_type(*(v.dtype for v in (*choices, found)))
    found = cast(found, dtype)
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        found = where(condition, choice, found)
    return found


@public("choose", numpy=("choose",))
def choose(a: Any, choices: Any, mode: str = "raise") -> Variable:
    """For each element of a, the element of the choice with this number; all broadcast.

    a: integers.  choices: a list of arrays, or an array of them along its first axis.  mode: for other numbers "wrap"
    or "clip"; "raise" raises IndexError, in the run.  Raises TypeError for anything but an integer.

    >>> choose([1, 0], [[1, 2], [10, 20]]).eval()
    array([10,  2])
    """
    index = as_variable(a)
    if np.dtype(index.dtype).kind not in "iub":
        raise TypeError(f"choose takes integers, found {describe(index)}")
    index = cast(index, "int64")
    table = choices if isinstance(choices, Variable | np.ndarray) else _together(promoted(*choices))
    table = as_variable(table)
    n = dim(table, 0)
    if mode == "wrap":
        index = elementwise("remainder", index, n)
    elif mode == "clip":
        index = elementwise("maximum", elementwise("minimum", index, minus(n, 1)), 0)
    elif mode == "raise":
        index = where(elementwise("less", index, 0), n, index)
    else:
        raise ValueError(f"the mode is 'raise', 'wrap' or 'clip', found {mode!r}")
    ndim = max(index.ndim, table.ndim - 1)
    table = expand(table, range(1, 1 + ndim - (table.ndim - 1)))
    others = [expand(arange(m), [k for k in range(ndim) if k != i]) for i, m in enumerate(dims_of(table)[1:])]
    return getitem(table, (expand(index, range(ndim - index.ndim)), *others))


def _together(arrays: Sequence[Variable]) -> Variable:
    """Stack the arrays, broadcast to each other, along a new first axis."""
    lengths = common_lengths([dims_of(v) for v in arrays])
    return stack([broadcast_to(v, lengths) for v in arrays])


@public("piecewise", numpy=("piecewise",))
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Variable:
    """For each element of x the value of the function (or number) whose condition holds (the last such), else 0.

    condlist: conditions of the shape of x.  funclist: as many functions or numbers, or one more, for elements where
    no condition holds; functions get all of x (NumPy's only the part where the condition holds), args and kw.
    The result has the dtype of x.  Raises ValueError for other numbers of functions.

    >>> piecewise(np.array([-2.0, 3.0]), [np.array([True, False])], [lambda x: -x, 0.5]).eval()
    array([2. , 0.5])
    """
    v = as_variable(x)
    alone = isinstance(condlist, Variable | np.ndarray) and condlist.ndim == v.ndim
    conditions = [as_condition(c) for c in ([condlist] if alone or isinstance(condlist, bool) else condlist)]
    functions = list(funclist)
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise ValueError(
            f"piecewise with {len(conditions)} conditions needs as many functions or one more, found {len(functions)}"
        )
    value = [assigned(f(v, *args, **kw) if callable(f) else f, v) for f in functions]
    found = full_like(v, 0) if len(value) == len(conditions) else where(True, value[-1], full_like(v, 0))
    for condition, part in zip(conditions, value, strict=False):
        found = where(condition, part, found)
    return found


@public("apply_along_axis", numpy=("apply_along_axis",))
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Variable:
    """Apply func1d to each vector along an axis: a map over all other axes.

    func1d: takes a vector (and args, kwargs) and returns an array, whose axes take the place of the axis.

    >>> apply_along_axis(lambda v: v.sum(), 0, np.ones((2, 3))).eval()
    array([2., 2., 2.])
    """
    v, i = on_axis(arr, axis)
    if v.ndim == 1:
        return as_variable(func1d(v, *args, **kwargs))
    order = [j for j in range(v.ndim) if j != i]
    v = transpose(v, (*order, i))
    *outer, n = dims_of(v)
    count: Any = 1
    for length in outer:
        count = times(count, length)
    rows, _ = features.map(lambda row: as_variable(func1d(row, *args, **kwargs)), reshape_to(v, (count, n)))
    found = reshape_to(rows, (*outer, *dims_of(rows)[1:]))
    inner = list(range(len(outer), found.ndim))
    return transpose(found, [*range(i), *inner, *range(i, len(outer))])


@public("apply_over_axes", numpy=("apply_over_axes",))
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Variable:
    """Apply func(a, axis) for one axis after the other; an axis that func drops is kept with length 1."""
    v = as_variable(a)
    for axis in axes if isinstance(axes, Iterable) else (axes,):
        found = as_variable(func(v, axis))
        v = expand_dims(found, axis) if found.ndim == v.ndim - 1 else found
    return v
