"""Conversions that lead back to the shape or the dtype that an array already has are dropped."""

from typing import Any

import scanopt.tensor as T
from scanopt.calculus.condition import fact
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Op, Text, Value, as_row, ops
from scanopt.facts.values import matrix, of_dtype, scalar, vector


@fact
def order_alone(g: Op, h: Op) -> None:
    """g(h(x), ...) is g(x, ...): g makes the shape, and h, which never raises, keeps the elements in order (given)."""


@fact
def makes_axes(g: Op, h: Op) -> None:
    """g(a) is h(a) for a number a: g reshapes it to lengths of 1, and h gives it so many axes (given)."""


@fact
def cast_back(g: Op, h: Op, d: Text) -> None:
    """g(h(x)) is x for x of dtype d: h casts to a dtype that has all values of d, and g returns (given)."""


@fact
def casts_beside(op: Op, h: Op, d: Text, e: Text) -> None:
    """op of a value of dtype d and one of dtype e casts the latter as h does (given)."""


def _small(x: Any) -> Any:
    return T.cast(x, "float32")


def _flat(X: Any) -> Any:
    """An array reshaped to its first two axes; its last axis must have length 1."""
    return T.reshape(X, (X.shape[0], X.shape[1]))


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.reshape(x[None], (x.shape[0],)) * 2.0,
    never=(lambda x, n: T.reshape(x, (n,)), lambda X: T.reshape(X, (X.shape[0],), ndim=1)),
)
def own_length(x: Value) -> Equation:
    """A vector reshaped to its own length is itself."""
    return Equation(ops.reshape(x, x.shape[0], shape=(None,)), x, when=[vector(x)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x: T.reshape(T.exp(x), (-1,)) * 2.0,
    never=lambda X: T.flatten(X) * 2.0,
)
def flat_already(x: Value) -> Equation:
    """A vector is flat."""
    return Equation(ops.reshape(x, shape=(-1,)), x, when=[vector(x)])


@law(
    licence="exact",
    stepwise=True,
    example=(lambda a, x: T.exp(T.repeat(a, x.shape[0])) * x, lambda a, X: T.dot(X, T.reshape(a, (1, 1)) * X)),
    never=lambda x: T.flatten(x[None]) * 2.0,
)
def number_with_axes(g: Op, h: Op, a: Value) -> Equation:
    """A number that is reshaped to lengths of 1 gets so many axes."""
    return Equation(g(a), h(a), when=[makes_axes(g, h), scalar(a)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, X: T.dot(T.reshape(x, (1, -1)), X)[0],
    never=(lambda X: T.reshape(X, (1, -1)) * 2.0, lambda x: T.reshape(x, (2, -1)) * 2.0),
)
def made_a_row(x: Value) -> Equation:
    """A vector that is reshaped to one row is a row."""
    return Equation(ops.reshape(x, shape=(1, -1)), as_row(x), when=[vector(x)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, X: T.dot(X, T.reshape(x, (-1, 1)))[:, 0],
    never=(lambda X: T.reshape(X, (-1, 1)) * 2.0, lambda x: T.reshape(x, (-1, 2)) * 2.0),
)
def made_a_column(x: Value) -> Equation:
    """A vector that is reshaped to one column is a column."""
    return Equation(ops.reshape(x, shape=(-1, 1)), ops.expand_dims(x, axis=(1,)), when=[vector(x)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda X: T.reshape(T.flatten(X), X.shape) * 2.0,
    never=(lambda X: T.reshape(X, (X.shape[1], X.shape[0])), lambda X: _flat(T.sort(X[:, :, None], axis=2))),
)
def own_lengths(X: Value) -> Equation:
    """A matrix reshaped to its own lengths is itself."""
    return Equation(ops.reshape(X, X.shape[0], X.shape[1], shape=(None, None)), X, when=[matrix(X)])


@law(
    licence="exact",
    stepwise=True,
    example=(
        lambda X, n: T.reshape(T.flatten(X), (n, 2)) * 2.0,
        lambda x, n: T.reshape(T.expand_dims(x, 0), (n, 2)) * 2.0,
    ),
    never=(lambda X, n: T.reshape(X.T, (n, 2)), lambda X, k, n: T.reshape(T.reshape(X, (k, 3)), (n, 2))),
)
def reshaped_once(g: Op, h: Op, x: Value, r: Args) -> Equation:
    """An array that is flattened, or gets axes of length 1, before it is reshaped is reshaped once."""
    return Equation(g(h(x), r), g(x, r), when=[order_alone(g, h)])


@law(
    licence="exact",
    stepwise=True,
    example=(
        lambda x: T.real(T.cast(T.exp(x), "complex128")) * 2.0,
        lambda x: T.cast(T.cast(_small(x), "float64"), "float32") * 2.0,
    ),
    never=(
        lambda x: T.cast(_small(x), "float64"),
        lambda p: T.cast(T.cast(p, "float64"), "int64"),
        lambda x: T.real(T.cast(x, "complex64")),
        lambda x: T.real(T.cast(_small(x), "complex128")),
    ),
)
def there_and_back(g: Op, h: Op, x: Value, d: Text) -> Equation:
    """An array that is cast to a wider dtype and back is itself."""
    return Equation(g(h(x)), x, when=[cast_back(g, h, d), of_dtype(x, d)])


@law(
    licence="exact",
    example=lambda x, p: T.exp(x) / T.cast(p, "float64"),
    never=(
        lambda x, p: _small(x) / T.cast(p, "float64"),
        lambda x, p: x / _small(p),
        lambda x: x * T.cast(_small(x), "float64"),
    ),
)
def cast_beside(op: Op, h: Op, x: Value, p: Value, d: Text, e: Text) -> Equation:
    """Beside a float, an integer is cast to its dtype in any case."""
    return Equation(op(x, h(p)), op(x, p), when=[casts_beside(op, h, d, e), of_dtype(x, d), of_dtype(p, e)])


@law(
    licence="exact",
    example=lambda x, p: T.cast(p, "float64") - T.exp(x),
    never=(
        lambda x, p: T.cast(p, "float64") - _small(x),
        lambda x, p: _small(p) - x,
        lambda x: T.cast(_small(x), "float64") * x,
    ),
)
def cast_in_front(op: Op, h: Op, p: Value, x: Value, d: Text, e: Text) -> Equation:
    """The same with the integer in front."""
    return Equation(op(h(p), x), op(p, x), when=[casts_beside(op, h, d, e), of_dtype(x, d), of_dtype(p, e)])
