"""Sums of broadcast products are products of matrices and vectors.

An axis of length 1 that is summed over is broadcast; `widen` repeats it before the product.
"""

from typing import Any

import scanopt.tensor as T
from scanopt.calculus.condition import Rules, fact, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Int, Op, Text, Value, as_row, dtype, ndim, ops
from scanopt.facts.operators import by_element
from scanopt.facts.values import exponent, floating, has_axes, like, matrix, more_axes, of_dtype, vector


@fact
def widened(v: Value, *, d: Text, k: Int, m: Int, n: Value, x: Value) -> Rules:
    """v is an array with an axis that is widened: it keeps its dtype and number of axes."""
    yield when(v.is_(ops.widen(x, n, axis=k)), d.is_(dtype(x))).then(dtype(v).gets(d))
    yield when(v.is_(ops.widen(x, n, axis=k)), m.is_(ndim(x))).then(ndim(v).gets(m))


def _product(x: Value, i: int, y: Value, j: int) -> tuple[Value, Value]:
    """x widened along axis i to the length of y's axis j, and y along axis j to that of x's axis i."""
    return ops.widen(x, y.shape[j], axis=i), ops.widen(y, x.shape[i], axis=j)


def _sum(v: Value, axis: int) -> Value:
    return ops.sum(v, axis=(axis,), keepdims=False)


_REVERSED = ops("getitem", index=(("slice", None, None, None), ("slice", None, None, -1)))


def _transposed(X: Value) -> Value:
    return ops.transpose(X, axes=(1, 0))


def _small(x: Any) -> Any:
    return T.cast(x, "float32")


@law(
    licence="reassoc",
    example=lambda x, y: (T.exp(x) * y).sum(),
    never=(
        lambda x, a: (a * x).sum(),
        lambda x, a: (x * a).sum(),
        lambda p, q: (p * q).sum(),
        lambda x, y: (_small(x) * y).sum(),
    ),
)
def sum_of_products_of_entries(x: Value, y: Value, d: Text) -> Equation:
    """(x * y).sum() = x @ y, for vectors."""
    when = [vector(x), vector(y), floating(x), of_dtype(x, d), of_dtype(y, d)]
    return Equation(_sum(x * y, 0), ops.dot(*_product(x, 0, y, 0)), when=when)


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=lambda x: (T.exp(x) ** 2).sum(),
    never=(lambda X: (X**2).sum(axis=0), lambda p: (p**2).sum(), lambda x: T.exp(x).sum()),
)
def sum_of_squares(x: Value) -> Equation:
    """(x ** 2).sum() = x @ x, for vectors."""
    return Equation(_sum(ops.square(x), 0), ops.dot(x, x), when=[vector(x), floating(x)])


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=lambda x: T.dot(T.exp(x), T.exp(x)),
    never=(lambda X: T.dot(X, X), lambda p: T.dot(p, p), lambda x, y: T.dot(x, y)),
)
def product_with_itself(x: Value) -> Equation:
    """x @ x = (x ** 2).sum(), for vectors."""
    return Equation(ops.dot(x, x), _sum(ops.square(x), 0), when=[vector(x), floating(x)])


@law(
    licence="reassoc",
    example=lambda X, x: (X * x).sum(axis=1),
    never=(
        lambda X, x: (X * x).sum(axis=0),
        lambda X, Y: (X * Y).sum(axis=1),
        lambda X, x: (T.expand_dims(X, 0) * x).sum(axis=1),
        lambda X, x: (_small(X) * x).sum(axis=1),
        lambda X, p: (T.cast(X, "int64") * p).sum(axis=1),
    ),
)
def sum_of_rows_times_vector(X: Value, y: Value, d: Text) -> Equation:
    """(X * y).sum(axis=1) = X @ y."""
    when = [matrix(X), vector(y), floating(X), of_dtype(X, d), of_dtype(y, d)]
    return Equation(_sum(X * y, 1), ops.dot(*_product(X, 1, y, 0)), when=when)


@law(
    licence="reassoc",
    example=lambda X, x: (x * X).sum(axis=1),
    never=(
        lambda X, x: (x * X).sum(axis=0),
        lambda X, Y: (X * Y).sum(axis=1),
        lambda X, x: (x * T.expand_dims(X, 0)).sum(axis=1),
        lambda X, x: (x * _small(X)).sum(axis=1),
        lambda X, p: (p * T.cast(X, "int64")).sum(axis=1),
    ),
)
def sum_of_vector_times_rows(y: Value, X: Value, d: Text) -> Equation:
    """(y * X).sum(axis=1) = X @ y."""
    when = [matrix(X), vector(y), floating(X), of_dtype(X, d), of_dtype(y, d)]
    return Equation(_sum(y * X, 1), ops.dot(*_product(X, 1, y, 0)), when=when)


@law(
    licence="reassoc",
    example=lambda X, x: (T.expand_dims(x, 1) * X).sum(axis=0),
    never=(
        lambda X, x: (T.expand_dims(x, 1) * X).sum(axis=1),
        lambda x, y: (T.expand_dims(x, 1) * y).sum(axis=0),
        lambda X, Y: (T.expand_dims(X, 1) * Y).sum(axis=0),
        lambda X, x: (T.expand_dims(_small(x), 1) * X).sum(axis=0),
        lambda X, p: (T.expand_dims(p, 1) * T.cast(X, "int64")).sum(axis=0),
    ),
)
def sum_of_numbers_times_rows(x: Value, W: Value, d: Text) -> Equation:
    """(x[:, None] * W).sum(axis=0) = x @ W."""
    when = [vector(x), matrix(W), floating(x), of_dtype(x, d), of_dtype(W, d)]
    return Equation(_sum(ops.expand_dims(x, axis=(1,)) * W, 0), ops.dot(*_product(x, 0, W, 0)), when=when)


@law(
    licence="reassoc",
    example=lambda X, x: (T.expand_dims(x, 1) * X).sum(),
    never=(
        lambda x, y: (T.expand_dims(x, 1) * y).sum(),
        lambda X, Y: (T.expand_dims(X, 1) * Y).sum(axis=(0, 1)),
        lambda X, x: (T.expand_dims(_small(x), 1) * X).sum(),
        lambda X, p: (T.expand_dims(p, 1) * T.cast(X, "int64")).sum(),
    ),
)
def total_of_numbers_times_rows(x: Value, W: Value, d: Text) -> Equation:
    """(x[:, None] * W).sum() = x @ W.sum(axis=1)."""
    numbers, rows = _product(x, 0, W, 0)
    when = [vector(x), matrix(W), floating(x), of_dtype(x, d), of_dtype(W, d)]
    total = ops.sum(ops.expand_dims(x, axis=(1,)) * W, axis=(0, 1), keepdims=False)
    return Equation(total, ops.dot(numbers, _sum(rows, 1)), when=when)


@law(
    licence="reassoc",
    example=lambda X, W: (T.expand_dims(X, 2) * W).sum(axis=1),
    never=(
        lambda X, W: (T.expand_dims(X, 2) * W).sum(axis=0),
        lambda X, x: (T.expand_dims(X, 2) * x).sum(axis=1),
        lambda X, W: (T.expand_dims(T.expand_dims(X, 0), 2) * W).sum(axis=1),
        lambda X, W: (T.expand_dims(_small(X), 2) * W).sum(axis=1),
        lambda X, W: (T.expand_dims(T.cast(X, "int64"), 2) * T.cast(W, "int64")).sum(axis=1),
    ),
)
def sum_of_columns_times_rows(X: Value, W: Value, d: Text) -> Equation:
    """(X[:, :, None] * W).sum(axis=1) = X @ W."""
    when = [matrix(X), matrix(W), floating(X), of_dtype(X, d), of_dtype(W, d)]
    return Equation(_sum(ops.expand_dims(X, axis=(2,)) * W, 1), ops.dot(*_product(X, 1, W, 0)), when=when)


@law(
    licence="reassoc",
    example=lambda X, Y: (T.expand_dims(X, 1) * Y).sum(axis=2),
    never=(
        lambda X, Y: (T.expand_dims(X, 1) * Y).sum(axis=1),
        lambda X, x: (T.expand_dims(X, 1) * x).sum(axis=2),
        lambda X, Y: (T.expand_dims(T.expand_dims(X, 0), 1) * Y).sum(axis=2),
        lambda X, Y: (T.expand_dims(_small(X), 1) * Y).sum(axis=2),
        lambda X, Y: (T.expand_dims(T.cast(X, "int64"), 1) * T.cast(Y, "int64")).sum(axis=2),
    ),
)
def sum_of_rows_times_rows(X: Value, Y: Value, d: Text) -> Equation:
    """(X[:, None] * Y).sum(axis=2) = X @ Y.T."""
    left, right = _product(X, 1, Y, 1)
    when = [matrix(X), matrix(Y), floating(X), of_dtype(X, d), of_dtype(Y, d)]
    product = ops.dot(left, ops.transpose(right, axes=(1, 0)))
    return Equation(_sum(ops.expand_dims(X, axis=(1,)) * Y, 2), product, when=when)


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=(lambda X, x: (X * T.expand_dims(x, 1)).sum(axis=0), lambda X, Y: (Y * T.expand_dims(X, 1)).sum(axis=2)),
    never=(
        lambda X, x: X * x,
        lambda p, X: T.cast(X, "int64") * T.expand_dims(p, 1),
        lambda X, x: X * T.expand_dims(_small(x), 1),
    ),
)
def factor_with_an_axis_in_front(x: Value, Y: Value, k: Int, d: Text) -> Equation:
    """Y * x[:, None] = x[:, None] * Y."""
    factor = ops.expand_dims(x, axis=(k,))
    return Equation(Y * factor, factor * Y, when=[floating(x), of_dtype(x, d), of_dtype(Y, d)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=(
        lambda X, Y: (T.expand_dims(T.exp(X), 2) * T.expand_dims(Y, 0)).sum(axis=1),
        lambda X, Y: (T.expand_dims(T.exp(X), 1) * T.expand_dims(Y, 0)).sum(axis=2),
    ),
    never=(
        lambda x, y: x * T.exp(y)[None],
        lambda x, a: x * T.exp(a)[None],
        lambda X, Y: T.dot(T.stack([X, X]), Y[None]),
    ),
)
def axis_in_front(op: Op, X: Value, Y: Value) -> Equation:
    """op(X, Y[None]) = op(X, Y) for an X of more axes than Y: broadcasting adds the first axis."""
    return Equation(op(X, as_row(Y)), op(X, Y), when=[by_element(op), more_axes(X, Y), has_axes(Y)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda X, Y: (T.expand_dims(Y, 0) * T.expand_dims(T.exp(X), 1)).sum(axis=2),
    never=(
        lambda x, y: T.exp(y)[None] * x,
        lambda x, a: T.exp(a)[None] * x,
        lambda X, Y: T.dot(Y[None], T.stack([X, X])),
    ),
)
def axis_in_front_of_first(op: Op, X: Value, Y: Value) -> Equation:
    """op(Y[None], X) = op(Y, X) for an X of more axes than Y."""
    return Equation(op(as_row(Y), X), op(Y, X), when=[by_element(op), more_axes(X, Y), has_axes(Y)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x: (T.exp(x) * T.exp(x)).sum(),
    never=lambda x, y: (x * y).sum(),
)
def wide_enough(x: Value, k: Int) -> Equation:
    """Widening to its own length does nothing."""
    return Equation(ops.widen(x, x.shape[k], axis=k), x)


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=(lambda x: T.dot(x, T.ones_like(x)) * 2.0, lambda x: T.dot(x, T.ones(x.shape[0])) * 2.0),
    never=(
        lambda x: T.dot(x, T.zeros_like(x)),
        lambda x, y: T.dot(x, T.ones(y.shape[0])),
        lambda X: T.dot(X, T.ones_like(X)),
        lambda p: T.dot(p, T.ones_like(p)),
        lambda x: T.dot(_small(x), T.ones_like(_small(x), dtype="float64")),
    ),
)
def product_with_ones(x: Value, E: Value, e: Value, d: Text) -> Equation:
    """x @ E = x.sum() for a vector E of ones as long as x."""
    ones = [exponent(e, "1"), like(E, x, e), of_dtype(E, d)]
    return Equation(ops.dot(x, E), _sum(x, 0), when=[vector(x), of_dtype(x, d), *ones])


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=(lambda x: T.dot(T.ones_like(x), x) * 2.0, lambda x: T.dot(T.ones(x.shape[0]), x) * 2.0),
    never=(
        lambda x: T.dot(T.zeros_like(x), x),
        lambda x, y: T.dot(T.ones(y.shape[0]), x),
        lambda X: T.dot(T.ones_like(X), X),
        lambda p: T.dot(T.ones_like(p), p),
        lambda x: T.dot(T.ones_like(_small(x), dtype="float64"), _small(x)),
    ),
)
def ones_times_vector(x: Value, E: Value, e: Value, d: Text) -> Equation:
    """The same with the ones in front."""
    ones = [exponent(e, "1"), like(E, x, e), of_dtype(E, d)]
    return Equation(ops.dot(E, x), _sum(x, 0), when=[vector(x), of_dtype(x, d), *ones])


@law(
    licence="reassoc",
    example=lambda X, Y: (T.expand_dims(X, 2) * T.expand_dims(Y, 1)).sum(axis=0) * 2.0,
    never=(
        lambda X, Y: (T.expand_dims(X, 2) * T.expand_dims(Y, 1)).sum(axis=1),
        lambda X, x: (T.expand_dims(X, 2) * T.expand_dims(x, 1)).sum(axis=0),
        lambda X, Y: (T.expand_dims(T.stack([X, X]), 2) * T.expand_dims(Y, 1)).sum(axis=0),
        lambda X, Y: (T.expand_dims(_small(X), 2) * T.expand_dims(Y, 1)).sum(axis=0),
        lambda X: (T.expand_dims(T.cast(X, "int64"), 2) * T.expand_dims(T.cast(X, "int64"), 1)).sum(axis=0),
    ),
)
def sum_of_outer_products(X: Value, Y: Value, d: Text) -> Equation:
    """(X[:, :, None] * Y[:, None]).sum(axis=0) = X.T @ Y: outer products of rows, added up."""
    left, right = _product(X, 0, Y, 0)
    when = [matrix(X), matrix(Y), floating(X), of_dtype(X, d), of_dtype(Y, d)]
    product = ops.dot(_transposed(left), right)
    return Equation(_sum(ops.expand_dims(X, axis=(2,)) * ops.expand_dims(Y, axis=(1,)), 0), product, when=when)


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=lambda X: T.transpose(T.stack([X, T.exp(X)]), (0, 2, 1)).sum(axis=0) * 2.0,
    never=(
        lambda X: T.transpose(T.stack([X, T.exp(X)]), (0, 2, 1)).sum(axis=1),
        lambda X: T.transpose(T.stack([X, T.exp(X)]), (1, 0, 2)).sum(axis=0),
    ),
)
def sum_of_transposed(X: Value) -> Equation:
    """The sum of transposed matrices is the transposed sum."""
    return Equation(_sum(ops.transpose(X, axes=(0, 2, 1)), 0), _transposed(_sum(X, 0)))


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=(lambda X: X[:, ::-1].sum(axis=0) * 2.0, lambda X: T.stack([X, T.exp(X)])[:, ::-1].sum(axis=0) * 2.0),
    never=(lambda X: X[:, ::-1].sum(axis=1), lambda X: X[:, ::-2].sum(axis=0)),
)
def sum_of_reversed_entries(X: Value) -> Equation:
    """The sum of reversed rows is the sum, reversed."""
    return Equation(_sum(_REVERSED(X), 0), _sum(X, 0)[::-1])
