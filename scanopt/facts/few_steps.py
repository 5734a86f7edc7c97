"""Facts about loops of few steps: which loops are unrolled, and what happens to the loops inside them.

An unrolled loop leaves a copy of its body for each step.  Unrolling nested loops in any order would make a copy of each
body for every choice of the loops around it: exponentially many.  So a loop of one step inside another one is unrolled
with it (see `egraph/retiming.py`), and loops of two and three steps are unrolled only if they are not deep.
"""

from __future__ import annotations

from scanopt.calculus.condition import Rules, fact, hint, when
from scanopt.calculus.terms import Clock, Int, Move, Value, int_value, lift, root, steps, under, upto
from scanopt.facts.loops import is_true, runs_all, some_steps, until, within

__all__ = ["copied", "exact_steps", "fleeting", "in_turn", "one_step", "row_of_step", "shallow"]


@fact
def fleeting(c: Clock, *, d: Clock, e: Clock, m: Move) -> Rules:
    """c is a loop of one step: it is unrolled together with the loop around it (given)."""
    yield when(e.is_(under(m, c)), fleeting(c)).then(fleeting(e))
    yield when(e.is_(lift(c, d)), fleeting(d)).then(fleeting(e))


@hint
def copied(c: Clock, *, d: Clock, e: Clock, m: Move, n: Value) -> Rules:
    """c is not fleeting: it is copied when the loop around it is unrolled (given)."""
    yield when(e.is_(under(m, c)), copied(c)).then(copied(e))
    yield when(e.is_(lift(c, d)), copied(d)).then(copied(e))
    yield when(d.is_(upto(c, n))).then(copied(d))


@hint
def in_turn(c: Clock, *, p: Clock) -> Rules:
    """c is not unrolled with a loop around it: it lies in none, or in one that is not fleeting."""
    yield when(within(c, p), p.is_(root())).then(in_turn(c))
    yield when(within(c, p), copied(p)).then(in_turn(c))


@hint
def shallow(c: Clock, *, d: Clock, e: Clock, m: Move, n: Value) -> Rules:
    """No loop inside c contains a loop, as the program was written: there is little to copy (given)."""
    yield when(e.is_(under(m, c)), shallow(c)).then(shallow(e))
    yield when(e.is_(lift(c, d))).then(shallow(e))
    yield when(d.is_(upto(c, n)), shallow(c)).then(shallow(d))


@fact
def one_step(c: Clock, *, n: Value, v: Value) -> Rules:
    """c runs exactly one step, and may be unrolled now."""
    yield when(n.is_(steps(c)), int_value(n).is_(1), in_turn(c)).then(one_step(c))
    yield when(until(c, v), is_true(v), some_steps(c)).then(one_step(c))


@fact
def exact_steps(c: Clock, n: Int, *, v: Value) -> Rules:
    """c runs exactly n steps, may be unrolled now, and there is little to copy."""
    yield when(v.is_(steps(c)), n.is_(int_value(v)), runs_all(c), in_turn(c), shallow(c)).then(exact_steps(c, n))


@fact
def row_of_step(c: Clock, k: Int, t: Int) -> Rules:
    """c runs exactly 2 or 3 steps, and row k of a trace of c is that of step t."""
    yield when(exact_steps(c, 2)).then(
        row_of_step(c, 0, 0), row_of_step(c, 1, 1), row_of_step(c, -2, 0), row_of_step(c, -1, 1)
    )
    yield when(exact_steps(c, 3)).then(row_of_step(c, 0, 0), row_of_step(c, 1, 1), row_of_step(c, 2, 2))
    yield when(exact_steps(c, 3)).then(row_of_step(c, -3, 0), row_of_step(c, -2, 1), row_of_step(c, -1, 2))
