"""A value that a loop recomputes from the last step to the first, as gradients do, is read from its trace instead."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import Rules, fact, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Clock, Op, Text, Value, args, hold, seq, stack
from scanopt.facts.lists import held
from scanopt.facts.loops import lies_on, runs_all
from scanopt.facts.raising import total
from scanopt.facts.shapes import regular


@fact
def read_late(Z: Value, w: Value) -> None:
    """At each step, Z (first rows of a state, then its trace) has the row that the delay w reads (given)."""


@fact
def mirrors(c: Clock, v: Value, w: Value, *, m: Args, op: Op, R: Value, X: Value, xs: Args, Z: Value) -> Rules:
    """With n = steps(c), v at step t equals w at step n-1-t, and its shape is the same at all steps."""
    yield when(v.is_(seq(c, R)), R.is_(X[::-1]), w.is_(seq(c, X))).then(mirrors(c, v, w))
    yield when(v.is_(seq(c, R)), R.is_(X[::-1]), X.is_(stack(c, w))).then(mirrors(c, v, w))
    yield when(v.is_(seq(c, R)), R.is_(Z[::-1]), read_late(Z, w), lies_on(w, c)).then(mirrors(c, v, w))
    yield when(v.is_(op(xs)), mirrors_all(c, xs, m), w.is_(op(m)), regular(w)).then(mirrors(c, v, w))


@fact
def mirrors_all(
    c: Clock, xs: Args, m: Args, *, f: Text, o: Args, q: Args, r: Args, v: Value, w: Value, x: Value
) -> Rules:
    """Each value of the first list mirrors one of the second or is loop-invariant; at least one of them varies."""
    yield when(xs.is_(args(v)), mirrors(c, v, w), m.is_(args(w))).then(mirrors_all(c, xs, m))
    yield when(xs.is_(args(v, r)), v.is_(hold(c, x)), mirrors_all(c, r, q), m.is_(args(v, q))).then(
        mirrors_all(c, xs, m)
    )
    yield when(xs.is_(args(v, r)), mirrors(c, v, w), held(c, r, o, f), m.is_(args(w, r))).then(mirrors_all(c, xs, m))
    yield when(xs.is_(args(v, r)), mirrors(c, v, w), mirrors_all(c, r, q), m.is_(args(w, q))).then(
        mirrors_all(c, xs, m)
    )


def _network(X: Any, W: Any) -> Any:
    return scanopt.scan(lambda v, h, w: T.tanh(v + T.dot(h, w)), X, [T.zeros_like(W[0])], [W])[0]


def _both_ways(a: Any, end: bool) -> Any:
    """A loop that reads the same numbers from both ends and may end early."""
    rows = T.arange(5.0) * a

    def step(v: Any, w: Any, s: Any) -> Any:
        out = T.tanh(s * (T.exp(v) + T.exp(w)))
        return (out, scanopt.until(s > 1)) if end else out

    return scanopt.scan(step, [rows, rows[::-1]], [a])[0]


def _inverted(v: Any, n: Any) -> Any:
    """The inverse of a matrix, which is singular where n is large."""
    return scanopt.ifelse(n > 99, T.linalg.inv(T.outer(v, v)), T.zeros((v.shape[0], v.shape[0])))


@law(
    licence="exact",
    source="Theano: gradients of scan read what the forward loop computed",
    example=(
        lambda X, W: scanopt.grad((_network(X, W) ** 2).sum(), W),
        lambda a: _both_ways(a, False),
        lambda X, n: scanopt.map(lambda v, w, n: [_inverted(v, n), _inverted(w, n)], [X, X[::-1]], [n])[0],
    ),
    never=(lambda a: _both_ways(a, True), lambda x: scanopt.map(lambda v: T.exp(v) + 1, x[::-1])[0]),
)
def value_seen_backwards(c: Clock, v: Value, w: Value) -> Equation:
    """A value that is computed again in reverse order is read from the trace, last row first."""
    return Equation(v, seq(c, stack(c, w)[::-1]), when=[mirrors(c, v, w), runs_all(c), total(w)])
