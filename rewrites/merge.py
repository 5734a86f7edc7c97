"""Loops of the same length are fused into one; what one produces, the other reads at the same step (ScanMerge)."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Value, seq, stack, steps
from scanopt.facts.loops import ends_alike, rows, runs_all, same_steps


def _sum(x: Any) -> Any:
    return scanopt.scan(lambda v, s: s + v, x, [T.constant(0.0, dtype="float64")])[0]


def _network(x: Any) -> Any:
    return scanopt.scan(lambda v, s: T.tanh(s) + v, x, [T.constant(0.0, dtype="float64")])[0]


def _sum_until(x: Any, start: Any = None) -> Any:
    start = T.constant(0.0, dtype="float64") if start is None else start
    return scanopt.scan(lambda v, s: (s + v, scanopt.until(s + v > 1)), x, [start])[0]


@law(
    licence="exact",
    enabling=True,
    source="Theano scan internals, ScanMerge",
    example=lambda x, y: [_sum(x), scanopt.scan(lambda v, s: s * v, x, [T.constant(1.0, dtype="float64")])[0]],
    never=(
        lambda x, y: [_sum(x), _sum(y)],
        lambda x: [_sum(x), _sum_until(x)],
        lambda x: [_sum_until(x), _sum_until(-x)],
    ),
)
def loops_of_equal_length(c: Clock, d: Clock) -> Equation:
    """Two independent loops with the same number of steps are one loop."""
    return Equation(c, d, when=[same_steps(c, d), runs_all(c), runs_all(d)])


@law(
    licence="exact",
    enabling=True,
    source="Theano scan internals, ScanMerge (while loops)",
    example=(
        lambda x: [_sum_until(x), _sum_until(x) * 2],
        lambda x: [
            _sum_until(x),
            scanopt.scan(lambda v, s, r: ([s + v, r + s], scanopt.until(s + v > 1)), x, [0.0, 1.0])[0][1],
        ],
    ),
    never=(
        lambda x: [_sum_until(x), _sum_until(-x)],
        lambda x, a: [_sum_until(x), _sum_until(x, a)],
        lambda x: [_sum(x), _sum_until(x)],
    ),
)
def loops_that_end_alike(c: Clock, d: Clock) -> Equation:
    """Two independent loops of equal length, whose end conditions are equal at every step (by coinduction), are one
    loop."""
    return Equation(c, d, when=[ends_alike(c, d)])


@law(
    licence="exact",
    stepwise=True,
    source="producer and consumer in one loop",
    example=lambda x: _network(_network(x)),
    never=lambda x, n: scanopt.scan(lambda s: T.tanh(s), None, [x], n_steps=n)[0],
)
def sequence_of_trace(c: Clock, v: Value) -> Equation:
    """Reading a trace row by row in the loop that makes it is reading the value itself.

    A sequence has as many rows as the loop has steps, so that loop ran all of them.
    """
    return Equation(seq(c, stack(c, v)), v)


@law(
    licence="exact",
    enabling=True,
    example=lambda x: scanopt.map(lambda v: v * v, _sum(x))[0],
    never=lambda x: x.shape[0],
)
def length_of_sequence(c: Clock, X: Value) -> Equation:
    """An array that is read row by row has as many rows as the loop has steps."""
    return Equation(X.shape[0], steps(c), when=[rows(X, c)])
