"""Transposed arrays, and reductions that keep their axis: both are arranged last, after what is computed."""

from typing import Any

import scanopt.tensor as T
from scanopt.calculus.condition import fact
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Int, Op, Value, ops
from scanopt.facts.operators import by_element
from scanopt.facts.values import scalar


@fact
def keeps_axis(g: Op, h: Op, j: Int) -> None:
    """g reduces along axis j and keeps that axis, with length 1; h does the same without it (given)."""


@fact
def reduces_turned(g: Op, t: Op, h: Op) -> None:
    """g(t(X)) is h(X): t transposes, and g reduces along some axes (given)."""


@fact
def transposes(t: Op) -> None:
    """t puts the axes of an array in another order (given)."""


def _small(x: Any) -> Any:
    return T.cast(x, "float32")


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=(lambda X: T.exp(X).sum(axis=1, keepdims=True)[:, 0], lambda X: X.max(axis=0, keepdims=True)[0]),
    never=(lambda X: X.sum(axis=1), lambda X: X.sum(axis=(0, 1), keepdims=True)),
)
def axis_kept(g: Op, h: Op, j: Int, X: Value) -> Equation:
    """A reduction that keeps its axis is one that does not, with a new axis."""
    return Equation(g(X), ops.expand_dims(h(X), axis=(j,)), when=[keeps_axis(g, h, j)])


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda X: T.exp(X).T.sum(axis=0), lambda X: T.tanh(X).T.max(axis=1)),
    never=(lambda X: T.exp(X).sum(axis=0), lambda X: T.cumsum(X.T, axis=0)),
)
def reduced_turned(g: Op, t: Op, h: Op, X: Value) -> Equation:
    """Rows of a transposed matrix are reduced as columns of the matrix, and so for more axes."""
    return Equation(g(t(X)), h(X), when=[reduces_turned(g, t, h)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda X: (X.T**2).sum(axis=0),
    never=(lambda X: T.exp(X), lambda X: T.dot(X.T, X), lambda X: T.cumsum(X.T, axis=0), lambda X: T.exp(X[0])),
)
def element_of_turned(op: Op, t: Op, X: Value) -> Equation:
    """A function of each element of a transposed array is the transposed one of the array."""
    return Equation(op(t(X)), t(op(X)), when=[transposes(t), by_element(op)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda X, Y: (X.T * Y.T).sum(axis=0),
    never=(lambda X, Y: X * Y.T, lambda X, Y: T.dot(X.T, Y.T), lambda X, Y: X[0] * Y[0]),
)
def elements_of_turned(op: Op, t: Op, X: Value, Y: Value) -> Equation:
    """The same for two arrays that are transposed alike."""
    return Equation(op(t(X), t(Y)), t(op(X, Y)), when=[transposes(t), by_element(op)])


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda X, a: (X.T * a).max(axis=0),
    never=(lambda X, y: X.T * y, lambda X, a: X * a, lambda X, a: X.T[0] * a, lambda X, n: X.T[n] * 2.0),
)
def turned_and_number(op: Op, t: Op, X: Value, a: Value) -> Equation:
    """The same for an array and a number."""
    return Equation(op(t(X), a), t(op(X, a)), when=[transposes(t), by_element(op), scalar(a)])
