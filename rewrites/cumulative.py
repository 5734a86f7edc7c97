"""Cumulative sums, products, extrema: states that apply one ufunc to the state and a sequence.

The first row of the state takes part in the accumulation, which has the dtype of the state.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import fact
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import (
    Clock,
    Op,
    State,
    Text,
    Value,
    as_row,
    delay,
    hold,
    one_row,
    ops,
    row_of,
    seq,
    steps,
    tail,
)
from scanopt.facts.loops import runs_all, within
from scanopt.facts.recurrences import accumulates, entries, folds, folds_in_order
from scanopt.facts.states import becomes
from scanopt.facts.values import floating, int64, like, nothing, of_dtype, scalar, vector


@fact
def turns(g: Op, t: Op, h: Op) -> None:
    """g(t(X)) is t(h(X)): g is cumulative, and t rearranges axes (given)."""


def _trace(step: Any, x: Any, start: Any, *more: Any) -> Any:
    """All values of one state."""
    return scanopt.scan(step, x, start, list(more))[0]


def _counter(step: Any, start: Any, k: Any) -> Any:
    return scanopt.scan(step, None, start, [k], n_steps=5)[0]


@law(
    licence="exact",
    source="a running sum is a cumulative sum",
    example=(
        lambda x, a: _trace(lambda v, s: s + v, x, a),
        lambda x, a: _trace(lambda v, s: T.maximum(s, T.exp(v)), x, a),
        lambda p, n: _trace(lambda v, s: s * v, p, n),
        lambda x, a: scanopt.scan(lambda v, s, h: [s + v * h, T.tanh(h + v)], x, [a, a])[0][0],
    ),
    never=(
        lambda x, a: _trace(lambda v, s: T.tanh(s) + v, x, a),
        lambda x, a: _trace(lambda v, s: s + T.exp(s), x, a),
        lambda x, a: scanopt.scan(lambda v, s: [T.tanh(s * v), s + v], x, [a, None])[0],
        lambda x, a: _trace(lambda v, s: s / v, T.cast(x, "complex64"), T.cast(a, "complex64")).real * x,
    ),
)
def accumulation(c: Clock, op: Op, init: Value, s: State, x: Value, d: Text, g: Op, X: Value) -> Equation:
    """A state that becomes op(s, x), with x from a sequence, is op.accumulate over its initial row and the sequence."""
    left = op(delay(c, init, s, 1), x)
    when = [becomes(s, left), of_dtype(left, d), accumulates(op, d, g), entries(c, x, X)]
    return Equation(left, seq(c, g(init[-1:], X)), when=when)


@law(
    licence="exact",
    source="the last of a running sum is a sum",
    example=lambda X, y: _trace(lambda v, s: T.hypot(s, v), X, y)[-1],
    never=(
        lambda x, a: _trace(lambda v, s: T.tanh(s) + v, x, a)[-1],
        lambda x, a: scanopt.scan(lambda v, s: [s + v, s * v], x, [a, None])[0][1][-1],
        lambda x, a: _trace(lambda v, s: s + v, x, a),
        lambda x, a: _trace(lambda v, s: (s + v, scanopt.until(s > 1)), x, a)[-1],
        lambda x, a: _trace(lambda v, s: s / v, T.cast(x, "complex64"), T.cast(a, "complex64"))[-1].real * x,
    ),
)
def last_of_accumulation_in_order(
    c: Clock, op: Op, init: Value, s: State, x: Value, d: Text, g: Op, X: Value, p: Clock
) -> Equation:
    """The last row of an accumulation is a fold: it stores no rows before it."""
    new = op(delay(c, init, s, 1), x)
    when = [becomes(s, new), of_dtype(new, d), folds_in_order(op, d, g), entries(c, x, X), runs_all(c), within(c, p)]
    return Equation(tail(c, new, 1), row_of(X, g(init[-1:], X), p), when=when)


@law(
    licence="exact",
    source="the last of a running sum is a sum",
    example=(lambda x, a: _trace(lambda v, s: s + v, x, a)[-1], lambda p, n: _trace(lambda v, s: s + v * v, p, n)[-1]),
    never=(
        lambda x, a: _trace(lambda v, s: T.tanh(s) + v, x, a)[-1],
        lambda x, a: scanopt.scan(lambda v, s: [s + v, s * v], x, [a, None])[0][1][-1],
        lambda x, a: _trace(lambda v, s: s / v, x, a)[-1],
        lambda x, a: _trace(lambda v, s: s + v, x, a),
        lambda x, a: _trace(lambda v, s: (s + v, scanopt.until(s > 1)), x, a)[-1],
        lambda x, a: _trace(lambda v, s: T.maximum(s, v), T.cast(x, "complex64"), T.cast(a, "complex64"))[-1].real * x,
    ),
)
def last_of_accumulation(
    c: Clock, op: Op, init: Value, s: State, x: Value, d: Text, g: Op, X: Value, p: Clock
) -> Equation:
    """The last row of an accumulation is a fold, which may regroup: it computes no rows before it."""
    new = op(delay(c, init, s, 1), x)
    when = [becomes(s, new), of_dtype(new, d), folds(op, d, g), entries(c, x, X), runs_all(c), within(c, p)]
    return Equation(tail(c, new, 1), row_of(X, g(init[-1:], X), p), when=when)


def _after(init: Any, trace: Any) -> Any:
    return T.concatenate([init, trace])[-1]


@law(
    licence="exact",
    source="gradients with respect to weights: sums from zeros on",
    example=lambda x, a: _after(T.expand_dims(a, 0), _trace(lambda v, s: s + v, x, a)),
    never=lambda x, a, b: _after(T.expand_dims(b, 0), _trace(lambda v, s: s + v, x, a)),
)
def last_of_start_and_sum(init: Value, X: Value, p: Clock) -> Equation:
    """The last row of a start followed by the end of its running sums is the total, also if nothing is added."""
    total = ops.fold(init[-1:], X, ufunc="add")
    return Equation(ops.concatenate(init, row_of(X, total, p), axis=0)[-1], total)


@law(
    licence="exact",
    source="gradients with respect to weights: sums from zeros on",
    example=lambda x, a: _after(T.expand_dims(a, 0), _trace(lambda v, s: s + v, x, a)),
    never=lambda x, a, b: _after(T.expand_dims(b, 0), _trace(lambda v, s: s + v, x, a)),
)
def last_of_start_and_sum_in_order(init: Value, X: Value, p: Clock) -> Equation:
    """The last row of a start followed by the end of its running sums is the total, bit for bit."""
    total = ops.fold_in_order(init[-1:], X, ufunc="add")
    return Equation(ops.concatenate(init, row_of(X, total, p), axis=0)[-1], total)


@law(
    licence="reassoc",
    source="gradients with respect to weights: sums from zeros on",
    example=lambda X, y: _trace(lambda v, s: s + v, X, T.zeros_like(y))[-1],
    never=(
        lambda X, y: _trace(lambda v, s: s + v, X, T.ones_like(y))[-1],
        lambda x, y: _trace(lambda v, s: s + v, T.cast(x, "float32"), T.zeros_like(y[0]))[-1],
        lambda p, k: _trace(lambda v, s: s + v, T.cast(p, "int8"), T.zeros_like(T.cast(k, "int8")))[-1],
    ),
)
def sum_from_nothing(Z: Value, y: Value, e: Value, X: Value, d: Text) -> Equation:
    """A fold that starts with zeros is a sum (-0.0 aside), broadcast to the shape of the zeros."""
    left = ops.fold(ops.expand_dims(Z, axis=(0,)), X, ufunc="add")
    total = ops.sum(X, axis=(0,), keepdims=False)
    when = [nothing(e), like(Z, y, e), floating(Z), of_dtype(Z, d), of_dtype(X, d)]
    return Equation(left, ops.spread_like(total, y), when=when)


@law(
    licence="reassoc",
    example=lambda x: _trace(lambda v, s: s + v, x, T.zeros(())),
    never=(
        lambda x: _trace(lambda v, s: s + v, x, T.ones(())),
        lambda X: _trace(lambda v, s: s + v, X, T.zeros(3)),
        lambda x, y: _trace(lambda v, s: s + v, T.expand_dims(x, 1), T.zeros_like(y[:1])),
        lambda x: _trace(lambda v, s: s + v, T.cast(x, "float32"), T.zeros(())),
        lambda x: _trace(lambda v, s: s + v, T.cast(x, "float16"), T.zeros((), "float16")),
    ),
)
def sums_from_nothing(Z: Value, x: Value, d: Text) -> Equation:
    """Running sums that start with zero are a cumulative sum of the numbers alone (-0.0 aside)."""
    left = ops.accumulate(Z, x, ufunc="add")
    when = [nothing(Z), vector(Z), floating(x), of_dtype(Z, d), of_dtype(x, d)]
    return Equation(left, ops.cumsum(x, axis=0), when=when)


def _small(X: Any) -> Any:
    return T.cast(X, "float32")


@law(
    licence="reassoc",
    example=lambda X: _trace(lambda v, s: s + v, X, T.zeros_like(X[0])),
    never=(
        lambda X: _trace(lambda v, s: s + v, X, T.ones_like(X[0])),
        lambda X, y: _trace(lambda v, s: s + v, X, T.zeros_like(y)),
        lambda X: _trace(lambda v, s: s + v, _small(X), T.zeros_like(_small(X)[0], dtype="float64")),
        lambda X: _trace(lambda v, s: s + v, T.cast(X, "complex64"), T.zeros_like(T.cast(X, "complex64")[0])).real,
    ),
)
def sums_of_rows_from_nothing(Z: Value, e: Value, X: Value, d: Text) -> Equation:
    """Running sums of rows that start with as many zeros are a cumulative sum (-0.0 aside) of at least one row."""
    left = ops.accumulate(as_row(Z), X, ufunc="add")
    sums = ops.given(ops.cumsum(X, axis=0), X.shape[0])
    when = [nothing(e), like(Z, X[0], e), floating(X), of_dtype(Z, d), of_dtype(X, d)]
    return Equation(left, sums, when=when)


@law(
    licence="exact",
    example=(
        lambda X: T.cumsum(X.T, axis=1).T,
        lambda X: scanopt.map(lambda column: T.cummax(column, axis=0), T.exp(X).T)[0].T,
    ),
    never=(lambda X: T.sort(X.T, axis=1).T, lambda X: T.cumsum(T.exp(X), axis=1).T),
)
def cumulative_of_turned(g: Op, t: Op, h: Op, X: Value) -> Equation:
    """Running sums, products and extremes of an array with its axes rearranged are those along another axis."""
    return Equation(g(t(X)), t(h(X)), when=[turns(g, t, h)])


@law(
    licence="exact",
    source="the last of a counter is a product",
    example=lambda n, k: _counter(lambda s, v: s + v, n, k)[-1],
    never=(
        lambda n, k: _counter(lambda s, v: s + v, n, k),
        lambda a, k: _counter(lambda s, v: s + v, a, k)[-1],
        lambda n, k: _counter(lambda s, v: s + v, n, T.cast(k, "int8"))[-1],
        lambda n, k: _counter(lambda s, v: (s + v, scanopt.until(s > v)), n, k)[-1],
        lambda n, k: scanopt.scan(lambda s, v: [T.abs(s), s + v], None, [n, None], [k], n_steps=5)[0][1][-1],
        lambda p, q: _counter(lambda s, v: s + v, p, q)[-1],
    ),
)
def last_of_counter(c: Clock, init: Value, s: State, k: Value, p: Clock) -> Equation:
    """The last value of a counter is its start plus the number of steps times the increment (integers, modulo 2^64)."""
    new = delay(c, init, s, 1) + hold(c, k)
    last = init[-1] + k * steps(c)
    when = [becomes(s, new), int64(new), int64(k), scalar(k), runs_all(c), within(c, p)]
    return Equation(tail(c, new, 1), one_row(c, last, p), when=when)
