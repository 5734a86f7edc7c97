"""Powers by a number that is known, as the products that they are, and repeated products by squares."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import Body, query
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Int, Text, Value, as_row, const_at, int_value, ops
from scanopt.facts.loops import lies_on
from scanopt.facts.operators import neutral
from scanopt.facts.values import exponent, floating, like, of_dtype

_ONE, _THREE, _FOUR, _MINUS_ONE = (T.constant(float(k), dtype="float64") for k in (1, 3, 4, -1))


def _narrow(x: Any) -> Any:
    return T.cast(x, "float32")


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x: T.exp(x) ** 1,
    never=(lambda x: x**5, lambda x: _narrow(x) ** _ONE),
)
def first_power(x: Value, e: Value, d: Text) -> Equation:
    """x^1 = x."""
    return Equation(ops.power(x, e), x, when=[exponent(e, "1"), of_dtype(x, d), of_dtype(e, d)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda X: T.tile(X, (50, 50)) ** 3,
    never=(lambda x: x**5, lambda x: _narrow(x) ** _THREE),
)
def third_power(x: Value, e: Value, d: Text) -> Equation:
    """x^3 = x^2 * x."""
    return Equation(ops.power(x, e), ops.square(x) * x, when=[exponent(e, "3"), of_dtype(x, d), of_dtype(e, d)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda X: T.tile(X, (50, 50)) ** 4,
    never=(lambda x: x**5, lambda x: _narrow(x) ** _FOUR),
)
def fourth_power(x: Value, e: Value, d: Text) -> Equation:
    """x^4 = (x^2)^2."""
    when = [exponent(e, "4"), of_dtype(x, d), of_dtype(e, d)]
    return Equation(ops.power(x, e), ops.square(ops.square(x)), when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x: T.exp(x) ** -1.0,
    never=(lambda x: x**-3.0, lambda x: _narrow(x) ** _MINUS_ONE),
)
def power_of_minus_one(x: Value, e: Value, d: Text) -> Equation:
    """x^-1 = 1 / x."""
    return Equation(ops.power(x, e), ops.reciprocal(x), when=[exponent(e, "-1"), of_dtype(x, d), of_dtype(e, d)])


@query
def even(n: Value, *, k: Int, m: Int) -> Body:
    """n is an even number from 2 on."""
    return m.is_(int_value(n)), k.is_(Int("/", (m, 2))), m.is_(k + k), k >= 1


@query
def odd(n: Value, *, k: Int, m: Int) -> Body:
    """n is an odd number from 1 on."""
    return m.is_(int_value(n)), k.is_(Int("/", (m, 2))), m.is_(k + k + 1), k >= 0


@query
def from_one_on(n: Value, *, m: Int) -> Body:
    """n is a number from 1 on."""
    return m.is_(int_value(n)), m >= 1


def _half(n: Value, c: Clock) -> Value:
    """Half of a number on c."""
    return ops.floor_divide(n, const_at(c, "int64:2"))


def _product(x: Any, n: int, start: Any = None) -> Any:
    """The last of n products of a state by x."""
    return scanopt.scan(lambda s, x: s * x, None, T.tanh(x) if start is None else start, x, n_steps=n)[0][-1]


@law(
    licence="reassoc",
    example=lambda x: _product(x, 1024),
    never=(lambda x: _product(x, 11), lambda p: _product(p, 12, p)),
)
def products_by_the_square(init: Value, x: Value, n: Value, c: Clock) -> Equation:
    """To multiply by x 2k times is to multiply by x * x k times."""
    left = ops.fold(init, ops.repeat_rows(x, n), ufunc="multiply")
    right = ops.fold(init, ops.repeat_rows(x * x, _half(n, c)), ufunc="multiply")
    return Equation(left, right, when=[even(n), floating(x), lies_on(x, c)])


@law(
    licence="reassoc",
    example=lambda x: _product(x, 11, T.ones_like(x)),
    never=(
        lambda x: _product(x, 11, T.zeros_like(x)),
        lambda x, n: _product(x, n, T.ones_like(x)),
        lambda x, y: _product(x, 11, T.ones_like(y)),
        lambda p: _product(p, 11, T.ones_like(p)),
        lambda x: _product(_narrow(x), 11, T.ones_like(_narrow(x), dtype="float64")),
    ),
)
def products_from_one(E: Value, e: Value, x: Value, n: Value, d: Text, c: Clock) -> Equation:
    """To multiply 1 by x n times is to multiply x by x n - 1 times."""
    left = ops.fold(as_row(E), ops.repeat_rows(x, n), ufunc="multiply")
    right = ops.fold(as_row(x), ops.repeat_rows(x, n - const_at(c, "int64:1")), ufunc="multiply")
    when = [like(E, x, e), neutral(ops.multiply, e, d), of_dtype(x, d), floating(x), from_one_on(n), lies_on(x, c)]
    return Equation(left, right, when=when)


@law(
    licence="reassoc",
    example=lambda x: _product(x, 101, x),
    never=(lambda x: _product(x, 12, x), lambda x: _product(x, 11, T.tanh(x)), lambda p: _product(p, 11, p)),
)
def products_of_itself(x: Value, n: Value, c: Clock) -> Equation:
    """To multiply x by itself 2k + 1 times is to multiply x * x by itself k times."""
    square = x * x
    left = ops.fold(as_row(x), ops.repeat_rows(x, n), ufunc="multiply")
    right = ops.fold(as_row(square), ops.repeat_rows(square, _half(n, c)), ufunc="multiply")
    return Equation(left, right, when=[odd(n), floating(x), lies_on(x, c)])
