"""Equal operations on the parts of an array whose results are joined become one operation on the whole array."""

from typing import Any

import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Op, Value, ops
from scanopt.facts.operators import by_element
from scanopt.facts.values import same_type, scalar

_JOIN = ops("concatenate", axis=0)


def _ends(f: Any, x: Any) -> Any:
    return T.concatenate([f(x[:3]), f(x[3:])])


def _small(x: Any) -> Any:
    return T.cast(x, "float32")


@law(
    licence="exact",
    stepwise=True,
    example=(lambda x: _ends(T.exp, x), lambda x, y: T.concatenate([T.exp(x), T.exp(y)])),
    never=(
        lambda x, y: T.concatenate([T.exp(x), T.tanh(y)]),
        lambda x, y: T.concatenate([T.cumsum(x), T.cumsum(y)]),
        lambda x, p: T.concatenate([T.exp(x), T.exp(p)]),
        lambda X, Y: T.concatenate([T.exp(X), T.exp(Y)], axis=1),
    ),
)
def elements_of_joined(op: Op, x: Value, y: Value) -> Equation:
    """f(X) ++ f(Y) = f(X ++ Y) for a function of elements."""
    return Equation(_JOIN(op(x), op(y)), op(_JOIN(x, y)), when=[by_element(op), same_type(x, y)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, a: _ends(lambda v: v * a, x),
    never=(
        lambda x, y, a, b: T.concatenate([x * a, y * b]),
        lambda X, Y, y: T.concatenate([X * y, Y * y]),
        lambda X, Y, a: T.concatenate([T.repeat(X, 2, axis=0), T.repeat(Y, 2, axis=0)]),
        lambda x, y, a: T.concatenate([x * a, _small(y) * a]),
    ),
)
def joined_with_number(op: Op, x: Value, y: Value, a: Value) -> Equation:
    """(X * a) ++ (Y * a) = (X ++ Y) * a for a number a, and the same for any function of elements."""
    when = [by_element(op), scalar(a), same_type(x, y)]
    return Equation(_JOIN(op(x, a), op(y, a)), op(_JOIN(x, y), a), when=when)


@law(
    licence="exact",
    stepwise=True,
    example=lambda x, a: _ends(lambda v: a - v, x),
    never=(
        lambda x, y, a, b: T.concatenate([a - x, b - y]),
        lambda X, Y, y: T.concatenate([y - X, y - Y]),
        lambda x, y, a: T.concatenate([a - x, a - _small(y)]),
        lambda a, n, k: T.concatenate([T.full((n,), a), T.full((k,), a)]),
    ),
)
def joined_behind_number(op: Op, x: Value, y: Value, a: Value) -> Equation:
    """(a - X) ++ (a - Y) = a - (X ++ Y) for a number a, and the same for any function of elements."""
    when = [by_element(op), scalar(a), same_type(x, y)]
    return Equation(_JOIN(op(a, x), op(a, y)), op(a, _JOIN(x, y)), when=when)
