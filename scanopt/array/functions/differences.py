"""Sums and differences of samples: trapezoid, gradient, ediff1d, unwrap, interp."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scanopt.array.batching import dim, expand
from scanopt.array.constants import as_variable, is_weak
from scanopt.array.functions.arguments import expect_axes
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.operators.joining import concatenate
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.selecting import diff
from scanopt.array.operators.shaping import flatten
from scanopt.array.operators.specify_shape import specify_shape
from scanopt.array.operators.subtensor import along, getitem
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import axes_of, axis_of
from scanopt.array.variable import Variable, describe

__all__ = ["gradient", "trapezoid"]


def _on_axis_of(v: Variable, axis: int, ndim: int) -> Variable:
    """A vector along one of `ndim` axes; all others have length 1."""
    return expand(v, [j for j in range(ndim) if j != axis])


@public("trapezoid", "trapz", numpy=("trapezoid",))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Variable:
    """The integral of samples y along an axis by the trapezoidal rule.

    x: where the samples are, a vector or of the shape of y; else they are dx apart.

    >>> trapezoid([1.0, 2.0, 3.0]).eval()
    array(4.)
    """
    v = expect_axes("trapezoid", y, 1)
    i = axis_of(axis, v)
    width: Any = dx
    if x is not None:
        places = as_variable(x)
        width = _on_axis_of(diff(places), i, v.ndim) if places.ndim == 1 else diff(places, axis=axis)
    pairs = elementwise("add", along(v, i, slice(1, None)), along(v, i, slice(None, -1)))
    return reduce("sum", elementwise("divide", elementwise("multiply", width, pairs), 2.0), i, False)


@public("ediff1d", numpy=("ediff1d",))
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Variable:
    """Differences of neighbours in the flattened array, with to_begin before and to_end after them.

    Raises TypeError where these do not fit the dtype of ary.
    """
    v = flatten(as_variable(ary))
    parts = [elementwise("subtract", getitem(v, slice(1, None)), getitem(v, slice(None, -1)))]
    for given, at in ((to_begin, 0), (to_end, 2)):
        if given is None:
            continue
        part = as_variable(given)
        if not np.can_cast(part.dtype, v.dtype, "same_kind"):
            raise TypeError(f"ediff1d cannot put {describe(part)} beside differences of {describe(v)}: cast it first")
        parts.insert(at, cast(flatten(part), v.dtype))
    return concatenate(parts) if len(parts) > 1 else parts[0]


def _spacings(f: Variable, axes: tuple[int, ...], given: tuple[Any, ...]) -> list[Any]:
    """The distance of samples along each axis: a number or scalar, or a vector of differences."""
    if len(given) == 0:
        return [1.0] * len(axes)
    if len(given) == 1 and np.ndim(given[0]) == 0:
        return [given[0]] * len(axes)
    if len(given) != len(axes):
        raise TypeError(f"gradient takes one distance, or one for each of {len(axes)} axes, found {len(given)}")
    found = []
    for x in given:
        v = x if isinstance(x, int | float) else as_variable(x)
        if isinstance(v, Variable) and v.ndim > 1:
            raise ValueError(f"distances are scalars or vectors, found {describe(v)}")
        if isinstance(v, Variable) and v.ndim == 1:
            v = diff(cast(v, "float64") if np.dtype(v.dtype).kind in "iu" else v)
        found.append(v)
    return found


@public("gradient", numpy=("gradient",))
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The derivative of samples f along each axis, from central differences inside and one-sided ones at the ends.

    (The gradient of an expression is `T.grad`.)  varargs: the distance of samples, for all axes or one for each, or the
    places of the samples.  axis: an int or several, None for all.  edge_order: 1 or 2, the accuracy at the ends.
    Returns an array, or for several axes a tuple.  Raises ValueError and TypeError for other arguments.

    >>> gradient(np.array([1.0, 2.0, 4.0])).eval()
    array([1. , 1.5, 2. ])
    """
    if edge_order not in (1, 2):
        raise ValueError(f"edge_order is 1 or 2, found {edge_order!r}")
    v = as_variable(f)
    axes = tuple(range(v.ndim)) if axis is None else tuple(axis_of(i, v) for i in np.atleast_1d(axis))
    axes_of(axes, v)
    for x in (v, *(as_variable(x) for x in varargs)):
        if x.dtype == "bool":
            raise TypeError(f"gradient takes differences, which bools do not have, found {describe(x)}: cast it")
    v = cast(v, "float64") if np.dtype(v.dtype).kind in "iu" else v
    for i in axes:
        n = v.type.shape[i]
        if n is not None and n < edge_order + 1:
            raise ValueError(f"gradient needs at least {edge_order + 1} samples along axis {i}, found {describe(v)}")
    found = tuple(_derivative(v, i, dx, edge_order) for i, dx in zip(axes, _spacings(v, axes, varargs), strict=True))
    return found[0] if len(found) == 1 else found


def _derivative(f: Variable, axis: int, dx: Any, edge_order: int) -> Variable:
    def at(item: Any) -> Variable:
        return along(f, axis, item)

    def entry(k: int) -> Variable:
        """Sample number k, along an axis of length 1.  Raises at run time where there are too few."""
        return expand(at(k), [axis])

    apart = isinstance(dx, Variable) and dx.ndim == 1
    low, mid, high = at(slice(None, -2)), at(slice(1, -1)), at(slice(2, None))
    if apart:
        inner = _weighted(_inner_weights(getitem(dx, slice(None, -1)), getitem(dx, slice(1, None))), (low, mid, high),
                          lambda w: _on_axis_of(w, axis, f.ndim))  # fmt: skip
    else:
        inner = elementwise("divide", high - low, elementwise("multiply", 2.0, dx))
    if edge_order == 1:
        first, last = (getitem(dx, 0), getitem(dx, -1)) if apart else (dx, dx)
        ends = [elementwise("divide", entry(1) - entry(0), first), elementwise("divide", entry(-1) - entry(-2), last)]
    else:
        first = (getitem(dx, 0), getitem(dx, 1)) if apart else dx
        last = (getitem(dx, -1), getitem(dx, -2)) if apart else dx
        start = [entry(k) for k in range(3)]
        stop = [entry(-k - 1) for k in range(3)]
        ends = [_weighted(_edge_weights(first, 1), start), _weighted(_edge_weights(last, -1), stop)]
    return cast(concatenate([ends[0], inner, ends[1]], axis), f.dtype)


def _weighted(weights: Any, samples: Any, shaped: Any = lambda w: w) -> Variable:
    total = None
    for w, s in zip(weights, samples, strict=True):
        term = elementwise("multiply", shaped(w), s)
        total = term if total is None else elementwise("add", total, term)
    assert total is not None
    return total


def _inner_weights(before: Variable, after: Variable) -> tuple[Variable, ...]:
    both = before + after
    return -after / (before * both), (after - before) / (before * after), before / (after * both)


def _edge_weights(dx: Any, sign: int) -> tuple[Any, ...]:
    """Weights of the three samples from an end inwards; dx: the distance, or the two from the end inwards."""
    if not isinstance(dx, tuple):
        return tuple(elementwise("divide", sign * w, dx) for w in (-1.5, 2.0, -0.5))
    near, far = dx
    both = near + far
    weights = -(2.0 * near + far) / (near * both), both / (near * far), -near / (far * both)
    return weights if sign == 1 else tuple(-w for w in weights)


@public("unwrap", numpy=("unwrap",))
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Variable:
    """p with multiples of the period added along an axis, so that neighbours are at most half a period apart.

    discont: smaller jumps than this stay as they are.

    >>> unwrap([0.0, 5.0], period=4).eval()
    array([0., 1.])
    """
    v = expect_axes("unwrap", p, 1)
    i = axis_of(axis, v)
    steps = diff(v, axis=i)
    dtype = np.result_type(steps.dtype, period.dtype if isinstance(period, Variable) else period)
    whole = np.dtype(dtype).kind in "iu"
    half = elementwise("floor_divide" if whole else "divide", period, 2)
    high = half if isinstance(period, Variable) or not whole else int(period) // 2
    ambiguous: Any = elementwise("equal", elementwise("remainder", period, 2), 0) if whole else True
    low = elementwise("negative", as_variable(high)) if isinstance(high, Variable) else -high
    wrapped = elementwise("add", elementwise("remainder", elementwise("subtract", steps, low), period), low)
    at_edge = elementwise("logical_and", elementwise("equal", wrapped, low), elementwise("greater", steps, 0))
    wrapped = where(elementwise("logical_and", at_edge, as_variable(ambiguous)), high, wrapped)
    limit = elementwise("divide", period, 2) if discont is None else discont
    small = elementwise("less", elementwise("absolute", steps), limit)
    correction = where(small, 0, elementwise("subtract", wrapped, steps))
    moved = elementwise("add", along(v, i, slice(1, None)), FUNCTIONS["cumsum"](correction, i))
    return concatenate([cast(along(v, i, slice(None, 1)), dtype), cast(moved, dtype)], i)


@public("interp", numpy=("interp",))
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Variable:
    """Values at x of the lines between the points (xp, fp); xp increases.

    left, right: values below and above all points, else those of the first and last.  period: of xp, which is sorted.
    Raises ValueError where xp and fp are no vectors, or have different lengths.

    >>> interp(2.5, [1, 2, 3], [3, 2, 0]).eval()
    array(1.)
    """
    at, places = cast(as_variable(x), "float64"), cast(expect_axes("interp", xp, 1, 1), "float64")
    values = expect_axes("interp", fp, 1, 1)
    values = cast(values, "complex128" if np.dtype(values.dtype).kind == "c" else "float64")
    if None not in (n := places.type.shape + values.type.shape) and n[0] != n[1]:
        raise ValueError(f"interp needs as many places as values, found {describe(places)} and {describe(values)}")
    values = specify_shape(values, (dim(places, 0),))
    if period is not None:
        if is_weak(period) and not period:
            raise ValueError("the period of interp must not be 0")
        left = right = None
        at, places, values = _periodic(at, places, values, elementwise("absolute", as_variable(period)))
    last = elementwise("subtract", as_variable(dim(places, 0)), 1)
    found = elementwise("subtract", FUNCTIONS["searchsorted"](places, at, "right"), 1)
    low = elementwise(
        "minimum", elementwise("maximum", found, 0), elementwise("maximum", elementwise("subtract", last, 1), 0)
    )
    high = elementwise("minimum", elementwise("add", low, 1), last)
    (x0, x1), (y0, y1) = ([getitem(v, k) for k in (low, high)] for v in (places, values))
    wide = elementwise("greater", x1, x0)
    slope = elementwise("divide", elementwise("subtract", y1, y0), where(wide, elementwise("subtract", x1, x0), 1.0))
    inner = elementwise("add", elementwise("multiply", slope, elementwise("subtract", at, x0)), y0)
    inner = where(elementwise("equal", at, x0), y0, inner)
    inner = where(elementwise("greater_equal", found, last), getitem(values, -1), inner)
    inner = where(
        elementwise("greater", at, getitem(places, -1)), getitem(values, -1) if right is None else right, inner
    )
    inner = where(elementwise("less", at, getitem(places, 0)), getitem(values, 0) if left is None else left, inner)
    return where(elementwise("isnan", at), at, inner)


def _periodic(at: Variable, places: Variable, values: Variable, period: Variable) -> tuple[Variable, ...]:
    """Points sorted within one period, with one more on each side."""
    at, places = elementwise("remainder", at, period), elementwise("remainder", places, period)
    order = FUNCTIONS["argsort"](places)
    places, values = getitem(places, order), getitem(values, order)
    first, last = slice(0, 1), slice(-1, None)
    places = concatenate([getitem(places, last) - period, places, getitem(places, first) + period])
    return at, places, concatenate([getitem(values, last), values, getitem(values, first)])
