"""Loops that go on where another one ended are one loop, and so are a loop and one step before or after it.

A loop may be written as two halves, or with its first or its last step outside of it.  All steps together are the loop
`whole(m)`, where m says what follows what.  A value on it is `both(m, v, w)`: v at the steps of a loop, w at the
others; the rules in `egraph/consecutive.py` say what that is.  Only loops of the program are joined, which `loop(k)`
says, not what laws make of them: that would go on without end.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import Rules, fact, hint, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import (
    Args,
    Clock,
    Op,
    State,
    Text,
    Value,
    and_first,
    and_last,
    both,
    delay,
    followed,
    loop,
    ops,
    stack,
    whole,
)  # fmt: skip
from scanopt.facts.loops import rows, runs_all
from scanopt.facts.states import becomes
from scanopt.facts.values import same_type

_JOIN = ops("concatenate", axis=0)


def _row(x: Value) -> Value:
    return ops.expand_dims(x, axis=(0,))


@hint
def continues(c: Clock, d: Clock, *, j: Text, k: Text, r: State, S: Value, v: Value, z: Value) -> Rules:
    """A state of d starts where a value of c ended; both are loops of the program."""
    written = c.is_(loop(j)), d.is_(loop(k))
    yield when(z.is_(delay(d, _row(S[-1]), r, 1)), S.is_(stack(c, v)), *written).then(continues(c, d))


@fact
def goes_on(c: Clock, v: Value, d: Clock, w: Value, *, j: Text, k: Text, r: State, S: Value, z: Value) -> Rules:
    """A state of d that becomes w starts where a value v of c ended; both are loops of the program."""
    there = S.is_(stack(c, v)), c.is_(loop(j)), d.is_(loop(k))
    yield when(z.is_(delay(d, _row(S[-1]), r, 1)), becomes(r, w), *there).then(goes_on(c, v, d, w))


def _sums(x: Any, start: Any) -> Any:
    return scanopt.scan(lambda v, s: T.tanh(s * v), x, start)[0]


def _signs(x: Any, start: Any) -> Any:
    """Integers that are made of a state."""
    return scanopt.scan(lambda v, s: [T.tanh(s * v), T.cast(T.sgn(s), "int64")], x, [start, None])[0][1]


def _until(x: Any, start: Any) -> Any:
    def step(v: Any, s: Any) -> Any:
        new = T.tanh(s * v)
        return new, scanopt.until(new > 0.9)

    return scanopt.scan(step, x, start)[0]


@law(
    licence="exact",
    example=lambda x, a: T.concatenate([_sums(x[:3], a), _sums(x[3:], _sums(x[:3], a)[-1])]),
    never=(
        lambda x, a: T.concatenate([_sums(x[:3], a), _sums(x[3:], _sums(x[:3], a)[0])]),
        lambda x, a: T.concatenate([_until(x[:3], a), _sums(x[3:], _until(x[:3], a)[-1])]),
        lambda x, a: T.concatenate([_sums(x[:3], a), _until(x[3:], _sums(x[:3], a)[-1])]),
        lambda x, a: T.concatenate([_sums(x[:3], a), _signs(x[3:], _sums(x[:3], a)[-1])]),
        lambda x, y, a: T.concatenate([_sums(x[:3], a), _sums(x[3:], y[-1])]),
        lambda x, a: T.concatenate([_sums(x, a)[:3], _sums(x[3:], _sums(x, a)[:3][-1])]),
        lambda x, a: T.concatenate([_sums(x[:3], a), _sums(x[3:], _sums(x[:3], a)[-1])[:2]]),
    ),
)
def loops_one_after_another(c: Clock, d: Clock, v: Value, w: Value) -> Equation:
    """The traces of a loop, and of one that goes on where it ended, are the trace of one loop."""
    m = followed(c, d)
    left = _JOIN(stack(c, v), stack(d, w))
    when = [continues(c, d), runs_all(c), runs_all(d), same_type(v, w)]
    return Equation(left, stack(whole(m), both(m, v, w)), when=when)


@law(
    licence="exact",
    example=lambda x, a: T.concatenate([_sums(x[:-1], a), T.expand_dims(T.tanh(_sums(x[:-1], a)[-1] * x[-1]), 0)]),
    never=(
        lambda x, a: T.concatenate([_sums(x[:-1], a), T.expand_dims(T.exp(_sums(x[:-1], a)[-1] * x[-1]), 0)]),
        lambda x, a: T.concatenate([_sums(x[:-1], a), T.expand_dims(T.tanh(T.cast(x[-1], "float32")), 0)]),
        lambda x, a: T.concatenate([_until(x[:-1], a), T.expand_dims(T.tanh(_until(x[:-1], a)[-1] * x[-1]), 0)]),
    ),
)
def last_step_outside(k: Text, op: Op, xs: Args, ys: Args) -> Equation:
    """The trace of a loop and one more step are the trace of one loop."""
    c, v, w = loop(k), op(xs), op(ys)
    m = and_last(c)
    when = [runs_all(c), same_type(v, w)]
    return Equation(_JOIN(stack(c, v), _row(w)), stack(whole(m), both(m, v, w)), when=when)


@law(
    licence="exact",
    example=lambda x, a: T.concatenate([T.expand_dims(T.tanh(a * x[0]), 0), _sums(x[1:], T.tanh(a * x[0]))]),
    never=(
        lambda x, a: T.concatenate([T.expand_dims(T.exp(a * x[0]), 0), _sums(x[1:], T.exp(a * x[0]))]),
        lambda x, a: T.concatenate([T.expand_dims(T.tanh(T.cast(x[0], "float32")), 0), _sums(x[1:], a)]),
        lambda x, a: T.concatenate([T.expand_dims(T.tanh(a * x[0]), 0), _until(x[1:], T.tanh(a * x[0]))]),
    ),
)
def first_step_outside(k: Text, op: Op, xs: Args, ys: Args) -> Equation:
    """One step, and the trace of a loop that goes on from there, are the trace of one loop."""
    c, v, w = loop(k), op(xs), op(ys)
    m = and_first(c)
    when = [runs_all(c), same_type(v, w)]
    return Equation(_JOIN(_row(w), stack(c, v)), stack(whole(m), both(m, v, w)), when=when)


@law(
    licence="exact",
    example=lambda x, a: _sums(x[3:], _sums(x[:3], a)[-1])[-1],
    never=(
        lambda x, a: _sums(x[3:], _sums(x[:3], a)[0])[-1],
        lambda x, a: _sums(x[3:], _until(x[:3], a)[-1])[-1],
        lambda x, a: _until(x[3:], _sums(x[:3], a)[-1])[-1],
        lambda x, a: _sums(x[3:], _sums(x, a)[:3][-1])[-1],
        lambda x, a: _sums(x[3:], _sums(x[:3], a)[-1])[:2][-1],
    ),
)
def end_of_loops_one_after_another(c: Clock, d: Clock, v: Value, w: Value, X: Value) -> Equation:
    """A loop that goes on where another one ended ends as one loop of all steps."""
    m = followed(c, d)
    end = ops.given(stack(whole(m), both(m, v, w))[-1], X[-1])
    return Equation(stack(d, w)[-1], end, when=[goes_on(c, v, d, w), runs_all(c), runs_all(d), rows(X, d)])
