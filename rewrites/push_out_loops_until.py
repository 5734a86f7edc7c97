"""An inner loop that ends early runs once for all outer steps: a mask freezes the states that have ended.

d is a loop inside c; lift(c, d) stands beside c and runs until d has ended at all steps of c.  Only last values of d
leave the loop, since its traces differ in length.  A state is frozen one step before the end, so that a further step
computes the last values again; this holds if d reads no sequence, and each state only one step back.
"""

from typing import Any

import scanopt
from scanopt.calculus.condition import Rules, fact, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import (
    Clock,
    Move,
    State,
    Value,
    args,
    delay,
    hold,
    lift,
    lifted,
    masked,
    on,
    ops,
    stack,
    steps,
    tail,
    vmap,
)  # fmt: skip
from scanopt.facts.loops import runs_all, until
from scanopt.facts.operators import batched, fixed_shape, safe
from scanopt.facts.shapes import regular
from scanopt.facts.states import becomes
from scanopt.facts.values import forward

_ALL = ops("all", axis=(0,), keepdims=False)


@fact
def liftable_until(c: Clock, d: Clock, *, n: Value, u: Value) -> Rules:
    """d is a loop inside c with the same limit of steps at each step of c, and may end early; c does not end early."""
    yield when(runs_all(c), until(d, u), steps(d).is_(hold(c, n))).then(liftable_until(c, d))


@fact
def moves_up_masked(
    c: Clock, d: Clock, *, e: Clock, m: Move, r: State, s: State, u: Value, v: Value, w: Value, X: Value
) -> Rules:
    """d, which may end early, runs until it has ended at all steps of c."""
    ended = on(m, u)
    yield when(e.is_(lift(c, d)), until(d, u)).then(
        moves_up_masked(c, d), until(e, _ALL(on(lifted(c, d), u))), batched(_ALL), fixed_shape(_ALL), safe(_ALL)
    )
    yield when(w.is_(on(m, delay(d, X, s, 1))), m.is_(lifted(c, d)), moves_up_masked(c, d), regular(X)).then(
        w.equals(delay(lift(c, d), ops.swap_rows(stack(c, X)), masked(c, d, s), 1))
    )
    yield when(
        r.is_(masked(c, d, s)), w.is_(on(m, delay(d, X, s, 1))), m.is_(lifted(c, d)), becomes(s, v), until(d, u)
    ).then(becomes(r, vmap(ops.where, "111")(args(ended, w, on(m, v)))))


_SOURCE = "masked batching of loops that end early, as in JAX's vmap of while_loop"


def _root(a: Any, n: Any) -> Any:
    """A square root by Newton's method, until it is accurate."""

    def step(r: Any, a: Any) -> Any:
        new = 0.5 * (r + a / r)
        return new, scanopt.until(abs(new - r) < 1e-3)

    return scanopt.scan(step, None, [a], [a], n_steps=n)[0]


def _roots_of_roots(x: Any, n: Any) -> Any:
    """Each inner loop starts from the result of the one before."""

    def step(a: Any, s: Any, n: Any) -> Any:
        last = _root(a + s, n)[-1:]
        return [last.sum(), last]

    return scanopt.scan(step, x, [1.0, None], [n])[0][1]


@law(
    licence="exact",
    source=_SOURCE,
    example=lambda x, n: scanopt.map(lambda a, n: _root(a, n)[-1], x, [n])[0],
    never=(
        lambda x, n: scanopt.map(lambda a, n: _root(a, n)[-2:].sum(), x, [n])[0],
        lambda x, n: scanopt.map(lambda a, n: (_root(a, n)[-1], scanopt.until(a > 1)), x, [n])[0],
        lambda x, p: scanopt.map(lambda a, n: _root(a, abs(n) + 1)[-1:], [x, p])[0],
        lambda x, n: scanopt.map(lambda a, n: scanopt.scan(lambda r: r * r, None, [a], n_steps=n)[0][-1], x, [n])[0],
        _roots_of_roots,
    ),
)
def last_of_loops_until(c: Clock, d: Clock, v: Value) -> Equation:
    """The last values of d, which ends early, at all steps of c are the last values of lift(c, d)."""
    at_once = tail(lift(c, d), on(lifted(c, d), v), 1)
    return Equation(
        stack(c, tail(d, v, 1)), ops.swap_rows(at_once), when=[liftable_until(c, d), forward(tail(d, v, 1))]
    )
