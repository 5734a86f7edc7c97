"""Comparisons of integers that are negated."""

from typing import Any

import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Value, ops
from scanopt.facts.values import integer


def _both(compare: Any) -> tuple[Any, Any]:
    """Programs with a negated comparison: of integers, and of a float with an integer from either side."""
    return lambda p, q: T.logical_not(compare(p, q)), lambda p, x: [~compare(x, p), ~compare(p, x)]


_LESS, _AT_MOST = _both(lambda x, y: x < y), _both(lambda x, y: x <= y)
_GREATER, _AT_LEAST = _both(lambda x, y: x > y), _both(lambda x, y: x >= y)


@law(licence="exact", stepwise=True, example=_LESS[0], never=_LESS[1])
def not_less(x: Value, y: Value) -> Equation:
    """not (x < y) = x >= y, for integers: of NaN all comparisons are false."""
    return Equation(ops.invert(ops.less(x, y)), ops.greater_equal(x, y), when=[integer(x), integer(y)])


@law(licence="exact", stepwise=True, example=_AT_MOST[0], never=_AT_MOST[1])
def not_at_most(x: Value, y: Value) -> Equation:
    """not (x <= y) = x > y, for integers."""
    return Equation(ops.invert(ops.less_equal(x, y)), ops.greater(x, y), when=[integer(x), integer(y)])


@law(licence="exact", stepwise=True, example=_GREATER[0], never=_GREATER[1])
def not_greater(x: Value, y: Value) -> Equation:
    """not (x > y) = x <= y, for integers."""
    return Equation(ops.invert(ops.greater(x, y)), ops.less_equal(x, y), when=[integer(x), integer(y)])


@law(licence="exact", stepwise=True, example=_AT_LEAST[0], never=_AT_LEAST[1])
def not_at_least(x: Value, y: Value) -> Equation:
    """not (x >= y) = x < y, for integers."""
    return Equation(ops.invert(ops.greater_equal(x, y)), ops.less(x, y), when=[integer(x), integer(y)])
