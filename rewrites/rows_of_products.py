"""Parts and transposes of products: rows, columns, products of rows with themselves, sums of two parts."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Op, Text, Value, as_row, ops, vmap
from scanopt.facts.numbers import differ
from scanopt.facts.parts import cut_in_two, is_a_part_of_rows, takes_a_column
from scanopt.facts.values import floating, has_so_many_axes, matrix, of_dtype, same_type, vector

_ALL_ROWS = ("slice", None, None, None)
_COLUMNS_BEFORE = ops("getitem", index=(_ALL_ROWS, ("slice", None, "in", None)))
_COLUMNS_FROM = ops("getitem", index=(_ALL_ROWS, ("slice", "in", None, None)))

_ENTRY = ops("getitem", index=("in", "in"))
_COLUMN = ops("getitem", index=(_ALL_ROWS, "in"))
_NO_COLUMNS = ops("getitem", index=(_ALL_ROWS, ("slice", None, 0, None)))
_NO_ROWS = ops("getitem", index=(("slice", None, 0, None),))
_ENTRIES = ops("getitem", index=("array", "array"))
_ROWS = ops("getitem", index=("array",))


def _small(x: Any) -> Any:
    return T.cast(x, "float32")


def _transposed(X: Value) -> Value:
    return ops.transpose(X, axes=(1, 0))


@law(
    licence="reassoc",
    example=(lambda X, W: T.dot(X, W)[-1], lambda X, y, k: T.dot(X, y)[k], lambda X, W: T.dot(X, W)[1:]),
    never=(lambda x, X: T.dot(x, X)[2], lambda X, W: T.dot(X, W)[:, 1]),
)
def rows_of_product(X: Value, W: Value, part: Op, bounds: Args) -> Equation:
    """(X @ W)[k] = X[k] @ W, and the same for some rows."""
    product = ops.dot(part(X, bounds), W)
    return Equation(part(ops.dot(X, W), bounds), product, when=[is_a_part_of_rows(part), matrix(X)])


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda X, W: T.dot(X, W)[:, -1], lambda X, W, k: T.dot(X, W)[:, k]),
    never=(lambda X, W: T.dot(X, W)[1], lambda X, W: T.dot(X, W)[:, 1:]),
)
def column_of_product(X: Value, W: Value, column: Op, one: Op, place: Args) -> Equation:
    """(X @ W)[:, k] = X @ W[:, k]."""
    product = ops.dot(X, column(W, place))
    return Equation(column(ops.dot(X, W), place), product, when=[takes_a_column(column, one)])


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda x, W: T.dot(x, W)[-1], lambda x, W, k: T.dot(x, W)[k]),
    never=(lambda X, W: T.dot(X, W)[-1], lambda x, W: T.dot(x, W)[1:]),
)
def entry_of_vector_product(x: Value, W: Value, column: Op, one: Op, place: Args) -> Equation:
    """(x @ W)[k] = x @ W[:, k]."""
    product = ops.dot(x, column(W, place))
    return Equation(one(ops.dot(x, W), place), product, when=[takes_a_column(column, one), vector(x)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda X, W, k, n: T.dot(X, W)[k, n],
    never=(lambda X, W, k, n: (X * W)[k, n], lambda x, W, k: T.dot(x, W)[k] * 2.0),
)
def entry_of_product(X: Value, W: Value, i: Value, j: Value) -> Equation:
    """(X @ W)[i, j] = X[i] @ W[:, j]."""
    return Equation(_ENTRY(ops.dot(X, W), i, j), ops.dot(X[i], _COLUMN(W, j)))


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda X, W: T.diag(T.dot(X, W)), lambda X, W: T.trace(T.dot(T.exp(X), W))),
    never=(
        lambda X, W: T.diag(X * W),
        lambda X, W, p: T.dot(X, W)[p, p[:1]],
        lambda X, W, p: T.dot(X, W)[T.stack([p, p]), T.stack([p, p])],
    ),
)
def entries_of_product(X: Value, W: Value, places: Value) -> Equation:
    """(X @ W)[p, p] = rows p of X times rows p of W.T, one by one."""
    products = vmap(ops.dot, "11")(_ROWS(X, places), _ROWS(_transposed(W), places))
    return Equation(_ENTRIES(ops.dot(X, W), places, places), products, when=[vector(places)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda X, W: T.dot(X, W).shape[0] * 2,
    never=(
        lambda X, W: T.dot(X, W).shape[1] * 2,
        lambda X, y: T.dot(X, y).shape[0] * 2,
        lambda x, W: T.dot(x, W).shape[0] * 2,
    ),
)
def count_of_rows_of_product(X: Value, W: Value) -> Equation:
    """X @ W has as many rows as its product with no column of W, which must fit as well."""
    rows = ops.dot(X, _NO_COLUMNS(W)).shape[0]
    return Equation(ops.dot(X, W).shape[0], rows, when=[matrix(X), matrix(W)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda X, W: T.dot(X, W).shape[1] * 2,
    never=lambda X, W: T.dot(X, W).shape[0] * 2,
)
def count_of_columns_of_product(X: Value, W: Value) -> Equation:
    """X @ W has as many columns as the product of no row of X with W, which must fit as well."""
    return Equation(ops.dot(X, W).shape[1], ops.dot(_NO_ROWS(X), W).shape[1])


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
    stepwise=True,
    example=lambda X: (T.exp(X) ** 2).sum(axis=1),
    never=(
        lambda X: (X**2).sum(axis=0),
        lambda X: (T.stack([X, X]) ** 2).sum(axis=1),
        lambda X: (T.cast(X, "int64") ** 2).sum(axis=1),
    ),
)
def squares_along_rows(X: Value) -> Equation:
    """The sums of squares of rows are the products of rows with themselves."""
    squares = ops.sum(ops.square(X), axis=(1,), keepdims=False)
    return Equation(squares, vmap(ops.dot, "11")(X, X), when=[matrix(X), floating(X)])


@law(
    licence="reassoc",
    example=lambda X: (T.exp(X) * T.exp(X)).sum(axis=1),
    never=(
        lambda X: (X * X).sum(axis=0),
        lambda X: (T.stack([X, X]) * T.stack([X, X])).sum(axis=1),
        lambda X: (T.cast(X, "int64") * T.cast(X, "int64")).sum(axis=1),
    ),
)
def rows_multiplied_by_themselves(X: Value) -> Equation:
    """The same where the squares are written as products."""
    squares = ops.sum(X * X, axis=(1,), keepdims=False)
    return Equation(squares, vmap(ops.dot, "11")(X, X), when=[matrix(X), floating(X)])


def _squares_of_pairs(pairs: Value) -> Equation:
    """The equation of the sums of squares along the last axis of differences of pairs of rows."""
    squares = ops.sum(ops.square(pairs), axis=(2,), keepdims=False)
    product = vmap(vmap(ops.dot, "11"), "11")(pairs, pairs)
    return Equation(squares, product, when=[has_so_many_axes(pairs, 3), floating(pairs)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda X, Y: ((X[:, None] - Y) ** 2).sum(axis=2),
    never=(
        lambda X, Y: ((X[:, None] - Y) ** 2).sum(axis=1),
        lambda X, y: ((T.stack([X, X])[:, None] - y) ** 2).sum(axis=2),
        lambda X, Y: ((T.cast(X, "int64")[:, None] - T.cast(Y, "int64")) ** 2).sum(axis=2),
    ),
)
def squares_of_pairs(X: Value, Y: Value) -> Equation:
    """The same for the differences of each row of X and each row of Y, as in distances."""
    return _squares_of_pairs(ops.expand_dims(X, axis=(1,)) - Y)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda X, Y: ((Y - X[:, None]) ** 2).sum(axis=2),
    never=(
        lambda X, Y: ((Y - X[:, None]) ** 2).sum(axis=1),
        lambda X, y: ((y - T.stack([X, X])[:, None]) ** 2).sum(axis=2),
        lambda X, Y: ((T.cast(Y, "int64") - T.cast(X, "int64")[:, None]) ** 2).sum(axis=2),
    ),
)
def squares_of_pairs_turned(X: Value, Y: Value) -> Equation:
    """The same with the rows of Y in front."""
    return _squares_of_pairs(Y - ops.expand_dims(X, axis=(1,)))


@law(
    licence="reassoc",
    example=lambda X, Y: (T.exp(X) * Y).sum(axis=1),
    never=(
        lambda X, Y: (X * Y).sum(axis=0),
        lambda X: (X * X).sum(axis=1),
        lambda X, y: (X * y).sum(axis=1),
        lambda X, y: (y * X).sum(axis=1),
        lambda X, Y: (_small(X) * Y).sum(axis=1),
        lambda X, Y: (X * _small(Y)).sum(axis=1),
        lambda X, Y: (T.cast(X, "int64") * T.cast(Y, "int64")).sum(axis=1),
    ),
)
def products_along_rows(X: Value, Y: Value, d: Text) -> Equation:
    """(X * Y).sum(axis=1) are products of rows, each with the other in its place."""
    left, right = (ops.widen(ops.widen(A, B.shape[0], axis=0), B.shape[1], axis=1) for A, B in ((X, Y), (Y, X)))
    when = [matrix(X), matrix(Y), differ(X, Y), floating(X), of_dtype(X, d), of_dtype(Y, d)]
    return Equation(ops.sum(X * Y, axis=(1,), keepdims=False), vmap(ops.dot, "11")(left, right), when=when)


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
    stepwise=True,
    example=lambda x, y: T.dot(x[:, None], y[None]) * 2.0,
    never=(lambda x, y: T.dot(x[None], y[:, None]) * 2.0, lambda x, a: T.dot(x[:, None], a[None]) * 2.0),
)
def column_times_row(x: Value, y: Value) -> Equation:
    """x[:, None] @ y[None] = x[:, None] * y[None] (-0.0 aside): nothing is added up."""
    column, row = ops.expand_dims(x, axis=(1,)), as_row(y)
    return Equation(ops.dot(column, row), column * row, when=[vector(y)])


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


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda X, W, x: T.dot(T.dot(W.T, X.T).T, x),
    never=(lambda X, x: T.dot(X, x).T * 2.0, lambda X, x: T.dot(T.stack([X, X]), x).T * 2.0),
)
def transpose_of_product(X: Value, Y: Value) -> Equation:
    """(X @ Y).T = Y.T @ X.T."""
    return Equation(_transposed(ops.dot(X, Y)), ops.dot(_transposed(Y), _transposed(X)))


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda X, y, W: scanopt.map(lambda v, y, W: T.dot(T.concatenate([v, y]), W), X, [y, W])[0],
    never=(
        lambda X, Y, x: T.dot(T.concatenate([X, Y]), x),
        lambda x, y: T.dot(T.concatenate([x, y]), T.concatenate([y, x])),
        lambda p, q, X: T.dot(T.concatenate([p, q]), X),
        lambda x, y, X: T.dot(T.concatenate([_small(x), y]), _small(X)),
    ),
)
def joined_times_matrix(x: Value, y: Value, W: Value) -> Equation:
    """(x ++ y) @ W = x @ W[:len(x)] + y @ W[len(x):] for vectors."""
    n = x.shape[0]
    parts = ops.dot(x, W[:n]) + ops.dot(y, W[n:])
    when = [vector(x), floating(x), same_type(x, y), matrix(W)]
    return Equation(ops.dot(ops.concatenate(x, y, axis=0), W), parts, when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda X, y, W: scanopt.map(lambda v, y, W: T.dot(W, T.concatenate([v, y])), X, [y, W])[0],
    never=(
        lambda X, Y: T.dot(X, T.concatenate([X, Y])),
        lambda x, y: T.dot(T.concatenate([x, y]), T.concatenate([y, x])),
        lambda p, q, X: T.dot(X, T.concatenate([p, q])),
        lambda x, y, X: T.dot(_small(X), T.concatenate([_small(x), y])),
    ),
)
def matrix_times_joined(x: Value, y: Value, W: Value) -> Equation:
    """W @ (x ++ y) = W[:, :len(x)] @ x + W[:, len(x):] @ y for vectors."""
    n = x.shape[0]
    parts = ops.dot(_COLUMNS_BEFORE(W, n), x) + ops.dot(_COLUMNS_FROM(W, n), y)
    when = [vector(x), floating(x), same_type(x, y), matrix(W)]
    return Equation(ops.dot(W, ops.concatenate(x, y, axis=0)), parts, when=when)
