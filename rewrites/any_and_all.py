"""Loops that only reduce truth values become one reduction: `any`, `all`, or a count of those that are true."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Value, as_row, const_int, ops
from scanopt.facts.bits import boolean
from scanopt.facts.loops import is_false, is_true
from scanopt.facts.values import int64, nothing, vector


def _last(step: Any, x: Any, start: Any) -> Any:
    """The last value of one state."""
    return scanopt.scan(step, x, start)[0][-1]


def _or(x: Any, start: bool) -> Any:
    return _last(lambda v, s: T.or_(s, v), x > 0, T.constant(start))


def _and(x: Any, start: bool) -> Any:
    return _last(lambda v, s: T.and_(s, v), x > 0, T.constant(start))


def _count(x: Any, start: Any) -> Any:
    return _last(lambda v, s: s + v, x, start)


@law(
    licence="exact",
    example=lambda x: _or(x, False),
    never=(
        lambda x: _or(x, True),
        lambda x: _and(x, False),
        lambda p: _last(lambda v, s: s | v, p, T.constant(0, dtype="int64")),
    ),
)
def any_of_truth_values(e: Value, x: Value) -> Equation:
    """s or v for all v, where s was false at first: whether any of them is true."""
    left = ops.fold_in_order(as_row(e), x, ufunc="bitwise_or")
    return Equation(left, ops.any(x, axis=(0,), keepdims=False), when=[is_false(e)])


@law(
    licence="exact",
    example=lambda x: _and(x, True),
    never=(
        lambda x: _and(x, False),
        lambda x: _or(x, True),
        lambda p: _last(lambda v, s: s & v, p, T.constant(-1, dtype="int64")),
    ),
)
def all_of_truth_values(e: Value, x: Value) -> Equation:
    """s and v for all v, where s was true at first: whether all of them are true."""
    left = ops.fold_in_order(as_row(e), x, ufunc="bitwise_and")
    return Equation(left, ops.all(x, axis=(0,), keepdims=False), when=[is_true(e)])


@law(
    licence="exact",
    example=lambda x: _count(x > 0, T.constant(0, dtype="int64")),
    never=(
        lambda x: _count(x > 0, T.constant(1, dtype="int64")),
        lambda x: _count(x > 0, T.constant(0.0, dtype="float64")),
        lambda X: _count(X[:, :1] > 0, T.zeros(3, "int64")),
        lambda p: _count(T.cast(p, "int8"), T.constant(0, dtype="int64")),
    ),
)
def count_of_truth_values(Z: Value, x: Value) -> Equation:
    """s + v for all v, where s was 0 at first: how many of them are true."""
    left = ops.fold_in_order(Z, x, ufunc="add")
    when = [nothing(Z), vector(Z), int64(Z), boolean(x)]
    return Equation(left, ops.sum(x, axis=(0,), keepdims=False), when=when)


@law(
    licence="exact",
    example=lambda x: _count(T.cast(x > 0, "int64"), T.constant(0, dtype="int64")),
    never=(
        lambda p: _count(p, T.constant(1, dtype="int64")),
        lambda x: _count(x, T.constant(0.0, dtype="float64")),
        lambda X: _count(T.cast(X[:, :1] > 0, "int64"), T.zeros(3, "int64")),
        lambda p: _count(T.cast(p, "int8"), T.constant(0, dtype="int64")),
    ),
)
def sum_of_integers_from_zero(Z: Value, x: Value) -> Equation:
    """s + v for all v, where s was 0 at first, is the sum of them, for integers modulo 2^64."""
    left = ops.fold(Z, x, ufunc="add")
    when = [nothing(Z), vector(Z), int64(Z), vector(x), int64(x)]
    return Equation(left, ops.sum(x, axis=(0,), keepdims=False), when=when)


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=(lambda x: T.all(~(x > 0.5)), lambda X: T.all(~(X > 0.5), axis=0)),
    never=(lambda x: T.any(x > 0.5), lambda p: T.all(~p), lambda X: T.all(~(X > 0.5), axis=1)),
)
def all_are_false(x: Value) -> Equation:
    """All are false where none is true."""
    left = ops.all(ops.invert(x), axis=(0,), keepdims=False)
    return Equation(left, ops.invert(ops.any(x, axis=(0,), keepdims=False)), when=[boolean(x)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=(lambda x: T.any(~(x > 0.5)), lambda X: T.any(~(X > 0.5), axis=0)),
    never=(lambda x: T.all(x > 0.5), lambda p: T.any(~p), lambda X: T.any(~(X > 0.5), axis=1)),
)
def any_is_false(x: Value) -> Equation:
    """Some are false where not all are true."""
    left = ops.any(ops.invert(x), axis=(0,), keepdims=False)
    return Equation(left, ops.invert(ops.all(x, axis=(0,), keepdims=False)), when=[boolean(x)])


def _ones(x: Any) -> Any:
    return T.where(x > 0, T.constant(1, dtype="int64"), T.constant(0, dtype="int64"))


@law(
    licence="exact",
    enabling=True,
    example=lambda x: _ones(x).sum() * 2,
    never=(
        lambda x: T.where(x > 0, T.constant(2, dtype="int64"), T.constant(0, dtype="int64")),
        lambda x: T.where(x > 0, T.constant(0, dtype="int64"), T.constant(1, dtype="int64")),
    ),
)
def one_or_zero(x: Value) -> Equation:
    """1 where x is true, otherwise 0, is x as an integer."""
    return Equation(ops.where(x, const_int(1), const_int(0)), ops.cast(x, dtype="int64"))


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.cast(x > 0, "int64").sum() * 2,
    never=(lambda p: T.cast(p, "int64").sum(), lambda X: T.cast(X > 0, "int64").sum(axis=1)),
)
def sum_of_true(x: Value) -> Equation:
    """Truth values as integers add up to how many are true."""
    left = ops.sum(ops.cast(x, dtype="int64"), axis=(0,), keepdims=False)
    return Equation(left, ops.sum(x, axis=(0,), keepdims=False), when=[boolean(x)])
