"""A loop keeps only the rows that are read and runs only the steps that matter (ScanSaveMem)."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import (
    Clock,
    Int,
    Text,
    Value,
    as_row,
    at,
    const_at,
    cut,
    on,
    ops,
    stack,
    steps,
    tail,
    to_cut,
)  # fmt: skip
from scanopt.facts.loops import runs_all, within
from scanopt.facts.values import at_least, less


def _power(x: Any, n: Any) -> Any:
    return scanopt.scan(lambda s, v: s * v, None, [T.ones_like(x)], [x], n_steps=n)[0]


def _decay(x: Any, n: Any) -> Any:
    return scanopt.scan(lambda s: T.tanh(s), None, [x], n_steps=n)[0]


def _powers_until(a: Any, n: Any) -> Any:
    return scanopt.scan(lambda s, b: (s * b, scanopt.until(s > 9)), None, [T.ones_like(a)], [a], n_steps=n)[0]


def _sums(X: Any, x: Any) -> Any:
    return scanopt.scan(lambda v, s: T.tanh(s + v), X, [x])[0]


def _sums_until(x: Any, a: Any) -> Any:
    return scanopt.scan(lambda v, s: (T.tanh(s + v), scanopt.until(s > 9)), x, [a])[0]


@law(
    licence="exact",
    source="Theano scan internals, ScanSaveMem",
    example=(lambda x, n: _power(x, n)[-1], lambda x, n: _power(x, n)[-3]),
    never=(lambda x, n: _power(x, n).sum(axis=0), lambda x, n: _power(x, n)[2]),
)
def row_from_the_end(c: Clock, v: Value, k: Int) -> Equation:
    """Row -k of a trace needs only its last k rows."""
    trace, last = stack(c, v), tail(c, v, -k)
    return Equation(trace[k], last[k], when=[less(k, 0)])


@law(
    licence="exact",
    source="Theano scan internals, ScanSaveMem",
    example=lambda x, n: _decay(x, n)[-2:],
    never=lambda x, n: _power(x, n)[:2],
)
def rows_from_the_end(c: Clock, v: Value, k: Int) -> Equation:
    """The last k rows of a trace are a tail: nothing else of it is kept."""
    return Equation(stack(c, v)[-k:], tail(c, v, k))


@law(
    licence="exact",
    enabling=True,
    example=lambda x, n: _decay(x, n)[-2:].shape[0],
    never=lambda a, n: _powers_until(a, n)[-2:].shape[0],
)
def length_of_last_rows(c: Clock, v: Value, k: Int, p: Clock) -> Equation:
    """How many last rows there are says the number of steps."""
    most = const_at(p, Text("+", ("int64:", Text("to-string", (k,)))))
    return Equation(tail(c, v, k).shape[0], ops.minimum(steps(c), most), when=[runs_all(c), within(c, p)])


@law(
    licence="exact",
    source="Theano scan internals, ScanSaveMem (fewer steps)",
    example=lambda x, n: _power(x, n)[2],
    never=(lambda x, n: _power(x, n)[-1], lambda a, n: _powers_until(a, n)[2]),
)
def row_from_the_start(c: Clock, v: Value, k: Int) -> Equation:
    """Row k of a trace needs a loop of k + 1 steps, which keeps that row alone."""
    row = at(cut(c, k + 1), on(to_cut(c, k + 1), v), k)
    return Equation(stack(c, v)[k], row, when=[at_least(k, 0), runs_all(c)])


@law(
    licence="exact",
    source="Theano scan internals, ScanSaveMem (values of shared variables)",
    example=lambda x, n: T.concatenate([T.expand_dims(x, 0), _power(x, n)])[-1],
    never=lambda x, n: T.concatenate([x, x])[-1] + n,
)
def last_value(c: Clock, init: Value, v: Value) -> Equation:
    """The last row of some rows followed by a trace needs only the last row of the trace."""
    both = ops("concatenate", axis=0)
    trace, last = both(init, stack(c, v)), both(init, tail(c, v, 1))
    return Equation(trace[-1], last[-1])


@law(
    licence="exact",
    enabling=True,
    example=lambda x, X: T.concatenate([T.expand_dims(x, 0), _sums(X, x)])[X.shape[0]],
    never=(
        lambda x, X: T.concatenate([T.expand_dims(x, 0), _sums(X, x)])[X.shape[1]],
        lambda x, X: T.concatenate([X[:2], _sums(X, x)])[X.shape[0]],
        lambda a, x: T.concatenate([T.expand_dims(a, 0), _sums_until(x, a)])[x.shape[0]],
    ),
)
def row_behind_all_steps(c: Clock, x: Value, v: Value) -> Equation:
    """One row and a trace of n steps end with row n."""
    rows = ops.concatenate(as_row(x), stack(c, v), axis=0)
    return Equation(rows[steps(c)], rows[-1], when=[runs_all(c)])
