"""Histograms: how many elements lie in each bin."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanopt.array.batching import dim
from scanopt.array.constants import as_variable
from scanopt.array.functions.arguments import expect_axes, known_int
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.operators.joining import concatenate
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.shaping import flatten
from scanopt.array.operators.subtensor import getitem
from scanopt.array.statistics.searching import searchsorted
from scanopt.array.variable import FUNCTIONS, Variable, describe, public

__all__ = ["histogram", "histogram_bin_edges"]


@public("histogram_bin_edges", numpy=("histogram_bin_edges",))
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Variable:
    """The edges of the bins of a histogram of `a`: a vector, one longer than there are bins.

    bins: their number, known before the run, or the edges themselves.  range: the first and the last edge, else the
    least and the greatest element.  Raises TypeError for the name of a rule, ValueError for no bins.

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
        return edges
    if count < 1:
        raise ValueError(f"bins must be a positive number, found {count}")
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
        w = getitem(flatten(expect_axes("histogram", weights, v.ndim, v.ndim)), order)
        ordered = getitem(flat, order)
        before = concatenate([FUNCTIONS["zeros"]((1,), w.dtype), FUNCTIONS["cumsum"](w, 0)], 0)
    below = concatenate([searchsorted(ordered, edges[:-1]), searchsorted(ordered, edges[-1:], "right")], 0)
    totals = below if before is None else getitem(before, below)
    found = elementwise("subtract", totals[1:], totals[:-1])
    if density:
        found = found / cast(FUNCTIONS["diff"](edges), "float64") / reduce("sum", found, None, False)
    return found, edges
