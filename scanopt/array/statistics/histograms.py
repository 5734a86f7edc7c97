"""Histograms: how many elements lie in each bin."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from scanopt import features
from scanopt.array.batching import dim, dims_of, expand
from scanopt.array.constants import as_variable
from scanopt.array.functions.arguments import expect_axes, known_int, plus
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.operators.joining import concatenate
from scanopt.array.operators.lengths import times
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.shaping import flatten, reshape_to
from scanopt.array.operators.specify_shape import specify_shape
from scanopt.array.operators.subtensor import getitem, inc_subtensor
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.statistics.searching import searchsorted
from scanopt.array.variable import Constant, Variable, describe

__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


@public("histogram_bin_edges", numpy=("histogram_bin_edges",))
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Variable:
    """The edges of the bins of a histogram of `a`: a vector, one longer than there are bins.

    bins: their number, known before the run, or the edges themselves.  range: the first and the last edge, else the
    least and the greatest element.  Raises TypeError for the name of a rule, ValueError for no bins and for edges
    that are known to decrease, CheckError when run for others that do.

    >>> histogram_bin_edges([0.0, 4.0], bins=2).eval()
    array([0., 2., 4.])
    """
    if isinstance(bins, str):
        raise TypeError(f"bins is a number of bins or their edges, found {bins!r}: a rule looks at values")
    v, count = as_variable(a), known_int(bins)
    if count is None:
        edges = as_variable(bins)
        if edges.ndim != 1:
            raise ValueError(
                f"bins is a number that is known before the run, or a vector of edges, found {describe(edges)}"
            )
        return _increasing(edges)
    if count < 1:
        raise ValueError(f"bins must be a positive number, found {count}")
    if range is not None and not any(map(_symbolic, range)) and not range[0] <= range[1]:
        raise ValueError(f"range is from the first edge to the last, found {range[0]} to {range[1]}")
    low, high = _ends(v) if range is None else (as_variable(n) for n in range)
    apart = elementwise("equal", low, high)
    first = where(apart, elementwise("subtract", low, 0.5), low)
    last = where(apart, elementwise("add", high, 0.5), high)
    dtype = np.result_type(
        v.dtype, *(range if range is not None and not any(map(_symbolic, range)) else (first.dtype,))
    )
    wanted = dtype if dtype.kind == "f" else np.result_type(dtype, "float64")
    made: Variable = FUNCTIONS["linspace"](cast(first, "float64"), cast(last, "float64"), count + 1)
    return cast(made, wanted.name)


def _increasing(edges: Variable) -> Variable:
    if not isinstance(edges, Constant):
        return as_variable(features.Assert("the edges of bins must not decrease")(edges, edges[:-1] <= edges[1:]))
    if not (edges.data[:-1] <= edges.data[1:]).all():
        raise ValueError(f"the edges of bins must not decrease, found {edges.data.tolist()}")
    return edges


def _symbolic(x: Any) -> bool:
    return isinstance(x, Variable)


def _ends(v: Variable) -> tuple[Variable, Variable]:
    """The least and the greatest element; 0 and 1 for no elements."""
    flat = flatten(cast(v, "float64") if np.dtype(v.dtype).kind != "f" else v)
    none = elementwise("equal", dim(flat, 0), 0)
    ends = []
    for name, far, edge in (("min", np.inf, 0), ("max", -np.inf, 1)):
        with_far = concatenate([flat, FUNCTIONS["full"]((1,), far, flat.dtype)], 0)
        ends.append(where(none, cast(as_variable(edge), flat.dtype), reduce(name, with_far, 0, False)))
    return ends[0], ends[1]


@public("histogram", numpy=("histogram",))
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Variable, Variable]:
    """How many elements of `a` lie in each bin, and the edges of the bins; the last bin is closed on both sides.

    bins, range: see `histogram_bin_edges`.  weights: of the shape of `a`, added up in place of 1.  density: whether the
    result is divided by the widths of the bins and its sum.

    >>> histogram([1.0, 2.0, 1.0], bins=[0.0, 1.5, 3.0])[0].eval()
    array([2, 1])
    """
    v = as_variable(a)
    edges = histogram_bin_edges(v, bins, range)
    flat = flatten(v)
    if weights is None:
        ordered, before = FUNCTIONS["sort"](flat, 0), None
    else:
        order = FUNCTIONS["argsort"](flat, 0)
        each = specify_shape(expect_axes("histogram", weights, v.ndim, v.ndim), dims_of(v))
        w = getitem(flatten(each), order)
        ordered = getitem(flat, order)
        before = concatenate([FUNCTIONS["zeros"]((1,), w.dtype), FUNCTIONS["cumsum"](w, 0)], 0)
    below = concatenate([searchsorted(ordered, edges[:-1]), searchsorted(ordered, edges[-1:], "right")], 0)
    totals = below if before is None else getitem(before, below)
    found = elementwise("subtract", totals[1:], totals[:-1])
    if density:
        found = found / cast(FUNCTIONS["diff"](edges), "float64") / reduce("sum", found, None, False)
    return found, edges


@public("histogramdd", numpy=("histogramdd",))
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Variable, list[Variable]]:
    """How many points lie in each box of a grid, float64 with an axis per coordinate, and the edges by coordinate.

    sample: a matrix of points in rows, the number of columns known, or a sequence of vectors, one per coordinate.
    bins: one for all coordinates or one for each, range: one for each, both as of `histogram_bin_edges`.  weights: one
    per point, added up in place of 1.  density: whether the result is divided by the boxes and its sum.
    Raises ValueError where the numbers of coordinates differ or are not known.

    >>> histogramdd([[0.0, 0.0], [1.0, 1.0], [1.0, 0.9]], bins=2)[0].eval()
    array([[1., 0.],
           [0., 2.]])
    """
    columns = _coordinates(sample)
    many = list(bins) if isinstance(bins, list | tuple) else [bins] * len(columns)
    ranges = [None] * len(columns) if range is None else list(range)
    if not len(many) == len(ranges) == len(columns):
        raise ValueError(
            f"histogramdd needs bins and a range for each of {len(columns)} coordinates, found {len(many)} and "
            f"{len(ranges)}"
        )
    edges = [histogram_bin_edges(x, b, r) for x, b, r in zip(columns, many, ranges, strict=True)]
    place: Variable | int = 0
    lengths = [plus(dim(e, 0), 1) for e in edges]  # an outlier on each end
    for x, e, n in zip(columns, edges, lengths, strict=True):
        at = elementwise("subtract", searchsorted(e, x, "right"), cast(elementwise("equal", x, e[-1]), "int64"))
        place = elementwise("add", elementwise("multiply", place, n), at)
    one: Any = 1.0
    if weights is not None:
        one = cast(_points(weights, columns[0]), "float64")
    empty = FUNCTIONS["zeros"]((times(*lengths),), "float64")
    core = (slice(1, -1),) * len(columns)
    found = getitem(reshape_to(inc_subtensor(getitem(empty, place), one), lengths), core)
    if density:
        total = reduce("sum", found, None, False)
        for i, e in enumerate(edges):
            width = cast(FUNCTIONS["diff"](e), "float64")
            found = found / expand(width, tuple(j for j in builtins.range(len(edges)) if j != i))
        found = found / total
    return found, edges


def _points(x: Any, first: Variable) -> Variable:
    """A number for each point.  Raises ValueError, in the run at the latest, where there are more or fewer."""
    return specify_shape(expect_axes("histogramdd", x, 1, 1), dims_of(first))


def _coordinates(sample: Any) -> list[Variable]:
    """The coordinates of points, each as a vector."""
    if isinstance(sample, tuple):  # NumPy takes lists for matrices
        first, *others = (expect_axes("histogramdd", x, 1, 1) for x in sample)
        return [first, *(_points(x, first) for x in others)]
    v = as_variable(sample)
    points = expand(v, (1,)) if v.ndim == 1 else expect_axes("histogramdd", v, 2, 2)
    n = points.type.shape[1]
    if n is None:
        raise ValueError(
            f"histogramdd needs a number of coordinates that is known before the run, found {describe(points)}: "
            "give a tuple of vectors"
        )
    return [points[:, i] for i in builtins.range(n)]


@public("histogram2d", numpy=("histogram2d",))
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Variable, Variable, Variable]:
    """How many points (x, y) lie in each box of a grid, and the edges of both axes; arguments as of `histogramdd`.

    bins: a number, a vector of edges for both axes, or two of these.

    >>> histogram2d([0.0, 1.0], [0.0, 1.0], bins=2)[0].eval()
    array([[1., 0.],
           [0., 1.]])
    """
    two = isinstance(bins, list | tuple) and len(bins) == 2
    found, edges = histogramdd((x, y), list(bins) if two else [bins, bins], range, density, weights)
    return found, edges[0], edges[1]
