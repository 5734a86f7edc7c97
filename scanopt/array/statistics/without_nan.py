"""Reductions that leave NaN out: nansum, nanmean, nanvar, nanmax and the like.

For integers and truth values, which have no NaN, they are the plain reductions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scanopt.array.constants import as_variable
from scanopt.array.derivatives import no_gradient
from scanopt.array.op import Operand, OpSpec, register
from scanopt.array.operators.elementwise import cast, elementwise
from scanopt.array.operators.elementwise import where as where_
from scanopt.array.operators.reductions import reduce, shift_axis
from scanopt.array.parameters import AXIS
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import reduced_axes
from scanopt.array.statistics.along import public_places
from scanopt.array.statistics.reductions import extremum, filled, folded, kept, mask_of, mean_of, typed, variance_of
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable

__all__ = ["nancumprod", "nancumsum", "nanmean", "nanprod", "nanstd", "nansum", "nanvar"]


def _there(name: str, a: Any, where: Any) -> tuple[Variable, Variable | None]:
    """The array a and the mask of elements that count (None: all), which are not NaN and for which `where` holds."""
    v = as_variable(a)
    mask = mask_of(name, v, where)
    if np.dtype(v.dtype).kind not in "fc":
        return v, mask
    number = elementwise("logical_not", elementwise("isnan", v))
    return v, number if mask is None else elementwise("logical_and", number, mask)


@public("nansum", numpy=("nansum",))
def nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> Variable:  # fmt: skip
    """The sum over axis of the elements that are not NaN; other arguments as of `sum`.

    >>> nansum([1.0, np.nan]).eval()
    array(1.)
    """
    v, there = _there("nansum", a, where)
    return folded("sum", v, axis, dtype, kept("nansum", v, out, keepdims), initial, there)


@public("nanprod", numpy=("nanprod",))
def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> Variable:  # fmt: skip
    """The product over axis of the elements that are not NaN; other arguments as of `prod`.

    >>> nanprod([2.0, np.nan]).eval()
    array(2.)
    """
    v, there = _there("nanprod", a, where)
    return folded("prod", v, axis, dtype, kept("nanprod", v, out, keepdims), initial, there)


@public("nancumsum", numpy=("nancumsum",))
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Variable:
    """The running sum along axis (flattened where None), NaN counted as 0.

    >>> nancumsum([1.0, np.nan, 2.0]).eval()
    array([1., 1., 3.])
    """
    found: Variable = FUNCTIONS["cumsum"](filled(*_there("nancumsum", a, True), 0), axis, dtype, out)
    return found


@public("nancumprod", numpy=("nancumprod",))
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Variable:
    """The running product along axis (flattened where None), NaN counted as 1.

    >>> nancumprod([2.0, np.nan, 3.0]).eval()
    array([2., 2., 6.])
    """
    found: Variable = FUNCTIONS["cumprod"](filled(*_there("nancumprod", a, True), 1), axis, dtype, out)
    return found


@public("nanmean", numpy=("nanmean",))
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = True
) -> Variable:
    """The mean over axis of the elements that are not NaN; NaN where there are none.

    >>> nanmean([1.0, np.nan, 2.0]).eval()
    array(1.5)
    """
    v, there = _there("nanmean", a, where)
    if dtype is not None and np.dtype(v.dtype).kind in "fc":
        typed("nanmean", v, dtype)
    keep = kept("nanmean", v, out, keepdims)
    return reduce("mean", v, axis, keep, dtype) if there is None else mean_of(v, axis, dtype, keep, there)


def _variance(
    name: str, a: Any, axis: Any, dtype: Any, out: Any, ddof: float, keepdims: bool, where: Any, mean: Any,
    correction: float | None,
) -> Variable:  # fmt: skip
    v, there = _there(name, a, where)
    keep, less = kept(name, v, out, keepdims), float(ddof if correction is None else correction)
    if there is None and mean is None:
        return reduce("var", v if dtype is None else typed(name, v, dtype), axis, keep, ddof=less)
    found, divisor = variance_of(typed(name, v, dtype), axis, less, keep, there, mean)
    return found if np.dtype(v.dtype).kind in "biu" else where_(elementwise("less_equal", divisor, 0), np.nan, found)


@public("nanvar", numpy=("nanvar",))
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = None, correction: float | None = None,
) -> Variable:  # fmt: skip
    """The variance over axis of the elements that are not NaN; the divisor is their count less ddof: see `var`.

    >>> nanvar([1.0, np.nan, 3.0]).eval()
    array(1.)
    """
    return _variance("nanvar", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


@public("nanstd", numpy=("nanstd",))
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, mean: Any = None, correction: float | None = None,
) -> Variable:  # fmt: skip
    """The standard deviation over axis of the elements that are not NaN: see `nanvar`.

    >>> nanstd([1.0, np.nan, 3.0]).eval()
    array(1.)
    """
    return elementwise("sqrt", _variance("nanstd", a, axis, dtype, out, ddof, keepdims, where, mean, correction))


def _extremum(name: str, far: float) -> None:
    full_name = f"nan{name}"

    def f(
        a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Variable:
        v = as_variable(a)
        keep, mask = kept(full_name, v, out, keepdims), mask_of(full_name, v, where)
        kind = np.dtype(v.dtype).kind
        if kind not in "fc":
            return extremum(name, v, axis, keep, initial, mask)
        nan = elementwise("isnan", v)
        none = reduce("all", nan if mask is None else filled(nan, mask, True), reduced_axes(axis, v), keep)
        away = where_(nan, cast(as_variable(complex(far, far) if kind == "c" else far), v.dtype), v)
        nothing = cast(as_variable(complex(np.nan, np.nan) if kind == "c" else np.nan), v.dtype)
        return where_(none, nothing, extremum(name, away, axis, keep, initial, mask))

    f.__name__ = f.__qualname__ = full_name
    f.__doc__ = (
        f"The {'greatest' if name == 'max' else 'least'} element over axis that is not NaN; NaN where all are.\n\n"
        f"    Other arguments as of `{name}`."
    )
    public(full_name, numpy=(full_name,))(f)


_extremum("max", -np.inf)
_extremum("min", np.inf)


def _argument(name: str) -> None:
    def infer(x: Operand, axis: int) -> TensorType:
        if x.shape[axis] == 0:
            raise ValueError(f"{name} over an axis of length 0 has no value")
        return TensorType("int64", tuple(n for i, n in enumerate(x.shape) if i != axis))

    register(
        OpSpec(
            name, lambda xp, axis: lambda x: getattr(xp, name)(x, axis=axis), infer, shift_axis, batch_exact=True,
            cost="reduction", can_raise=True, gradient=no_gradient, doc=f"np.{name} along an axis",
            params={"axis": AXIS},
        )
    )  # fmt: skip

    public_places(
        name, f"np.{name} along axis (flattened where None); raises ValueError when run, where all elements are NaN."
    )


_argument("nanargmax")
_argument("nanargmin")
