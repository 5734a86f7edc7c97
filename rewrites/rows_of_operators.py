"""A row of what operators make of all rows is what they make of that row."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.facts import batched, runs_all
from scanopt.calculus.facts_indexing import fewer_axes, of_two_axes, one_by_one, rows_there, takes_a_row
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Clock, Op, Value, cons, ops, stack


def _first_large(x: Any) -> Any:
    """A map that may end early."""
    return scanopt.scan(lambda v: (T.exp(v), scanopt.until(v > 1)), x, [None])[0]


@law(
    licence="exact",
    example=(
        lambda X: scanopt.map(lambda v: v.sum(), X)[0][3],
        lambda x, a, k: scanopt.map(lambda v, a: T.arctan2(v, a), x, [a])[0][k],
    ),
    never=(
        lambda x: _first_large(x)[3],
        lambda x: scanopt.scan(lambda v, s: T.tanh(s) + v, x, [0.0])[0][3],
        lambda x: scanopt.map(T.exp, x)[0][1:],
    ),
)
def row_of_map(c: Clock, op: Op, args: Args, row: Op, place: Args, there: Args) -> Equation:
    """A row of the trace of an operator of sequences is the operator of their rows there."""
    when = [rows_there(c, args, row, place, there), runs_all(c)]
    return Equation(row(cons(stack(c, op(args)), place)), op(there), when=when)


@law(
    licence="exact",
    example=(lambda X: T.exp(X)[-1], lambda x, k: T.tanh(x)[k], lambda x: T.cast(x, "uint8")[1]),
    never=(lambda X: T.transpose(X)[-1] * 2.0, lambda X: T.exp(X)[1:]),
)
def row_of_function(X: Value, op: Op, row: Op, place: Args) -> Equation:
    """A row of a function of each entry is the function of the row."""
    when = [takes_a_row(row), one_by_one(op), batched(op)]
    return Equation(row(cons(op(X), place)), op(row(cons(X, place))), when=when)


@law(
    licence="exact",
    example=(lambda X, a: (X * a)[-1], lambda X, x, k: (X + x)[k], lambda x, a: (x**a)[1]),
    never=(lambda X: (X * T.exp(X))[2], lambda X, x: (X + x)[1:], lambda X, x: T.dot(X, x)[2]),
)
def row_of_function_of_two(X: Value, y: Value, op: Op, row: Op, place: Args) -> Equation:
    """The same where a second array, of fewer axes, goes with each row."""
    when = [takes_a_row(row), one_by_one(op), batched(op), fewer_axes(y, X)]
    return Equation(row(cons(op(X, y), place)), op(row(cons(X, place)), y), when=when)


@law(
    licence="exact",
    example=(lambda X, a: (a - X)[-1], lambda X, x, k: (x / X)[k], lambda x, a: (a**x)[1]),
    never=(lambda X: (T.exp(X) - X)[2], lambda X, x: (x - X)[1:], lambda X, x: T.dot(x, X)[2]),
)
def row_of_function_of_another(X: Value, y: Value, op: Op, row: Op, place: Args) -> Equation:
    """The same where the first one has fewer axes."""
    when = [takes_a_row(row), one_by_one(op), batched(op), fewer_axes(y, X)]
    return Equation(row(cons(op(y, X), place)), op(y, row(cons(X, place))), when=when)


@law(
    licence="reassoc",
    example=(lambda X, W: T.dot(X, W)[-1], lambda X, y, k: T.dot(X, y)[k]),
    never=(lambda x, X: T.dot(x, X)[2], lambda X, W: T.dot(X, W)[1:]),
)
def row_of_product(X: Value, W: Value, row: Op, place: Args) -> Equation:
    """A row of a product of matrices is the product of that row."""
    product = ops.dot(row(cons(X, place)), W)
    return Equation(row(cons(ops.dot(X, W), place)), product, when=[takes_a_row(row), of_two_axes(X)])
