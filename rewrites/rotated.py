"""Loops that add a row of a sequence at the end of each step, for the next one: they add it at the beginning instead.

`becoming(s, r)` is a state of the same loop as s that becomes r.  In gradients, what comes from outside is added to
what comes from later steps: if each step does so first, it reads the rows as they are, not those after a first one.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, State, Text, Value, becoming, const_at, delay, ops, seq
from scanopt.facts.bits import unit
from scanopt.facts.loops import lies_on
from scanopt.facts.states import becomes
from scanopt.facts.values import of_dtype


def _loop(X: Any, W: Any, first: Any = None, dtype: str = "float64") -> Any:
    """To each row of X but the first comes what is made of the row before it."""
    start = X[0] if first is None else first
    return scanopt.scan(lambda v, s, W: v + T.cast(T.dot(W, T.tanh(s)), dtype), X[1:], start, [W])[0]


def _single(x: Any) -> Any:
    return T.cast(x, "float32")


def _joined(x: Any, y: Any) -> Any:
    """Some rows, and one more."""
    return T.concatenate([T.outer(y, x), T.expand_dims(x, 0)])


@law(
    licence="exact",
    enabling=True,
    example=lambda x, y, W: _loop(_joined(x, y), W),
    never=(
        lambda X, W, x: _loop(X, W, x),
        lambda X, W: _loop(X, W, X[1]),
        lambda x, y, W: _loop(_joined(x, y), W, dtype="float32"),
        lambda X, W, x: [_loop(X, W, dtype="float32"), _loop(_single(X), _single(W), _single(x), "float32")],
    ),
)
def row_added_first(c: Clock, p: Clock, X: Value, s: State, r: Value, d: Text, k: Text, e: Value) -> Equation:
    """A state that starts as X[0] and becomes X[t + 1] + r is X[t] plus a state that becomes r."""
    row = seq(c, X[:-1])
    none = ops.expand_dims(ops.full_like(X[-1], const_at(p, k)), axis=(0,))
    right = row + delay(c, none, becoming(s, ops.spread_like(r, row)), 1)
    when = [becomes(s, seq(c, X[1:]) + r), unit(ops("add"), d, k, e), of_dtype(X, d), of_dtype(r, d), lies_on(X, p)]
    return Equation(delay(c, ops.expand_dims(X[0], axis=(0,)), s, 1), right, when=when)
