"""Powers with exponents -1, 1, 3 and 4 become quotients and products."""

from typing import Any

import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Text, Value, ops
from scanopt.facts.values import exponent, of_dtype

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
