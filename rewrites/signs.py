"""Signs: opposites that are added or taken away, and squares and sizes, which have no sign."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Text, Value, ops
from scanopt.facts.values import floating, of_dtype


def _small(p: Any) -> Any:
    return T.cast(p, "int8")


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
    example=lambda x, y: -(T.exp(x) - T.exp(y)),
    never=(lambda x, y: -(x + y), lambda p, q: -(_small(p) - _small(q))),
)
def opposite_of_difference(x: Value, y: Value) -> Equation:
    """-(x - y) = y - x, except for the sign of a zero."""
    return Equation(-(x - y), y - x, when=[floating(x - y)])


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
