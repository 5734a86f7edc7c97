"""Sums, means and extremes along an axis: of arrays put side by side, and of rows to which the same is added."""

from typing import Any

import scanopt.tensor as T
from scanopt.calculus.condition import Rules, fact, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Clock, Int, Op, Text, Value, args, const_at, const_int, counted, ndim, ops
from scanopt.facts.loops import lies_on
from scanopt.facts.operators import combines
from scanopt.facts.parts import rows_in_two
from scanopt.facts.raising import fits
from scanopt.facts.values import (
    float64,
    floating,
    has_so_many_axes,
    integer,
    of_dtype,
    same_type,
    scalar,
    small_integer,
)


@fact
def in_each_row(v: Value, X: Value, y: Value, *, m: Int, n: Int) -> Rules:
    """v is X with y added in each row: y has fewer axes than X."""
    yield when(v.is_(X + y), n.is_(ndim(X)), m.is_(ndim(y)), n >= m + 1).then(in_each_row(v, X, y))
    yield when(v.is_(y + X), n.is_(ndim(X)), m.is_(ndim(y)), n >= m + 1).then(in_each_row(v, X, y))


@fact
def reduces_in_two(g: Op, h: Op, op: Op) -> None:
    """g(h(X)) is op(X), up to rounding: both reduce alike, first along some axes, then along some of the others
    (given).
    """


@fact
def adds_up_rows(op: Op) -> None:
    """op adds up the rows, or everything, and raises nothing of no rows (given)."""


def _small(x: Any) -> Any:
    return T.cast(x, "float32")


def _tiny(p: Any) -> Any:
    return T.cast(p, "int8")


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda x, y: T.stack([T.exp(x), y]).sum(axis=0), lambda X, Y: T.stack([X, T.exp(Y)], axis=1).max(axis=1)),
    never=(
        lambda X, Y: T.stack([X, Y]).sum(axis=1),
        lambda a, b: T.stack([a, b]).max(),
        lambda p, q: T.stack([p, q]).sum(axis=0),
        lambda x, y: T.stack([_small(x), y]).max(axis=0),
    ),
)
def two_side_by_side(op: Op, x: Value, y: Value, j: Int, g: Op, n: Int) -> Equation:
    """The sum of two arrays put side by side is x + y, their greatest maximum(x, y); both must have one shape."""
    left = op(ops.stack(x, y, axis=j))
    when = [combines(op, j, g), has_so_many_axes(x, n), floating(x), same_type(x, y)]
    return Equation(left, g(x, ops.shaped_like(y, x, axes=n)), when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda a, b: T.stack([T.exp(a), b]).max(),
    never=(
        lambda x, y: T.stack([x, y]).max(axis=0),
        lambda n, k: T.stack([n, k]).max(),
        lambda a, b: T.stack([_small(a), b]).max(),
    ),
)
def two_numbers_side_by_side(op: Op, x: Value, y: Value, j: Int, g: Op) -> Equation:
    """The same for two numbers."""
    when = [combines(op, j, g), scalar(x), floating(x), same_type(x, y)]
    return Equation(op(ops.stack(x, y, axis=j)), g(x, y), when=when)


@law(
    licence="exact",
    stepwise=True,
    example=(lambda n, k: T.stack([n, k]).sum() * 2, lambda n, k: T.stack([_tiny(n), _tiny(k)]).max()),
    never=(
        lambda n, k: T.stack([n, k]).argmax(),
        lambda p, q: T.stack([p, q]).sum(axis=0),
        lambda a, b: T.stack([a, b]).sum(),
        lambda n, k: T.stack([_tiny(n), _tiny(k)]).sum(),
    ),
)
def two_integers_side_by_side(op: Op, x: Value, y: Value, j: Int, g: Op) -> Equation:
    """The same for two integers, where the result has their dtype."""
    left = op(ops.stack(x, y, axis=j))
    return Equation(left, g(x, y), when=[combines(op, j, g), scalar(x), integer(x), same_type(left, x)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x: T.stack([x, T.exp(x), T.tanh(x)]).sum(axis=0),
    never=(
        lambda X: T.stack([X, T.exp(X), T.tanh(X)]).sum(axis=1),
        lambda x, y: T.stack([x, T.exp(x), y]).sum(axis=0),
        lambda p: T.stack([p, p * p, p]).sum(axis=0),
        lambda x: T.stack([x, _small(T.exp(x)), x]).max(axis=0),
        lambda x: T.stack([x, T.exp(x), _small(x)]).max(axis=0),
    ),
)
def three_side_by_side(op: Op, x: Value, y: Value, z: Value, j: Int, g: Op) -> Equation:
    """The sum of three arrays put side by side is x + y + z, if they have one shape."""
    stacked = ops.stack(x, y, z, axis=j)
    when = [combines(op, j, g), fits(stacked), floating(x), same_type(x, y), same_type(x, z)]
    return Equation(op(stacked), g(g(x, y), z), when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda x: T.stack([x, T.exp(x), T.tanh(x), x]).sum(axis=0),
    never=(
        lambda X: T.stack([X, T.exp(X), T.tanh(X), X]).sum(axis=1),
        lambda x, y: T.stack([x, T.exp(x), y, x]).sum(axis=0),
        lambda p: T.stack([p, p * p, p, p]).sum(axis=0),
        lambda x: T.stack([x, _small(T.exp(x)), x, x]).max(axis=0),
        lambda x: T.stack([x, T.exp(x), _small(x), x]).max(axis=0),
        lambda x: T.stack([x, T.exp(x), x, _small(x)]).max(axis=0),
    ),
)
def four_side_by_side(op: Op, x: Value, y: Value, z: Value, w: Value, j: Int, g: Op) -> Equation:
    """The same for four arrays."""
    stacked = ops.stack(x, y, z, w, axis=j)
    alike = [same_type(x, y), same_type(x, z), same_type(x, w)]
    return Equation(op(stacked), g(g(g(x, y), z), w), when=[combines(op, j, g), fits(stacked), floating(x), *alike])


def _mean_as_sum(xs: Args, j: Int, number: Value, c: Clock) -> Equation:
    """The equation of the mean of stacked arrays; number: how many arrays there are, as a value on c."""
    X = ops.stack(xs, axis=j)
    total = ops.sum(X, axis=(j,), keepdims=False)
    return Equation(ops.mean(X, axis=(j,), keepdims=False), total / number, when=[float64(X), lies_on(X, c)])


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=lambda x: T.stack([x, T.exp(x)]).mean(axis=0),
    never=(lambda X: X.mean(axis=0), lambda p: T.stack([p, p]).mean(axis=0)),
)
def mean_of_two_stacked(x: Value, y: Value, j: Int, c: Clock) -> Equation:
    """The mean of two arrays put side by side is half their sum."""
    return _mean_as_sum(args(x, y), j, const_at(c, "float64:0x1.0000000000000p+1"), c)


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=lambda x: T.stack([x, T.exp(x), T.tanh(x)]).mean(axis=0),
    never=(lambda X: X.mean(axis=0), lambda p: T.stack([p, p, p]).mean(axis=0)),
)
def mean_of_three_stacked(x: Value, y: Value, z: Value, j: Int, c: Clock) -> Equation:
    """The mean of three arrays put side by side is a third of their sum."""
    return _mean_as_sum(args(x, y, z), j, const_at(c, "float64:0x1.8000000000000p+1"), c)


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda X, y: (X + y).sum(axis=0), lambda X, y: (X + y).sum(axis=0) * X.sum(axis=0)),
    never=(
        lambda X, Y: (X + Y).sum(axis=0),
        lambda X, y: (X + y).sum(axis=1),
        lambda X, y: (_small(X) + _small(y)).sum(axis=0),
        lambda X, y: (_small(X) + y).sum(axis=0),
        lambda X, y: (X + _small(y)).sum(axis=0),
    ),
)
def sum_of_rows_moved_along(v: Value, X: Value, y: Value, c: Clock) -> Equation:
    """The sum of n rows with y added in each is the sum of the rows, and n times y."""
    zero = const_at(c, "int64:0")
    n = X.shape[0]
    times = ops.where(ops.greater(n, zero), y * ops.cast(n, dtype="float64"), ops.cast(zero, dtype="float64"))
    total = ops.sum(X, axis=(0,), keepdims=False)
    when = [in_each_row(v, X, y), float64(X), float64(y), lies_on(v, c)]
    return Equation(ops.sum(v, axis=(0,), keepdims=False), total + times, when=when)


def _moved_along(name: str, v: Value, X: Value, y: Value, d: Text) -> Equation:
    """The equation: a reduction (`name`) of rows with y added to each is the reduction of the rows, plus y."""
    op = ops(name, axis=(0,), keepdims=False)
    when = [in_each_row(v, X, y), floating(X), of_dtype(X, d), of_dtype(y, d)]
    return Equation(op(v), op(X) + y, when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda X, y: (y + T.exp(X)).mean(axis=0),
    never=(
        lambda X, Y: (X + Y).mean(axis=0),
        lambda X, y: (X + y).mean(axis=1),
        lambda p, n: (p + n).mean(axis=0),
        lambda X, y: (_small(X) + y).mean(axis=0),
    ),
)
def mean_moved_along(v: Value, X: Value, y: Value, d: Text) -> Equation:
    """The mean of rows with y added in each is the mean of the rows, and y."""
    return _moved_along("mean", v, X, y, d)


@law(
    licence="fast",
    stepwise=True,
    example=lambda X, y: (T.exp(X) + y).max(axis=0),
    never=(
        lambda X, Y: (X + Y).max(axis=0),
        lambda X, y: (X + y).max(axis=1),
        lambda p, n: (p + n).max(axis=0),
        lambda X, y: (_small(X) + y).max(axis=0),
    ),
)
def greatest_moved_along(v: Value, X: Value, y: Value, d: Text) -> Equation:
    """The greatest of rows with y added in each is the greatest of the rows, and y, where not both are infinite."""
    return _moved_along("max", v, X, y, d)


@law(
    licence="fast",
    stepwise=True,
    example=lambda X, y: (T.exp(X) + y).min(axis=0),
    never=(
        lambda X, Y: (X + Y).min(axis=0),
        lambda X, y: (X + y).min(axis=1),
        lambda p, n: (p + n).min(axis=0),
        lambda X, y: (_small(X) + y).min(axis=0),
    ),
)
def least_moved_along(v: Value, X: Value, y: Value, d: Text) -> Equation:
    """The least of rows with y added in each is the least of the rows, and y, where not both are infinite."""
    return _moved_along("min", v, X, y, d)


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda X: X.sum(axis=0).sum(), lambda X: T.exp(X).max(axis=1).max(), lambda X: X.mean(axis=1).mean()),
    never=(lambda X: X.sum(axis=0).max(), lambda X: X.sum(axis=0, keepdims=True).sum() * 2.0),
)
def reduced_at_once(X: Value, g: Op, h: Op, op: Op) -> Equation:
    """What is added up along some axes, and then along others, is added up along all of them."""
    return Equation(g(h(X)), op(X), when=[reduces_in_two(g, h, op)])


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=(lambda x, y: T.concatenate([x, y]).sum(), lambda X: T.concatenate([X, T.exp(X)]).sum(axis=0)),
    never=(
        lambda X, Y: T.concatenate([X, Y]).sum(axis=0),
        lambda x, y: T.concatenate([x, y]).max(),
        lambda X, Y: T.concatenate([X, Y]).sum(axis=1),
        lambda X, Y: T.concatenate([X, Y], axis=1).sum(axis=0),
        lambda x, y: T.concatenate([x, _small(y)]).sum(),
    ),
)
def sum_of_joined(x: Value, y: Value, op: Op) -> Equation:
    """The sum of joined rows is the sum of both sums."""
    joined = ops.concatenate(x, y, axis=0)
    when = [adds_up_rows(op), same_type(x, y), fits(joined)]
    return Equation(op(joined), op(x) + op(y), when=when)


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda x: x[:3].sum() + x[3:].sum(), lambda X: X[:-1].sum(axis=0) + X[-1:].sum(axis=0)),
    never=(
        lambda x: x[:3].max() + x[3:].max(),
        lambda x: x[:3].sum() + x[2:].sum(),
        lambda X: X[:, :3].sum(axis=0) + X[:, 3:].sum(axis=0),
    ),
)
def sum_of_two_parts(op: Op, g: Op, h: Op, X: Value) -> Equation:
    """The sum of the rows before a fixed place and that of the others add up to the sum of all."""
    return Equation(op(g(X)) + op(h(X)), op(X), when=[adds_up_rows(op), rows_in_two(g, h)])


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda x: x[3:].sum() + x[:3].sum(), lambda x: T.concatenate([x[-2:], x[:-2]]).sum()),
    never=(
        lambda x: x[3:].max() + x[:3].max(),
        lambda x: x[2:].sum() + x[:3].sum(),
        lambda X: X[:, 3:].sum(axis=0) + X[:, :3].sum(axis=0),
    ),
)
def sum_of_last_and_first(op: Op, g: Op, h: Op, X: Value) -> Equation:
    """The same in the other order."""
    return Equation(op(h(X)) + op(g(X)), op(X), when=[adds_up_rows(op), rows_in_two(g, h)])


@law(
    licence="reassoc",
    stepwise=True,
    example=(lambda x: x[::-1].sum(), lambda X: X[::-1].sum(axis=0)),
    never=(lambda X: X[::-1].sum(axis=1), lambda x: x[::-2].sum(), lambda x: x[::-1].argmax()),
)
def sum_of_reversed(op: Op, X: Value) -> Equation:
    """The sum of rows does not depend on their order."""
    return Equation(op(X[::-1]), op(X), when=[adds_up_rows(op)])


@law(
    licence="reassoc",
    example=(lambda x: T.roll(x, 2).sum(), lambda X: T.roll(T.exp(X), -1, axis=0).sum(axis=0)),
    never=(lambda x, n: T.roll(x, n).sum(), lambda X: T.roll(X, 1, axis=0).sum(axis=1), lambda x: T.roll(x, 1).max()),
)
def sum_of_rolled(op: Op, X: Value, k: Value) -> Equation:
    """The same for rows that are rolled."""
    n = X.shape[0]
    rolled = ops("getitem", index=("array",))(X, ops.remainder(counted(const_int(0), n) - k, n))
    return Equation(op(rolled), op(X), when=[adds_up_rows(op), small_integer(k)])
