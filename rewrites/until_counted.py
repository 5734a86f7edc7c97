"""Loops that end when a counter reaches a number take a number of steps that is known before they begin.

So are the loops of `while_loop`, where its condition compares a counter with a bound.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import Rules, fact, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import (
    Clock,
    State,
    Text,
    Value,
    const_at,
    counted,
    delay,
    hold,
    int_value,
    loop,
    on,
    ops,
    seq,
    stack,
    steps,
    to_upto,
    upto,
)  # fmt: skip
from scanopt.facts.loops import runs_all, until, within
from scanopt.facts.states import becomes
from scanopt.facts.values import int64, nothing, positive, within_int64


@fact
def counts(c: Clock, v: Value, i: Value, *, e: Value, init: Value, k: Value, s: State, w: Value) -> Rules:
    """v, of dtype int64, is i + t at step t of c."""
    state = v.is_(delay(c, init, s, 1)), becomes(s, v + hold(c, k)), int_value(k).is_(1), int64(v)
    yield when(*state).then(counts(c, v, init[-1]))
    yield when(v.is_(seq(c, counted(i, e)))).then(counts(c, v, i))
    yield when(counts(c, w, i), v.is_(w + hold(c, k)), int64(v)).then(counts(c, v, i + k))


@fact
def not_negative(i: Value) -> Rules:
    """i is a constant from zero on, far from the limits of int64."""
    yield when(nothing(i)).then(not_negative(i))
    yield when(positive(i)).then(not_negative(i))


@fact
def ends_from(c: Clock, v: Value, e: Value, n: Value, *, p: Clock) -> Rules:
    """c ends after the first step at which v, an int64 that never is the greatest one, is e or more, which comes
    from n.
    """
    limit, bound = hold(c, n), ops.cast(n, dtype="int64")
    for end in (ops.greater_equal(v, limit), ops.less_equal(limit, v)):
        yield when(until(c, end)).then(ends_from(c, v, bound, n))
    more = ops.minimum(bound, const_at(p, f"int64:{2**63 - 2}")) + const_at(p, "int64:1")
    for end in (ops.greater(v, limit), ops.less(limit, v)):
        yield when(until(c, end), within(c, p)).then(ends_from(c, v, more, n))


@fact
def takes(c: Clock, m: Value, *, d: Clock, e: Value, i: Value, k: Text, n: Value, p: Clock, v: Value) -> Rules:
    """c, a loop of the program, takes m steps, and ends then."""
    one = const_at(p, "int64:1")
    count = ops.minimum(steps(c) - one, ops.maximum(e, i) - i) + one
    counter = counts(c, v, i), not_negative(i), c.is_(loop(k)), within(c, p)
    yield when(ends_from(c, v, e, n), within_int64(n), *counter).then(takes(c, count))
    yield when(takes(c, m), d.is_(upto(c, m))).then(runs_all(d))


def _while(x: Any, n: Any) -> Any:
    """The values of a loop that counts its steps, and a condition on the counter."""
    return scanopt.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, T.tanh(s[1]) * 2.0), (_ZERO, x))[1]


_ZERO = T.constant(0, dtype="int64")


def _until(end: Any, more: Any = 1, start: Any = _ZERO) -> Any:
    """All values of a loop that ends where `end` holds of its counter and a number."""

    def step(i: Any, s: Any, n: Any) -> Any:
        return [i + more, T.tanh(s) * 2.0], scanopt.until(end(i, n))

    return lambda x, n: scanopt.scan(step, None, [start, x], [n], n_steps=50)[0][1]


@law(
    licence="exact",
    source="Theano: a while loop, and the number of its steps",
    example=(
        _until(lambda i, n: i >= n),
        _until(lambda i, n: n < i + 1),
        lambda x, n, a: scanopt.scan(
            lambda i, v, s, n: (T.tanh(s) + v, scanopt.until(i >= n)), [T.arange(x.shape[0]), x], [a], [n]
        )[0],
        _while,
    ),
    never=(
        _until(lambda i, n: i <= n),
        _until(lambda i, n: i == n),
        _until(lambda i, n: i + 1 >= n, more=2),
        _until(lambda i, n: i >= T.cast(n, "uint64")),
        _until(lambda i, n: i >= n, start=T.constant(-2, dtype="int64")),
        _until(lambda i, n: i >= n, more=T.constant(1, dtype="int64"), start=T.constant(0.0, dtype="float64")),
        _until(lambda i, n: i + T.constant(0.0, dtype="float64") >= n),
    ),
)
def trace_until_counted(c: Clock, v: Value, n: Value) -> Equation:
    """A loop that ends when a counter reaches a number is a loop of that many steps, without an end condition."""
    return Equation(stack(c, v), stack(upto(c, n), on(to_upto(c, n), v)), when=[takes(c, n)])
