"""A part of an elementwise or rowwise result is computed from parts of the arguments, without the other elements."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import Body, Rules, fact, query, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Int, Op, Value, args, ndim, ops
from scanopt.facts.operators import by_element
from scanopt.facts.parts import (
    is_a_part,
    is_a_part_of_rows,
    takes_a_column,
    takes_a_row,
    takes_consecutive_rows,
    takes_leading_rows,
)
from scanopt.facts.raising import always
from scanopt.facts.values import scalar


@fact
def runs_down_rows(op: Op) -> None:
    """Row k of op(X) depends on the rows of X up to it alone, and op raises nothing (given for running sums)."""


@fact
def row_by_row(X: Value, v: Value, op: Op) -> None:
    """X, an argument of v, has as many rows, and each row of v is op of the same row of X, as exactly as the licence of
    the call asks; what raises does so for each row (given as `has_shape_of` is).
    """


@fact
def has_rows_of(x: Value, v: Value) -> None:
    """x, an argument of v, has as many axes and rows as v, whatever the inputs are (given as `has_shape_of` is)."""


@fact
def has_shape_of(x: Value, v: Value) -> None:
    """x, an argument of v, has v's shape, whatever the inputs are (given where the program takes a part of v, or of
    what is computed of v element by element).
    """


@fact
def in_parts(g: Op, bounds: Args, v: Value, op: Op, xs: Args, *, r: Args, w: Value, x: Value) -> Rules:
    """The program has the part g of v, which op computes by element of the list, or of a list with this end."""
    yield when(w.is_(g(v, bounds)), is_a_part(g), v.is_(op(xs)), by_element(op)).then(in_parts(g, bounds, v, op, xs))
    yield when(in_parts(g, bounds, v, op, xs), xs.is_(args(x, r))).then(in_parts(g, bounds, v, op, r))


@fact
def part_of_argument(
    g: Op, bounds: Args, v: Value, x: Value, p: Value, *, m: Int, n: Int, op: Op, r: Args, w: Value, xs: Args
) -> Rules:
    """p has the elements of x that belong to the part g of v: those of its own part, or all where x has fewer axes.

    Its own part raises where that of v does, so it is as if the program computed it.
    """
    some = in_parts(g, bounds, v, op, xs)
    yield when(some, has_shape_of(x, v)).then(part_of_argument(g, bounds, v, x, g(x, bounds)))
    yield when(some, has_rows_of(x, v), is_a_part_of_rows(g)).then(part_of_argument(g, bounds, v, x, g(x, bounds)))
    one = some, xs.is_(args(x, r))
    yield when(*one, scalar(x)).then(part_of_argument(g, bounds, v, x, x))
    yield when(*one, is_a_part_of_rows(g), n.is_(ndim(v)), m.is_(ndim(x)), n >= m + 1).then(
        part_of_argument(g, bounds, v, x, x)
    )
    yield when(part_of_argument(g, bounds, v, x, p), w.is_(g(v, bounds)), always(w)).then(always(p))


@fact
def parts_of(g: Op, bounds: Args, v: Value, op: Op, xs: Args, o: Args, *, p: Value, r: Args, x: Value) -> Rules:
    """The second list has of each value of the first what belongs to the part g of v, which op computes by element."""
    one = part_of_argument(g, bounds, v, x, p)
    yield when(one, in_parts(g, bounds, v, op, xs), xs.is_(args(x))).then(parts_of(g, bounds, v, op, xs, args(p)))
    yield when(one, parts_of(g, bounds, v, op, r, o), xs.is_(args(x, r))).then(
        parts_of(g, bounds, v, op, xs, args(p, o))
    )


def _decay(x: Any, n: Any) -> Any:
    return scanopt.scan(lambda s: T.tanh(s), None, [x], n_steps=n)[0]


@law(
    licence="exact",
    source="Theano, local_subtensor_lift",
    stepwise=True,
    example=(
        lambda x: T.exp(x)[2:],
        lambda x, a: (T.exp(x) * x + a)[-1],
        lambda X, k: T.tanh(X)[k],
        lambda X: T.exp(X)[:, -1],
        lambda X, y: (T.exp(X) * y)[0],
        lambda x, n: (T.exp(_decay(x, n)) * 2.0)[-1],
        lambda X, y: [(T.exp(X) * y)[0], (T.exp(y) * y)[0]],
    ),
    never=(
        lambda x: T.cumsum(x)[2:],
        lambda X: T.exp(X).T * X,
        lambda x, y: (x * y)[2:],
        lambda X, y: (T.exp(X) * y)[:, 0],
        lambda X: (X - X.mean(axis=0))[:, 0],
        lambda a: T.full((3,), a)[1:],
        lambda x, p: T.exp(x)[p],
    ),
)
def part_of_elements(g: Op, op: Op, xs: Args, bounds: Args, parts: Args) -> Equation:
    """A part of what an operator computes by element is what it computes of parts."""
    v = op(xs)
    return Equation(g(v, bounds), op(parts), when=[parts_of(g, bounds, v, op, xs, parts)])


@law(
    licence="exact",
    source="Theano, local_subtensor_lift",
    stepwise=True,
    example=(
        lambda X: T.exp(X).sum(axis=1)[-1],
        lambda X, k: T.sort(X, axis=1)[k],
        lambda X, n: T.cumsum(T.exp(X), axis=1)[n],
    ),
    never=(lambda X: T.exp(X).sum(axis=0)[-1], lambda X: T.exp(X).sum(axis=1)[1:]),
)
def row_of_what_rows_come_to(g: Op, h: Op, op: Op, X: Value, bounds: Args) -> Equation:
    """A row of what is computed row by row is computed of one row."""
    v = h(X)
    return Equation(g(v, bounds), op(g(X, bounds)), when=[takes_a_row(g), row_by_row(X, v, op)])


@law(
    licence="exact",
    source="Theano, local_subtensor_lift",
    stepwise=True,
    example=(lambda X: T.exp(X).sum(axis=1)[1:], lambda X, k: T.cumsum(T.exp(X), axis=1)[k:]),
    never=(lambda X: T.exp(X).sum(axis=0)[1:], lambda X: T.exp(X).sum(axis=1)[-1]),
)
def rows_of_what_rows_come_to(g: Op, h: Op, op: Op, X: Value, bounds: Args) -> Equation:
    """Rows of what is computed row by row are computed of these rows."""
    v = h(X)
    return Equation(g(v, bounds), h(g(X, bounds)), when=[takes_consecutive_rows(g), row_by_row(X, v, op)])


@law(
    licence="exact",
    stepwise=True,
    example=(lambda x, y: T.outer(x, y)[-1], lambda x, y, k: T.outer(x, y)[k]),
    never=lambda x, y: T.outer(x, y)[1:],
)
def row_of_outer_product(g: Op, x: Value, y: Value, bounds: Args) -> Equation:
    """A row of an outer product is a number times the second vector."""
    return Equation(g(ops.outer(x, y), bounds), g(x, bounds) * y, when=[takes_a_row(g)])


@law(
    licence="exact",
    stepwise=True,
    example=(lambda x, y: T.outer(x, y)[:, -1], lambda x, y, k: T.outer(x, y)[:, k]),
    never=(lambda x, y: T.outer(x, y)[:, 1:], lambda x, y: T.outer(x, y)[1]),
)
def column_of_outer_product(g: Op, h: Op, x: Value, y: Value, bounds: Args) -> Equation:
    """A column of an outer product is the first vector times a number."""
    return Equation(g(ops.outer(x, y), bounds), x * h(y, bounds), when=[takes_a_column(g, h)])


@query
def leading_rows(g: Op, v: Value, w: Value) -> Body:
    """g takes first rows, and v, which are those of w, are not known to be all of them."""
    return takes_leading_rows(g), v.differs_from(w)


@law(
    licence="exact",
    stepwise=True,
    example=(lambda x: T.cumsum(x)[:3], lambda X, k: T.cumprod(T.exp(X), axis=0)[:k]),
    never=(lambda x: T.cumsum(x)[1:], lambda X: T.cumsum(X, axis=1)[:3] * 2.0),
)
def first_of_what_rows_add_up_to(g: Op, op: Op, X: Value, bounds: Args) -> Equation:
    """The first of what rows add up to from the first one on are those of the first rows."""
    left = g(op(X), bounds)
    return Equation(left, op(g(X, bounds)), when=[runs_down_rows(op), leading_rows(g, left, op(X))])
