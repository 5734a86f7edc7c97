"""Clamped running sums become prefix scans.

s + x with a lower or an upper limit is a map of s, and such maps are closed under composition.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, State, Value, delay, ops, seq, vmap
from scanopt.facts.recurrences import entries
from scanopt.facts.states import becomes
from scanopt.facts.values import floating

_SOURCE = "max-plus maps compose"


def _trace(step: Any, x: Any, start: Any) -> Any:
    """All values of the states over 500 steps, and of the other results of the step."""
    return scanopt.scan(step, x, start, n_steps=500)[0]


def _sum(c: Clock, init: Value, s: State, x: Value) -> Value:
    return delay(c, init, s, 1) + x


def _closed(c: Clock, op: str, init: Value, *rows: Value) -> Value:
    return seq(c, ops(op)(init[-1:], *rows))


@law(
    licence="reassoc",
    source=_SOURCE,
    example=lambda x, a: _trace(lambda v, s: T.maximum(s + v, 0.0), x, a),
    never=(
        lambda x, a: _trace(lambda v, s: T.maximum(T.tanh(s) + v, 0.0), x, a),
        lambda x, a: _trace(lambda v, s: [s + v, T.maximum(s + v, v)], x, [a, None])[1],
        lambda p, n: _trace(lambda v, s: T.maximum(s + v, 0), p, n),
    ),
)
def sum_from_below(c: Clock, init: Value, s: State, x: Value, X: Value, low: Value, L: Value) -> Equation:
    """A state that becomes max(s + x, low) is a prefix scan."""
    left = ops.maximum(_sum(c, init, s, x), low)
    when = [becomes(s, left), entries(c, x, X), entries(c, low, L), floating(left)]
    return Equation(left, _closed(c, "raised_sum", init, X, L), when=when)


@law(
    licence="reassoc",
    source=_SOURCE,
    example=lambda x, a: _trace(lambda v, s: T.minimum(s + v, 3.0), x, a),
    never=(
        lambda x, a: _trace(lambda v, s: T.minimum(T.tanh(s) + v, 0.0), x, a),
        lambda x, a: _trace(lambda v, s: [s + v, T.minimum(s + v, v)], x, [a, None])[1],
        lambda p, n: _trace(lambda v, s: T.minimum(s + v, 0), p, n),
    ),
)
def sum_from_above(c: Clock, init: Value, s: State, x: Value, X: Value, high: Value, H: Value) -> Equation:
    """A state that becomes min(s + x, high) is a prefix scan."""
    left = ops.minimum(_sum(c, init, s, x), high)
    when = [becomes(s, left), entries(c, x, X), entries(c, high, H), floating(left)]
    return Equation(left, _closed(c, "capped_sum", init, X, H), when=when)


@law(
    licence="reassoc",
    source=_SOURCE,
    example=lambda x, a: _trace(lambda v, s: T.clip(s + v, -1.0, 2.0), x, a),
    never=(
        lambda x, a: _trace(lambda v, s: T.clip(T.tanh(s) + v, -1.0, 2.0), x, a),
        lambda x, a: _trace(lambda v, s: [T.clip(s + v, v, 2.0) * 2.0, T.clip(s + v, v, 2.0)], x, [a, None])[1],
        lambda p, n: _trace(lambda v, s: T.clip(s + v, -1, 2), p, n),
    ),
)
def clipped_sum(
    c: Clock, init: Value, s: State, x: Value, X: Value, low: Value, L: Value, high: Value, H: Value
) -> Equation:
    """A state that becomes clip(s + x, low, high) is a prefix scan."""
    left = ops.clip(_sum(c, init, s, x), low, high)
    when = [becomes(s, left), entries(c, x, X), entries(c, low, L), entries(c, high, H), floating(left)]
    return Equation(left, _closed(c, "clamped_sum", init, X, L, H), when=when)


@law(
    licence="reassoc",
    source=_SOURCE,
    example=lambda x, a: _trace(lambda v, s: T.minimum(T.maximum(s + v, -1.0), 2.0), x, a),
    never=(
        lambda x, a: _trace(lambda v, s: T.minimum(T.maximum(T.tanh(s) + v, -1.0), 2.0), x, a),
        lambda x, a: _trace(
            lambda v, s: [T.minimum(T.maximum(s + v, v), v) * 2.0, T.minimum(T.maximum(s + v, v), v)], x, [a, None]
        )[1],
        lambda p, n: _trace(lambda v, s: T.minimum(T.maximum(s + v, -1), 2), p, n),
    ),
)
def raised_and_capped_sum(
    c: Clock, init: Value, s: State, x: Value, X: Value, low: Value, L: Value, high: Value, H: Value
) -> Equation:
    """A state that becomes min(max(s + x, low), high) is a prefix scan."""
    left = ops.minimum(ops.maximum(_sum(c, init, s, x), low), high)
    when = [becomes(s, left), entries(c, x, X), entries(c, low, L), entries(c, high, H), floating(left)]
    return Equation(left, _closed(c, "clamped_sum", init, X, L, H), when=when)


@law(
    licence="reassoc",
    source=_SOURCE,
    example=lambda x, a: _trace(lambda v, s: T.maximum(T.minimum(s + v, 2.0), -1.0), x, a),
    never=(
        lambda x, a: _trace(lambda v, s: T.maximum(T.minimum(T.tanh(s) + v, 2.0), -1.0), x, a),
        lambda x, a: _trace(
            lambda v, s: [T.maximum(T.minimum(s + v, v), v) * 2.0, T.maximum(T.minimum(s + v, v), v)], x, [a, None]
        )[1],
        lambda p, n: _trace(lambda v, s: T.maximum(T.minimum(s + v, 2), -1), p, n),
    ),
)
def capped_and_raised_sum(
    c: Clock, init: Value, s: State, x: Value, X: Value, low: Value, L: Value, high: Value, H: Value
) -> Equation:
    """A state that becomes max(min(s + x, high), low) is a prefix scan; the lower limit wins where they cross."""
    left = ops.maximum(ops.minimum(_sum(c, init, s, x), high), low)
    when = [becomes(s, left), entries(c, x, X), entries(c, low, L), entries(c, high, H), floating(left)]
    top = vmap(ops.maximum, "11")(H, L)
    return Equation(left, _closed(c, "clamped_sum", init, X, L, top), when=when)
