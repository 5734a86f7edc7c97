"""Loops that end early but carry nothing: they compute a chunk of steps at once, and cut off what came too late."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.facts_chunks import chunked, ends_in_chunks
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Int, Value, chunks, hold, ops, stack, steps, tail

_SOURCE = "strip mining: what is computed for nothing is one chunk at most"


def _map_until(step: Any, condition: Any) -> Any:
    """A map over 500 entries, until a condition of an entry holds."""
    return lambda x, a: scanopt.scan(lambda v, a: (step(v, a), scanopt.until(condition(v))), x, None, a, n_steps=500)[0]


def _sum_until(x: Any, a: Any) -> Any:
    """A sum of what it was, until it is large."""
    return scanopt.scan(lambda v, s: (T.tanh(s) + v, scanopt.until(s > 1)), x, a)[0]


def _rows(c: Clock, w: Value) -> Value:
    """The rows of all chunks that were run, without what fills up the last one."""
    return ops.join_rows(stack(chunks(c), w))[: steps(c)]


def _taken(c: Clock, u: Value) -> Value:
    """How many steps are run."""
    return ops.first_true(_rows(c, u), axis=0)


@law(
    licence="exact",
    source=_SOURCE,
    example=(
        _map_until(lambda v, a: T.exp(v) * a, lambda v: v > 1),
        lambda x, a: scanopt.scan(lambda v, s: (s + v, scanopt.until(s > 1)), x, a, n_steps=500)[0],
    ),
    never=(
        _sum_until,
        lambda x, a: scanopt.map(lambda v: T.exp(v), x)[0] * a,
        lambda x, p: scanopt.scan(lambda i, v: (T.exp(i), scanopt.until(v[i] > 1)), p, None, x)[0],
    ),
)
def trace_until(c: Clock, v: Value, w: Value, u: Value) -> Equation:
    """The trace of a map of a loop that ends early."""
    right = _rows(c, w)[: _taken(c, u)]
    return Equation(stack(c, v), right, when=[chunked(c, v, w), ends_in_chunks(c, u)])


@law(
    licence="exact",
    source=_SOURCE,
    example=lambda x, a: _map_until(lambda v, a: T.exp(v) * a, lambda v: v > 1)(x, a)[-1],
    never=(lambda x, a: _sum_until(x, a)[-1], lambda x, a: scanopt.map(lambda v: T.exp(v), x)[0][-1] * a),
)
def last_until(c: Clock, v: Value, w: Value, u: Value, k: Int) -> Equation:
    """The last rows of a map of a loop that ends early."""
    right = _rows(c, w)[: _taken(c, u)][-k:]
    return Equation(tail(c, v, k), right, when=[chunked(c, v, w), ends_in_chunks(c, u)])


@law(
    licence="exact",
    source=_SOURCE,
    example=lambda x, a: scanopt.scan(lambda v, a: (T.exp(a), scanopt.until(v > 1)), x, None, a, n_steps=500)[0],
    never=(_sum_until, lambda x, a: scanopt.map(lambda v, a: a, x, a)[0]),
)
def trace_of_invariant_until(c: Clock, x: Value, u: Value) -> Equation:
    """The trace of what never changes, of a loop that ends early."""
    left = stack(c, hold(c, x))
    return Equation(left, ops.repeat_rows(x, _taken(c, u)), when=[ends_in_chunks(c, u)])
