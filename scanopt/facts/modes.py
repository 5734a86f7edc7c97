"""Facts about modes of loops: which laws may rewrite which loop.  They steer the search and claim nothing."""

from __future__ import annotations

from scanopt.calculus.condition import Rules, hint, when
from scanopt.calculus.terms import Clock, Int, Move, State, Text, Value, chunks, cut, delay, lift, under, upto

__all__ = ["carried_by", "may_rewrite", "one_mode"]


@hint
def may_rewrite(name: Text, c: Clock, *, d: Clock, e: Clock, k: Int, m: Move, n: Value) -> Rules:
    """The mode of c allows the law of this name to rewrite c (given, if loops have modes of their own)."""
    for same in (e.is_(cut(c, k)), e.is_(upto(c, n)), e.is_(chunks(c)), e.is_(under(m, c))):
        yield when(same, may_rewrite(name, c)).then(may_rewrite(name, e))
    yield when(e.is_(lift(c, d)), may_rewrite(name, c), may_rewrite(name, d)).then(may_rewrite(name, e))


@hint
def one_mode(c: Clock, d: Clock) -> None:
    """c and d, loops of the program, have the same mode (given, if loops have modes of their own)."""


@hint
def carried_by(s: State, c: Clock, *, i: Value, k: Int, v: Value) -> Rules:
    """s is a state of c, if loops have modes of their own."""
    yield when(v.is_(delay(c, i, s, k)), one_mode(c, c)).then(carried_by(s, c))
