"""The meanings of facts about loops in parts, whose values have one type, and about loops that change nothing."""

from __future__ import annotations

from scanopt.calculus.terms import Clock, Term, Value
from scanopt.lab.proving.arrays import SymbolicArray
from scanopt.lab.proving.arrays import joined as joined_rows
from scanopt.lab.proving.choices import NoProgramError
from scanopt.lab.proving.facts import fact, say
from scanopt.lab.proving.loops import At
from scanopt.lab.proving.model import Model

__all__: list[str] = []


@fact
def goes_on(m: Model, c: Clock, v: Value, d: Clock, w: Value) -> None:
    x, y = m.value(v, {c: None}), m.value(w, {d: None})
    m.assume((x.dtype, x.shape) == (y.dtype, y.shape))


@fact
def joined(m: Model, c: Clock, v: Value, d: Clock, w: Value) -> None:
    goes_on(m, c, v, d, w)


@fact
def followed_by(m: Model, c: Clock, v: Value, w: Value) -> None:
    x, y = m.value(v, {c: None}), m.value(w, {})
    m.assume((x.dtype, x.shape) == (y.dtype, y.shape))


@fact
def preceded_by(m: Model, c: Clock, v: Value, w: Value) -> None:
    followed_by(m, c, v, w)


@fact
def written_in_order(m: Model, v: Term, w: Value) -> None:
    """After step t the rows up to t are what was written there, and the others are what they were before the loop."""
    _written(m, v, w, backwards=False)


@fact
def written_backwards(m: Model, v: Term, w: Value) -> None:
    """The same, counted from the last row."""
    _written(m, v, w, backwards=True)


def _written(m: Model, v: Term, w: Value, backwards: bool) -> None:
    c = Clock("c")

    def rows(at: At) -> SymbolicArray:
        outside, like = m.loops.outside(c, at), m.value(w, {**at, c: None})
        step = at[c]
        done = -1 if step is None else step
        steps = range(m.loops.executed(c, outside))
        found = [m.value(w, {**at, c: t}) if t <= done else m.junk(like.dtype, like.shape) for t in steps]
        return joined_rows(like.dtype, found[::-1] if backwards else found, like.shape)

    say(m, v, rows)


@fact
def invariant(m: Model, c: Clock, v: Term) -> None:
    """v is the same at every step of c.  Without a step there is nothing to prove: no value of c is computed."""
    if not m.loops.executed(c, {}):
        raise NoProgramError(f"{c} takes no step")
    everywhere = Value(f"{v.head} everywhere")
    m.places.on[everywhere.head] = None
    say(m, v, lambda at: m.value(everywhere, m.loops.outside(c, at)))
