"""Algebraic laws from operator traits: one law covers all operators that have the trait."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Op, Text, Value, const_at, ops
from scanopt.facts.loops import lies_on
from scanopt.facts.operators import (
    absorbing,
    absorbs,
    cancels,
    commutative,
    idempotent,
    involution,
    left_neutral,
    neutral,
    projection,
    undoes,
)  # fmt: skip
from scanopt.facts.raising import silent
from scanopt.facts.recurrences import swaps
from scanopt.facts.values import integer, like, of_dtype, same_type, scalar


def _complex_products(u: Any, v: Any, x: Any) -> Any:
    return [u * v, v * u, x * x]


def _complex_maxima(u: Any, v: Any) -> Any:
    return T.maximum(u, v) - T.maximum(v, u)


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: x * 1.0,
    never=(lambda x: x * 2.0, lambda x: x // T.constant(1, dtype="int64")),
)
def right_identity(op: Op, x: Value, e: Value, d: Text) -> Equation:
    """op(x, e) = x for the neutral element e."""
    return Equation(op(x, e), x, when=[neutral(op, e, d), of_dtype(x, d)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda p: 0 + p,
    never=(lambda x: 2.0 / x, lambda p: T.constant(1.0, dtype="float64") * p),
)
def left_identity(op: Op, e: Value, x: Value, d: Text) -> Equation:
    """op(e, x) = x for the neutral element e."""
    return Equation(op(e, x), x, when=[left_neutral(op, e, d), of_dtype(x, d)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: x * T.ones_like(x),
    never=(
        lambda x: x + T.ones_like(x),
        lambda x, y: x * T.ones_like(y),
        lambda p: p * T.ones_like(p, dtype="float64"),
        lambda X: X * T.ones(X.shape[0]),
    ),
)
def right_identity_array(op: Op, x: Value, E: Value, e: Value, d: Text) -> Equation:
    """op(x, E) = x where E is full of the neutral element, in the shape of x."""
    return Equation(op(x, E), x, when=[like(E, x, e), neutral(op, e, d), of_dtype(x, d)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.ones_like(x) * x,
    never=(
        lambda x: T.ones_like(x) + x,
        lambda x, y: T.ones_like(y) * x,
        lambda p: T.ones_like(p, dtype="float64") * p,
    ),
)
def left_identity_array(op: Op, E: Value, x: Value, e: Value, d: Text) -> Equation:
    """op(E, x) = x where E is full of the neutral element, in the shape of x."""
    return Equation(op(E, x), x, when=[like(E, x, e), left_neutral(op, e, d), of_dtype(x, d)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda p: p * 0 + p,
    never=(
        lambda x: x * 0.0,
        lambda p: T.cast(p, "int8") * T.constant(0, dtype="int64"),
        lambda p: p * T.constant(0, dtype="int8"),
    ),
)
def right_annihilator(op: Op, x: Value, z: Value, d: Text) -> Equation:
    """op(x, z) = z everywhere, in the shape of x."""
    left = op(x, z)
    same = [same_type(left, x), of_dtype(left, d), of_dtype(z, d)]
    return Equation(left, ops.full_like(x, z), when=[absorbing(op, z), *same])


@law(
    licence="exact",
    stepwise=True,
    example=lambda p: 0 * p + p,
    never=(
        lambda x: 0.0 * x,
        lambda p: T.constant(0, dtype="int64") * T.cast(p, "int8"),
        lambda p: T.constant(0, dtype="int8") * p,
    ),
)
def left_annihilator(op: Op, z: Value, x: Value, d: Text) -> Equation:
    """op(z, x) = z everywhere, in the shape of x."""
    left = op(z, x)
    same = [same_type(left, x), of_dtype(left, d), of_dtype(z, d)]
    return Equation(left, ops.full_like(x, z), when=[absorbing(op, z), *same])


def _there_and_back(p: Any, n: Any) -> Any:
    return (p + n) - n


@law(
    licence="exact",
    stepwise=True,
    example=_there_and_back,
    never=(
        lambda x, n: (x + n) - n,
        lambda p, n: (p + n) * n,
        lambda p, q: (p + q) - q,
        lambda p, n: (T.cast(p, "int8") + n) - n,
        lambda p, n, m: _there_and_back(p, scanopt.check(m, "not so", n)),
    ),
)
def inverse(g: Op, op: Op, x: Value, y: Value) -> Equation:
    """g(op(x, y), y) = x, for integers: exact modulo 2^k."""
    left = g(op(x, y), y)
    return Equation(left, x, when=[undoes(g, op), integer(x), same_type(left, x), scalar(y), silent(y)])


def _complex(x: Any) -> Any:
    return T.cast(x, "complex128")


@law(
    licence="exact",
    stepwise=True,
    example=lambda p: T.maximum(p, p),
    never=(lambda p: p + p, lambda x, p: [T.maximum(_complex(x), _complex(x)), p + p]),
)
def idempotence(op: Op, x: Value, d: Text) -> Equation:
    """op(x, x) = x."""
    return Equation(op(x, x), x, when=[idempotent(op, d), of_dtype(x, d)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda p, q: T.minimum(T.minimum(p, q), q),
    never=(
        lambda p, q: (p + q) + q,
        lambda p, q: T.minimum(T.minimum(T.cast(p, "int8"), q), q),
        lambda p, q: T.minimum(T.minimum(p, T.cast(q, "int8")), T.cast(q, "int8")),
    ),
)
def absorption(op: Op, x: Value, y: Value, d: Text) -> Equation:
    """op(op(x, y), y) = op(x, op(y, y)) = op(x, y)."""
    once = op(x, y)
    return Equation(op(once, y), once, when=[absorbs(op, d), of_dtype(x, d), of_dtype(y, d)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.floor(T.floor(x)),
    never=(lambda x: T.exp(T.exp(x)), lambda x: T.sgn(T.sgn(T.cast(x, "complex128")))),
)
def projection_twice(op: Op, x: Value, d: Text) -> Equation:
    """op(op(x)) = op(x)."""
    once = op(x)
    return Equation(op(once), once, when=[projection(op, d), of_dtype(x, d)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.neg(T.neg(x)),
    never=(lambda x: T.exp(T.exp(x)), lambda p, m: [T.logical_not(T.logical_not(p)), ~m]),
)
def involution_twice(op: Op, x: Value, d: Text) -> Equation:
    """op(op(x)) = x."""
    return Equation(op(op(x)), x, when=[involution(op, d), of_dtype(x, d)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, y: (x + y) * (y + x),
    never=(
        lambda x, y: (x - y) * (y - x),
        lambda x, y: _complex_products(T.cast(x, "complex128"), T.cast(y, "complex128"), x),
        lambda x, y: _complex_products(T.cast(x, "complex128"), y, x),
    ),
)
def commuted_twins(op: Op, x: Value, y: Value, d: Text) -> Equation:
    """op(x, y) = op(y, x), where the program contains both: the law adds no new form."""
    when = [commutative(op, d), of_dtype(x, d), of_dtype(y, d)]
    return Equation(op(x, y), op(y, x), when=when, found=True)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x, y: T.maximum(x, y) * T.maximum(y, x),
    never=(
        lambda x, y: (x - y) * (y - x),
        lambda u, v, x, y: [T.maximum(x, y), _complex_maxima(T.cast(u, "complex128"), T.cast(v, "complex128"))],
    ),
)
def nearly_commuted_twins(op: Op, x: Value, y: Value, d: Text) -> Equation:
    """op(x, y) = op(y, x) up to rounding and the sign of a zero, where the program contains both."""
    left = op(x, y)
    return Equation(left, op(y, x), when=[swaps(op, d), of_dtype(left, d)], found=True)


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, y: T.where(x < y, x, y) * T.where(y > x, x, y),
    never=lambda x, y: [T.where(x < y, x, y), T.where(x > y, x, y)],
)
def less_is_greater(x: Value, y: Value) -> Equation:
    """x < y = y > x, where the program contains both."""
    return Equation(ops.less(x, y), ops.greater(y, x), found=True)


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, y: T.where(x <= y, x, y) * T.where(y >= x, x, y),
    never=lambda x, y: [T.where(x <= y, x, y), T.where(x >= y, x, y)],
)
def at_most_is_at_least(x: Value, y: Value) -> Equation:
    """x <= y = y >= x, where the program contains both."""
    return Equation(ops.less_equal(x, y), ops.greater_equal(y, x), found=True)


@law(
    licence="exact",
    stepwise=True,
    example=lambda p: (p - p) + p,
    never=(lambda x, p: [x - x, p + p], lambda p, q: p - q),
)
def self_inverse(op: Op, x: Value, d: Text, k: Text, c: Clock) -> Equation:
    """op(x, x) = k everywhere, in the shape of x, for integers."""
    result = ops.full_like(x, const_at(c, k))
    return Equation(op(x, x), result, when=[cancels(op, d, k), of_dtype(x, d), lies_on(x, c)])
