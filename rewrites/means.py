"""Means of products are sums of products, divided by their number, and variances are means of squares."""

from typing import Any

import scanopt.tensor as T
from scanopt.calculus.condition import Condition
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Int, Value, ops
from scanopt.facts.values import float64, has_so_many_axes


def _small(x: Any) -> Any:
    return T.cast(x, "float32")


def _mean(X: Value, axis: int, number: Value, *when: Condition) -> Equation:
    """The equation of the mean of an array along an axis; number: how many elements that axis has."""
    total = ops.sum(X, axis=(axis,), keepdims=False)
    return Equation(ops.mean(X, axis=(axis,), keepdims=False), total / number, when=[*when])


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=(lambda X, y: (X * y[:, None]).mean(axis=0), lambda x, y: (T.exp(x) * y).mean()),
    never=(
        lambda X, Y: (X + Y).mean(axis=0),
        lambda X, Y: (_small(X) * _small(Y)).mean(axis=0),
        lambda X, y: (X * y).mean(axis=0),
        lambda X, y: (y * X).mean(axis=0),
    ),
)
def mean_of_products(x: Value, y: Value, n: Int) -> Equation:
    """The mean of products is their sum, divided by their number: axes of length 1 broadcast."""
    number = ops.lcm(x.shape[0], y.shape[0])
    return _mean(x * y, 0, number, float64(x * y), has_so_many_axes(x, n), has_so_many_axes(y, n))


@law(
    licence="exact",
    example=lambda x: x * T.lcm(x.shape[0], x.shape[0]),
    never=lambda x, y: x * T.lcm(x.shape[0], y.shape[0]),
)
def length_of_two_alike(X: Value, j: Int) -> Equation:
    """The length of what has one length twice is that length."""
    return Equation(ops.lcm(X.shape[j], X.shape[j]), X.shape[j])


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=(lambda x: (T.exp(x) ** 2).mean(), lambda X: (X**2).mean(axis=0)),
    never=(lambda X: T.exp(X).mean(axis=0), lambda X: (X**2).mean(axis=1), lambda X: (_small(X) ** 2).mean(axis=0)),
)
def mean_of_squares(x: Value) -> Equation:
    """The mean of squares is their sum, divided by their number."""
    return _mean(ops.square(x), 0, x.shape[0], float64(x))


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=lambda X: (X**2).mean(axis=1),
    never=(lambda X: T.exp(X).mean(axis=1), lambda X: (X**2).mean(axis=0), lambda X: (_small(X) ** 2).mean(axis=1)),
)
def mean_of_squares_along_rows(x: Value) -> Equation:
    """The same along rows."""
    return _mean(ops.square(x), 1, x.shape[1], float64(x))


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=lambda X: X.var(axis=1),
    never=(lambda X: X.var(axis=1, ddof=1), lambda X: _small(X).var(axis=1)),
)
def variance(X: Value, j: Int) -> Equation:
    """The variance is the mean of the squares of what elements differ from their mean."""
    mean = ops.expand_dims(ops.mean(X, axis=(j,), keepdims=False), axis=(j,))
    squares = ops.mean(ops.square(X - mean), axis=(j,), keepdims=False)
    return Equation(ops.var(X, axis=(j,), keepdims=False, ddof=0.0), squares, when=[float64(X)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda X: X.std(axis=1),
    never=(lambda X: X.std(axis=1, ddof=1), lambda X: _small(X).std(axis=1)),
)
def deviation(X: Value, j: Int) -> Equation:
    """The standard deviation is the square root of the variance."""
    options = dict(axis=(j,), keepdims=False, ddof=0.0)
    return Equation(ops.std(X, **options), ops.sqrt(ops.var(X, **options)), when=[float64(X)])
