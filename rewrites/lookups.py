"""Looking up rows 0, 1, ... n-1, as a loop over a counter does, is taking the first n rows."""

from typing import Any

import scanopt
import scanopt.loops.require  # an operator of its own, beside those of the table
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Value, const_int, ops, vmap

_LOOKUP = ops("getitem", index=("array",))
_IN_BOUNDS = ops(
    "require", relation="ge", error="IndexError", message="index {found} is out of bounds for axis 0 with size {found}"
)


def _rows(W: Any, *bounds: Any) -> Any:
    return scanopt.map(lambda i, w: w[i], T.arange(*bounds), [W])[0]


@law(
    licence="exact",
    enabling=True,
    example=lambda W, p: scanopt.map(lambda i, w: w[i], p, [W])[0],
    never=lambda X, p: scanopt.map(lambda row, i: row[i], [X, p])[0],
)
def lookups_at_once(W: Value, places: Value) -> Equation:
    """One row for each step is all rows at once."""
    one_by_one = vmap(ops("getitem", index=("in",)), "01")
    return Equation(one_by_one(W, places), _LOOKUP(W, places))


@law(
    licence="exact",
    source="scan-semantics: W[i] over arange(n) is a slice of W",
    example=lambda W: _rows(W, W.shape[0]),
    never=(lambda W, x: _rows(W, x.shape[0]), lambda W: _rows(W, 1, W.shape[0]), lambda W: _rows(W, 0, W.shape[0], 2)),
)
def all_rows_in_order(W: Value) -> Equation:
    """All rows in their order are the array."""
    count = ops.arange(const_int(0), W.shape[0], const_int(1), dtype="int64")
    return Equation(_LOOKUP(W, count), W)


@law(
    licence="exact",
    source="scan-semantics: W[i] over arange(n) is a slice of W",
    example=lambda W, x: _rows(W, x.shape[0]),
    never=(lambda W, n: W[n], lambda W, n: _rows(W, 1, n), lambda W, n: _rows(W, 0, n, 2)),
)
def first_rows_in_order(W: Value, n: Value) -> Equation:
    """The first n rows in their order; IndexError where there are fewer."""
    zero = const_int(0)
    rows = ops.maximum(n, zero)
    checked = ops.minimum(rows, _IN_BOUNDS(W.shape[0], rows))
    return Equation(_LOOKUP(W, ops.arange(zero, n, const_int(1), dtype="int64")), W[:checked])
