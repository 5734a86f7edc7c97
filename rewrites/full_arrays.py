"""Arrays full of one number: comparisons with a number, choices by them, and their use as shapes become simpler."""

import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Int, Op, Value, ops
from scanopt.facts.bits import boolean
from scanopt.facts.operators import by_element
from scanopt.facts.values import like, scalar


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x: T.where(T.ones_like(x) > 0, x, 0.0),
    never=(
        lambda x, X: T.zeros_like(x) > X,
        lambda x, a: T.ones_like(x) * a,
        lambda x, n: T.repeat(T.ones_like(x, dtype="bool"), n),
    ),
)
def full_and_number(op: Op, F: Value, y: Value, x: Value, e: Value) -> Equation:
    """A comparison of an array that is full of e with a number y is that of e with y everywhere."""
    left = op(F, y)
    when = [like(F, x, e), scalar(y), boolean(left), by_element(op)]
    return Equation(left, ops.full_like(x, op(e, y)), when=when)


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x: T.where(T.full_like(x, True, dtype=bool), x, 0.0) + 1.0,
    never=(
        lambda x, y: T.where(T.full_like(y, True, dtype=bool), x, 0.0),
        lambda X, x: T.where(T.full_like(X, x > 0.0), X, 0.0),
    ),
)
def chosen_by_full(F: Value, x: Value, y: Value, e: Value) -> Equation:
    """where(F, x, y) = where(e, x, y) where F is full of e, in the shape of x."""
    return Equation(ops.where(F, x, y), ops.where(e, x, y), when=[like(F, x, e)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x: T.where(T.full_like(x, False, dtype=bool), 0.0, x) + 1.0,
    never=lambda x, y: T.where(T.full_like(y, False, dtype=bool), 0.0, x),
)
def chosen_or_not_by_full(F: Value, x: Value, y: Value, e: Value) -> Equation:
    """where(F, y, x) = where(e, y, x) where F is full of e, in the shape of x."""
    return Equation(ops.where(F, y, x), ops.where(e, y, x), when=[like(F, x, e)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x: T.stack([x, T.zeros_like(x)])[:1] * 2.0,
    never=lambda x, y: T.stack([x, T.zeros_like(y)])[0] * 2.0,
)
def shaped_like_full(x: Value, E: Value, n: Int, e: Value) -> Equation:
    """x has the shape of an array that is full of one number in the shape of x."""
    return Equation(ops.shaped_like(x, E, axes=n), x, when=[like(E, x, e)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x: T.stack([x, T.zeros_like(x)])[-1:] + T.exp(x),
    never=lambda x, y: T.stack([x, T.zeros_like(y)])[1] * 2.0,
)
def full_shaped_like(E: Value, x: Value, n: Int, e: Value) -> Equation:
    """An array that is full of one number in the shape of x has the shape of x."""
    return Equation(ops.shaped_like(E, x, axes=n), E, when=[like(E, x, e)])
