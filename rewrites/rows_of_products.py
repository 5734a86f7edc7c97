"""A row of a matrix product is the product of that row."""

import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Op, Value, ops
from scanopt.facts.parts import takes_a_row
from scanopt.facts.values import matrix


@law(
    licence="reassoc",
    example=(lambda X, W: T.dot(X, W)[-1], lambda X, y, k: T.dot(X, y)[k]),
    never=(lambda x, X: T.dot(x, X)[2], lambda X, W: T.dot(X, W)[1:]),
)
def row_of_product(X: Value, W: Value, row: Op, place: Args) -> Equation:
    """(X @ W)[k] = X[k] @ W."""
    product = ops.dot(row(X, place), W)
    return Equation(row(ops.dot(X, W), place), product, when=[takes_a_row(row), matrix(X)])
