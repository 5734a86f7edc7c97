"""Facts about states and end conditions: their updates, copies of other states, equal states."""

from __future__ import annotations

from scanopt.calculus.condition import Body, Rules, fact, hint, query, when
from scanopt.calculus.terms import Args, Clock, Int, Op, State, Text, Value, delay, hold, ops, scaled, seen
from scanopt.facts.lists import before
from scanopt.facts.values import forward, power_of_two

__all__ = [
    "become_alike",
    "becomes",
    "equal_in_time",
    "keeps_shape",
    "kept_as",
    "kept_times",
    "late",
    "passed_on",
    "passes_on",
    "repeated",
]


@fact
def becomes(s: State, v: Value, *, a: Value, c: Clock, i: Value, k: Int, op: Op, r: State, w: Value) -> Rules:
    """v is the update of the state s: its value after each step (given, and derived where laws make states)."""
    yield when(becomes(s, v), r.is_(seen(op, s))).then(becomes(r, op(v)))
    yield when(becomes(s, v), r.is_(scaled(s, a)), w.is_(delay(c, i, s, k))).then(becomes(r, v * hold(c, a)))


@hint
def kept_as(s: State, h: Op, *, op: Op, r: State, v: Value, xs: Args) -> Rules:
    """The update of s is h of some values."""
    yield when(becomes(s, v), v.is_(h(xs))).then(kept_as(s, h))
    yield when(becomes(s, v), r.is_(seen(op, s))).then(forward(v))


@hint
def kept_times(s: State, k: Text, *, a: Value, r: State, v: Value, x: Value) -> Rules:
    """The update of s is a multiple by 2^k."""
    yield when(becomes(s, v), v.is_(x * a), power_of_two(a, k)).then(kept_times(s, k))
    yield when(becomes(s, v), r.is_(scaled(s, a))).then(forward(v))


@fact
def keeps_shape(s: State) -> None:
    """The state s, a stack of values, has the same shape at every step, as long as other states do (given)."""


@fact
def passed_on(s: State, r: State, j: Int, *, a: Value, op: Op, p: State, q: State) -> Rules:
    """The update of s in the program is r j steps before, and r does not pass on s (given, and derived where laws make
    states)."""
    yield when(passed_on(s, r, j), q.is_(seen(op, s)), p.is_(seen(op, r))).then(passed_on(q, p, j))
    yield when(passed_on(s, r, j), q.is_(scaled(s, a)), p.is_(scaled(r, a))).then(passed_on(q, p, j))


@query
def passes_on(s: State, r: State, j: Int) -> Body:
    """The update of s in the program is r j steps before, another state, which does not depend on s."""
    return passed_on(s, r, j), s.differs_from(r)


@fact
def late(c: Clock, Z: Value, *, init: Value, n: Value, X: Value, Y: Value) -> Rules:
    """Z is first rows of a state followed by its updates, all known before c begins."""
    yield when(before(c, X), Z.is_(ops.concatenate(init, X, axis=0))).then(late(c, Z))
    yield when(late(c, Z), Y.is_(Z[:n])).then(before(c, Y))


@fact
def repeated(init: Value, Y: Value, *, c: Clock, j: Int, q: Args, R: Value, s: State, v: Value) -> Rules:
    """Y repeats the last rows of init, the initial rows of a state."""
    yield when(R.is_(init[-j:]), Y.is_(ops("getitem", index=("array",))(R, q))).then(repeated(init, Y))
    yield when(v.is_(delay(c, init, s, j)), repeated(init, Y)).then(before(c, Y))


@fact
def equal_in_time(c: Clock, s: State, d: Clock, r: State) -> None:
    """If c and d are one loop, s of c equals r of d at every step (given, by coinduction)."""


@query
def become_alike(s: State, r: State, *, v: Value) -> Body:
    """s and r have the same update at every step."""
    return becomes(s, v), becomes(r, v), s.differs_from(r)
