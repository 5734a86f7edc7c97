"""Constant factors are moved together, and out of sums and products.

Only constants far from zero and from infinity are moved, so that no NaN appears or disappears.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Op, Text, Value, ops
from scanopt.facts.numbers import differ, least_multiple, no_number, varying_product
from scanopt.facts.operators import linear
from scanopt.facts.values import has_axes, moderate, of_dtype, power_of_two

_TWO = T.constant(2.0, dtype="float64")
_THREE = T.constant(3.0, dtype="float64")


def _narrow(x: Any) -> Any:
    return T.cast(x, "float32")


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x: 3.0 * T.exp(x),
    never=(lambda x: 0.0 * x, lambda x: _THREE * _narrow(x), lambda x, a: scanopt.map(lambda v, a: a * v, x, [a])[0]),
)
def number_behind(a: Value, x: Value, d: Text) -> Equation:
    """a * x = x * a for a number a."""
    return Equation(a * x, x * a, when=[moderate(a), of_dtype(x, d), of_dtype(a, d)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x: T.exp(x) * 3.0 * 5.0,
    never=(
        lambda x: x * 0.0 * 5.0,
        lambda x: x * 5.0 * 0.0,
        lambda x: x * _narrow(_THREE) * T.constant(5.0, dtype="float32"),
        lambda x: T.exp(x) * (_TWO * _THREE * 5.0),
    ),
)
def numbers_together(x: Value, a: Value, b: Value, d: Text) -> Equation:
    """(x * a) * b = x * (a * b) for numbers a and b."""
    when = [varying_product(x * a), moderate(a), moderate(b), of_dtype(x, d), of_dtype(b, d)]
    return Equation(x * a * b, x * (a * b), when=when)


@law(
    licence="fast",
    stepwise=True,
    example=lambda x: T.exp(x) / 10.0,
    never=(lambda x: x / 0.0, lambda x: _narrow(x) / _THREE),
)
def divided_by_number(x: Value, a: Value, d: Text) -> Equation:
    """x / a = x * (1 / a) for a number a."""
    return Equation(x / a, x * ops.reciprocal(a), when=[moderate(a), of_dtype(x, d), of_dtype(a, d)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.exp(x) / 4.0,
    never=(lambda x: x / 3.0, lambda x: _narrow(x) / _TWO),
)
def divided_by_power_of_two(x: Value, a: Value, k: Text, d: Text) -> Equation:
    """x / 2^k = x * 2^-k."""
    return Equation(x / a, x * ops.reciprocal(a), when=[power_of_two(a, k), of_dtype(x, d), of_dtype(a, d)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, y: ((T.exp(x) * 3.0) * y) * 5.0,
    never=(
        lambda x, y: (x * 0.0) * y,
        lambda x, y: (_narrow(x) * _THREE) * y,
        lambda x, y: (_narrow(x) * _THREE) * _narrow(y),
        lambda x, y: (x * 3.0) * _narrow(y),
        lambda x, a: (a * 3.0) * x,
        lambda x: T.constant([2.0, 7.0]) * 3.0 * x[:2],
        lambda x: T.exp(x) * 3.0 * 5.0,
    ),
)
def number_out_of_left_factor(x: Value, a: Value, y: Value, d: Text) -> Equation:
    """(x * a) * y = (x * y) * a for a number a and an array x."""
    varying = [varying_product(x * a), least_multiple(x), no_number(y), has_axes(x)]
    when = [*varying, moderate(a), of_dtype(x, d), of_dtype(a, d), of_dtype(y, d)]
    return Equation(x * a * y, x * y * a, when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, y: (y * (T.exp(x) * 3.0)) * 5.0,
    never=(
        lambda x, y: y * (x * 0.0),
        lambda x, y: y * (_narrow(x) * _THREE),
        lambda x, y: _narrow(y) * (_narrow(x) * _THREE),
        lambda x, y: _narrow(y) * (x * 3.0),
        lambda x, a: x * (a * 3.0),
        lambda x: x[:2] * (T.constant([2.0, 7.0]) * 3.0),
        lambda x: 5.0 * (T.exp(x) * 3.0),
    ),
)
def number_out_of_right_factor(x: Value, a: Value, y: Value, d: Text) -> Equation:
    """y * (x * a) = (y * x) * a for a number a and an array x."""
    varying = [varying_product(x * a), least_multiple(x), no_number(y), has_axes(x)]
    when = [*varying, moderate(a), of_dtype(x, d), of_dtype(a, d), of_dtype(y, d)]
    return Equation(y * (x * a), y * x * a, when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda X, y: T.dot(X * 3.0, y),
    never=(
        lambda X, y: T.dot(X * 0.0, y),
        lambda X, y: T.dot(_narrow(X) * _THREE, y),
        lambda X, y: T.dot(_narrow(X) * _THREE, _narrow(y)),
        lambda X, y: T.dot(X * 3.0, _narrow(y)),
    ),
)
def number_out_of_left_matrix(x: Value, a: Value, y: Value, d: Text) -> Equation:
    """(x * a) @ y = (x @ y) * a for a number a."""
    when = [varying_product(x * a), least_multiple(x), moderate(a), of_dtype(x, d), of_dtype(a, d), of_dtype(y, d)]
    return Equation(ops.dot(x * a, y), ops.dot(x, y) * a, when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, Y: T.dot(x, Y * 3.0),
    never=(
        lambda x, Y: T.dot(x, Y * 0.0),
        lambda x, Y: T.dot(x, _narrow(Y) * _THREE),
        lambda x, Y: T.dot(_narrow(x), _narrow(Y) * _THREE),
        lambda x, Y: T.dot(_narrow(x), Y * 3.0),
    ),
)
def number_out_of_right_matrix(x: Value, a: Value, y: Value, d: Text) -> Equation:
    """y @ (x * a) = (y @ x) * a for a number a."""
    when = [varying_product(x * a), least_multiple(x), moderate(a), of_dtype(x, d), of_dtype(a, d), of_dtype(y, d)]
    return Equation(ops.dot(y, x * a), ops.dot(y, x) * a, when=when)


@law(
    licence="reassoc",
    example=(lambda X: (X * 3.0).sum(axis=0), lambda X: (X * 3.0).mean(axis=1)),
    never=(
        lambda X: (X * 0.0).sum(axis=0),
        lambda X: (X * 3.0).max(axis=0),
        lambda X: (_narrow(X) * _THREE).sum(axis=0),
    ),
)
def number_out_of_sum(op: Op, x: Value, a: Value, r: Args, d: Text) -> Equation:
    """The sum of x * a is the sum of x, times a, for a number a."""
    when = [varying_product(x * a), least_multiple(x), linear(op), moderate(a), of_dtype(x, d), of_dtype(a, d)]
    return Equation(op(x * a, r), op(x, r) * a, when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, y: (T.exp(x) * 3.0 + y * 3.0) / 3.0,
    never=(
        lambda x, y: x * 0.0 + y * 0.0,
        lambda x, y: x * 3.0 + y * 5.0,
        lambda x, y: _narrow(x) * _THREE + y * _THREE,
        lambda x, y: x * _THREE + _narrow(y) * _THREE,
        lambda x, y: _narrow(x) * _THREE + _narrow(y) * _THREE,
    ),
)
def number_out_of_sum_of_two(x: Value, y: Value, a: Value, d: Text) -> Equation:
    """x * a + y * a = (x + y) * a for a number a."""
    varying = [varying_product(x * a), least_multiple(x), varying_product(y * a), least_multiple(y)]
    when = [*varying, differ(x * a, y * a), moderate(a), of_dtype(a, d), of_dtype(x, d), of_dtype(y, d)]
    return Equation(x * a + y * a, (x + y) * a, when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, y: (T.exp(x) * 3.0 - y * 3.0) / 3.0,
    never=(
        lambda x, y: x * 0.0 - y * 0.0,
        lambda x, y: x * 3.0 - y * 5.0,
        lambda x, y: _narrow(x) * _THREE - y * _THREE,
        lambda x, y: x * _THREE - _narrow(y) * _THREE,
        lambda x, y: _narrow(x) * _THREE - _narrow(y) * _THREE,
    ),
)
def number_out_of_difference(x: Value, y: Value, a: Value, d: Text) -> Equation:
    """x * a - y * a = (x - y) * a for a number a."""
    varying = [varying_product(x * a), least_multiple(x), varying_product(y * a), least_multiple(y)]
    when = [*varying, differ(x * a, y * a), moderate(a), of_dtype(a, d), of_dtype(x, d), of_dtype(y, d)]
    return Equation(x * a - y * a, (x - y) * a, when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, y: T.exp(x) / 3.0 + T.exp(y) / 3.0,
    never=(
        lambda x, y: x / 3.0 + y / 5.0,
        lambda x, y: x / 0.0 + y / 0.0,
        lambda x, p: x / 3.0 + p / 3.0,
        lambda x, p: p / 3.0 + x / 3.0,
        lambda x, y: _narrow(x) / _THREE + _narrow(y) / _THREE,
        lambda x: T.exp(x) / 3.0 + T.exp(x) / 3.0,
    ),
)
def number_under_sum_of_two(x: Value, y: Value, a: Value, d: Text) -> Equation:
    """x / a + y / a = (x + y) / a for a number a; the double of x / 2 is x, and no half of the double of x."""
    when = [differ(x / a, y / a), moderate(a), of_dtype(a, d), of_dtype(x, d), of_dtype(y, d)]
    return Equation(x / a + y / a, (x + y) / a, when=when)
