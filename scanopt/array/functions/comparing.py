"""Arrays compared: isclose, allclose, array_equal, array_equiv, and questions about each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanopt.array.batching import dim, expand
from scanopt.array.constants import as_variable
from scanopt.array.functions.arguments import as_given
from scanopt.array.operators.elementwise import cast, elementwise, imag, where
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.subtensor import getitem
from scanopt.array.registry import public
from scanopt.array.variable import Constant, Variable, describe

__all__ = ["allclose", "array_equal", "array_equiv", "isclose"]


@public("isclose", numpy=("isclose",))
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Variable:
    """Whether elements of a and b are equal up to atol + rtol * |b|.

    rtol, atol: numbers or arrays.  equal_nan: whether NaN is close to NaN.

    >>> isclose(1.0, 1.000001).eval()
    array(True)
    """
    x, y = as_given(a), as_given(b)
    y = cast(y, np.result_type(y.dtype, 1.0)) if isinstance(y, Variable) else float(y) if isinstance(y, int) else y
    x, y = _both(x, y)
    size = elementwise("multiply", as_given(rtol), elementwise("absolute", y))
    near = elementwise(
        "less_equal", elementwise("absolute", elementwise("subtract", x, y)), elementwise("add", as_given(atol), size)
    )
    found = elementwise("logical_and", near, elementwise("isfinite", y))
    found = elementwise("logical_or", found, elementwise("equal", x, y))
    if equal_nan:
        both = elementwise("logical_and", elementwise("isnan", x), elementwise("isnan", y))
        found = elementwise("logical_or", found, both)
    return found


def _both(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands; a Python number takes its dtype from the other one."""
    if isinstance(x, Variable) and isinstance(y, Variable):
        return x, y
    if isinstance(x, Variable):
        return x, Constant(np.asarray(y, np.result_type(x.dtype, y)))
    return Constant(np.asarray(x, np.result_type(x, y.dtype if isinstance(y, Variable) else y))), as_variable(y)


@public("allclose", numpy=("allclose",))
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Variable:
    """Whether all elements are close, by `isclose`: a bool scalar."""
    return reduce("all", isclose(a, b, rtol, atol, equal_nan), None, False)


def _same(x: Variable, y: Variable, equal_nan: bool) -> Variable:
    equal = elementwise("equal", x, y)
    if equal_nan and all(np.dtype(v.dtype).kind in "fc" for v in (x, y)):
        both = elementwise("logical_and", elementwise("isnan", x), elementwise("isnan", y))
        equal = elementwise("logical_or", equal, both)
    return reduce("all", equal, None, False)


@public("array_equal", numpy=("array_equal",))
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Variable:
    """Whether two arrays have the same shape and the same elements: a bool scalar."""
    x, y = as_variable(a1), as_variable(a2)
    if x.ndim != y.ndim:
        return Constant(np.False_)
    conditions = []
    for i in range(x.ndim):
        n, m = dim(x, i), dim(y, i)
        if isinstance(n, int) and isinstance(m, int):
            if n != m:
                return Constant(np.False_)
            continue
        conditions.append(elementwise("equal", n, m))
        before = (slice(None),) * i  # the part that both arrays have, so that comparing never raises
        x, y = getitem(x, (*before, slice(None, m))), getitem(y, (*before, slice(None, n)))
    return _all_of([*conditions, _same(x, y, equal_nan)])


@public("array_equiv", numpy=("array_equiv",))
def array_equiv(a1: Any, a2: Any) -> Variable:
    """Whether two arrays broadcast to each other and are then equal: a bool scalar."""
    x, y = as_variable(a1), as_variable(a2)
    ndim = max(x.ndim, y.ndim)
    x, y = (expand(v, range(ndim - v.ndim)) for v in (x, y))
    conditions = []
    for i in range(ndim):
        n, m = dim(x, i), dim(y, i)
        if isinstance(n, int) and isinstance(m, int):
            if n != m and 1 not in (n, m):
                return Constant(np.False_)
            continue
        fits = _all_of([elementwise("equal", n, m)])
        for length in (n, m):
            one = elementwise("equal", as_variable(length), 1)
            fits = elementwise("logical_or", fits, one)
        conditions.append(fits)
        before = (slice(None),) * i  # empty where the lengths do not fit, so that comparing never raises
        x, y = (getitem(v, (*before, slice(None, where(fits, length, 0)))) for v, length in ((x, n), (y, m)))
    return _all_of([*conditions, _same(x, y, False)])


def _all_of(conditions: list[Variable]) -> Variable:
    found = conditions[0]
    for condition in conditions[1:]:
        found = elementwise("logical_and", found, condition)
    return found


def _infinite(x: Any, negative: bool, function: str) -> Variable:
    v = as_variable(x)
    if np.dtype(v.dtype).kind == "c":
        raise TypeError(f"{function} is not defined for complex numbers, which have no sign: found {describe(v)}")
    if np.dtype(v.dtype).kind != "f":
        return elementwise("isinf", v)
    return elementwise("equal", v, -np.inf if negative else np.inf)


@public("isposinf", numpy=("isposinf",))
def isposinf(x: Any) -> Variable:
    """Whether elements are positive infinity.  Raises TypeError for complex numbers."""
    return _infinite(x, False, "isposinf")


@public("isneginf", numpy=("isneginf",))
def isneginf(x: Any) -> Variable:
    """Whether elements are negative infinity.  Raises TypeError for complex numbers."""
    return _infinite(x, True, "isneginf")


@public("isreal", numpy=("isreal",))
def isreal(x: Any) -> Variable:
    """Whether the imaginary part of elements is 0."""
    return elementwise("equal", imag(x), 0)


@public("iscomplex", numpy=("iscomplex",))
def iscomplex(x: Any) -> Variable:
    """Whether the imaginary part of elements is not 0."""
    return elementwise("not_equal", imag(x), 0)
