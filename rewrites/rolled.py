"""Rows, or columns, that are rolled by one are two parts, put together in the other order."""

from collections.abc import Callable

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Value, const_int, hold, ops

_ALL = ("slice", None, None, None)


def _rolled(X: Value, k: int, axis: int, held: Callable[[Value], Value] = lambda number: number) -> Equation:
    """The equation of rows or columns of X that are rolled by k, 1 or -1.  held: numbers, as a loop holds them."""
    before, n = (_ALL,) * axis, X.shape[axis]
    places = ops.arange(held(const_int(0)), n, held(const_int(1)), dtype="int64") - held(const_int(k))
    first, rest = (ops("getitem", index=(*before, ("slice", *part, None)))(X) for part in ((-k, None), (None, -k)))
    left = ops("getitem", index=(*before, "array"))(X, ops.remainder(places, n))
    return Equation(left, ops.concatenate(first, rest, axis=axis))


@law(
    licence="exact",
    stepwise=True,
    example=lambda X: T.roll(X, 1, axis=0) * 2.0,
    never=(lambda x: T.roll(x, 2), lambda x, n: T.roll(x, n), lambda X: T.roll(X, 1, axis=1)),
)
def rolled_by_one(X: Value) -> Equation:
    """The last row, and then the others."""
    return _rolled(X, 1, 0)


@law(
    licence="exact",
    stepwise=True,
    example=lambda X: T.roll(X, -1, axis=0) * 2.0,
    never=(lambda x: T.roll(x, -2), lambda x, n: T.roll(x, n), lambda X: T.roll(X, -1, axis=1)),
)
def rolled_back_by_one(X: Value) -> Equation:
    """All rows but the first, and then the first."""
    return _rolled(X, -1, 0)


@law(
    licence="exact",
    stepwise=True,
    example=lambda X: T.roll(X, 1, axis=1) * 2.0,
    never=(lambda X: T.roll(X, 2, axis=1), lambda X, n: T.roll(X, n, axis=1), lambda X: T.roll(X, 1, axis=0)),
)
def columns_rolled_by_one(X: Value) -> Equation:
    """The last column, and then the others."""
    return _rolled(X, 1, 1)


@law(
    licence="exact",
    stepwise=True,
    example=lambda X: T.roll(X, -1, axis=1) * 2.0,
    never=(lambda X: T.roll(X, -2, axis=1), lambda X, n: T.roll(X, n, axis=1), lambda X: T.roll(X, -1, axis=0)),
)
def columns_rolled_back_by_one(X: Value) -> Equation:
    """All columns but the first, and then the first."""
    return _rolled(X, -1, 1)


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: scanopt.scan(lambda s: T.roll(s, 1) * s, None, x, n_steps=9)[0],
    never=lambda x: scanopt.scan(lambda s: T.roll(s, 2) * s, None, x, n_steps=9)[0],
)
def rolled_by_one_in_a_loop(c: Clock, X: Value) -> Equation:
    """The last row of a value in a loop, and then the others."""
    return _rolled(X, 1, 0, lambda number: hold(c, number))


@law(
    licence="exact",
    stepwise=True,
    example=lambda x: scanopt.scan(lambda s: T.roll(s, -1) * s, None, x, n_steps=9)[0],
    never=lambda x: scanopt.scan(lambda s: T.roll(s, -2) * s, None, x, n_steps=9)[0],
)
def rolled_back_by_one_in_a_loop(c: Clock, X: Value) -> Equation:
    """All rows of a value in a loop but the first, and then the first."""
    return _rolled(X, -1, 0, lambda number: hold(c, number))
