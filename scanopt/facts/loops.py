"""Facts about loops: their nesting, their numbers of steps, the arrays that they read."""

from __future__ import annotations

from scanopt.calculus.condition import Body, Rules, fact, query, when
from scanopt.calculus.terms import (
    Args,
    Clock,
    Int,
    Move,
    Op,
    State,
    Text,
    Value,
    const,
    cut,
    delay,
    dtype,
    hold,
    input_,
    int_value,
    loop,
    root,
    seq,
    stack,
    steps,
    tail,
    under,
    upto,
)  # fmt: skip

__all__ = [
    "as_many_steps", "at_most_one", "ends_alike", "ends_at_once", "is_false", "is_true", "lies_on", "no_steps",
    "rows", "runs_all", "same_entries", "same_steps", "same_value", "some_steps", "tells_no_length", "unchanged",
    "until", "within",
]  # fmt: skip

INEXACT = ("float16", "float32", "float64", "complex64", "complex128")


@fact
def within(c: Clock, p: Clock) -> None:
    """c is a loop directly inside p (given, and derived where laws make loops)."""


@fact
def until(c: Clock, v: Value) -> None:
    """c ends after the first step at which v is true (given, and derived where laws make loops)."""


@fact
def is_true(v: Value, *, c: Clock, x: Value) -> Rules:
    """v is the constant True."""
    yield when(v.is_(hold(c, x)), is_true(x)).then(is_true(v))


@fact
def is_false(v: Value, *, c: Clock, x: Value) -> Rules:
    """v is the constant False."""
    yield when(v.is_(hold(c, x)), is_false(x)).then(is_false(v))


@fact
def runs_all(c: Clock, *, d: Clock, m: Move, n: Value, v: Value) -> Rules:
    """c runs all its steps: it has no `until`, or one that is never true."""
    yield when(until(c, v), is_false(v)).then(runs_all(c))
    yield when(d.is_(upto(c, n)), runs_all(c)).then(runs_all(d))
    yield when(d.is_(under(m, c)), runs_all(c)).then(runs_all(d))


@fact
def some_steps(c: Clock, *, k: Int, n: Value) -> Rules:
    """c runs at least one step."""
    yield when(n.is_(steps(c)), k.is_(int_value(n)), k >= 1).then(some_steps(c))


@fact
def no_steps(c: Clock, *, n: Value) -> Rules:
    """c runs no step."""
    yield when(n.is_(steps(c)), int_value(n).is_(0)).then(no_steps(c))


@fact
def same_steps(c: Clock, d: Clock, *, n: Value) -> Rules:
    """c and d lie in the same clock and have the same number of steps."""
    yield when(n.is_(steps(c)), n.is_(steps(d)), c.differs_from(d)).then(same_steps(c, d))


@fact
def as_many_steps(c: Clock, d: Clock) -> Rules:
    """c and d lie in the same clock and have the same number of steps (given, from lengths of arrays)."""
    yield when(as_many_steps(c, d)).then(same_steps(c, d))


@fact
def at_most_one(c: Clock, *, d: Clock, k: Int, n: Int, w: Value) -> Rules:
    """c runs at most one step: all its steps, whatever its `until`."""
    yield when(c.is_(cut(d, n)), n <= 1).then(at_most_one(c))
    yield when(w.is_(steps(c)), k.is_(int_value(w)), k <= 1).then(at_most_one(c))
    yield when(at_most_one(c)).then(runs_all(c))


@fact
def ends_at_once(c: Clock, *, n: Text, v: Value) -> Rules:
    """The end condition of c, a loop of the program, is true after the first step."""
    yield when(until(c, v), is_true(v), c.is_(loop(n))).then(ends_at_once(c))


@fact
def ends_alike(c: Clock, d: Clock) -> None:
    """c and d, side by side, have the same number of steps, and end conditions that are equal at every step (given,
    by coinduction).
    """


@fact
def rows(X: Value, c: Clock, *, v: Value) -> Rules:
    """X has exactly steps(c) rows."""
    yield when(v.is_(seq(c, X))).then(rows(X, c))
    yield when(X.is_(stack(c, v)), runs_all(c)).then(rows(X, c))


@query
def same_entries(c: Clock, X: Value, Y: Value, *, e: Value) -> Body:
    """X and Y are read by c and have the same rows at every step that c runs."""
    return e.is_(seq(c, X)), e.is_(seq(c, Y)), X.differs_from(Y)


@query
def same_value(c: Clock, x: Value, y: Value, *, e: Value) -> Body:
    """x and y are equal where c holds them."""
    return e.is_(hold(c, x)), e.is_(hold(c, y)), x.differs_from(y)


@fact
def unchanged(v: Value) -> None:
    """v is a state whose update in the program is its own value (given)."""


@fact
def tells_no_length(c: Clock, v: Value, *, i: Value, k: Int, s: State, X: Value) -> Rules:
    """v, read by c, determines no length that is unknown if c runs no step: c runs a step, or v is of floats, or a
    state that is never changed.
    """
    for v_is in (v.is_(seq(c, X)), v.is_(delay(c, i, s, k))):
        yield when(v_is, some_steps(c)).then(tells_no_length(c, v))
        yield when(v_is, unchanged(v)).then(tells_no_length(c, v))
        for d in INEXACT:
            yield when(v_is, dtype(v).is_(d)).then(tells_no_length(c, v))


@fact
def lies_on(
    v: Value, c: Clock, *, i: Value, j: Int, k: Text, op: Op, p: Clock, r: Args, s: State, V: Value, x: Value, X: Value
) -> Rules:
    """v is on the clock c, which is the root if v is outside all loops."""
    yield when(v.is_(input_(k)), c.is_(root())).then(lies_on(v, c))
    yield when(v.is_(const(k)), c.is_(root())).then(lies_on(v, c))
    yield when(v.is_(hold(c, x))).then(lies_on(v, c))
    yield when(v.is_(seq(c, X))).then(lies_on(v, c))
    yield when(v.is_(delay(c, i, s, j))).then(lies_on(v, c))
    yield when(V.is_(stack(c, v)), within(c, p)).then(lies_on(V, p))
    yield when(V.is_(tail(c, v, j)), within(c, p)).then(lies_on(V, p))
    yield when(V.is_(steps(c)), within(c, p)).then(lies_on(V, p))
    yield when(v.is_(op(x, r)), lies_on(x, c)).then(lies_on(v, c))
