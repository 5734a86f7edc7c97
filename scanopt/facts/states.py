"""Facts about carried states, and about what ends loops: what they become, what they pass on, which are equal."""

from __future__ import annotations

from scanopt.calculus.condition import Body, Rules, fact, query, when
from scanopt.calculus.terms import Args, Clock, Int, State, Value, delay, ops
from scanopt.facts.lists import before

__all__ = ["become_alike", "becomes", "equal_in_time", "late", "passed_on", "passes_on", "repeated"]


@fact
def becomes(s: State, v: Value) -> None:
    """The value of the state s at each step is v (given, and kept where states are made)."""


@fact
def passed_on(s: State, r: State) -> None:
    """What the program writes into s is an earlier value of r, and r passes on nothing of s (given)."""


@query
def passes_on(s: State, r: State) -> Body:
    """What the program writes into s is an earlier value of r, another state, which passes on nothing of s."""
    return passed_on(s, r), s.differs_from(r)


@fact
def late(c: Clock, Z: Value, *, init: Value, n: Value, X: Value, Y: Value) -> Rules:
    """Z is first rows of a state, then what it becomes, all known before c begins."""
    yield when(before(c, X), Z.is_(ops.concatenate(init, X, axis=0))).then(late(c, Z))
    yield when(late(c, Z), Y.is_(Z[:n])).then(before(c, Y))


@fact
def repeated(init: Value, Y: Value, *, c: Clock, j: Int, q: Args, R: Value, s: State, v: Value) -> Rules:
    """Y repeats the last rows of a state's initial rows init."""
    yield when(R.is_(init[-j:]), Y.is_(ops("getitem", index=("array",))(R, q))).then(repeated(init, Y))
    yield when(v.is_(delay(c, init, s, j)), repeated(init, Y)).then(before(c, Y))


@fact
def equal_in_time(c: Clock, s: State, d: Clock, r: State) -> None:
    """Where c and d are one loop, s of c has the values of r of d at every step (given: proven by coinduction)."""


@query
def become_alike(s: State, r: State, *, v: Value) -> Body:
    """s and r become the same value at every step."""
    return becomes(s, v), becomes(r, v), s.differs_from(r)
