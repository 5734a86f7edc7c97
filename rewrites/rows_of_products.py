"""Parts of products: one row or column, rows with themselves, and products of two parts that add up to the whole."""

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Op, Value, as_row, ops, vmap
from scanopt.facts.parts import cut_in_two, takes_a_row
from scanopt.facts.values import floating, matrix, vector


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


@law(
    licence="reassoc",
    enabling=True,
    stepwise=True,
    example=lambda X, y: T.dot(X, y[:, None])[:, 0],
    never=lambda x, y: T.dot(x, y[:, None])[0],
)
def product_with_one_column(X: Value, y: Value) -> Equation:
    """X @ y[:, None] = (X @ y)[:, None]."""
    product = ops.dot(X, ops.expand_dims(y, axis=(1,)))
    return Equation(product, ops.expand_dims(ops.dot(X, y), axis=(1,)), when=[matrix(X)])


@law(
    licence="reassoc",
    enabling=True,
    stepwise=True,
    example=lambda x, X: T.flatten(T.dot(x[None], X)) * 2.0,
    never=(lambda x, y: T.dot(x[None], y) * 2.0, lambda x, X: T.dot(x[None], T.stack([X, X])) * 2.0),
)
def product_with_one_row(x: Value, W: Value) -> Equation:
    """x[None] @ W = (x @ W)[None]."""
    return Equation(ops.dot(as_row(x), W), as_row(ops.dot(x, W)), when=[vector(x), matrix(W)])


@law(
    licence="reassoc",
    stepwise=True,
    example=(
        lambda x, y: T.dot(x[:3], y[:3]) + T.dot(x[3:], y[3:]),
        lambda x, W: T.dot(x[:-1], W[:-1]) + T.dot(x[-1:], W[-1:]),
    ),
    never=(
        lambda x, y: T.dot(x[:3], y[:3]) + T.dot(x[2:], y[2:]),
        lambda X, Y: T.dot(X[:3], Y[:3]) + T.dot(X[3:], Y[3:]),
        lambda x, y: T.dot(x[:3], y[:3]) - T.dot(x[3:], y[3:]),
    ),
)
def product_in_two_parts(join: Op, g: Op, h: Op, x: Value, Y: Value) -> Equation:
    """x[:k] @ Y[:k] + x[k:] @ Y[k:] = x @ Y for a vector x."""
    parts = ops.dot(g(x), g(Y)) + ops.dot(h(x), h(Y))
    return Equation(parts, ops.dot(x, Y), when=[cut_in_two(join, g, h), vector(x)])
