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


@fact
def written_backwards(v: Value, w: Value) -> None:
    """The same from the last row to the first one: of n steps, step t writes w to all of row n-1-t (given)."""


@fact
def written_by_entries(v: Value, b: Clock, w: Value) -> None:
    """v is what a state becomes, a matrix with as many rows as its loop has steps: to row t, an inner loop b has
    written w, in step i to entry i, of which there are as many as it has steps (given).
    """


def _filled(step: Any, x: Any, places: Any, start: Any = None) -> Any:
    """An array whose rows a loop fills with `step` of each row of x."""

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
    example=(
        lambda x: _filled(T.tanh, x, T.arange(x.shape[0])[::-1]),
        lambda X: _filled(T.tanh, X, T.arange(X.shape[0] - 1, -1, -1)),
        lambda x: _filled(T.tanh, x, -1 - T.arange(x.shape[0])),
    ),
    never=(
        lambda x: _filled(T.tanh, x, T.arange(x.shape[0])),
        lambda x: _filled(T.tanh, x, T.arange(x.shape[0])[::-1], T.zeros(9)),
        lambda x: _filled(T.tanh, x, T.arange(x.shape[0] - 2, -2, -1)),
        lambda X: _filled(T.sum, X, T.arange(X.shape[0])[::-1]),
        lambda x: _filled(lambda v: (T.tanh(v), scanopt.until(v > 1)), x, T.arange(x.shape[0])[::-1]),
    ),
)
def array_written_backwards(c: Clock, v: Value, w: Value, p: Clock) -> Equation:
    """An array that a loop has written from its last row to its first is the trace of what was written, reversed."""
    when = [written_backwards(v, w), runs_all(c), within(c, p)]
    return Equation(tail(c, v, 1), one_row(c, stack(c, w)[::-1], p), when=when)


def _by_entries(x: Any, y: Any, write: Any, start: Any = None, end: Any = None) -> Any:
    """A matrix that an inner loop fills entry by entry, row by row of an outer loop."""

    def rows(i: Any, array: Any, x: Any, y: Any) -> Any:
        step = lambda j, array, i, x, y: write(array, i, j, x[i] * y[j])  # noqa: E731
        found = scanopt.scan(step, T.arange(y.shape[0]), array, [i, x, y])[0][-1]
        return found if end is None else (found, scanopt.until(x[i] > end))

    start = T.zeros((x.shape[0], y.shape[0])) if start is None else start
    return scanopt.scan(rows, T.arange(x.shape[0]), start, [x, y])[0][-1]


def _put(array: Any, i: Any, j: Any, v: Any) -> Any:
    return T.set_subtensor(array[i, j], v)


@law(
    licence="exact",
    example=lambda x, y: _by_entries(T.tanh(x), y, _put),
    never=(
        lambda x: _by_entries(x, x, lambda array, i, j, v: _put(array, j, i, v)),
        lambda x: _by_entries(x, x, lambda array, i, j, v: _put(array, i, i, v)),
        lambda x, y: _by_entries(x, y, _put, T.zeros((9, 9))),
        lambda x, y: _by_entries(x, y, lambda array, i, j, v: (_put(array, i, j, v), scanopt.until(v > 1))),
        lambda x, y: _by_entries(x, y, _put, end=1),
    ),
)
def matrix_written_by_entries(c: Clock, v: Value, b: Clock, w: Value, p: Clock) -> Equation:
    """A matrix that an inner loop has written, row by row, is the trace of the traces of what was written."""
    when = [written_by_entries(v, b, w), runs_all(b), runs_all(c), within(c, p)]
    row = ops.given(stack(b, w), steps(b))
    return Equation(tail(c, v, 1), one_row(c, stack(c, row), p), when=when)


@law(
    licence="exact",
    enabling=True,
    example=lambda x: _filled(T.tanh, x, T.arange(x.shape[0])),
    never=lambda x, n: T.repeat(x[None], n % 9, axis=0)[-1],
)
def row_of_one_or_none(c: Clock, x: Value, p: Clock) -> Equation:
    """The last of one row, or of none where a loop runs no step, is that row, or an error."""
    return Equation(one_row(c, x, p)[-1], ops.given(x, steps(c)))
