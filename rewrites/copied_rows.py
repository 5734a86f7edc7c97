"""Repeated rows, in all their spellings: they have one form, and operators are applied to the row once."""

from typing import Any

import scanopt
import scanopt.loops.require  # an operator of its own, beside those of the table
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Int, Op, Text, Value, as_row, const_at, ops, to_string
from scanopt.facts.loops import lies_on
from scanopt.facts.operators import by_element, left_neutral, neutral
from scanopt.facts.values import exponent, float64, like, of_dtype, same_type, scalar, vector, within_int64

_NOT_NEGATIVE = ops("require", relation="ge", error="ValueError", message="repeats may not be negative, found {found}")


def _small(x: Any) -> Any:
    return T.cast(x, "float32")


def _columns(x: Value, n: Value) -> Value:
    """A matrix of n columns, each of which is x."""
    return ops.transpose(ops.repeat_rows(x, n), axes=(1, 0))


def _total(x: Value, n: Value, c: Clock) -> Value:
    """The sum of n copies of x."""
    zero = const_at(c, "int64:0")
    times = x * ops.cast(n, dtype="float64")
    return ops.where(ops.greater(n, zero), times, ops.cast(zero, dtype="float64"))


def _number(c: Clock, k: Int) -> Value:
    """The number k, on c."""
    return const_at(c, Text("+", ("int64:", to_string(k))))


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, X: T.exp(T.repeat(x[None], X.shape[0], axis=0)),
    never=(lambda x, n: T.repeat(x[None], n % 9, axis=0), lambda X: T.repeat(X[None], X.shape[0], axis=1)),
)
def row_repeated(x: Value, X: Value, k: Int) -> Equation:
    """One row repeated as often as an array is long is that row, for as many rows."""
    n = X.shape[k]
    return Equation(ops.repeat(as_row(x), n, axis=0), ops.repeat_rows(x, n))


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, n: T.exp(T.repeat(x[None], n % 9, axis=0)),
    never=(
        lambda x, p: T.repeat(x[None], p[:1] % 9, axis=0),
        lambda x, n: T.repeat(x[None], T.cast(n % 9, "uint64"), axis=0),
        lambda X, n: T.repeat(X, n % 9, axis=0),
    ),
)
def row_repeated_by_number(x: Value, k: Value, c: Clock) -> Equation:
    """One row repeated k times is that row, for k rows; a negative k is refused."""
    n = _NOT_NEGATIVE(ops.cast(k, dtype="int64"), const_at(c, "int64:0"))
    when = [scalar(k), within_int64(k), lies_on(k, c)]
    return Equation(ops.repeat(as_row(x), k, axis=0), ops.repeat_rows(x, n), when=when)


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x: T.broadcast_to(x, (5, x.shape[0])).sum(axis=0) * 2.0,
    never=(
        lambda X: T.broadcast_to(X, (5, X.shape[0])),
        lambda x, y: T.broadcast_to(x, (5, y.shape[0])),
        lambda x: T.broadcast_to(x[:, None], (x.shape[0], 5)),
    ),
)
def row_broadcast_by_number(x: Value, k: Int, c: Clock) -> Equation:
    """A vector that is broadcast to k rows of its own length is that row, k times."""
    left = ops.broadcast_to(x, x.shape[0], shape=(k, None))
    return Equation(left, ops.repeat_rows(x, _number(c, k)), when=[vector(x), lies_on(x, c)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, X: T.exp(T.broadcast_to(x, (X.shape[0], x.shape[0]))),
    never=(lambda x, n: T.broadcast_to(x, (n, x.shape[0])), lambda x, X: T.broadcast_to(x, X.shape)),
)
def row_broadcast(x: Value, X: Value, k: Int) -> Equation:
    """A vector that is broadcast to rows of its own length is a repeated row."""
    n = X.shape[k]
    return Equation(ops.broadcast_to(x, n, x.shape[0], shape=(None, None)), ops.repeat_rows(x, n), when=[vector(x)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda a, x: T.exp(T.broadcast_to(a, x.shape)),
    never=(lambda a, n: T.broadcast_to(a, (n,)), lambda x, y: T.broadcast_to(x[:1], y.shape)),
)
def number_broadcast(a: Value, X: Value, k: Int) -> Equation:
    """A number that is broadcast to a vector is a repeated number."""
    n = X.shape[k]
    return Equation(ops.broadcast_to(a, n, shape=(None,)), ops.repeat_rows(a, n), when=[scalar(a)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda a, x: x * T.full(x.shape, T.exp(a)),
    never=lambda a, n: T.full((n,), a),
)
def number_in_all_places(a: Value, X: Value, k: Int) -> Equation:
    """A vector of one number is a repeated number."""
    n = X.shape[k]
    return Equation(ops.full(a, n, shape=(None,)), ops.repeat_rows(a, n))


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, X: T.exp(T.repeat(x[None], X.shape[0], axis=0)),
    never=(lambda x, X: T.cumsum(T.repeat(x[None], X.shape[0], axis=0), 0),),
)
def operator_of_repeated(op: Op, x: Value, X: Value, k: Int) -> Equation:
    """A function of equal rows, as many as an array is long, is computed of one of them."""
    n = X.shape[k]
    return Equation(op(ops.repeat_rows(x, n)), ops.repeat_rows(op(x), n), when=[by_element(op)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, X: X * T.repeat(T.exp(x)[None], X.shape[0], axis=0),
    never=(
        lambda x, X, Y: X * T.repeat(T.exp(x)[None], Y.shape[0], axis=0),
        lambda x, X: X * T.repeat(T.exp(x)[None], X.shape[1], axis=0),
        lambda x, X: T.dot(X, T.repeat(x[None], X.shape[0], axis=0)),
    ),
)
def beside_repeated(op: Op, x: Value, X: Value) -> Equation:
    """What is combined with as many equal rows as it has is combined with that row."""
    rows = ops.repeat_rows(x, X.shape[0])
    return Equation(op(X, rows), op(X, x), when=[by_element(op), same_type(X, rows)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, y: T.exp(T.ones_like(x)[:, None] * y),
    never=(
        lambda x, y: T.zeros_like(x)[:, None] * y,
        lambda x, y: x[:, None] * y,
        lambda x, X: T.ones_like(x)[:, None] * X,
        lambda X, y: T.ones_like(X)[:, None] * y,
        lambda x, y: T.ones_like(x)[:, None] * T.cast(y, "float32"),
    ),
)
def ones_times_row(op: Op, E: Value, x: Value, e: Value, y: Value, d: Text) -> Equation:
    """A column of ones times a row is that row, repeated."""
    left = op(ops.expand_dims(E, axis=(1,)), y)
    when = [like(E, x, e), left_neutral(op, e, d), of_dtype(y, d), vector(x), vector(y)]
    return Equation(left, ops.repeat_rows(y, x.shape[0]), when=when)


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, X: T.exp(T.ones((X.shape[0], 1)) * x),
    never=(
        lambda x, X: T.zeros((X.shape[0], 1)) * x,
        lambda x, n: T.ones((n, 1)) * x,
        lambda X: T.ones((X.shape[0], 1)) * X,
        lambda x, X: T.ones((X.shape[0], 1)) * T.cast(x, "float32"),
    ),
)
def column_of_ones_times_row(op: Op, e: Value, X: Value, k: Int, y: Value, d: Text) -> Equation:
    """The same where the column is made of one number."""
    n = X.shape[k]
    left = op(ops.full(e, n, shape=(None, 1)), y)
    return Equation(left, ops.repeat_rows(y, n), when=[left_neutral(op, e, d), of_dtype(y, d), vector(y)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, y: T.exp(T.outer(T.ones_like(x), y)),
    never=(
        lambda x, y: T.outer(T.zeros_like(x), y),
        lambda x, y: T.outer(x, T.ones_like(y)),
        lambda x, y: T.outer(T.ones_like(x), T.cast(y, "float32")),
    ),
)
def ones_outer_row(E: Value, x: Value, e: Value, y: Value, d: Text) -> Equation:
    """The outer product of ones with a vector is that vector in every row."""
    when = [exponent(e, "1"), like(E, x, e), of_dtype(E, d), of_dtype(y, d)]
    return Equation(ops.outer(E, y), ops.repeat_rows(y, x.shape[0]), when=when)


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, X: T.exp(T.outer(T.ones(X.shape[0]), x)),
    never=(
        lambda x, X: T.outer(T.zeros(X.shape[0]), x),
        lambda x, X: T.outer(T.ones(X.shape[0], dtype="float32"), x),
        lambda x, n: T.outer(T.ones(n), x),
    ),
)
def full_outer_row(e: Value, X: Value, k: Int, y: Value, d: Text) -> Equation:
    """The same where the ones are written by their number."""
    n = X.shape[k]
    when = [exponent(e, "1"), of_dtype(e, d), of_dtype(y, d)]
    return Equation(ops.outer(ops.full(e, n, shape=(None,)), y), ops.repeat_rows(y, n), when=when)


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, y: T.outer(y, T.ones_like(x)).sum(axis=1) * 2.0,
    never=(
        lambda x, y: T.outer(y, T.zeros_like(x)).sum(axis=1),
        lambda x, y: T.outer(T.ones_like(x), y).sum(axis=1),
        lambda x, y: T.outer(T.cast(y, "float32"), T.ones_like(x)).sum(axis=1),
    ),
)
def row_outer_ones(E: Value, x: Value, e: Value, y: Value, d: Text) -> Equation:
    """The outer product of a vector with ones is that vector in every column."""
    when = [exponent(e, "1"), like(E, x, e), of_dtype(E, d), of_dtype(y, d)]
    return Equation(ops.outer(y, E), _columns(y, x.shape[0]), when=when)


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, y: (y[:, None] * T.ones_like(x)).sum(axis=1) * 2.0,
    never=(
        lambda x, y: (y[:, None] * T.zeros_like(x)).sum(axis=1),
        lambda x, X: (X[:, None] * T.ones_like(x)).sum(axis=1),
        lambda x, X: (x[:, None] * T.ones_like(X)).sum(axis=1),
        lambda x, y: (T.cast(y, "float32")[:, None] * T.ones_like(x)).sum(axis=1),
    ),
)
def column_times_ones(op: Op, E: Value, x: Value, e: Value, y: Value, d: Text) -> Equation:
    """A column times a row of ones is that column, repeated."""
    left = op(ops.expand_dims(y, axis=(1,)), E)
    when = [like(E, x, e), neutral(op, e, d), of_dtype(y, d), vector(x), vector(y)]
    return Equation(left, _columns(y, x.shape[0]), when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=(
        lambda x, X: T.repeat(x[None], X.shape[0], axis=0).sum(axis=0) * 2.0,
        lambda x, n: scanopt.map(lambda i, x: x, T.arange(n), [x])[0].sum(axis=0) * 2.0,
    ),
    never=(
        lambda x, X: T.repeat(x[None], X.shape[0], axis=0).sum(axis=1),
        lambda x, X: T.repeat(T.cast(x, "float32")[None], X.shape[0], axis=0).sum(axis=0),
    ),
)
def sum_of_repeated(x: Value, n: Value, c: Clock) -> Equation:
    """The sum of n equal rows is n times that row, and zero if there are none, whatever the row is."""
    left = ops.sum(ops.repeat_rows(x, n), axis=(0,), keepdims=False)
    return Equation(left, _total(x, n, c), when=[float64(x), lies_on(x, c)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, y: T.outer(y, T.ones_like(x)).sum(axis=1) * 2.0,
    never=(
        lambda x, y: T.outer(y, T.ones_like(x)).sum(axis=0),
        lambda x, y: T.outer(T.cast(y, "float32"), T.ones_like(x, dtype="float32")).sum(axis=1),
    ),
)
def sum_of_repeated_columns(x: Value, n: Value, c: Clock) -> Equation:
    """The same for columns."""
    left = ops.sum(_columns(x, n), axis=(1,), keepdims=False)
    return Equation(left, _total(x, n, c), when=[float64(x), lies_on(x, c)])


@law(
    licence="reassoc",
    stepwise=True,
    example=(
        lambda x, X: T.repeat(x[None], X.shape[0], axis=0).prod(axis=0) * 2.0,
        lambda x, n: T.repeat(x[None], n % 9, axis=0).prod(axis=0) * 2.0,
    ),
    never=(
        lambda x, X: T.repeat(x[None], X.shape[0], axis=0).prod(axis=1),
        lambda p, X: T.repeat(p[None], X.shape[0], axis=0).prod(axis=0),
    ),
)
def product_of_repeated(x: Value, n: Value) -> Equation:
    """The product of n equal rows is the n-th power of that row, and one if there are none, whatever the row is."""
    rows = ops.repeat_rows(x, n)
    left = ops.prod(rows, axis=(0,), keepdims=False)
    return Equation(left, ops.power(x, ops.cast(rows.shape[0], dtype="float64")), when=[float64(x)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, X: T.repeat(x[None], X.shape[0], axis=0).prod(axis=0) * 2.0,
    never=lambda x, X: T.repeat(x[None], X.shape[0], axis=0).shape[1] * 2,
)
def count_of_repeated(x: Value, X: Value, k: Int) -> Equation:
    """A row repeated as often as an array is long is as many rows."""
    n = X.shape[k]
    return Equation(ops.repeat_rows(x, n).shape[0], n)


@law(
    licence="reassoc",
    example=lambda x, n: scanopt.scan(lambda s, x: s * x, None, T.ones_like(x), [x], n_steps=n % 9 + 1)[0][-1],
    never=(
        lambda x, n: scanopt.scan(lambda s, x: s * x, None, x, [x], n_steps=n % 9 + 1)[0][-1],
        lambda x, n: scanopt.scan(lambda s, x: s * x, None, T.ones(3), [x], n_steps=n % 9 + 1)[0][-1],
        lambda x, n: scanopt.scan(lambda s, x: s * x, None, T.ones_like(_small(x)), [_small(x)], n_steps=n % 9 + 1)[0][
            -1
        ],
    ),
)
def power_from_one(x: Value, E: Value, e: Value, n: Value) -> Equation:
    """What starts with ones and is multiplied by x at each of n steps is the n-th power of x."""
    when = [exponent(e, "1"), like(E, x, e), float64(E)]
    return Equation(ops.geometric(as_row(E), x, n), ops.power(x, ops.cast(n, dtype="float64")), when=when)
