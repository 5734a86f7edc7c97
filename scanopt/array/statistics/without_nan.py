"""Reductions that leave NaN out: nansum, nanmean, nanvar, nanmax and the like.

Of integers and truth values, which have no NaN, they are the plain ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.array.constants import as_variable
from scanopt.array.derivatives import no_gradient
from scanopt.array.functions.arguments import on_axis
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.ops_elementwise import cast, elementwise, where
from scanopt.array.ops_reductions import reduce, shift_axis
from scanopt.array.ops_shaping import expand_dims
from scanopt.array.parameters import AXIS
from scanopt.array.types import TensorType
from scanopt.array.variable import FUNCTIONS, Variable, apply, describe, public

__all__ = ["nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar"]


def _split(x: Any) -> tuple[Variable, Variable | None]:
    """x, and where it is NaN; None where its dtype has none."""
    v = as_variable(x)
    return v, elementwise("isnan", v) if np.dtype(v.dtype).kind in "fc" else None


def _filled(x: Any, value: float) -> Variable:
    v, nan = _split(x)
    return v if nan is None else where(nan, cast(as_variable(value), v.dtype), v)


@public("nansum", numpy=("nansum",))
def nansum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Variable:
    """The sum over axis of the elements that are not NaN.

    >>> nansum([1.0, np.nan]).eval()
    array(1.)
    """
    return reduce("sum", _filled(a, 0), axis, keepdims, dtype)


@public("nanprod", numpy=("nanprod",))
def nanprod(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Variable:
    """The product over axis of the elements that are not NaN.

    >>> nanprod([2.0, np.nan]).eval()
    array(2.)
    """
    return reduce("prod", _filled(a, 1), axis, keepdims, dtype)


@public("nancumsum", numpy=("nancumsum",))
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Variable:
    """The running sum along axis (flattened where None), NaN counted as 0.

    >>> nancumsum([1.0, np.nan, 2.0]).eval()
    array([1., 1., 3.])
    """
    found: Variable = FUNCTIONS["cumsum"](_filled(a, 0), axis, dtype)
    return found


@public("nancumprod", numpy=("nancumprod",))
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Variable:
    """The running product along axis (flattened where None), NaN counted as 1.

    >>> nancumprod([2.0, np.nan, 3.0]).eval()
    array([2., 2., 6.])
    """
    found: Variable = FUNCTIONS["cumprod"](_filled(a, 1), axis, dtype)
    return found


def _count(nan: Variable, axis: Any, keepdims: bool) -> Variable:
    return reduce("sum", elementwise("logical_not", nan), axis, keepdims, "int64")


def _over(total: Variable, count: Variable) -> Variable:
    return cast(elementwise("divide", total, count), total.dtype)


@public("nanmean", numpy=("nanmean",))
def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Variable:
    """The mean over axis of the elements that are not NaN; NaN where there are none.

    >>> nanmean([1.0, np.nan, 2.0]).eval()
    array(1.5)
    """
    v, nan = _split(a)
    if nan is None:
        return reduce("mean", v, axis, keepdims, dtype)
    return _over(reduce("sum", _filled(v, 0), axis, keepdims, dtype), _count(nan, axis, keepdims))


@public("nanvar", numpy=("nanvar",))
def nanvar(
    a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False, correction: float | None = None
) -> Variable:
    """The variance over axis of the elements that are not NaN; the divisor is their count less ddof.

    >>> nanvar([1.0, np.nan, 3.0]).eval()
    array(1.)
    """
    less = ddof if correction is None else correction
    v, nan = _split(a)
    if nan is None:
        return reduce("var", v, axis, keepdims, ddof=float(less))
    mean = _over(reduce("sum", _filled(v, 0), axis, True), _count(nan, axis, True))
    away = where(nan, cast(as_variable(0), v.dtype), cast(elementwise("subtract", v, mean), v.dtype))
    square = FUNCTIONS["real"](elementwise("multiply", away, elementwise("conjugate", away)))
    left = elementwise("subtract", _count(nan, axis, keepdims), less)
    found = _over(reduce("sum", square, axis, keepdims), left)
    return where(elementwise("less_equal", left, 0), np.nan, found)


@public("nanstd", numpy=("nanstd",))
def nanstd(
    a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False, correction: float | None = None
) -> Variable:
    """The standard deviation over axis of the elements that are not NaN: see `nanvar`.

    >>> nanstd([1.0, np.nan, 3.0]).eval()
    array(1.)
    """
    return elementwise("sqrt", nanvar(a, axis, ddof=ddof, keepdims=keepdims, correction=correction))


def _extremum(name: str, far: float) -> Callable[..., Variable]:
    def f(a: Any, axis: Any = None, *, keepdims: bool = False) -> Variable:
        v, nan = _split(a)
        if nan is None:
            return reduce(name, v, axis, keepdims)
        if np.dtype(v.dtype).kind == "c":
            raise TypeError(f"nan{name} orders real numbers, found {describe(v)}: take real(...) or abs(...)")
        none = reduce("all", nan, axis, keepdims)
        return where(none, np.nan, reduce(name, _filled(v, far), axis, keepdims))

    f.__name__ = f.__qualname__ = f"nan{name}"
    f.__doc__ = f"np.nan{name}: the {name} over axis of the elements that are not NaN; NaN where there are none."
    return public(f"nan{name}", numpy=(f"nan{name}",))(f)


nanmax, nanmin = _extremum("max", -np.inf), _extremum("min", np.inf)


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

    def f(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Variable:
        v, i = on_axis(a, axis)
        found = apply(Op.make(name, axis=i), v)
        if not keepdims:
            return found
        return expand_dims(found, tuple(range(as_variable(a).ndim)) if axis is None else (i,))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"np.{name} along axis (flattened where None); raises ValueError when run, where all elements are NaN."
    public(name, numpy=(name,))(f)


_argument("nanargmax")
_argument("nanargmin")
