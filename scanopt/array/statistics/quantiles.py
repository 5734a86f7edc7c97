"""Quantiles, percentiles and medians, by NumPy's methods, with and without NaN.

The elements along the axes are sorted; a quantile is one of them, or lies between two neighbours.  What is counted may
differ from slice to slice where NaN is left out, so ranks are an array.  [Hyndman and Fan 1996, Sample Quantiles in
Statistical Packages, has the methods.]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scanopt.array.batching import dim, dims_of, transpose
from scanopt.array.constants import as_variable
from scanopt.array.ops_elementwise import cast, elementwise, where
from scanopt.array.ops_joining import concatenate
from scanopt.array.ops_reductions import reduce
from scanopt.array.ops_shaping import expand_dims, reshape, times
from scanopt.array.ops_subtensor import getitem
from scanopt.array.shapes import axes_of
from scanopt.array.variable import FUNCTIONS, Constant, Variable, describe, public

__all__ = ["METHODS", "median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

Rank = Callable[[Variable, Variable], Variable]


@dataclass(frozen=True)
class _Method:
    """rank: of n elements and quantiles q, from 0 on.  weight: of the upper neighbour, None where ranks are whole."""

    rank: Rank
    weight: Callable[[Variable, Variable], Variable] | None = None


def _between(alpha: float, beta: float) -> _Method:
    return _Method(lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1, lambda part, rank: part)


def _whole(rank: Rank, stays: Callable[[Variable, Variable], Variable]) -> _Method:
    """The rank below where `stays` says so of its fraction and itself, else the one above."""

    def found(n: Variable, q: Variable) -> Variable:
        r = rank(n, q)
        low = elementwise("floor", r)
        return where(stays(r - low, r), low, low + 1)

    return _Method(found)


def _is(x: Variable, value: float) -> Variable:
    return elementwise("equal", x, value)


METHODS = {
    "inverted_cdf": _whole(lambda n, q: n * q - 1, lambda part, rank: _is(part, 0)),
    "averaged_inverted_cdf": _Method(lambda n, q: n * q - 1, lambda part, rank: where(_is(part, 0), 0.5, 1.0)),
    "closest_observation": _whole(
        lambda n, q: n * q - 1 - 0.5,
        lambda part, rank: elementwise("logical_and", _is(part, 0), _is(elementwise("floor", rank) % 2, 1)),
    ),
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "linear": _Method(lambda n, q: (n - 1) * q, lambda part, rank: part),
    "median_unbiased": _between(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _between(3 / 8.0, 3 / 8.0),
    "lower": _Method(lambda n, q: elementwise("floor", (n - 1) * q)),
    "higher": _Method(lambda n, q: elementwise("ceil", (n - 1) * q)),
    "midpoint": _Method(
        lambda n, q: 0.5 * (elementwise("floor", (n - 1) * q) + elementwise("ceil", (n - 1) * q)),
        lambda part, rank: where(_is(rank % 1, 0), 0.0, 0.5),
    ),
    "nearest": _Method(lambda n, q: elementwise("rint", (n - 1) * q)),
}
"""How a quantile is found, by NumPy's names."""


@dataclass(frozen=True)
class _Sorted:
    """Elements sorted along a first axis, in which several axes were put; for the others keepdims brings them back.

    count: of the elements that count, a number, or one for each slice.
    """

    values: Variable
    axes: tuple[int, ...]
    count: Variable
    ignores_nan: bool

    @classmethod
    def of(cls, a: Any, axis: Any, ignores_nan: bool) -> _Sorted:
        v = as_variable(a)
        axes = axes_of(axis, v.ndim)
        rest = [i for i in range(v.ndim) if i not in axes]
        dims = dims_of(v)
        total: Any = 1
        for i in axes:
            total = times(total, dims[i])
        moved = transpose(v, (*axes, *rest))
        if len(axes) != 1:
            moved = reshape(moved, [total, *(dims[i] for i in rest)])
        ordered: Variable = FUNCTIONS["sort"](moved, 0)
        floating = np.dtype(v.dtype).kind == "f"
        if ignores_nan and floating:
            there = elementwise("logical_not", elementwise("isnan", ordered))
            nothing = FUNCTIONS["full"]((1, *dims_of(ordered)[1:]), np.nan, ordered.dtype)  # of slices that are all NaN
            return cls(concatenate([ordered, nothing], 0), axes, reduce("sum", there, 0, False, "int64"), True)
        return cls(ordered, axes, as_variable(dim(ordered, 0)), False)

    def at(self, ranks: Variable) -> Variable:
        """The elements of these ranks, of shape (ranks of a slice, *slices)."""
        last = elementwise("maximum", self.count - 1, 0)
        whole = elementwise("minimum", elementwise("maximum", cast(ranks, "int64"), 0), last)
        if self.ignores_nan:
            found: Variable = FUNCTIONS["take_along_axis"](self.values, whole, 0)
            return found
        return getitem(self.values, whole)

    def with_nan(self, found: Variable) -> Variable:
        """What was found, NaN for slices that have one: it is sorted to the end."""
        if self.ignores_nan or np.dtype(self.values.dtype).kind != "f":
            return found
        return where(elementwise("isnan", getitem(self.values, -1)), np.nan, found)

    def kept(self, found: Variable, before: int, keepdims: bool) -> Variable:
        """The axes back in their places, with length 1, behind so many others."""
        return expand_dims(found, tuple(before + i for i in self.axes)) if keepdims else found


def _checked(q: Any, v: Variable, method: str, weights: Any, most: float) -> Variable:
    """Quantiles as an array of the dtype that they are computed in.  Raises TypeError, ValueError."""
    if weights is not None:
        raise TypeError("quantiles take no weights: sort by argsort, and look the quantile up in the cumsum of weights")
    if np.dtype(v.dtype).kind == "c":
        raise TypeError(f"complex numbers have no order, found {describe(v)}: take real(...) or abs(...)")
    if v.dtype == "bool":
        raise TypeError(f"quantiles lie between numbers, found {describe(v)}: cast it to integers")
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, found {method!r}")
    wanted = as_variable(q)
    if wanted.ndim > 1:
        raise ValueError(f"q must be a scalar or a vector, found {describe(wanted)}")
    if isinstance(wanted, Constant) and not np.all((wanted.data >= 0) & (wanted.data <= most)):
        raise ValueError(f"quantiles must be from 0 to {most:g}, found {q!r}")
    floating = np.dtype(v.dtype).kind == "f"
    if floating and isinstance(q, int | float):
        return cast(wanted, v.dtype)
    if isinstance(q, int | float) or np.dtype(wanted.dtype).kind != "f":
        return cast(Constant(np.asarray(q, "float64")) if isinstance(q, int | float) else wanted, "float64")
    return wanted


def _quantiles(a: Any, q: Variable, axis: Any, method: str, keepdims: bool, ignores_nan: bool) -> Variable:
    ordered, how, flat = _Sorted.of(a, axis, ignores_nan), METHODS[method], reshape(q, (-1,))
    others = ordered.values.ndim - 1
    each = expand_dims(flat, tuple(range(1, 1 + others))) if ordered.ignores_nan else flat
    ranks = how.rank(cast(ordered.count, q.dtype), each)
    if how.weight is None:
        found = ordered.at(ranks)
    else:
        low = elementwise("floor", ranks)
        weight = cast(how.weight(ranks - low, ranks), q.dtype)
        if not ordered.ignores_nan:
            weight = expand_dims(weight, tuple(range(1, 1 + others)))
        found = _line(ordered.at(low), ordered.at(low + 1), weight)
    found = ordered.kept(ordered.with_nan(found), 1, keepdims)
    return found if q.ndim else getitem(found, 0)


def _line(a: Variable, b: Variable, t: Variable) -> Variable:
    """From a at t = 0 to b at t = 1, exact at both ends."""
    wide = b - a
    return where(elementwise("greater_equal", t, 0.5), b - wide * (1 - t), a + wide * t)


@public("quantile", numpy=("quantile",))
def quantile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False, weights: None = None
) -> Variable:
    """The quantiles q of the elements of `a` along axis: an int, several, or None for all.

    q: numbers from 0 to 1, a scalar or a vector, whose axis comes first in the result.  method: as NumPy's.
    A slice with NaN gives NaN.  Raises TypeError for complex numbers, truth values and weights, ValueError for another
    method and for quantiles known to lie outside.

    >>> quantile([3.0, 1.0, 2.0, 4.0], [0.5, 1.0]).eval()
    array([2.5, 4. ])
    """
    return _quantiles(a, _checked(q, as_variable(a), method, weights, 1), axis, method, keepdims, False)


@public("percentile", numpy=("percentile",))
def percentile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False, weights: None = None
) -> Variable:
    """The percentiles q, numbers from 0 to 100, of the elements of `a` along axis: see `quantile`.

    >>> percentile([3.0, 1.0, 2.0], 50).eval()
    array(2.)
    """
    wanted = _checked(q, as_variable(a), method, weights, 100) / 100
    return _quantiles(a, wanted, axis, method, keepdims, False)


@public("nanquantile", numpy=("nanquantile",))
def nanquantile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False, weights: None = None
) -> Variable:
    """The quantiles of the elements that are not NaN: see `quantile`; NaN where there are none.

    >>> nanquantile([3.0, np.nan, 1.0], 0.5).eval()
    array(2.)
    """
    return _quantiles(a, _checked(q, as_variable(a), method, weights, 1), axis, method, keepdims, True)


@public("nanpercentile", numpy=("nanpercentile",))
def nanpercentile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False, weights: None = None
) -> Variable:
    """The percentiles of the elements that are not NaN: see `quantile`.

    >>> nanpercentile([3.0, np.nan, 1.0], 50).eval()
    array(2.)
    """
    wanted = _checked(q, as_variable(a), method, weights, 100) / 100
    return _quantiles(a, wanted, axis, method, keepdims, True)


@public("median", numpy=("median",))
def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Variable:
    """The middle of the elements of `a` along axis, or the mean of the two in the middle; NaN where one is NaN.

    >>> median([[3.0, 1.0], [2.0, 4.0]], axis=1).eval()
    array([2., 3.])
    """
    ordered = _Sorted.of(a, axis, False)
    middle = ordered.values[(ordered.count - 1) // 2 : ordered.count // 2 + 1]
    found = reduce("mean", middle, 0, False)
    if ordered.values.type.shape[0] != 0 and np.dtype(ordered.values.dtype).kind == "f":
        any_nan = reduce("any", elementwise("isnan", ordered.values[-1:]), 0, False)
        found = where(any_nan, np.nan, found)
    return ordered.kept(found, 0, keepdims)


@public("nanmedian", numpy=("nanmedian",))
def nanmedian(a: Any, axis: Any = None, *, keepdims: bool = False) -> Variable:
    """The median of the elements that are not NaN; NaN where there are none.

    >>> nanmedian([3.0, np.nan, 1.0]).eval()
    array(2.)
    """
    ordered = _Sorted.of(a, axis, True)
    if not ordered.ignores_nan:
        return median(a, axis, keepdims=keepdims)
    ranks = FUNCTIONS["stack"]([(ordered.count - 1) // 2, ordered.count // 2], 0)
    return ordered.kept(reduce("mean", ordered.at(ranks), 0, False), 0, keepdims)
