"""ifelse: a choice that is known, or that need not be lazy."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Value, ops
from scanopt.facts.loops import is_false, is_true
from scanopt.facts.raising import total
from scanopt.facts.values import scalar


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
    example=lambda x: scanopt.map(lambda v: scanopt.ifelse(v > 0, T.exp(v), v), x)[0],
    never=(_indexed, _indexed_or_else, lambda x, p: _indexed(x, -p - 5), lambda x, a: scanopt.ifelse(a > 0, x, -x)),
)
def lazy_choice_as_where(c: Value, a: Value, b: Value) -> Equation:
    """Where neither side can raise, both may be computed: where(c, a, b), for scalars."""
    lazy = ops.ifelse(c, a, b)
    return Equation(lazy, ops.where(c, a, b), when=[total(a), total(b), scalar(lazy)])
