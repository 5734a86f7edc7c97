"""Truth values that a loop puts together are put together by one reduction: is any true, are all, how many are."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Value, as_row, ops
from scanopt.facts.bits import boolean
from scanopt.facts.loops import is_false, is_true
from scanopt.facts.values import int64, nothing, vector


def _last(step: Any, x: Any, start: Any) -> Any:
    """What one state becomes in the end."""
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
