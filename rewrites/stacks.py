"""Arrays made by `stack`: stacks of a single array, and parts of one entry."""

import numpy as np

import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Int, Op, Text, Value, args, ops
from scanopt.facts.parts import entry, one_of_two, takes_part_of_one
from scanopt.facts.raising import fits
from scanopt.facts.values import has_so_many_axes, of_dtype, same_type


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=(lambda x: T.stack([x])[0] * 2.0, lambda X: T.stack([T.exp(X)], axis=1).mean(axis=1)),
    never=lambda x: T.stack([x, x])[1:] * 2.0,
)
def stack_of_one(x: Value, j: Int) -> Equation:
    """One array alone is stacked by a new axis."""
    return Equation(ops.stack(args(x), axis=j), ops.expand_dims(x, axis=(j,)))


@law(
    licence="exact",
    stepwise=True,
    example=(
        lambda x: T.stack([T.exp(x), x])[:1] * 2.0,
        lambda x: T.stack([x, T.tanh(x), T.exp(x)])[-1:] * 2.0,
        lambda x: T.stack([x, T.exp(x), T.tanh(x)], axis=1)[:, 1:2] * 2.0,
    ),
    never=(
        lambda x: T.stack([x, T.exp(x), T.tanh(x)])[1:] * 2.0,
        lambda x, y: T.stack([x, y])[:1] * 2.0,
        lambda x, p: T.stack([p[0], x[0]])[:1] * 2.0,
        lambda x: T.stack([x, T.exp(x)])[:, :1] * 2.0,
    ),
)
def part_of_one_stacked(op: Op, xs: Args, j: Int, k: Int, x: Value, d: Text) -> Equation:
    """stack(x, y, ...)[k : k + 1] is the k-th of them with a new axis."""
    stacked = ops.stack(xs, axis=j)
    when = [takes_part_of_one(op, j, k), entry(xs, k, x), of_dtype(x, d), of_dtype(stacked, d), fits(stacked)]
    return Equation(op(stacked), ops.expand_dims(x, axis=(j,)), when=when)


@law(
    licence="exact",
    stepwise=True,
    example=(lambda x, y: T.stack([x, T.exp(y)])[:1] * 2.0, lambda X, Y: T.stack([T.exp(X), Y], axis=1)[:, -1:] * 2.0),
    never=(
        lambda x, y: T.stack([x, y])[0] * 2.0,
        lambda a, b: T.stack([a, b])[:1] * 2.0,
        lambda x, y: T.stack([T.cast(x, np.float32), y])[:1] * 2.0,
        lambda x, y: T.stack([x, T.cast(y, np.float32)])[:1] * 2.0,
    ),
)
def part_of_one_of_two_stacked(op: Op, S: Value, x: Value, y: Value, j: Int, k: Int, n: Int) -> Equation:
    """stack(x, y)[k : k + 1] is the k-th of them with a new axis, and both must have one shape."""
    when = [takes_part_of_one(op, j, k), one_of_two(S, j, k, x, y), has_so_many_axes(x, n), same_type(x, y)]
    return Equation(op(S), ops.expand_dims(ops.shaped_like(x, y, axes=n), axis=(j,)), when=when)
