"""Equal inputs, equal outputs and equal states are merged (ScanMergeInOut).

Equal inputs and outputs need no law: equal terms are one e-class already.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, State
from scanopt.facts.states import become_alike, equal_in_time


def _tanh(v: Any, s: Any, r: Any) -> Any:
    return T.tanh(s + v)


def _of_other(v: Any, s: Any, r: Any) -> Any:
    return T.tanh(v + r)


def _two(x: Any, a: Any, b: Any, first: Any, second: Any) -> Any:
    """A loop with two states, which start at a and b and are updated by the two functions."""
    s, r = scanopt.scan(lambda v, s, r: [first(v, s, r), second(v, s, r)], x, [a, b])[0]
    return s * r


def _apart(x: Any, a: Any, b: Any, end: bool) -> Any:
    """The same state in two loops, the second of which may end early."""

    def loop(start: Any, ends: bool) -> Any:
        return scanopt.scan(lambda v, s: (T.tanh(s + v), scanopt.until(s > 1)) if ends else T.tanh(s + v), x, [start])

    return [loop(a, False)[0], loop(b, end)[0]]


@law(
    licence="exact",
    source="Theano scan internals, ScanMergeInOut",
    example=(
        lambda x, a: _two(x, a, a, _tanh, lambda v, s, r: T.tanh(r + v)),
        lambda x, a: _two(x, a, a, _of_other, _tanh),
        lambda x, a: _apart(x, a, a, False),
    ),
    never=(
        lambda x, a, b: _two(x, a, b, _tanh, lambda v, s, r: T.tanh(r + v)),
        lambda x, a: _two(x, a, a, _tanh, lambda v, s, r: T.tanh(r * v)),
        lambda x, a: _apart(x, a, a, True),
    ),
)
def equal_states(c: Clock, s: State, r: State) -> Equation:
    """States that are equal at every step, by coinduction, are one state."""
    return Equation(s, r, when=[equal_in_time(c, s, c, r)])


@law(
    licence="exact",
    enabling=True,
    source="Theano scan internals, ScanMergeInOut",
    example=lambda x, a, b: _two(x, a, b, lambda v, s, r: T.tanh(v), lambda v, s, r: T.tanh(v)),
    never=lambda x, a: _two(x, a, a, _tanh, lambda v, s, r: T.tanh(v)),
)
def states_of_equal_updates(s: State, r: State) -> Equation:
    """States with the same update are one state; the initial values may differ."""
    return Equation(s, r, when=[become_alike(s, r)])
