"""Choices with a known condition, choices made twice, and choices that need not be lazy: ifelse and where."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Text, Value, ops
from scanopt.facts.loops import is_false, is_true
from scanopt.facts.raising import silent, total
from scanopt.facts.shapes import shaped_as
from scanopt.facts.values import of_dtype, scalar


def _indexed(x: Any, p: Any) -> Any:
    """x[i] only where i is small enough."""
    return scanopt.map(lambda i, v: scanopt.ifelse(i < 2, v[i], 0.0), p, [x])[0]


def _indexed_or_else(x: Any, p: Any) -> Any:
    return scanopt.map(lambda i, v: scanopt.ifelse(i >= 2, 0.0, v[i]), p, [x])[0]


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: scanopt.ifelse(True, T.exp(x), x),
    never=lambda x, a: scanopt.ifelse(a > 0, T.exp(x), x),
)
def choice_of_true(c: Value, a: Value, b: Value) -> Equation:
    """ifelse(True, a, b) = a."""
    return Equation(ops.ifelse(c, a, b), a, when=[is_true(c)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: scanopt.ifelse(False, T.exp(x), x),
    never=lambda x, a: scanopt.ifelse(a > 0, T.exp(x), x),
)
def choice_of_false(c: Value, a: Value, b: Value) -> Equation:
    """ifelse(False, a, b) = b."""
    return Equation(ops.ifelse(c, a, b), b, when=[is_false(c)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, a: scanopt.ifelse(a > 0, T.exp(x), T.exp(x)),
    never=(
        lambda x, a: scanopt.ifelse(a > 0, T.exp(x), x),
        lambda x, a: scanopt.ifelse(scanopt.check(a, "not so", a > 0) > 0, x, x),
    ),
)
def choice_of_equals(c: Value, a: Value) -> Equation:
    """ifelse(c, a, a) = a, unless c checks something: whichever side is computed, it is the same."""
    return Equation(ops.ifelse(c, a, a), a, when=[silent(c)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: scanopt.map(lambda v: scanopt.ifelse(v > 0, T.exp(v), v), x)[0],
    never=(_indexed, _indexed_or_else, lambda x, p: _indexed(x, -p - 5), lambda x, a: scanopt.ifelse(a > 0, x, -x)),
)
def lazy_choice_as_where(c: Value, a: Value, b: Value) -> Equation:
    """ifelse of scalars is where(c, a, b) if neither side can raise: then both may be computed."""
    lazy = ops.ifelse(c, a, b)
    return Equation(lazy, ops.where(c, a, b), when=[total(a), total(b), scalar(lazy)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.where(True, T.exp(x), 0.0),
    never=(
        lambda x, a: T.where(a > 0, T.exp(x), 0.0),
        lambda p: T.where(True, p, T.constant(0.5, dtype="float64")),
        lambda x, a: T.where(True, a, x),
    ),
)
def where_of_true(m: Value, x: Value, y: Value, d: Text) -> Equation:
    """where(True, x, y) = x for a scalar y."""
    left = ops.where(m, x, y)
    return Equation(left, x, when=[is_true(m), of_dtype(left, d), of_dtype(x, d), scalar(y)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.where(False, 0.0, T.exp(x)),
    never=(
        lambda x, a: T.where(a > 0, 0.0, T.exp(x)),
        lambda p: T.where(False, T.constant(0.5, dtype="float64"), p),
        lambda x, a: T.where(False, x, a),
    ),
)
def where_of_false(m: Value, x: Value, y: Value, d: Text) -> Equation:
    """where(False, y, x) = x for a scalar y."""
    left = ops.where(m, y, x)
    return Equation(left, x, when=[is_false(m), of_dtype(left, d), of_dtype(x, d), scalar(y)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, a: T.where(a > 0, T.exp(x), T.exp(x)),
    never=(
        lambda m, a: T.where(m, a, a),
        lambda x, a: T.where(a > 0, T.exp(x), x),
        lambda x, a, m: T.where(scanopt.check(m, "not so", a) > 0, x, x),
    ),
)
def where_of_equals(m: Value, x: Value) -> Equation:
    """where(m, x, x) = x for a scalar m."""
    return Equation(ops.where(m, x, x), x, when=[scalar(m), silent(m)])


@law(
    licence="exact",
    stepwise=True,
    example=(lambda x, y, m: T.where(~m, T.exp(x), y), lambda x, y: T.where(T.logical_not(x > y), T.exp(x), y)),
    never=(lambda x, y, m: T.where(m, T.exp(x), y), lambda x, y: T.where(x > y, T.exp(x), y)),
)
def where_not(m: Value, x: Value, y: Value) -> Equation:
    """where(~m, x, y) = where(m, y, x)."""
    return Equation(ops.where(ops.invert(m), x, y), ops.where(m, y, x))


def _tiny(p: Any) -> Any:
    return T.cast(p, "int8")


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.where(x > 0, T.where(x > 0, T.exp(x), 0.0), -x),
    never=(
        lambda x: T.where(x > 0, T.where(x < 0, T.exp(x), 0.0), -x),
        lambda x, a: T.where(a > 0, T.where(a > 0, a, x), 0.0) * x,
        lambda p, q: T.where(p > 0, T.where(p > 0, _tiny(p), p), _tiny(p)),
    ),
)
def chosen_before(m: Value, x: Value, y: Value, z: Value, d: Text) -> Equation:
    """where(m, where(m, x, y), z) = where(m, x, z)."""
    inner = ops.where(m, x, y)
    when = [shaped_as(inner, x), of_dtype(inner, d), of_dtype(x, d)]
    return Equation(ops.where(m, inner, z), ops.where(m, x, z), when=when)


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.where(x > 0, -x, T.where(x > 0, 0.0, T.exp(x))),
    never=(
        lambda x: T.where(x > 0, -x, T.where(x < 0, 0.0, T.exp(x))),
        lambda x, a: T.where(a > 0, 0.0, T.where(a > 0, x, a)) * x,
        lambda p, q: T.where(p > 0, _tiny(p), T.where(p > 0, p, _tiny(p))),
    ),
)
def chosen_otherwise_before(m: Value, x: Value, y: Value, z: Value, d: Text) -> Equation:
    """where(m, z, where(m, y, x)) = where(m, z, x)."""
    inner = ops.where(m, y, x)
    when = [shaped_as(inner, x), of_dtype(inner, d), of_dtype(x, d)]
    return Equation(ops.where(m, z, inner), ops.where(m, z, x), when=when)
