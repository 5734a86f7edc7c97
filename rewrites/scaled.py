"""A state that is kept as a multiple, by a power of two, of what is read of it is replaced by what is read.

`scaled(s, a)` is the state whose values are those of s times a.  Where s becomes u * b, with a * b = 1, it becomes u.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, State, Text, Value, as_row, delay, hold, scaled
from scanopt.facts.states import kept_times
from scanopt.facts.values import of_dtype, reciprocal_of_power

_HALF = T.constant(0.5, dtype="float64")


def _loop(step: Any, x: Any, start: Any) -> Any:
    """All values of a state."""
    return scanopt.scan(step, x, start)[0]


@law(
    licence="exact",
    enabling=True,
    example=lambda x, a: _loop(lambda v, s: T.tanh(s * 0.5 + v) * 2.0, x, a) * 0.5,
    never=(
        lambda x, a: _loop(lambda v, s: T.tanh(s * 0.5 + v) * 3.0, x, a) * 0.5,
        lambda x, a: _loop(lambda v, s: T.tanh(s * 3.0 + v) * 2.0, x, a) * 0.5,
        lambda x, a: _loop(lambda v, s: T.tanh(s * 2.0 + v) * 2.0, x, a),
        lambda x, a: _loop(
            lambda v, s: T.cast(T.tanh(s * _HALF + v), "float32") * T.constant(2.0, dtype="float32"),
            x, T.cast(a, "float32"),
        ),
    ),
)  # fmt: skip
def state_of_multiples(c: Clock, x: Value, s: State, a: Value, k: Text, d: Text) -> Equation:
    """A state that becomes a multiple and is read as one is kept as what is read."""
    start = as_row(x)
    right = delay(c, as_row(x * a), scaled(s, a), 1)
    when = [kept_times(s, k), reciprocal_of_power(a, k), of_dtype(x, d), of_dtype(a, d)]
    return Equation(delay(c, start, s, 1) * hold(c, a), right, when=when)
