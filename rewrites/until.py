"""End conditions that hold after the first step, or never.

A condition that never holds ends nothing: see the fact runs_all.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Int, Value, cut, on, stack, tail, to_cut
from scanopt.facts.loops import ends_at_once


def _until(condition: Any) -> Any:
    """A state that sums x, until a condition on the sum holds."""
    return lambda x, a: scanopt.scan(lambda v, s: (T.tanh(s) + v, scanopt.until(condition(s))), x, [a])[0]


@law(
    licence="exact",
    source="removal of a constant `until`",
    example=(_until(lambda s: True), _until(lambda s: T.constant(2) > T.constant(1))),
    never=(_until(lambda s: s > 9), _until(lambda s: False)),
)
def trace_of_first_step(c: Clock, v: Value) -> Equation:
    """A loop that ends after its first step runs at most one step."""
    return Equation(stack(c, v), stack(cut(c, 1), on(to_cut(c, 1), v)), when=[ends_at_once(c)])


@law(
    licence="exact",
    enabling=True,
    source="removal of a constant `until`",
    example=lambda x, a: _until(lambda s: True)(x, a)[-1],
    never=(lambda x, a: _until(lambda s: s > 9)(x, a)[-1], lambda x, a: _until(lambda s: False)(x, a)[-1]),
)
def last_of_first_step(c: Clock, v: Value, k: Int) -> Equation:
    """The last rows of a loop that ends after its first step are those of a loop of at most one step."""
    return Equation(tail(c, v, k), tail(cut(c, 1), on(to_cut(c, 1), v), k), when=[ends_at_once(c)])
