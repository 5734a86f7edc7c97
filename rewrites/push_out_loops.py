"""A loop inside a loop, once for all steps of the outer one: loops change places, and the outer one is an axis."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.facts import forward
from scanopt.calculus.facts_lifting import liftable
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Int, Value, lift, lifted, on, ops, stack, tail

_SOURCE = "internal documentation of scan, PushOutSeqScan, for whole loops"


def _inner(row: Any) -> Any:
    return scanopt.scan(lambda v, s: T.tanh(s * v), row, [T.constant(0.5, dtype="float64")])[0]


def _each(X: Any) -> Any:
    return scanopt.map(_inner, X)[0]


def _growing(p: Any, a: Any) -> Any:
    """Inner loops of lengths that differ."""
    step = lambda n, s: scanopt.scan(lambda v: T.tanh(v), None, [s], n_steps=n)[0][-1:]  # noqa: E731
    return scanopt.map(step, abs(p) % 4 + 1, [a])[0]


def _recurrent(X: Any, a: Any) -> Any:
    """The inner loop starts where the outer state is, which its trace leads to."""

    def step(row: Any, s: Any) -> Any:
        trace = scanopt.scan(lambda v, r: T.tanh(r * v), row, [s])[0]
        return [trace.sum() * trace[-1:].sum(), trace, trace[-1:]]

    return scanopt.scan(step, X, [a, None, None])[0]


def _until(X: Any) -> Any:
    """The outer loop may end early."""
    return scanopt.map(lambda row: (_inner(row), _inner(row)[-1:], scanopt.until(row[0] > 1)), X)[0]


@law(licence="exact", source=_SOURCE, example=_each, never=(lambda X: _until(X)[0], lambda X, a: _recurrent(X, a)[1]))
def trace_of_loops(c: Clock, d: Clock, v: Value) -> Equation:
    """The traces of a loop at all steps are one trace of it for all steps, its first axes exchanged."""
    at_once = stack(lift(c, d), on(lifted(c, d), v))
    return Equation(stack(c, stack(d, v)), ops.swap_rows(at_once), when=[liftable(c, d), forward(stack(d, v))])


@law(
    licence="exact",
    source=_SOURCE,
    example=lambda X: scanopt.map(lambda row: _inner(row)[-1], X)[0],
    never=(_growing, lambda X: _until(X)[1], lambda X, a: _recurrent(X, a)[2]),
)
def last_of_loops(c: Clock, d: Clock, v: Value, k: Int) -> Equation:
    """The last rows of a loop at all steps are the last rows of it for all steps, its first axes exchanged."""
    at_once = tail(lift(c, d), on(lifted(c, d), v), k)
    return Equation(stack(c, tail(d, v, k)), ops.swap_rows(at_once), when=[liftable(c, d), forward(tail(d, v, k))])
