"""Linear recurrences: filters if the coefficients are fixed, prefix scans of affine maps if they vary."""

from collections.abc import Callable
from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import Condition
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import (
    Clock,
    State,
    Text,
    Value,
    const_at,
    delay,
    hold,
    one_row,
    ops,
    seq,
    steps,
    tail,
    vmap,
)
from scanopt.facts.bits import minus_one
from scanopt.facts.loops import runs_all, within
from scanopt.facts.recurrences import entries
from scanopt.facts.states import becomes
from scanopt.facts.values import floating, integer, of_dtype, scalar


def _trace(step: Any, x: Any, start: Any, *more: Any, n: Any = None) -> Any:
    """All values of the states, and of the other results of the step."""
    return scanopt.scan(step, x, start, list(more), n_steps=n)[0]


def _two(y: Any) -> Any:
    """A state with two taps."""
    return dict(initial=y[:2], taps=[-2, -1])


@law(
    licence="reassoc",
    source="exponential smoothing, as a prefix of composed maps",
    example=(
        lambda x, a, b: _trace(lambda v, s, b: s + b * (v - s), x, a, b, n=500),
        lambda x, y, a: _trace(lambda v, w, s: s + w * (v - s), [x, y], a, n=500),
    ),
    never=(
        lambda x, a: _trace(lambda v, s: T.tanh(s) + 0.5 * (v - s), x, a),
        lambda x, a: _trace(lambda v, s: [s + v, s + (v - s) * v], x, [a, None])[1],
        lambda p, n: _trace(lambda v, s: s + (v - s) * v, p, n),
    ),
)
def smoothing(c: Clock, init: Value, s: State, a: Value, A: Value, x: Value, X: Value) -> Equation:
    """A state that becomes s + (x - s)·a (exponential smoothing) is a prefix scan of affine maps."""
    before = delay(c, init, s, 1)
    left = before + (x - before) * a
    when = [becomes(s, left), entries(c, a, A), entries(c, x, X), floating(left)]
    return Equation(left, seq(c, ops.smoothing(init[-1:], A, X)), when=when)


@law(
    licence="fast",
    source="exponential smoothing, as a filter",
    example=lambda x, a, b: _trace(lambda v, s, b: s + b * (v - s), x, a, b, n=500),
    never=(
        lambda x, a: _trace(lambda v, s: T.tanh(s) + 0.5 * (v - s), x, a),
        lambda x, a: _trace(lambda v, s: [s + v, s + (v - s) * 0.5], x, [a, None])[1],
        lambda X, y: _trace(lambda v, s, y: s + (v - s) * y, X, X[0], y),
        lambda p, n, k: _trace(lambda v, s, k: s + (v - s) * k, p, n, k),
    ),
)
def filter_of_smoothing(
    c: Clock, init: Value, s: State, a: Value, x: Value, X: Value, p: Clock, d: Text, k: Text, e: Value
) -> Equation:
    """A state that becomes s + (x - s)·a, with a fixed number a, is s·(1 - a) + x·a; 1 - a is -(a + -1).

    After an infinite x the one is no number, and the other infinite.
    """
    before = delay(c, init, s, 1)
    left = before + (x - before) * hold(c, a)
    filtered = ops.lfilter(init[-1:], vmap(ops.multiply, "10")(X, a), -(a + const_at(p, k)))
    when = [becomes(s, left), entries(c, x, X), floating(left), scalar(a), of_dtype(left, d), minus_one(d, k, e)]
    return Equation(left, seq(c, filtered), when=[*when, within(c, p)])


def _affine_power(
    c: Clock, init: Value, s: State, a: Value, b: Value, p: Clock, kind: Callable[[Value], Condition]
) -> Equation:
    new = delay(c, init, s, 1) * hold(c, a) + hold(c, b)
    last = ops.affine_power(init[-1:], a, b, steps(c))
    return Equation(tail(c, new, 1), one_row(c, last, p), when=[becomes(s, new), kind(new), runs_all(c), within(c, p)])


def _power(c: Clock, init: Value, s: State, a: Value, p: Clock, when: list[Condition]) -> Equation:
    new = delay(c, init, s, 1) * hold(c, a)
    last = ops.geometric(init[-1:], a, steps(c))
    return Equation(tail(c, new, 1), one_row(c, last, p), when=[becomes(s, new), *when, runs_all(c), within(c, p)])


def _second_order(
    c: Clock, init: Value, first: Value | None, s: State, factors: tuple[Value, Value], entry: tuple[Value, Value]
) -> Equation:
    """The equation of a filter that looks back two rows.

    first: the initial row of the state two steps back where it is a state of its own; None: both are rows of init.
    entry: x, and the sequence of all x.
    """
    (a, b), (x, X) = factors, entry
    rows = init if first is None else ops.concatenate(first, init[-1:], axis=0)
    left = delay(c, init, s, 1) * hold(c, a) + delay(c, rows, s, 2) * hold(c, b) + x
    when = [becomes(s, left), entries(c, x, X), floating(left), scalar(a), scalar(b)]
    return Equation(left, seq(c, ops.lfilter2(rows[-2:], X, a, b)), when=when)


@law(
    licence="exact",
    source="scipy.signal.lfilter, bit for bit",
    example=(
        lambda x, a, b: _trace(lambda v, s, b: s * b + v, x, a, b),
        lambda x, a: _trace(lambda v, s, h: [0.5 * s + h, T.tanh(h + v)], x, [a, a])[0],
    ),
    never=(
        lambda x, a: _trace(lambda v, s: T.tanh(s) * 0.5 + v, x, a),
        lambda x, a: _trace(lambda v, s: [s + v, s * 0.5 + v], x, [a, None])[1],
        lambda X, y: _trace(lambda v, s, b: s * b + v, X, X[0], y),
        lambda p, n, k: _trace(lambda v, s, k: s * k + v, p, n, k),
        lambda x, a: _trace(lambda v, s: s * v + v, x, a),
    ),
)
def filter_of_first_order(c: Clock, init: Value, s: State, a: Value, x: Value, X: Value) -> Equation:
    """A state that becomes s·a + x, with a fixed number a, is a filter."""
    left = delay(c, init, s, 1) * hold(c, a) + x
    when = [becomes(s, left), entries(c, x, X), floating(left), scalar(a)]
    return Equation(left, seq(c, ops.lfilter(init[-1:], X, a)), when=when)


@law(
    licence="exact",
    source="scipy.signal.lfilter, bit for bit",
    example=lambda x, y, a, b: _trace(lambda v, r, s, a, b: a * s + b * r + v, x, _two(y), a, b),
    never=(
        lambda x, y: _trace(lambda v, r, s: T.tanh(s) * 0.5 + 0.2 * r + v, x, _two(y)),
        lambda x, y: _trace(lambda v, r, s: [s + v, s * 0.5 + r * 0.2 + v], x, [_two(y), None])[1],
        lambda X, y: _trace(lambda v, r, s, b: b * s + 0.2 * r + v, X, _two(X), y),
        lambda X, y: _trace(lambda v, r, s, b: 0.5 * s + b * r + v, X, _two(X), y),
        lambda p, q: _trace(lambda v, r, s: 3 * s + 2 * r + v, p, _two(q)),
    ),
)
def filter_of_second_order(c: Clock, init: Value, s: State, a: Value, b: Value, x: Value, X: Value) -> Equation:
    """A state that becomes (s·a + r·b) + x, with r the state before s, is a filter."""
    return _second_order(c, init, None, s, (a, b), (x, X))


@law(
    licence="exact",
    source="scipy.signal.lfilter, bit for bit",
    example=lambda x, a, b: _trace(lambda v, s, r, a, b: [a * s + b * r + v, s], x, [b, a], a, b)[0],
    never=(
        lambda x, a, b: _trace(lambda v, s, r, b: [T.tanh(s) * 0.5 + 0.2 * r + v, s], x, [b, a], b)[0],
        lambda x, a, b: _trace(lambda v, s, r: [s + v, s, s * 0.5 + r * 0.2 + v], x, [b, a, None])[2],
        lambda X, y: _trace(lambda v, s, r, b: [b * s + 0.2 * r + v, s], X, [X[0], X[1]], y)[0],
        lambda X, y: _trace(lambda v, s, r, b: [0.5 * s + b * r + v, s], X, [X[0], X[1]], y)[0],
        lambda p, n: _trace(lambda v, s, r: [3 * s + 2 * r + v, s], p, [n, n])[0],
    ),
)
def filter_of_two_states(
    c: Clock, init: Value, first: Value, s: State, a: Value, b: Value, x: Value, X: Value
) -> Equation:
    """The same where the state before s is a state of its own, which starts with a row of its own."""
    return _second_order(c, init, first, s, (a, b), (x, X))


@law(
    licence="reassoc",
    source="prefix of composed maps [Kogge and Stone 1973]",
    example=lambda x, y, a: _trace(lambda v, w, s: s * v + w, [x, y], a, n=500),
    never=(
        lambda x, a: _trace(lambda v, s: T.tanh(s) * v + v, x, a),
        lambda x, a: _trace(lambda v, s: [s + v, s * v + v], x, [a, None])[1],
        lambda p, n: _trace(lambda v, s: s * v + v, p, n),
    ),
)
def linear_recurrence(c: Clock, init: Value, s: State, a: Value, A: Value, x: Value, X: Value) -> Equation:
    """A state that becomes s·a + x, with an a that varies, is a prefix scan of affine maps."""
    left = delay(c, init, s, 1) * a + x
    when = [becomes(s, left), entries(c, a, A), entries(c, x, X), floating(left)]
    return Equation(left, seq(c, ops.linear_recurrence(init[-1:], A, X)), when=when)


@law(
    licence="exact",
    source="prefix of composed maps, modulo 2^k",
    example=(
        lambda p, n, k: _trace(lambda v, s, k: s * k + v, p, n, k, n=500),
        lambda p, q, n: _trace(lambda v, w, s: (s - v) * w, [p, q], n, n=500),
    ),
    never=(
        lambda p, n: _trace(lambda v, s: T.abs(s) * v + v, p, n),
        lambda p, n: _trace(lambda v, s: [s + v, s * v + v], p, [n, None])[1],
        lambda x, a: _trace(lambda v, s: s * v + v, x, a),
    ),
)
def linear_recurrence_of_integers(c: Clock, init: Value, s: State, a: Value, A: Value, x: Value, X: Value) -> Equation:
    """A state that becomes s·a + x is a prefix scan of affine maps, for integers modulo 2^k."""
    left = delay(c, init, s, 1) * a + x
    when = [becomes(s, left), entries(c, a, A), entries(c, x, X), integer(left)]
    return Equation(left, seq(c, ops.linear_recurrence(init[-1:], A, X)), when=when)


@law(
    licence="reassoc",
    source="A**k of the documents",
    example=lambda x, y: _trace(lambda s, v: s * v, None, x, y, n=5000)[-1],
    never=(
        lambda x, y, n: _trace(lambda s, v: T.tanh(s) * v, None, x, y, n=n)[-1],
        lambda x, y, n: _trace(lambda s, v: [T.tanh(s), s * v], None, [x, None], y, n=n)[1][-1],
        lambda a, n: _trace(lambda s, v: (s * v, scanopt.until(s > 3)), None, a, a, n=n)[-1],
        lambda a, n: _trace(lambda s, v: s * v, None, T.cast(a, "complex64"), T.cast(a, "complex64"), n=n)[-1].real,
    ),
)
def power_of_invariant(c: Clock, init: Value, s: State, a: Value, p: Clock) -> Equation:
    """The last value of s·a, with a fixed a, is the initial state times a power of a."""
    return _power(c, init, s, a, p, [floating(delay(c, init, s, 1) * hold(c, a))])


@law(
    licence="exact",
    source="A**k of the documents",
    example=lambda n, k: _trace(lambda s, v: s * v, None, n + T.arange(40), k + T.arange(40), n=2000)[-1],
    never=(
        lambda n, k: _trace(lambda s, v: T.abs(s) * v, None, n, k, n=9)[-1],
        lambda n, k: _trace(lambda s, v: [T.abs(s), s * v], None, [n, None], k, n=9)[1][-1],
        lambda n, k: _trace(lambda s, v: (s * v, scanopt.until(s > 3)), None, n, k, n=9)[-1],
        lambda x, y, n: _trace(lambda s, v: s * v, None, x, y, n=n)[-1],
    ),
)
def power_of_integers(c: Clock, init: Value, s: State, a: Value, p: Clock) -> Equation:
    """The last value of s·a, with a fixed a, is the initial state times a power of a, for integers modulo 2^k."""
    return _power(c, init, s, a, p, [integer(delay(c, init, s, 1) * hold(c, a))])


@law(
    licence="reassoc",
    source="sums of geometric series, by doubling",
    example=lambda X, y, a, b: _trace(lambda s, y, b: s * y + b, None, X[0], y, b, n=500)[-1],
    never=(
        lambda x, y, b, n: _trace(lambda s, y, b: T.tanh(s) * y + b, None, x, y, b, n=n)[-1],
        lambda x, y, b, n: _trace(lambda s, y, b: [T.tanh(s), s * y + b], None, [x, None], y, b, n=n)[1][-1],
        lambda a, b, n: _trace(lambda s, b: (s * b + b, scanopt.until(s > 3)), None, a, b, n=n)[-1],
        lambda n, k: _trace(lambda s, k: s * k + k, None, n, k, n=9)[-1],
    ),
)
def affine_power(c: Clock, init: Value, s: State, a: Value, b: Value, p: Clock) -> Equation:
    """The last value of s·a + b, with a and b fixed, is a power of an affine map."""
    return _affine_power(c, init, s, a, b, p, floating)


@law(
    licence="exact",
    source="sums of geometric series, by doubling",
    example=lambda n, k: _trace(lambda s, k: s * k + k, None, n, k, n=1000)[-1],
    never=(
        lambda n, k: _trace(lambda s, k: T.abs(s) * k + k, None, n, k, n=9)[-1],
        lambda n, k: _trace(lambda s, k: [T.abs(s), s * k + k], None, [n, None], k, n=9)[1][-1],
        lambda n, k: _trace(lambda s, k: (s * k + k, scanopt.until(s > 3)), None, n, k, n=9)[-1],
        lambda a, b, n: _trace(lambda s, b: s * b + b, None, a, b, n=n)[-1],
    ),
)
def affine_power_of_integers(c: Clock, init: Value, s: State, a: Value, b: Value, p: Clock) -> Equation:
    """The last value of s·a + b, with a and b fixed, is a power of an affine map, for integers modulo 2^k."""
    return _affine_power(c, init, s, a, b, p, integer)
