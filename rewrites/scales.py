"""Signs, powers of two and zeros cancel or move out of running sums; multiples of one value are added up.

Multiplying by a power of two does not round.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Text, Value, as_row, ops
from scanopt.facts.bits import negates
from scanopt.facts.numbers import least_multiple, varying_product
from scanopt.facts.values import above_zero, floating, like, moderate, nothing, of_dtype, power_of_two, scalar

_TWO = T.constant(2.0, dtype="float64")
_THREE = T.constant(3.0, dtype="float64")
_ZERO = T.constant(0.0, dtype="float64")
_MINUS_ONE = T.constant(-1.0, dtype="float64")


def _narrow(x: Any) -> Any:
    return T.cast(x, "float32")


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x: (x + x) * 0.5 + 1.0,
    never=(lambda x: (x + x) * 0.0, lambda x: (_narrow(x) + _narrow(x)) * T.constant(0.5, dtype="float64")),
)
def number_times_double(x: Value, a: Value, d: Text) -> Equation:
    """(x + x) * a = x * (a + a) for a number a."""
    double = x + x
    when = [varying_product(double * a), least_multiple(double), moderate(a), of_dtype(x, d), of_dtype(a, d)]
    return Equation(double * a, x * (a + a), when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x: T.exp(x) * 3.0 + T.exp(x) * 5.0,
    never=(
        lambda x: x * 0.0 + x * 5.0,
        lambda x: x * 5.0 + x * 0.0,
        lambda x, y: x * 3.0 + y * 5.0,
        lambda x: _narrow(x) * _THREE + _narrow(x) * 5.0,
        lambda x: _narrow(x) * 3.0 + _narrow(x) * _TWO,
        lambda x: x * _narrow(_THREE) + x * T.constant(5.0, dtype="float32"),
        lambda x: scanopt.map(lambda v: T.exp(v) * -3.0 + T.exp(v) * 5.0, x)[0],
        lambda x: T.exp(x) * 3.0 + T.exp(x) * -5.0,
    ),
)
def multiples_added(x: Value, a: Value, b: Value, d: Text) -> Equation:
    """x * a + x * b = x * (a + b) for numbers a and b above zero: where x is infinite, they may not have two signs."""
    varying = [varying_product(x * a), least_multiple(x), above_zero(a), above_zero(b)]
    when = [*varying, of_dtype(a, d), of_dtype(b, d), of_dtype(x, d)]
    return Equation(x * a + x * b, x * (a + b), when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x: x * 3.0 + 0.0,
    never=(
        lambda x: x + 1.0,
        lambda x: x + T.zeros(3),
        lambda x: T.cast(x, "float32") + _ZERO,
        lambda x: T.cast(x, "float16") + T.constant(0.0, dtype="float16"),
    ),
)
def nothing_added(x: Value, e: Value, d: Text) -> Equation:
    """x + 0.0 = x, except for x = -0.0."""
    return Equation(x + e, x, when=[nothing(e), scalar(e), floating(x), of_dtype(x, d), of_dtype(e, d)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x: 0.0 + x * 3.0,
    never=(
        lambda x: 1.0 + x,
        lambda x: T.zeros(3) + x,
        lambda x: _ZERO + T.cast(x, "float32"),
        lambda x: T.constant(0.0, dtype="float16") + T.cast(x, "float16"),
    ),
)
def added_to_nothing(e: Value, x: Value, d: Text) -> Equation:
    """0.0 + x = x, except for x = -0.0."""
    return Equation(e + x, x, when=[nothing(e), scalar(e), floating(x), of_dtype(x, d), of_dtype(e, d)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, W: T.dot(x, W) + T.zeros_like(T.dot(x, W)),
    never=(
        lambda x: x + T.ones_like(x),
        lambda x, y: x + T.zeros_like(y),
        lambda x: _narrow(x) + T.zeros_like(_narrow(x), dtype="float64"),
        lambda x: T.cast(x, "float16") + T.zeros_like(T.cast(x, "float16")),
        lambda x: x + scanopt.map(lambda v: T.constant([0.0, 0.0]), x)[0],
    ),
)
def zeros_added(x: Value, E: Value, e: Value, d: Text) -> Equation:
    """x + E = x for an E full of zeros in the shape of x, except for x = -0.0."""
    return Equation(x + E, x, when=[like(E, x, e), nothing(e), floating(x), of_dtype(x, d), of_dtype(E, d)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, W: T.zeros_like(T.dot(x, W)) + T.dot(x, W),
    never=(
        lambda x: T.ones_like(x) + x,
        lambda x, y: T.zeros_like(y) + x,
        lambda x: T.zeros_like(_narrow(x), dtype="float64") + _narrow(x),
        lambda x: T.zeros_like(T.cast(x, "float16")) + T.cast(x, "float16"),
    ),
)
def added_to_zeros(E: Value, x: Value, e: Value, d: Text) -> Equation:
    """E + x = x for an E full of zeros in the shape of x, except for x = -0.0."""
    return Equation(E + x, x, when=[like(E, x, e), nothing(e), floating(x), of_dtype(x, d), of_dtype(E, d)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, y: x - (-y),
    never=(lambda x, y: x - y, lambda p, q: p - (-T.cast(q, "int8"))),
)
def opposite_taken_away(x: Value, y: Value, d: Text) -> Equation:
    """x - -y = x + y."""
    return Equation(x - -y, x + y, when=[of_dtype(x, d), of_dtype(y, d)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x: -T.cumsum(-x),
    never=(lambda x: -T.exp(-x), lambda p: -T.cumsum(-T.cast(p, "int8"))),
)
def sums_of_opposites(x: Value) -> Equation:
    """Running sums of -x are the negated running sums of x, except for signs of zeros."""
    return Equation(ops.cumsum(-x, axis=0), -ops.cumsum(x, axis=0), when=[floating(x)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x: T.cumsum(x * 2.0) / 2.0,
    never=(
        lambda x: T.exp(x * 2.0),
        lambda x: T.cumsum(x * 3.0),
        lambda x: T.cumsum(T.cast(x, "float16") * T.constant(2.0, dtype="float32")),
    ),
)
def sums_of_multiples(x: Value, a: Value, k: Text) -> Equation:
    """Running sums of x * 2^k are the running sums of x, times 2^k."""
    return Equation(ops.cumsum(x * a, axis=0), ops.cumsum(x, axis=0) * a, when=[power_of_two(a, k), floating(x)])


def _sums(x: Any, start: Any) -> Any:
    return scanopt.scan(lambda v, s: s + v, x, start)[0]


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda X: -_sums(-X, T.zeros_like(X[0])),
    never=(
        lambda X: -_sums(-X, T.ones_like(X[0])),
        lambda X, y: [-_sums(-X, y), T.zeros_like(y)],
        lambda X: -_sums(-_narrow(X), T.zeros_like(X[0])),
        lambda p, q: -_sums(-T.outer(p, q), T.zeros_like(T.outer(p, q)[0])),
    ),
)
def sums_of_opposites_from_nothing(Z: Value, y: Value, e: Value, x: Value, d: Text) -> Equation:
    """Running sums of -x that start with zeros are the negated running sums of x, except for signs of zeros."""
    left = ops.accumulate(as_row(Z), -x, ufunc="add")
    when = [nothing(e), like(Z, y, e), floating(Z), of_dtype(Z, d), of_dtype(x, d)]
    return Equation(left, -ops.accumulate(as_row(Z), x, ufunc="add"), when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda X: _sums(X * 2.0, T.zeros_like(X[0])) / 2.0,
    never=(
        lambda X: _sums(X * 2.0, T.ones_like(X[0])),
        lambda X, y: [_sums(X * 2.0, y), T.zeros_like(y)],
        lambda X: _sums(X * 3.0, T.zeros_like(X[0])),
        lambda X: _sums(_narrow(X) * T.constant(2.0, dtype="float32"), T.zeros_like(X[0])),
        lambda X: _sums(X * T.constant(2.0, dtype="float32"), T.zeros_like(X[0])),
        lambda X: _sums(_narrow(X) * _TWO, T.zeros_like(X[0])),
    ),
)
def sums_of_multiples_from_nothing(Z: Value, y: Value, e: Value, x: Value, a: Value, k: Text, d: Text) -> Equation:
    """Running sums of x * 2^k that start with zeros are the running sums of x, times 2^k."""
    left = ops.accumulate(as_row(Z), x * a, ufunc="add")
    zeros = [nothing(e), like(Z, y, e), of_dtype(Z, d)]
    when = [*zeros, power_of_two(a, k), of_dtype(x, d), of_dtype(a, d)]
    return Equation(left, ops.accumulate(as_row(Z), x, ufunc="add") * a, when=when)


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, a: -scanopt.scan(lambda v, s: T.tanh(s * -1.0 + v), x, a)[0],
    never=(
        lambda x, a: -scanopt.scan(lambda v, s: T.tanh(s * -2.0 + v), x, a)[0],
        lambda x, a: -scanopt.scan(lambda v, s: T.tanh(s + T.cast(v, "float32") * _MINUS_ONE), x, a)[0],
    ),
)
def times_minus_one(x: Value, e: Value, d: Text) -> Equation:
    """x * -1 = -x."""
    return Equation(x * e, -x, when=[negates(e, d), of_dtype(x, d)])
