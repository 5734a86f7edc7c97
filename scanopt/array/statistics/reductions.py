"""Reductions as in NumPy: over some axes, of some elements (`where`), starting from a number (`initial`).

They are the reductions of the operator table and functions composed of them.  Theano's order of arguments is
accepted too: a bool in the place of `out` is `keepdims`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scanopt.array.constants import as_variable, is_weak, weak_constant
from scanopt.array.lengths import length
from scanopt.array.op import Op
from scanopt.array.operators.elementwise import as_condition, cast, elementwise
from scanopt.array.operators.elementwise import where as chosen
from scanopt.array.operators.joining import concatenate
from scanopt.array.operators.lengths import times
from scanopt.array.operators.reductions import reduce
from scanopt.array.protocol import refused
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import axes_of, reduced_axes
from scanopt.array.types import dtype_name
from scanopt.array.variable import Constant, Variable, apply, describe

__all__ = ["extremum", "filled", "folded", "initial_of", "kept", "mask_of", "mean_of", "no_out", "variance_of"]


# Reading arguments


def no_out(name: str, v: Variable, out: Any) -> None:
    """Raise TypeError for an array to write the result into."""
    if out is not None:
        raise refused(name, describe(v), "out")


def kept(name: str, v: Variable, out: Any, keepdims: bool) -> bool:
    """Whether axes are kept; Theano gives keepdims in the place of `out`.  Raises TypeError for an array as `out`."""
    if isinstance(out, bool):
        return out
    no_out(name, v, out)
    return bool(keepdims)


def mask_of(name: str, v: Variable, where: Any) -> Variable | None:
    """The mask of elements that count, in the shape of v; None for all.

    Raises TypeError for a mask that is not bool, ValueError for one that does not broadcast to v.
    """
    if where is True or where is None:
        return None
    mask = as_variable(where)
    if mask.dtype != "bool":
        raise TypeError(f"{name}: where must be bool, found {describe(mask)}: write where=mask != 0")
    return apply(Op.make("full_like"), v, mask)


def filled(v: Variable, mask: Variable | None, value: complex) -> Variable:
    """v with `value` where the mask does not hold."""
    return v if mask is None else chosen(mask, v, Constant(np.asarray(value, v.dtype)))


def initial_of(name: str, initial: Any, dtype: str) -> Variable:
    """The number to start from, as a constant of this dtype.

    Raises ValueError for an array, TypeError for a complex number where the dtype is real.

    >>> initial_of("sum", 2, "float32")
    2.0 float32[]
    """
    if is_weak(initial) and not isinstance(initial, complex):
        return weak_constant(initial, dtype)
    v = as_variable(initial)
    if v.ndim:
        raise ValueError(f"{name}: initial must be a scalar, found {describe(v)}")
    return cast(v, dtype)


# Their parts


def folded(
    name: str, v: Variable, axis: Any, dtype: Any, keepdims: bool, initial: Any, mask: Variable | None
) -> Variable:
    """The sum or product of the elements that count and of `initial`."""
    ufunc, neutral = {"sum": ("add", 0), "prod": ("multiply", 1)}[name]
    found = reduce(name, filled(v, mask, neutral), reduced_axes(axis, v), keepdims, dtype)
    return found if initial is None else elementwise(ufunc, initial_of(name, initial, found.dtype), found)


def extremum(name: str, v: Variable, axis: Any, keepdims: bool, initial: Any, mask: Variable | None) -> Variable:
    """The greatest (or least) of the elements that count and of `initial`; with `initial` there may be no elements.

    Raises ValueError for a mask without `initial`.
    """
    if initial is None:
        if mask is not None:
            raise ValueError(f"{name} with where= needs initial=, its value where no element of {describe(v)} counts")
        return reduce(name, v, reduced_axes(axis, v), keepdims)
    first, axes = initial_of(name, initial, v.dtype), reduced_axes(axis, v)
    x = v if mask is None else chosen(mask, v, first)
    if all(x.type.shape[i] for i in axes):
        return elementwise("maximum" if name == "max" else "minimum", reduce(name, x, axes, keepdims), first)
    for i in axes:
        start = FUNCTIONS["full"]([1 if j == i else length(x, j) for j in range(x.ndim)], first)
        x = reduce(name, concatenate([start, x], i), i, True)
    return x if keepdims else apply(Op.make("squeeze", axis=axes), x)


def _size(v: Variable, axis: Any) -> Variable:
    count: Any = 1
    for i in axes_of(axis, v):
        count = times(count, length(v, i))
    return cast(as_variable(count), "int64")


def _count(v: Variable, mask: Variable | None, axis: Any, keepdims: bool) -> Variable:
    return _size(v, axis) if mask is None else reduce("sum", mask, axis, keepdims, "int64")


def _over(total: Variable, count: Variable) -> Variable:
    return cast(elementwise("divide", total, count), total.dtype)


def mean_of(v: Variable, axis: Any, dtype: Any, keepdims: bool, mask: Variable) -> Variable:
    """The mean of the elements that count; NaN where there are none."""
    half = v.dtype == "float16" and dtype is None  # summed in float32, as in NumPy
    wide = "float32" if half else dtype or ("float64" if np.dtype(v.dtype).kind in "biu" else None)
    found = _over(reduce("sum", filled(v, mask, 0), axis, keepdims, wide), _count(v, mask, axis, keepdims))
    return cast(found, "float16") if half else found


def variance_of(
    v: Variable, axis: Any, ddof: float, keepdims: bool, mask: Variable | None, mean: Any = None
) -> tuple[Variable, Variable]:
    """The variance of the elements that count (about `mean`, if given), and the divisor, which may be negative."""
    if mean is None:
        count = _count(v, mask, axis, True)
        mean = _over(reduce("sum", filled(v, mask, 0), axis, True), count)
    away = filled(cast(elementwise("subtract", v, mean), v.dtype), mask, 0)
    square = FUNCTIONS["real"](elementwise("multiply", away, elementwise("conjugate", away)))
    divisor = elementwise("subtract", _count(v, mask, axis, keepdims), ddof)
    found = _over(reduce("sum", square, axis, keepdims), elementwise("maximum", divisor, 0))
    return found, divisor


# Public functions


def _accumulated(f: Any, a: Any, acc_dtype: Any, axis: Any, dtype: Any, *more: Any, **named: Any) -> Variable:
    """f of a, computed in another dtype than that of the result."""
    plain: Variable = f(a, axis, dtype, *more, **named)
    return cast(f(cast(as_variable(a), dtype_name(acc_dtype)), axis, None, *more, **named), plain.dtype)


@public("sum", numpy=("sum",))
def sum_(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
    where: Any = True, *, acc_dtype: Any = None,
) -> Variable:  # fmt: skip
    """The sum over axis: an int, several, or None for all; with keepdims they stay with length 1.

    dtype: that of the result.  acc_dtype: what is computed in.  initial: a number added to it.
    where: which elements count, a bool array that broadcasts to `a`.
    Raises ValueError for an axis that `a` does not have, TypeError for `out`.

    >>> sum_([1, 2, 3], where=[True, False, True], initial=10).eval()
    array(14)
    """
    if acc_dtype is not None:
        return _accumulated(sum_, a, acc_dtype, axis, dtype, out, keepdims, initial, where)
    v = as_variable(a)
    keep = kept("sum", v, out, keepdims)
    return folded("sum", v, axis, dtype, keep, initial, mask_of("sum", v, where))


@public("prod", numpy=("prod",))
def prod_(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
    where: Any = True, *, acc_dtype: Any = None,
) -> Variable:  # fmt: skip
    """The product over axis: see `sum`; initial: a factor.

    >>> prod_([2, 3], initial=10).eval()
    array(60)
    """
    if acc_dtype is not None:
        return _accumulated(prod_, a, acc_dtype, axis, dtype, out, keepdims, initial, where)
    v = as_variable(a)
    keep = kept("prod", v, out, keepdims)
    return folded("prod", v, axis, dtype, keep, initial, mask_of("prod", v, where))


@public("mean", numpy=("mean",))
def mean_(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = True,
    acc_dtype: Any = None,
) -> Variable:  # fmt: skip
    """The mean over axis: see `sum`; NaN where no element counts.

    >>> mean_([1.0, 2.0, 6.0], where=[True, True, False]).eval()
    array(1.5)
    """
    if acc_dtype is not None:
        return _accumulated(mean_, a, acc_dtype, axis, dtype, out, keepdims, where=where)
    v = as_variable(a)
    keep, mask = kept("mean", v, out, keepdims), mask_of("mean", v, where)
    return reduce("mean", v, axis, keep, dtype) if mask is None else mean_of(v, axis, dtype, keep, mask)


def _logic(name: str, neutral: bool, what: str) -> None:
    def f(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = True) -> Variable:
        v = as_variable(a)
        keep, mask = kept(name, v, out, keepdims), mask_of(name, v, where)
        x = v if mask is None else filled(as_condition(v), mask, neutral)
        return reduce(name, x, reduced_axes(axis, v), keep)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"Whether {what} over axis (an int, several, or None for all) is not 0: bool.\n\n"
        "    where: which elements count, a bool array that broadcasts to `a`.\n"
        "    Raises ValueError for an axis that `a` does not have, TypeError for `out`."
    )
    public(name, numpy=(name,))(f)


_logic("any", False, "any element")
_logic("all", True, "every element")


def _extreme(name: str, other: str, what: str) -> None:
    def f(
        a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Variable:
        v = as_variable(a)
        return extremum(name, v, axis, kept(name, v, out, keepdims), initial, mask_of(name, v, where))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"The {what} element over axis: an int, several, or None for all; NaN where one is NaN.\n\n"
        "    initial: a further number, without which there must be elements.  where: which elements count, a bool\n"
        "    array that broadcasts to `a`; it needs `initial`.\n"
        "    Raises ValueError for an axis that `a` does not have, TypeError for `out`."
    )
    public(name, other, numpy=(name, other))(f)


_extreme("max", "amax", "greatest")
_extreme("min", "amin", "least")


def _deviation(name: str, what: str) -> None:
    def f(
        a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0, keepdims: bool = False, *,
        where: Any = True, mean: Any = None, correction: float | None = None,
    ) -> Variable:  # fmt: skip
        if isinstance(dtype, int | float):  # Theano's order
            dtype, ddof = None, dtype
        v = as_variable(a)
        keep, mask = kept(name, v, out, keepdims), mask_of(name, v, where)
        less = float(ddof if correction is None else correction)
        if mask is None and mean is None:
            return reduce(name, v if dtype is None else typed(name, v, dtype), axis, keep, ddof=less)
        found = variance_of(typed(name, v, dtype), axis, less, keep, mask, mean)[0]
        return found if name == "var" else elementwise("sqrt", found)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"The {what} over axis; the divisor is the count less `ddof` (or `correction`).\n\n"
        "    dtype: in which it is computed.  mean: the mean, if it is known, with its axes kept.  where: which\n"
        "    elements count, a bool array that broadcasts to `a`.  Raises ValueError for an axis that `a` does not\n"
        "    have, TypeError for `out`, and for a dtype of no floating point numbers."
    )
    public(name, numpy=(name,))(f)


def typed(name: str, v: Variable, dtype: Any) -> Variable:
    """v cast to the dtype in which the function is computed: by default v's, or float64 for integers and bools.

    Raises TypeError for a dtype that is not floating point.
    """
    if dtype is None:
        return cast(v, "float64") if np.dtype(v.dtype).kind in "biu" else v
    if np.dtype(dtype).kind not in "fc":
        raise TypeError(f"{name} is computed in floating point numbers, found dtype={np.dtype(dtype).name}: cast it")
    return cast(v, dtype)


_deviation("var", "variance")
_deviation("std", "standard deviation")


@public("ptp", numpy=("ptp",))
def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Variable:
    """The greatest element less the least one, over axis: see `max`.

    >>> ptp([3, 1, 7]).eval()
    array(6)
    """
    v = as_variable(a)
    keep = kept("ptp", v, out, keepdims)
    axes = reduced_axes(axis, v)
    return elementwise("subtract", reduce("max", v, axes, keep), reduce("min", v, axes, keep))
