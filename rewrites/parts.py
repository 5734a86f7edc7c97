"""Parts of parts, and loops of which only a part is read: they run fewer steps and keep fewer rows (ScanSaveMem)."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Clock, Int, Op, Value, const_at, const_int, cut, on, stack, tail, to_cut
from scanopt.facts.loops import lies_on
from scanopt.facts.numbers import differ
from scanopt.facts.parts import (
    in_two,
    part_of_part,
    reads_first,
    reads_last,
    reads_last_of,
    rows_before,
    rows_first,
    takes_all,
    takes_first,
    undone,
)  # fmt: skip


def _decay(x: Any, n: Any) -> Any:
    return scanopt.scan(lambda s: T.tanh(s), None, [x], n_steps=n)[0]


def _decay_until(x: Any, n: Any) -> Any:
    return scanopt.scan(lambda s: (T.tanh(s), scanopt.until((s < 0.1).all())), None, [x], n_steps=n)[0]


@law(
    licence="exact",
    example=(
        lambda x, n: _decay(x, n)[::-1][0],
        lambda x: x[2:][:-1],
        lambda X: T.transpose(T.transpose(T.expand_dims(X, 0), (1, 2, 0)), (1, 2, 0)),
    ),
    never=(lambda x, n: _decay(x, n)[:, 1:][0], lambda x: x[-3:][1], lambda x, k: x[k:][0]),
)
def part_of_a_part(X: Value, g: Op, h: Op, op: Op) -> Equation:
    """A part of a part of an array is one part of it; two transposes are one transpose."""
    return Equation(g(h(X)), op(X), when=[part_of_part(g, h, op)])


@law(
    licence="exact",
    example=(lambda x: T.exp(x[::-1])[::-1] * T.exp(x[::-1])[::-1][::-1], lambda X: X.T.T * 2.0),
    never=(lambda x: x[::-1][::-2], lambda X: T.transpose(T.expand_dims(X, 2), (1, 2, 0)) * 2.0),
)
def arranged_back(X: Value, g: Op, h: Op) -> Equation:
    """Reversing twice, or transposing there and back, does nothing."""
    return Equation(g(h(X)), X, when=[undone(g, h)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, y: T.concatenate([T.expand_dims(y, 0), T.outer(x, y)])[1:] * 2.0,
    never=lambda X: X[1:] * 2.0,
)
def all_rows_by_bounds(X: Value, op: Op) -> Equation:
    """A slice whose constant bounds include all rows is the array."""
    return Equation(op(X), X, when=[takes_all(op)])


@law(
    licence="exact",
    example=lambda X: X[: X.shape[0]] * 2.0,
    never=(lambda X, Y: X[: Y.shape[0]] * 2.0, lambda X: X[: X.shape[1]] * 2.0),
)
def all_rows_by_length(X: Value) -> Equation:
    """X[:len(X)] = X."""
    return Equation(X[: X.shape[0]], X)


@law(
    licence="exact",
    stepwise=True,
    example=lambda X, n: X[2:5][3:].shape[0] + n,
    never=(lambda X, n: X[2:5][3:].shape[1] + n, lambda X, n: X[2:5][2:].shape[0] + n),
)
def count_of_no_rows(X: Value, c: Clock) -> Equation:
    """X[:0] has no rows."""
    return Equation(X[:0].shape[0], const_at(c, "int64:0"), when=[lies_on(X, c)])


@law(
    licence="exact",
    source="Theano scan internals, ScanSaveMem",
    example=(lambda x, n: _decay(x, n)[-3:-1], lambda x, n: _decay(x, n)[-4::2]),
    never=lambda x, n: _decay(x, n)[1:-1],
)
def part_of_last_rows(c: Clock, v: Value, op: Op, k: Int, g: Op) -> Equation:
    """A part that reads only the last k rows of a trace needs only these rows of it."""
    return Equation(op(stack(c, v)), g(tail(c, v, k)), when=[reads_last(op, k, g)])


@law(
    licence="exact",
    source="Theano scan internals, ScanSaveMem",
    example=lambda x, n: _decay(x, n)[1:][-1],
    never=lambda x, n: _decay(x, n)[1:][::-2],
)
def part_of_part_of_last_rows(c: Clock, v: Value, g: Op, h: Op, k: Int) -> Equation:
    """A part of a part of a trace that reads only its last k rows needs only these rows of it."""
    return Equation(g(h(stack(c, v))), g(h(tail(c, v, k))), when=[reads_last_of(g, h, k)])


@law(
    licence="exact",
    enabling=True,
    example=(lambda x, n: _decay(x, n)[-1, 0], lambda x, n, k: _decay(x, n)[-k:, ::2]),
    never=(lambda X: X[:, 0] * 2.0, lambda X, k: X[1, :k] * 2.0),
)
def rows_then_their_parts(X: Value, op: Op, g: Op, h: Op, bounds: Args) -> Equation:
    """An index with several axes takes rows first, then a part of each row."""
    return Equation(op(X, bounds), g(h(X, bounds)), when=[in_two(op, g, h)])


@law(
    licence="exact",
    enabling=True,
    example=lambda x, n, k: _decay(x, n)[-1, :k],
    never=(lambda X: X[:, 0] * 2.0, lambda X, k: X[:k, :k] * 2.0),
)
def rows_then_parts_by_bounds(X: Value, op: Op, g: Op, h: Op, bounds: Args) -> Equation:
    """An index with several axes takes rows first, then a part of each row by computed bounds."""
    return Equation(op(X, bounds), g(h(X), bounds), when=[rows_before(op, g, h)])


@law(
    licence="exact",
    enabling=True,
    example=(lambda x, n: _decay(x, n)[:, 0][-1], lambda x, n, k: _decay(x, n)[:, 1:][-k:]),
    never=lambda X, k: X[:, :k][1] * 2.0,
)
def rows_before_parts(X: Value, g: Op, h: Op, f: Op, bounds: Args) -> Equation:
    """Taking rows of parts is taking parts of these rows: the rows are taken first, where these are not all rows."""
    left = g(h(X), bounds)
    return Equation(left, f(g(X, bounds)), when=[rows_first(g, h, f), differ(left, h(X))])


@law(
    licence="exact",
    source="Theano scan internals, ScanSaveMem (fewer steps)",
    example=(lambda x, n: _decay(x, n)[:3], lambda x, n: _decay_until(x, n)[:3]),
    never=lambda x, n: _decay(x, n)[1:],
)
def first_rows(c: Clock, v: Value, op: Op, k: Int) -> Equation:
    """The first k rows of a trace are the trace of a loop that runs at most k steps."""
    rows = stack(cut(c, k), on(to_cut(c, k), v))
    return Equation(op(stack(c, v)), rows, when=[takes_first(op, k)])


@law(
    licence="exact",
    source="Theano scan internals, ScanSaveMem (fewer steps)",
    example=(lambda x, n: _decay(x, n)[1:3], lambda x, n: _decay_until(x, n)[:4:2]),
    never=lambda x, n: _decay(x, n)[1:],
)
def part_of_first_rows(c: Clock, v: Value, op: Op, k: Int) -> Equation:
    """A part that reads only the first k rows of a trace needs at most k steps."""
    rows = stack(cut(c, k), on(to_cut(c, k), v))
    return Equation(op(stack(c, v)), op(rows), when=[reads_first(op, k)])


@law(
    licence="exact",
    enabling=True,
    example=lambda x: x[x.shape[0] - 1],
    never=(lambda x, y: x[y.shape[0] - 1], lambda x: x[x.shape[0] - 2]),
)
def last_by_length(X: Value) -> Equation:
    """X[len(X) - 1] = X[-1]."""
    place = X.shape[0] - const_int(1)
    return Equation(X[place], X[-1])
