"""Signs: sums with and differences from negatives, and squares and absolute values, which ignore the sign."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Op, Text, Value, ops
from scanopt.facts.operators import linear, sign_lost, sign_outside
from scanopt.facts.values import floating, of_dtype


def _small(p: Any) -> Any:
    return T.cast(p, "int8")


def _complex(x: Any) -> Any:
    return T.cast(x, "complex64")


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, y: T.exp(x) + -T.exp(y),
    never=(lambda x, y: x + y, lambda p, q: p + -_small(q)),
)
def opposite_added(x: Value, y: Value, d: Text) -> Equation:
    """x + -y = x - y."""
    return Equation(x + -y, x - y, when=[of_dtype(x, d), of_dtype(y, d)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, y: -T.exp(x) + T.exp(y),
    never=(lambda x, y: x + y, lambda p, q: -_small(q) + p),
)
def added_to_opposite(x: Value, y: Value, d: Text) -> Equation:
    """-x + y = y - x."""
    return Equation(-x + y, y - x, when=[of_dtype(x, d), of_dtype(y, d)])


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda x, y: -(T.exp(x) - T.exp(y)), lambda p, q: -(_small(p) - _small(q))),
    never=lambda x, y: -(x + y),
)
def opposite_of_difference(x: Value, y: Value) -> Equation:
    """-(x - y) = y - x, except for the sign of a zero."""
    return Equation(-(x - y), y - x)


@law(licence="exact", stepwise=True, example=lambda x: (-T.exp(x)) ** 2, never=lambda x: T.exp(-x))
def square_of_opposite(x: Value) -> Equation:
    """(-x)^2 = x^2."""
    return Equation(ops.square(-x), ops.square(x))


@law(licence="exact", stepwise=True, example=lambda x: abs(-T.exp(x)), never=(lambda x: T.exp(-x), lambda p: abs(-p)))
def size_of_opposite(x: Value) -> Equation:
    """|-x| = |x|."""
    return Equation(ops.absolute(-x), ops.absolute(x), when=[floating(x)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: abs(T.tanh(x)) ** 2,
    never=(lambda x: T.exp(abs(x)), lambda p: abs(p) ** 2, lambda x: abs(T.cast(x, "complex128")) ** 2),
)
def square_of_size(x: Value) -> Equation:
    """|x|^2 = x^2 for real x."""
    return Equation(ops.square(ops.absolute(x)), ops.square(x), when=[floating(x)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, a, b: scanopt.scan(lambda v, s, b: s - (s - v) * b, x, a, b)[0],
    never=(
        lambda x, y: x - (x + y) * 3.0,
        lambda p, q: p - (p - q) * 3,
        lambda x, y, p, q: x - (_small(p) - _small(q)) * y,
    ),
)
def difference_taken_away(x: Value, y: Value, z: Value, a: Value) -> Equation:
    """x - (y - z) * a = x + (z - y) * a, except for the sign of a zero."""
    return Equation(x - (y - z) * a, x + (z - y) * a, when=[floating(y - z)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, a, b: scanopt.scan(lambda v, s, b: s - b * (s - v), x, a, b)[0],
    never=(
        lambda x, y, a: x - a * (x + y),
        lambda p, q, n: p - n * (p - q),
        lambda x, y, p, q: x - y * (_small(p) - _small(q)),
    ),
)
def difference_times_taken_away(x: Value, a: Value, y: Value, z: Value) -> Equation:
    """x - a * (y - z) = x + (z - y) * a, except for the sign of a zero."""
    return Equation(x - a * (y - z), x + (z - y) * a, when=[floating(y - z)])


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=lambda x, a, b: scanopt.scan(lambda v, s, b: v - b * (v - 1.0) * s, x, a, b)[0],
    never=(lambda x, y: -(x * (x + y)), lambda p, q: -(p * (p - q)), lambda x, p, q: -(x * (_small(p) - _small(q)))),
)
def opposite_of_times_difference(a: Value, y: Value, z: Value) -> Equation:
    """-(a * (y - z)) = a * (z - y), except for the sign of a zero."""
    return Equation(-(a * (y - z)), a * (z - y), when=[floating(y - z)])


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=lambda x, a, b: scanopt.scan(lambda v, s, b: v - (v - 1.0) * b * s, x, a, b)[0],
    never=(lambda x, y: -((x + y) * x), lambda p, q: -((p - q) * p), lambda x, p, q: -((_small(p) - _small(q)) * x)),
)
def opposite_of_difference_times(y: Value, z: Value, a: Value) -> Equation:
    """-((y - z) * a) = (z - y) * a, except for the sign of a zero."""
    return Equation(-((y - z) * a), (z - y) * a, when=[floating(y - z)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, y: -(-T.exp(x) * T.exp(y)),
    never=(
        lambda x, y: -(-x + y),
        lambda x, y: -(-T.cast(x, "float32") * y),
        lambda x, y: -(-_complex(x) * _complex(y)).real,
    ),
)
def opposite_times(x: Value, y: Value, d: Text) -> Equation:
    """-x * y = -(x * y), but for complex numbers, of whose parts some cancel."""
    return Equation(-x * y, -(x * y), when=[floating(x), of_dtype(x, d), of_dtype(y, d)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, y: -(T.exp(y) * -T.exp(x)),
    never=(
        lambda x, y: -(y + -x),
        lambda x, y: -(y * -T.cast(x, "float32")),
        lambda x, y: -(_complex(y) * -_complex(x)).real,
    ),
)
def times_opposite(x: Value, y: Value, d: Text) -> Equation:
    """y * -x = -(y * x), but for complex numbers."""
    return Equation(y * -x, -(y * x), when=[floating(x), of_dtype(x, d), of_dtype(y, d)])


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=lambda x, W: -T.dot(-T.exp(x), W),
    never=(lambda x, W: -T.dot(x, W), lambda p, q: -T.dot(-_small(p), q)),
)
def matrix_product_of_opposite(x: Value, y: Value) -> Equation:
    """-x @ y = -(x @ y), except for the sign of a zero."""
    return Equation(ops.dot(-x, y), -ops.dot(x, y), when=[floating(x)])


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=lambda x, W: -T.dot(W, -T.exp(x)),
    never=(lambda x, W: -T.dot(W, x), lambda p, q: -T.dot(q, -_small(p))),
)
def matrix_product_with_opposite(x: Value, y: Value) -> Equation:
    """y @ -x = -(y @ x), except for the sign of a zero."""
    return Equation(ops.dot(y, -x), -ops.dot(y, x), when=[floating(x)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, y: -T.minimum(-x, T.exp(y)) * 2.0,
    never=(
        lambda x, y: -T.minimum(x, T.exp(y)) * 2.0,
        lambda p, x: -T.minimum(-_small(p), x),
        lambda x, p: -T.minimum(-x, _small(p)),
    ),
)
def least_of_opposites(x: Value, y: Value) -> Equation:
    """-min(-x, y) = max(x, -y), except for the sign of a zero."""
    return Equation(-ops.minimum(-x, y), ops.maximum(x, -y), when=[floating(x), floating(y)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, y: -T.maximum(-x, T.exp(y)) * 2.0,
    never=(
        lambda x, y: -T.maximum(x, T.exp(y)) * 2.0,
        lambda p, x: -T.maximum(-_small(p), x),
        lambda x, p: -T.maximum(-x, _small(p)),
    ),
)
def greatest_of_opposites(x: Value, y: Value) -> Equation:
    """-max(-x, y) = min(x, -y), except for the sign of a zero."""
    return Equation(-ops.maximum(-x, y), ops.minimum(x, -y), when=[floating(x), floating(y)])


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=(lambda X: -(-T.exp(X)).sum(axis=0), lambda X: -(-T.exp(X)).mean(axis=1)),
    never=(lambda X: -(-X).max(axis=0), lambda p: -(-p).sum()),
)
def sum_of_opposites(op: Op, x: Value, r: Args) -> Equation:
    """The sum of -x is the opposite of the sum of x, except for the sign of a zero."""
    return Equation(op(-x, r), -op(x, r), when=[linear(op), floating(x)])


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=lambda x, y: -(-T.exp(x) - y),
    never=(lambda x, y: -x + y, lambda p, q: -_small(p) - q),
)
def taken_from_opposite(x: Value, y: Value) -> Equation:
    """-x - y = -(x + y), except for the sign of a zero."""
    return Equation(-x - y, -(x + y), when=[floating(x)])


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=(lambda x: -T.tanh(-x), lambda X, y: y - (-T.exp(X)).min(axis=0)),
    never=(lambda x: -T.exp(-T.cast(x, "float32")) * x, lambda p: -T.sign(-_small(p))),
)
def sign_comes_out(op: Op, g: Op, x: Value) -> Equation:
    """tanh(-x) = -tanh(x), and so for other odd functions; the least of -x is the opposite of the greatest of x."""
    return Equation(op(-x), -g(x), when=[sign_outside(op, g), floating(x)])


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda x: T.cos(-T.exp(x)), lambda X: T.argmin(-T.exp(X), axis=0)),
    never=(lambda x: T.exp(-x), lambda p: T.argmin(-_small(p), axis=0)),
)
def sign_is_lost(op: Op, g: Op, x: Value) -> Equation:
    """cos(-x) = cos(x), and so for other even functions; -x is least where x is greatest."""
    return Equation(op(-x), g(x), when=[sign_lost(op, g), floating(x)])
