"""What a loop computes again from the last step to the first, as the loop of a gradient does, is read from a trace."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.facts import runs_all
from scanopt.calculus.facts_mirrors import mirrors
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Value, seq, stack


def _network(X: Any, W: Any) -> Any:
    return scanopt.scan(lambda v, h, w: T.tanh(v + T.dot(h, w)), X, [T.zeros_like(W[0])], [W])[0]


def _both_ways(a: Any, end: bool) -> Any:
    """A loop over numbers from both ends, which may end early."""
    rows = T.arange(5.0) * a

    def step(v: Any, w: Any, s: Any) -> Any:
        out = T.tanh(s * (T.exp(v) + T.exp(w)))
        return (out, scanopt.until(s > 1)) if end else out

    return scanopt.scan(step, [rows, rows[::-1]], [a])[0]


@law(
    licence="exact",
    source="Theano: gradients of scan read what the forward loop computed",
    example=(lambda X, W: scanopt.grad((_network(X, W) ** 2).sum(), W), lambda a: _both_ways(a, False)),
    never=(lambda a: _both_ways(a, True), lambda x: scanopt.map(lambda v: T.exp(v) + 1, x[::-1])[0]),
)
def value_seen_backwards(c: Clock, v: Value, w: Value) -> Equation:
    """What is computed at step t and again at step n-1-t is read from the trace, last row first."""
    return Equation(v, seq(c, stack(c, w)[::-1]), when=[mirrors(c, v, w), runs_all(c)])
