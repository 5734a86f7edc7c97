"""Arrays that a loop fills row by row are traces of what it writes to them."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import fact
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Value, one_row, ops, stack, steps, tail
from scanopt.facts.loops import runs_all, within


@fact
def written_in_order(v: Value, w: Value) -> None:
    """v is what a state becomes, an array with as many rows as its loop has steps: step t writes w to all of row t
    (given).
    """


def _filled(step: Any, x: Any, places: Any, start: Any = None) -> Any:
    """An array that is filled with what a step makes of each row."""

    def write(i: Any, v: Any, array: Any) -> Any:
        found = step(v)
        return (
            (T.set_subtensor(array[i], found[0]), found[1])
            if isinstance(found, tuple)
            else T.set_subtensor(array[i], found)
        )

    return scanopt.scan(write, [places, x], T.zeros_like(x) if start is None else start)[0][-1]


@law(
    licence="exact",
    source="the guide's example of values that are set at positions",
    example=(lambda x: _filled(T.tanh, x, T.arange(x.shape[0])), lambda X: _filled(T.tanh, X, T.arange(X.shape[0]))),
    never=(
        lambda x: _filled(T.tanh, x, T.arange(x.shape[0])[::-1]),
        lambda x, y: _filled(T.tanh, x, T.arange(x.shape[0]), T.zeros(9)),
        lambda X: _filled(T.sum, X, T.arange(X.shape[0])),
        lambda x: _filled(lambda v: (T.tanh(v), scanopt.until(v > 1)), x, T.arange(x.shape[0])),
    ),
)
def array_written_in_order(c: Clock, v: Value, w: Value, p: Clock) -> Equation:
    """An array that a loop has written from its first row to its last is the trace of what was written."""
    when = [written_in_order(v, w), runs_all(c), within(c, p)]
    return Equation(tail(c, v, 1), one_row(c, stack(c, w), p), when=when)


@law(
    licence="exact",
    enabling=True,
    example=lambda x: _filled(T.tanh, x, T.arange(x.shape[0])),
    never=lambda x, n: T.repeat(x[None], n % 9, axis=0)[-1],
)
def row_of_one_or_none(c: Clock, x: Value, p: Clock) -> Equation:
    """The last of one row, or of none where a loop runs no step, is that row, or an error."""
    return Equation(one_row(c, x, p)[-1], ops.given(x, steps(c)))
