"""A loop that continues another one is fused with it into one loop, and so is a loop with one step before or after it.

A loop may be written as two halves, or with its first or its last step outside of it.  All steps together are the loop
`joint(m)`, where m says what follows what.  A value on it is `both(m, v, w)`: v at the steps of a loop, w at the
others; the rules in `egraph/consecutive.py` define it.  Only traces that the program itself joins become one loop, not
those that laws make: else there would be no end, since a trace without its last row may continue a longer one.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import fact
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Value, and_first, and_last, as_row, both, followed, joint, ops, stack, steps
from scanopt.facts.loops import runs_all

_JOIN = ops("concatenate", axis=0)


@fact
def goes_on(c: Clock, v: Value, d: Clock, w: Value) -> None:
    """A state of d that becomes w starts where a value v of c ended, and w is computed as v is (given)."""


@fact
def joined(c: Clock, v: Value, d: Clock, w: Value) -> None:
    """The program joins the traces of v on c and of w on d; d goes on where c ended, w is computed as v is (given)."""


@fact
def followed_by(c: Clock, v: Value, w: Value) -> None:
    """The program joins the trace of v on c and the row w, which is computed as v is, one step later (given)."""


@fact
def preceded_by(c: Clock, v: Value, w: Value) -> None:
    """The program joins the row w and the trace of v on c, where w is computed as v is, one step earlier (given)."""


def _sums(x: Any, start: Any) -> Any:
    return scanopt.scan(lambda v, s: T.tanh(s * v), x, start)[0]


def _until(x: Any, start: Any) -> Any:
    def step(v: Any, s: Any) -> Any:
        new = T.tanh(s * v)
        return new, scanopt.until(new > 0.9)

    return scanopt.scan(step, x, start)[0]


def _halves(first: Any, rest: Any = None, row: int = -1) -> Any:
    """A program: the loop `first` over three rows, then `rest`, by default the same loop, from row `row` of it on."""

    def program(x: Any, a: Any) -> Any:
        trace = first(x[:3], a)
        return T.concatenate([trace, (rest or first)(x[3:], trace[row])])

    return program


def _and_last(step: Any, loop: Any = _sums) -> Any:
    """A program: a loop over all rows but the last, then one step outside the loop for the last row."""

    def program(x: Any, a: Any) -> Any:
        trace = loop(x[:-1], a)
        return T.concatenate([trace, T.expand_dims(step(trace[-1] * x[-1]), 0)])

    return program


def _and_first(step: Any, loop: Any = _sums) -> Any:
    """A program: one step outside the loop for the first row, then a loop over all others."""

    def program(x: Any, a: Any) -> Any:
        first = step(a * x[0])
        return T.concatenate([T.expand_dims(first, 0), loop(x[1:], first)])

    return program


@law(
    licence="exact",
    example=_halves(_sums),
    never=(_halves(_sums, row=0), _halves(_until, _sums), _halves(_sums, _until)),
)
def loops_one_after_another(c: Clock, d: Clock, v: Value, w: Value) -> Equation:
    """The traces of a loop, and of one that goes on where it ended, are the trace of one loop."""
    m = followed(c, d)
    left = _JOIN(stack(c, v), stack(d, w))
    return Equation(left, stack(joint(m), both(m, v, w)), when=[joined(c, v, d, w), runs_all(c), runs_all(d)])


@law(
    licence="exact",
    example=_and_last(T.tanh),
    never=(_and_last(T.exp), _and_last(T.tanh, _until), lambda x, a: T.concatenate([_sums(x, a), T.tanh(x[-1:])])),
)
def last_step_outside(c: Clock, v: Value, w: Value) -> Equation:
    """The trace of a loop and one more step are the trace of one loop."""
    m = and_last(c)
    left = _JOIN(stack(c, v), as_row(w))
    return Equation(left, stack(joint(m), both(m, v, w)), when=[followed_by(c, v, w), runs_all(c)])


@law(
    licence="exact",
    example=_and_first(T.tanh),
    never=(_and_first(T.exp), _and_first(T.tanh, _until), lambda x, a: T.concatenate([T.tanh(x[:1]), _sums(x, a)])),
)
def first_step_outside(c: Clock, v: Value, w: Value) -> Equation:
    """One step, and the trace of a loop that goes on from there, are the trace of one loop."""
    m = and_first(c)
    left = _JOIN(as_row(w), stack(c, v))
    return Equation(left, stack(joint(m), both(m, v, w)), when=[preceded_by(c, v, w), runs_all(c)])


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
def end_of_loops_one_after_another(c: Clock, d: Clock, v: Value, w: Value) -> Equation:
    """A loop that goes on where another one ended ends as one loop of all steps."""
    m = followed(c, d)
    end = ops.given(stack(joint(m), both(m, v, w))[-1], steps(d))
    return Equation(stack(d, w)[-1], end, when=[goes_on(c, v, d, w), runs_all(c), runs_all(d)])
