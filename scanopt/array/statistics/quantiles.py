"""Quantiles, percentiles and medians, by NumPy's methods, with and without NaN.

The elements along the axes are sorted; a quantile is one of them, or lies between two neighbours.  Where NaN is left
out, the number of elements that count may differ from line to line, so ranks are an array.  [The methods are in
Hyndman and Fan 1996, Sample Quantiles in Statistical Packages.]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt import features
from scanopt.array.batching import dim, dims_of, transpose
from scanopt.array.constants import as_variable
from scanopt.array.op import Op
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.operators.joining import concatenate
from scanopt.array.operators.lengths import times
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.shaping import expand_dims, reshape
from scanopt.array.operators.subtensor import getitem
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import axes_of
from scanopt.array.statistics.averages import beside
from scanopt.array.statistics.reductions import no_out
from scanopt.array.variable import Constant, Variable, apply, describe
from scanopt.records import dataclass

__all__ = ["METHODS", "median", "nanmedian"]

Rank = Callable[[Variable, Variable], Variable]


@dataclass(frozen=True)
class _Method:
    """rank: of quantiles q among n elements, from 0 on.  weight: of the upper neighbour, None if ranks are whole."""

    rank: Rank
    weight: Callable[[Variable, Variable], Variable] | None = None


def _between(alpha: float, beta: float) -> _Method:
    return _Method(lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1, lambda part, rank: part)


def _whole(rank: Rank, stays: Callable[[Variable, Variable], Variable]) -> _Method:
    """A method with whole ranks: rounds a rank down where stays(fraction, rank) holds, else up."""

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
"""The methods of finding a quantile, by NumPy's names."""


@dataclass(frozen=True)
class _Lines:
    """An array with the axes that quantiles go over joined to one first axis.

    values: that array.  axes: the joined axes.  ndim: the number of axes of the original array.
    """

    values: Variable
    axes: tuple[int, ...]
    ndim: int

    @classmethod
    def of(cls, v: Variable, axis: Any) -> _Lines:
        axes = axes_of(axis, v)
        rest = [i for i in range(v.ndim) if i not in axes]
        dims = dims_of(v)
        total: Any = 1
        for i in axes:
            total = times(total, dims[i])
        moved = transpose(v, (*axes, *rest))
        if len(axes) != 1:
            moved = reshape(moved, [total, *(dims[i] for i in rest)])
        return cls(moved, axes, v.ndim)

    def kept(self, found: Variable, keepdims: bool) -> Variable:
        """With keepdims, restore the joined axes with length 1 at their places, after the axes of the quantiles."""
        before = found.ndim - (self.ndim - len(self.axes))
        return expand_dims(found, tuple(before + i for i in self.axes)) if keepdims else found


def _floating(v: Variable) -> bool:
    return np.dtype(v.dtype).kind == "f"


@dataclass(frozen=True)
class _Sorted:
    """Sorted lines.  count: how many elements count: one number, or one for each line if NaN is left out."""

    values: Variable
    count: Variable
    ignores_nan: bool

    @classmethod
    def of(cls, lines: Variable, ignores_nan: bool) -> _Sorted:
        ordered: Variable = FUNCTIONS["sort"](lines, 0)
        if ignores_nan and _floating(lines):
            there = elementwise("logical_not", elementwise("isnan", ordered))
            nothing = FUNCTIONS["full"]((1, *dims_of(ordered)[1:]), np.nan, ordered.dtype)  # for lines of NaN
            return cls(concatenate([ordered, nothing], 0), reduce("sum", there, 0, False, "int64"), True)
        return cls(ordered, as_variable(dim(ordered, 0)), False)

    def at(self, ranks: Variable) -> Variable:
        """The elements with these ranks; the first axis of both is that of the quantiles, the others are the lines'."""
        last = elementwise("maximum", self.count - 1, 0)
        whole = elementwise("minimum", elementwise("maximum", cast(ranks, "int64"), 0), last)
        if self.ignores_nan:
            found: Variable = FUNCTIONS["take_along_axis"](self.values, whole, 0)
            return found
        return getitem(self.values, whole)

    def beside(self, x: Variable) -> Variable:
        """A vector with an entry per quantile, given axes of length 1 so that it broadcasts against the lines."""
        return expand_dims(x, tuple(range(1, self.values.ndim)))


def _with_nan(found: Variable, ordered: Variable) -> Variable:
    """The quantiles found, but NaN for lines that contain a NaN, which is sorted to the end."""
    return where(elementwise("isnan", getitem(ordered, -1)), np.nan, found) if _floating(ordered) else found


@dataclass(frozen=True)
class _Wanted:
    """The quantiles asked for, from 0 to 1, in the dtype of ranks.  weak: whether they are a Python number."""

    q: Variable
    weak: bool
    method: str

    @classmethod
    def of(cls, q: Any, v: Variable, method: str, most: int) -> _Wanted:
        """Read q (0 to `most`).  Raises TypeError for complex v, ValueError for an unknown method or q out of range."""
        if np.dtype(v.dtype).kind == "c":
            raise TypeError(f"complex numbers have no order, found {describe(v)}: take real(...) or abs(...)")
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, found {method!r}")
        wanted = as_variable(q)
        if wanted.ndim > 2 or np.dtype(wanted.dtype).kind not in "biuf":
            raise ValueError(f"q must be real numbers, with at most 2 axes, found {describe(wanted)}")
        if isinstance(wanted, Constant) and not np.all((wanted.data >= 0) & (wanted.data <= most)):
            raise ValueError(f"quantiles must be from 0 to {most}, found {q!r}")
        if not isinstance(wanted, Constant):
            possible = elementwise("logical_and", wanted >= 0, wanted <= most)
            wanted = features.Assert(f"quantiles must be from 0 to {most}")(wanted, possible)
        if most == 100:
            wanted = elementwise("divide", wanted, 100)
        elif np.dtype(wanted.dtype).kind != "f" and method != "linear":
            wanted = cast(wanted, "float64")
        return cls(wanted, type(q) in (int, float), method)

    @property
    def whole(self) -> bool:
        """Whether quantiles are elements and not interpolated; so are integer q, which are the least and greatest."""
        return METHODS[self.method].weight is None or np.dtype(self.q.dtype).kind != "f"


def _quantiles(v: Variable, wanted: _Wanted, axis: Any, keepdims: bool, ignores_nan: bool) -> Variable:
    if v.dtype == "bool" and not wanted.whole:
        raise TypeError(f"quantiles lie between numbers, found {describe(v)}: cast it to integers")
    lines, how = _Lines.of(v, axis), METHODS[wanted.method]
    ordered, flat = _Sorted.of(lines.values, ignores_nan), reshape(wanted.q, (-1,))
    each = ordered.beside(flat) if ordered.ignores_nan else flat
    exact = np.dtype(flat.dtype).kind != "f"
    ranks = how.rank(cast(ordered.count, "int64" if exact else flat.dtype), each)
    if wanted.whole or how.weight is None:
        found = ordered.at(ranks)
    else:
        low = elementwise("floor", ranks)
        weight = cast(how.weight(ranks - low, ranks), v.dtype if wanted.weak and _floating(v) else flat.dtype)
        found = _line(ordered.at(low), ordered.at(low + 1), weight if ordered.ignores_nan else ordered.beside(weight))
    return _shaped(found if ordered.ignores_nan else _with_nan(found, ordered.values), lines, wanted, keepdims)


def _shaped(found: Variable, lines: _Lines, wanted: _Wanted, keepdims: bool) -> Variable:
    """The result with the shape of q as its first axes."""
    if wanted.q.ndim != 1:
        found = reshape(found, (*dims_of(wanted.q), *dims_of(found)[1:]))
    return lines.kept(found, keepdims)


def _line(a: Variable, b: Variable, t: Variable) -> Variable:
    """Interpolate linearly from a at t = 0 to b at t = 1, exact at both ends."""
    wide = b - a
    return where(elementwise("greater_equal", t, 0.5), b - wide * (1 - t), a + wide * t)


def _weighted(
    v: Variable, wanted: _Wanted, weights: Any, axis: Any, keepdims: bool, ignores_nan: bool
) -> Variable:  # fmt: skip
    """The first element, in order, at which the cumulated share of the weights reaches the quantile."""
    if wanted.method != "inverted_cdf":
        raise ValueError(f"only the method 'inverted_cdf' takes weights, found {wanted.method!r}")
    given = as_variable(weights)
    if isinstance(given, Constant) and not np.all(given.data >= 0):
        raise ValueError("weights may not be negative")
    lines = _Lines.of(v, axis)
    w = _Lines.of(apply(Op.make("full_like"), v, beside(v, given, axis)), axis).values
    order = FUNCTIONS["argsort"](lines.values, 0)
    values, w = (FUNCTIONS["take_along_axis"](x, order, 0) for x in (lines.values, w))
    if ignores_nan and _floating(v):
        w = where(elementwise("isnan", values), 0, w)
    total = FUNCTIONS["cumsum"](w, 0, "float64")
    share = elementwise("divide", total, total[-1:])
    share = cast(where(elementwise("equal", share, 0), -1.0, share), wanted.q.dtype)  # no element of weight 0
    flat = expand_dims(reshape(wanted.q, (-1,)), tuple(range(1, 1 + share.ndim)))
    ranks = reduce("sum", elementwise("less", share, flat), 1, False, "int64")
    found = FUNCTIONS["take_along_axis"](
        values, elementwise("minimum", ranks, elementwise("subtract", dim(values, 0), 1)), 0
    )
    return _shaped(found if ignores_nan else _with_nan(found, values), lines, wanted, keepdims)


def _public(name: str, most: int, ignores_nan: bool, doc: str) -> None:
    def f(
        a: Any, q: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, method: str = "linear",
        keepdims: bool = False, *, weights: Any = None,
    ) -> Variable:  # fmt: skip
        v = as_variable(a)
        no_out(name, v, out)
        wanted = _Wanted.of(q, v, method, most)
        if weights is None:
            return _quantiles(v, wanted, axis, keepdims, ignores_nan)
        return _weighted(v, wanted, weights, axis, keepdims, ignores_nan)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    public(name, numpy=(name,))(f)


_public(
    "quantile", 1, False,
    """The quantiles q of the elements of `a` along axis: an int, several, or None for all.

    q: numbers from 0 to 1, whose axes (at most 2) come first in the result.  method: as NumPy's.  weights: of the shape
    of `a`, or of its lengths along axis, with method="inverted_cdf".  A line with NaN gives NaN.
    Raises TypeError for complex numbers, truth values that would have to be averaged and `out`, ValueError for another
    method and for quantiles known to lie outside.

    >>> from scanopt import tensor as T
    >>> T.quantile([3.0, 1.0, 2.0, 4.0], [0.5, 1.0]).eval()
    array([2.5, 4. ])
    """,
)  # fmt: skip
_public(
    "percentile", 100, False,
    """The percentiles q, numbers from 0 to 100, of the elements of `a` along axis: see `quantile`.

    >>> from scanopt import tensor as T
    >>> T.percentile([3.0, 1.0, 2.0], 50).eval()
    array(2.)
    """,
)  # fmt: skip
_public(
    "nanquantile", 1, True,
    """The quantiles of the elements that are not NaN: see `quantile`; NaN where there are none.

    >>> from scanopt import tensor as T
    >>> T.nanquantile([3.0, np.nan, 1.0], 0.5).eval()
    array(2.)
    """,
)  # fmt: skip
_public(
    "nanpercentile", 100, True,
    """The percentiles of the elements that are not NaN: see `quantile`.

    >>> from scanopt import tensor as T
    >>> T.nanpercentile([3.0, np.nan, 1.0], 50).eval()
    array(2.)
    """,
)  # fmt: skip


@public("median", numpy=("median",))
def median(
    a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Variable:
    """The middle of the elements of `a` along axis, or the mean of the two in the middle; NaN where one is NaN.

    >>> median([[3.0, 1.0], [2.0, 4.0]], axis=1).eval()
    array([2., 3.])
    """
    v = as_variable(a)
    no_out("median", v, out)
    lines = _Lines.of(v, axis)
    ordered = _Sorted.of(lines.values, False)
    middle = ordered.values[(ordered.count - 1) // 2 : ordered.count // 2 + 1]
    found = reduce("mean", middle, 0, False)
    if ordered.values.type.shape[0] != 0 and _floating(v):
        any_nan = reduce("any", elementwise("isnan", ordered.values[-1:]), 0, False)
        found = where(any_nan, np.nan, found)
    return lines.kept(found, keepdims)


@public("nanmedian", numpy=("nanmedian",))
def nanmedian(
    a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Variable:
    """The median of the elements that are not NaN; NaN where there are none.

    >>> nanmedian([3.0, np.nan, 1.0]).eval()
    array(2.)
    """
    v = as_variable(a)
    no_out("nanmedian", v, out)
    if not _floating(v):
        return median(v, axis, keepdims=keepdims)
    lines = _Lines.of(v, axis)
    ordered = _Sorted.of(lines.values, True)
    ranks = FUNCTIONS["stack"]([(ordered.count - 1) // 2, ordered.count // 2], 0)
    return lines.kept(reduce("mean", ordered.at(ranks), 0, False), keepdims)
