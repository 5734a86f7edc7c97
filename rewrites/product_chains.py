"""Chains of matrix products in the cheapest order: weights are multiplied once outside the loop, vectors from their
side."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import Rules, fact, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Text, Value, dtype, ndim, ops


@fact
def chain(x: Value, Y: Value, z: Value, *, d: Text, u: Value, v: Value) -> Rules:
    """x Y z is a product that can be associated either way: of one dtype, Y a matrix, x and z matrices or vectors."""
    yield when(
        u.is_(ops.dot(x, Y)), v.is_(ops.dot(u, z)), d.is_(dtype(x)), d.is_(dtype(Y)), d.is_(dtype(z)), ndim(Y).is_(2)
    ).then(chain(x, Y, z))
    yield when(
        u.is_(ops.dot(Y, z)), v.is_(ops.dot(x, u)), d.is_(dtype(x)), d.is_(dtype(Y)), d.is_(dtype(z)), ndim(Y).is_(2)
    ).then(chain(x, Y, z))


_SOURCE = "user guide of scan, Optimizing Scan's performance: Graph optimizations"


def _two_weights(X: Any, W: Any) -> Any:
    """A network whose state is multiplied by two weight matrices in a row."""
    step = lambda x, h, w, v: T.tanh(x + T.dot(T.dot(h, w), v))  # noqa: E731
    return scanopt.scan(step, X, [T.zeros_like(W[0])], [W, T.exp(W)], n_steps=X.shape[0])[0]


@law(
    licence="reassoc",
    source=_SOURCE,
    example=_two_weights,
    never=(
        lambda x, y, W: T.dot(T.dot(x, y), W),
        lambda x, W: T.dot(T.dot(x, T.cast(W, "float32")), W),
        lambda X, W, U: T.dot(T.dot(X, W), T.stack([U, U])),
    ),
)
def product_from_the_right(x: Value, Y: Value, z: Value) -> Equation:
    """(x Y) z = x (Y z)."""
    left = ops.dot(ops.dot(x, Y), z)
    return Equation(left, ops.dot(x, ops.dot(Y, z)), when=[chain(x, Y, z)])


@law(
    licence="reassoc",
    source=_SOURCE,
    example=lambda x, W, U: T.dot(x, T.dot(T.tile(W, (50, 50)), T.tile(U, (50, 50)))),
    never=(
        lambda x, y, W: T.dot(W, T.dot(x, y)),
        lambda x, W: T.dot(x, T.dot(T.cast(W, "float32"), W)),
        lambda X, W, U: T.dot(T.stack([X, X]), T.dot(W, U)),
    ),
)
def product_from_the_left(x: Value, Y: Value, z: Value) -> Equation:
    """x (Y z) = (x Y) z."""
    left = ops.dot(x, ops.dot(Y, z))
    return Equation(left, ops.dot(ops.dot(x, Y), z), when=[chain(x, Y, z)])
