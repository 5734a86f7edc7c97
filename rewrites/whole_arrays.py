"""Arrays that are overwritten as a whole, chosen from equal arrays, or broadcast to the shape that they have."""

from typing import Any

import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Int, Op, Text, Value, ops
from scanopt.facts.loops import is_false, is_true
from scanopt.facts.operators import by_element
from scanopt.facts.parts import adds_to_all, brings_to_shape, extreme_of_one, sets, sets_all, sum_of_one_row
from scanopt.facts.shapes import shaped_as
from scanopt.facts.values import floating, like, of_dtype, same_type, scalar

_INFINITE = T.constant(complex(1.0, float("inf")), dtype="complex64")


def _set(part: Any, y: Any) -> Any:
    return T.set_subtensor(part, y) * 2.0


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.where(x > 0, T.exp(x), T.exp(x)),
    never=(lambda m, a: T.where(m, a, a), lambda x, m: T.where(m, x, x), lambda x: T.where(x > 0, T.exp(x), x)),
)
def where_of_equal_arrays(m: Value, x: Value) -> Equation:
    """where(m, x, x) = x if that has the shape of x."""
    left = ops.where(m, x, x)
    return Equation(left, x, when=[shaped_as(left, x)])


def _yes(x: Any) -> Any:
    return T.ones_like(x, dtype="bool")


def _no(x: Any) -> Any:
    return T.zeros_like(x, dtype="bool")


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.where(_yes(x), T.exp(x), x * 2.0),
    never=(
        lambda x: T.where(_no(x), T.exp(x), x * 2.0),
        lambda x, m: T.where(m, T.exp(x), x * 2.0),
        lambda X, x: T.where(_yes(X), T.exp(x), X),
        lambda p: T.where(_yes(p), p, T.exp(p)),
    ),
)
def chosen_everywhere(m: Value, z: Value, e: Value, x: Value, y: Value, d: Text) -> Equation:
    """where(m, x, y) = x if m is true everywhere and the result has the type and shape of x."""
    left = ops.where(m, x, y)
    when = [like(m, z, e), is_true(e), shaped_as(left, x), of_dtype(left, d), of_dtype(x, d)]
    return Equation(left, x, when=when)


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.where(_no(x), x * 2.0, T.exp(x)),
    never=(
        lambda x: T.where(_yes(x), x * 2.0, T.exp(x)),
        lambda x, m: T.where(m, x * 2.0, T.exp(x)),
        lambda X, x: T.where(_no(X), X, T.exp(x)),
        lambda p: T.where(_no(p), T.exp(p), p),
    ),
)
def chosen_nowhere(m: Value, z: Value, e: Value, x: Value, y: Value, d: Text) -> Equation:
    """where(m, x, y) = y if m is false everywhere and the result has the type and shape of y."""
    left = ops.where(m, x, y)
    when = [like(m, z, e), is_false(e), shaped_as(left, y), of_dtype(left, d), of_dtype(y, d)]
    return Equation(left, y, when=when)


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.broadcast_to(T.exp(x), x.shape) * 2.0,
    never=(lambda x, n: T.broadcast_to(x, (n,)) * 2.0, lambda x, m: T.where(m, x, 0.0) * 2.0),
)
def brought_to_its_shape(op: Op, x: Value, r: Args) -> Equation:
    """An array that is broadcast or reshaped to the shape that it has is itself."""
    left = op(x, r)
    return Equation(left, x, when=[brings_to_shape(op), shaped_as(left, x)])


@law(
    licence="exact",
    stepwise=True,
    example=(lambda x: _set(T.zeros_like(x)[:], T.exp(x)), lambda X: _set(X[:, :], T.exp(X))),
    never=(
        lambda x, y: _set(x[:], y),
        lambda x: _set(x[::-1], T.exp(x)),
        lambda x: T.inc_subtensor(x[:], T.exp(x)) * 2.0,
    ),
)
def set_as_a_whole(op: Op, X: Value, y: Value) -> Equation:
    """x[:] = y makes it y, if that has the shape of x."""
    left = op(X, y)
    return Equation(left, y, when=[sets_all(op), shaped_as(left, y)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, a: _set(x[:], a),
    never=(lambda x, y: _set(x[:], y), lambda x, a: _set(x[1:], a)),
)
def filled_as_a_whole(op: Op, X: Value, a: Value) -> Equation:
    """x[:] = a fills it with the number a."""
    return Equation(op(X, a), ops.full_like(X, a), when=[sets_all(op), scalar(a)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: T.inc_subtensor(T.zeros_like(x)[:], T.exp(x)),
    never=(lambda x, y: T.inc_subtensor(x[:], y), lambda x: _set(x[:], T.exp(x))),
)
def added_to_as_a_whole(op: Op, X: Value, y: Value) -> Equation:
    """x[:] += y makes it x + y, if y has the shape of x."""
    left = op(X, y)
    return Equation(left, X + y, when=[adds_to_all(op), shaped_as(left, y)])


@law(
    licence="exact",
    stepwise=True,
    example=(lambda x: _set(x[1:], x[1:]), lambda X: _set(X[:, :2], X[:, :2])),
    never=(lambda x: _set(x[1:], x[:-1]), lambda x: _set(x[0], x[0]), lambda x: T.inc_subtensor(x[1:], x[1:])),
)
def set_to_itself(op: Op, g: Op, X: Value, r: Args) -> Equation:
    """A part that is set to itself changes nothing."""
    return Equation(op(X, g(X, r), r), X, when=[sets(op, g)])


@law(
    licence="exact",
    stepwise=True,
    example=(lambda x: T.expand_dims(T.exp(x), 0).max(axis=0), lambda X: T.exp(X)[:, None].min(axis=1)),
    never=(
        lambda x: T.expand_dims(x, 0).max(axis=1),
        lambda x: T.expand_dims(x, 0).var(axis=0),
        lambda x: T.expand_dims(x, 0).sum(axis=0),
    ),
)
def greatest_of_one(op: Op, h: Op, x: Value) -> Equation:
    """The greatest, or the least, of one is that one."""
    return Equation(op(h(x)), x, when=[extreme_of_one(op, h)])


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda x: T.expand_dims(T.exp(x), 0).mean(axis=0), lambda X: T.exp(X)[:, None].sum(axis=1)),
    never=(
        lambda x: T.expand_dims(x, 0).sum(axis=1),
        lambda x: T.expand_dims(x, 0).argmax(axis=0),
        lambda p: T.expand_dims(T.cast(p, "int8"), 0).sum(axis=0),
        lambda x: T.expand_dims(T.cast(x, "complex64") * _INFINITE, 0).prod(axis=0).real,
    ),
)
def sum_of_one(op: Op, h: Op, x: Value) -> Equation:
    """The sum, the mean or the product of one is that one, except for the sign of a zero.

    Products of complex numbers begin with 1, which leaves no infinite one as it is.
    """
    return Equation(op(h(x)), x, when=[sum_of_one_row(op, h), floating(x)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, y: (x[None] * T.exp(y)[None])[0],
    never=(
        lambda x, y: x[:, None] * y[None],
        lambda X, x: X[:, None] * x[:, None],
        lambda X, Y: T.dot(X[None], Y[None]),
    ),
)
def both_with_an_axis(op: Op, x: Value, y: Value, j: Int) -> Equation:
    """op(x[None], y[None]) = op(x, y)[None], for arrays of the same type."""
    left = op(ops.expand_dims(x, axis=(j,)), ops.expand_dims(y, axis=(j,)))
    return Equation(left, ops.expand_dims(op(x, y), axis=(j,)), when=[by_element(op), same_type(x, y)])
