"""Operations on arrays of few numbers are done number by number, on stacks: in states, joins, sums and products."""

from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Value
from scanopt.facts.values import same_numbers, same_sums

_TURN = np.array([[0.5, 0.25], [0.25, 0.75]])


def _loop(step: Any, x: Any, start: Any) -> Any:
    """All values of a state."""
    return scanopt.scan(step, x, start)[0]


@law(
    licence="exact",
    example=(
        lambda x: _loop(lambda v, s: T.concatenate([s[1:] * v, s[:1]]), x, np.ones(3))[:, 0],
        lambda a, b, x: (T.stack([a, b]) * T.stack([b, T.exp(a)]))[0] * x,
    ),
    never=(
        lambda x, y: _loop(lambda v, s: T.concatenate([s[1:] * v, s[:1]]), x, y)[:, 0],
        lambda x, X: _loop(lambda v, s: T.tanh(T.dot(X, s) * v), x, np.ones(3)),
    ),
)
def array_of_numbers(v: Value, w: Value) -> Equation:
    """An array of few numbers is the stack of them."""
    return Equation(v, w, when=[same_numbers(v, w)])


@law(
    licence="reassoc",
    example=(
        lambda x, a, b: _loop(lambda v, s: T.dot(_TURN, s) + v, x, T.stack([a, b]))[:, 0],
        lambda a, b: T.dot(T.stack([a, b, a * b]), T.stack([b, a, a + b])),
        lambda a, b: T.stack([a, b]).sum(),
    ),
    never=(lambda a, b: T.stack([a, b]) * T.stack([b, a]), lambda a, b, X: T.dot(X, T.stack([a, b]))),
)
def array_of_sums(v: Value, w: Value) -> Equation:
    """An array of few numbers is the stack of them, where some are added up or multiplied in another order."""
    return Equation(v, w, when=[same_sums(v, w)])
