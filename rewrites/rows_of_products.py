"""Products row by row: a row of a matrix product is the product of that row, and products of rows with themselves."""

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Op, Value, ops, vmap
from scanopt.facts.parts import takes_a_row
from scanopt.facts.values import floating, matrix


@law(
    licence="reassoc",
    example=(lambda X, W: T.dot(X, W)[-1], lambda X, y, k: T.dot(X, y)[k]),
    never=(lambda x, X: T.dot(x, X)[2], lambda X, W: T.dot(X, W)[1:]),
)
def row_of_product(X: Value, W: Value, row: Op, place: Args) -> Equation:
    """(X @ W)[k] = X[k] @ W."""
    product = ops.dot(row(X, place), W)
    return Equation(row(ops.dot(X, W), place), product, when=[takes_a_row(row), matrix(X)])


@law(
    licence="reassoc",
    enabling=True,
    example=lambda X: scanopt.map(lambda v: T.dot(v, v), T.exp(X))[0],
    never=(
        lambda X: scanopt.map(lambda v: T.dot(v, v[::-1]), X)[0],
        lambda X: scanopt.map(lambda v: T.dot(v, v), T.stack([X, X]))[0],
        lambda X: scanopt.map(lambda v: T.dot(v, v), T.cast(X, "int64"))[0],
    ),
)
def rows_times_themselves(X: Value) -> Equation:
    """The products of rows with themselves are the sums of their squares."""
    products = vmap(ops.dot, "11")(X, X)
    return Equation(products, ops.sum(X * X, axis=(1,), keepdims=False), when=[matrix(X), floating(X)])
