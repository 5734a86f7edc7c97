"""Running sums, products and extremes from the first row, zeros or ones on are cumulative operators of the rows."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import fact
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Op, Text, Value, as_row, const_int, counted, hold, ops, seq
from scanopt.facts.operators import left_neutral
from scanopt.facts.recurrences import accumulates, cumulates, cumulates_from_itself
from scanopt.facts.values import float64, floating, like, nothing, of_dtype, same_type, scalar, vector


@fact
def runs_along(op: Op, g: Op) -> None:
    """op reduces the rows to one, and g(X) are what comes out for the first row of X, for the first two, and so on, up
    to rounding (given).
    """


def _trace(step: Any, x: Any, start: Any) -> Any:
    """All values of one state."""
    return scanopt.scan(step, x, start)[0]


def _added(X: Any, start: Any) -> Any:
    return _trace(lambda v, s: s + v, X, start)


def _multiplied(X: Any, start: Any) -> Any:
    return _trace(lambda v, s: s * v, X, start)


def _greatest(X: Any, start: Any) -> Any:
    return _trace(lambda v, s: T.maximum(s, v), X, start)


def _of_first_rows(reduce: Any, X: Any, first: int = 1) -> Any:
    """What the first row comes to, the first two, and so on."""
    return scanopt.map(lambda i, X: reduce(X[: i + first]), T.arange(X.shape[0]), [X])[0]


def _first_rows(c: Clock, X: Value) -> Value:
    """The first row of X at the first step of c, the first two rows at the second one, and so on, to all of them."""
    one = const_int(1)
    return hold(c, X)[: seq(c, counted(one, X.shape[0] + one))]


def _small(X: Any) -> Any:
    return T.cast(X, "float32")


def _lowest(X: Any) -> Any:
    return T.constant(float("-inf"), dtype=X.dtype)


@law(
    licence="exact",
    example=(
        lambda X: T.concatenate([X[:1], _added(X[1:], X[0])]),
        lambda x: T.concatenate([x[:1], _multiplied(x[1:], x[0])]),
        lambda x: T.concatenate([x[:1], _greatest(x[1:], x[0])]),
    ),
    never=(
        lambda X: T.concatenate([X[1:2], _added(X[1:], X[0])]),
        lambda x: T.concatenate([x[:1], _trace(lambda v, s: T.hypot(s, v), x[1:], x[0])]),
        lambda X: T.concatenate([T.cast(X, "int8")[:1], _added(T.cast(X, "int8")[1:], T.cast(X, "int8")[0])]) * 2.0,
    ),
)
def cumulative_after_the_first(h: Op, g: Op, d: Text, X: Value) -> Equation:
    """A first row, and those of a running sum, product or extreme that starts with it, are the cumulative one of at
    least one row."""
    running = h(as_row(X[0]), X[1:])
    whole = ops.given(g(X), X.shape[0])
    return Equation(ops.concatenate(X[:1], running, axis=0), whole, when=[cumulates(h, g, d), of_dtype(X, d)])


@law(
    licence="exact",
    example=(lambda X: _added(X[1:], X[0]), lambda x: _greatest(x[1:], x[0])),
    never=(
        lambda X: _added(X[1:], X[1]),
        lambda x: _trace(lambda v, s: T.hypot(s, v), x[1:], x[0]),
        lambda X: _added(T.cast(X, "int8")[1:], T.cast(X, "int8")[0]) * 2.0,
    ),
)
def running_after_the_first(h: Op, g: Op, d: Text, X: Value) -> Equation:
    """A running sum, product or extreme that starts with the first row is the cumulative one without its first row."""
    whole = ops.given(g(X), X.shape[0])
    return Equation(h(as_row(X[0]), X[1:]), whole[1:], when=[cumulates(h, g, d), of_dtype(X, d)])


@law(
    licence="exact",
    example=(lambda x: _greatest(x, x[0]), lambda X: _trace(lambda v, s: T.minimum(s, v), X, X[0])),
    never=(lambda x: _greatest(x, x[1]), lambda x: _added(x, x[0])),
)
def extremes_from_the_first(h: Op, g: Op, X: Value) -> Equation:
    """A running extreme that starts with the first row is the cumulative one of at least one row."""
    whole = ops.given(g(X), X.shape[0])
    return Equation(h(as_row(X[0]), X), whole, when=[cumulates_from_itself(h, g)])


@law(
    licence="exact",
    example=(
        lambda x: _multiplied(x, T.ones(())),
        lambda x: _greatest(x, _lowest(x)),
        lambda p: _greatest(p, T.constant(-(2**63), dtype="int64")),
    ),
    never=(
        lambda x: _multiplied(x, T.zeros(())),
        lambda x: _greatest(x, T.zeros(())),
        lambda x: _greatest(x, -_lowest(x)),
        lambda X: _multiplied(X, T.ones(3)),
        lambda x: _multiplied(_small(x), T.ones(())),
        lambda x: _multiplied(T.cast(x, "int8"), T.ones((), "int8")) * 2.0,
    ),
)
def cumulative_from_neutral(h: Op, g: Op, op: Op, e: Value, x: Value, d: Text) -> Equation:
    """Running sums, products and extremes of numbers that start with the neutral element are cumulative ones."""
    start = as_row(e)
    when = [accumulates(op, d, h), cumulates(h, g, d), left_neutral(op, e, d), of_dtype(e, d), same_type(start, x)]
    return Equation(h(start, x), g(x), when=when)


@law(
    licence="exact",
    example=(lambda X: _multiplied(X, T.ones_like(X[0])), lambda X: _greatest(X, T.full_like(X[0], _lowest(X)))),
    never=(
        lambda X: _multiplied(X, T.zeros_like(X[0])),
        lambda X, y: _multiplied(X, T.ones_like(y)),
        lambda X, y: _greatest(X, T.full_like(y, _lowest(X))),
        lambda X: _greatest(X, T.full_like(X[0], -_lowest(X))),
        lambda X: _multiplied(_small(X), T.ones_like(_small(X)[0], dtype="float64")),
        lambda X: _multiplied(T.cast(X, "int8"), T.ones_like(T.cast(X, "int8")[0])) * 2.0,
    ),
)
def cumulative_of_rows_from_neutral(h: Op, g: Op, op: Op, Z: Value, e: Value, X: Value, d: Text) -> Equation:
    """Those of rows that start with as many neutral elements are cumulative ones of at least one row."""
    start = as_row(Z)
    neutral = [like(Z, X[0], e), left_neutral(op, e, d)]
    when = [accumulates(op, d, h), cumulates(h, g, d), *neutral, of_dtype(Z, d), same_type(start, X)]
    return Equation(h(start, X), ops.given(g(X), X.shape[0]), when=when)


@law(
    licence="reassoc",
    example=lambda X: _added(X, T.zeros(X.shape[1])),
    never=(
        lambda X: _added(X, T.ones(X.shape[1])),
        lambda X, Y: _added(X, T.zeros(Y.shape[1])),
        lambda x, X: _added(X, T.repeat(T.zeros_like(x)[None], X.shape[1], axis=0)),
        lambda X: _added(_small(X), T.zeros(_small(X).shape[1])),
        lambda X: _added(T.cast(X, "int8"), T.zeros(T.cast(X, "int8").shape[1], "int8")) * 2.0,
    ),
)
def sums_of_rows_from_zeros(e: Value, X: Value, d: Text) -> Equation:
    """Running sums of rows that start with zeros, as many as there are columns, are a cumulative sum (-0.0 aside)."""
    left = ops.accumulate(as_row(ops.repeat_rows(e, X.shape[1])), X, ufunc="add")
    when = [nothing(e), scalar(e), floating(X), of_dtype(e, d), of_dtype(X, d)]
    return Equation(left, ops.cumsum(X, axis=0), when=when)


@law(
    licence="reassoc",
    example=(lambda x: _of_first_rows(T.sum, x), lambda X: _of_first_rows(lambda rows: rows.max(axis=0), X)),
    never=(
        lambda x: _of_first_rows(T.sum, x, 2),
        lambda x: _of_first_rows(T.std, x),
        lambda x: _of_first_rows(T.sum, T.cast(x, "int8")),
    ),
)
def first_rows_reduced(c: Clock, op: Op, g: Op, X: Value) -> Equation:
    """The sums, products or extremes of the first row, of the first two, and so on, are running ones."""
    return Equation(op(_first_rows(c, X)), seq(c, g(X)), when=[runs_along(op, g), floating(X)])


@law(
    licence="reassoc",
    example=lambda x: _of_first_rows(T.mean, x),
    never=(
        lambda x: _of_first_rows(T.mean, x, 2),
        lambda X: _of_first_rows(lambda rows: rows.mean(axis=0), X),
        lambda x: _of_first_rows(T.mean, _small(x)),
    ),
)
def means_of_first_rows(c: Clock, x: Value) -> Equation:
    """The means of the first entry, of the first two, and so on, are running sums divided by their numbers."""
    one = const_int(1)
    means = ops.cumsum(x, axis=0) / counted(one, x.shape[0] + one)
    first = ops.mean(_first_rows(c, x), axis=(0,), keepdims=False)
    return Equation(first, seq(c, means), when=[vector(x), float64(x)])
