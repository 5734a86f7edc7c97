"""Cumulative sums, products, extrema, and all other states that one ufunc takes on with what feeds them.

The first row of the state is part of what is accumulated, and the dtype is that of the state.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.facts_loops import runs_all, within
from scanopt.calculus.facts_recurrences import accumulates, entries, folds, folds_in_order
from scanopt.calculus.facts_states import becomes
from scanopt.calculus.facts_values import int64, of_dtype, scalar
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Op, State, Text, Value, delay, hold, one_row, seq, steps, tail


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
    """A state that takes on one entry after the other accumulates them."""
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
    """The last value of such a state needs no room for those before it."""
    new = op(delay(c, init, s, 1), x)
    when = [becomes(s, new), of_dtype(new, d), folds_in_order(op, d, g), entries(c, x, X), runs_all(c), within(c, p)]
    return Equation(tail(c, new, 1), one_row(c, g(init[-1:], X), p), when=when)


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
    """The last value of such a state needs no values before it."""
    new = op(delay(c, init, s, 1), x)
    when = [becomes(s, new), of_dtype(new, d), folds(op, d, g), entries(c, x, X), runs_all(c), within(c, p)]
    return Equation(tail(c, new, 1), one_row(c, g(init[-1:], X), p), when=when)


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
    """A counter ends at its start plus the number of steps times the increment (integers, modulo 2^64)."""
    new = delay(c, init, s, 1) + hold(c, k)
    last = init[-1] + k * steps(c)
    when = [becomes(s, new), int64(new), int64(k), scalar(k), runs_all(c), within(c, p)]
    return Equation(tail(c, new, 1), one_row(c, last, p), when=when)
