"""A state that is kept in one form and read in another is replaced by a state in the form that is read.

`seen(g, s)` is the state whose values are g of those of s; its update is g of the update of s.  If s becomes h(u), and
g undoes h, that update is u: if all readers of s read g of it, s itself is no longer carried.
"""

from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Clock, Int, Op, State, Text, Value, as_row, delay, ops, seen
from scanopt.facts.operators import involution
from scanopt.facts.parts import entry, takes_entry, undone
from scanopt.facts.states import keeps_shape, kept_as
from scanopt.facts.values import of_dtype


def _loop(step: Any, x: Any, start: Any) -> Any:
    """All values of a state."""
    return scanopt.scan(step, x, start)[0]


@law(
    licence="exact",
    example=(
        lambda x, y: _loop(lambda v, s: T.expand_dims(T.tanh(s[0] + v), 0), x, T.expand_dims(y, 0))[:, 0],
        lambda X, Y: _loop(lambda v, s: T.tanh(s.T * v).T, X, Y.T),
    ),
    never=(
        lambda x, y: _loop(lambda v, s: T.expand_dims(T.tanh(s[0] + v), 0), x, y)[:, 0],
        lambda x, Y: _loop(lambda v, s: T.tanh(s[0] + v + s), x, T.expand_dims(Y[0], 0)),
        lambda x, Y: _loop(lambda v, s: (T.tanh(s) * v).T, x, Y.T),
    ),
)
def state_read_back(c: Clock, g: Op, h: Op, x: Value, s: State) -> Equation:
    """A state that starts as h(x), becomes h of something and is read by g, which undoes h, is a state without h."""
    left = g(delay(c, as_row(h(x)), s, 1))
    return Equation(left, delay(c, as_row(x), seen(g, s), 1), when=[undone(g, h), kept_as(s, h)])


@law(
    licence="exact",
    example=lambda x, a: -_loop(lambda v, s: -T.tanh(v * -s), x, a),
    never=(
        lambda x, a: _loop(lambda v, s: T.tanh(T.tanh(s) + v), x, a),
        lambda x, a: _loop(lambda v, s: T.exp(v * -s), x, a),
    ),
)
def state_of_opposites(c: Clock, g: Op, x: Value, s: State, d: Text) -> Equation:
    """A state that becomes g of something and is read by g, with g(g(x)) = x, is a state without g."""
    right = delay(c, as_row(g(x)), seen(g, s), 1)
    return Equation(g(delay(c, as_row(x), s, 1)), right, when=[kept_as(s, g), involution(g, d)])


@law(
    licence="exact",
    example=lambda x, a: -_loop(lambda v, s: -T.tanh(v - s), x, a),
    never=(
        lambda x, a: _loop(lambda v, s: T.tanh(v - s), x, a) * -a,
        lambda x, a: -_loop(lambda v, s: -T.tanh(T.cast(v, "float32") - s), x, a),
    ),
)
def opposite_state_taken_away(c: Clock, y: Value, init: Value, s: State, d: Text) -> Equation:
    """y - s = y + -s for a state s that becomes the opposite of something."""
    before = delay(c, init, s, 1)
    when = [kept_as(s, ops.negative), of_dtype(y, d), of_dtype(before, d)]
    return Equation(y - before, y + -before, when=when)


@law(
    licence="exact",
    example=(
        lambda X, x: _loop(lambda v, s: T.stack([s[0] * v, s[1] + s[0]]), X, T.stack([x, T.exp(x)]))[:, 1],
        lambda X, x, y: _loop(lambda v, s: T.stack([s[0] * v, T.tanh(s[1] + s[0])]), X, T.stack([x, y]))[:, 0],
    ),
    never=(
        lambda X, x: _loop(lambda v, s: T.stack([s.sum(axis=0), v]), X, T.stack([x, T.exp(x)]))[:, 1],
        lambda X, x: _loop(lambda v, s: s + s[0] * v, X, T.stack([x, T.exp(x)]))[:, 1],
        lambda X, x: _loop(lambda v, s: T.stack([s[5] * v, v]), X, T.stack([x, T.exp(x)])),
    ),
)
def entry_of_stacked_state(c: Clock, op: Op, xs: Args, j: Int, k: Int, x: Value, s: State) -> Equation:
    """An entry of a state that is stacked at each step is a state of its own."""
    start = ops.stack(xs, axis=j)
    right = delay(c, as_row(op(start)), seen(op, s), 1)
    when = [kept_as(s, ops("stack", axis=j)), takes_entry(op, j, k), entry(xs, k, x)]
    return Equation(op(delay(c, as_row(start), s, 1)), right, when=when)


@law(
    licence="exact",
    example=(
        lambda x: _loop(lambda v, s: T.stack([s[0] * v, s[1] + s[0]]), x, np.ones((2, 9)))[:, 1],
        lambda x: _loop(lambda v, s: T.stack([T.exp(s[0]), s[1] * v, s[-1] + s[1]]), x, T.zeros((3, 9)))[:, -1],
    ),
    never=(
        lambda x, Y: _loop(lambda v, s: T.stack([s[0] * v, s[1] + s[0]]), x, Y)[:, 1],
        lambda x: _loop(lambda v, s: T.stack([s.sum(axis=0), v * T.ones(9)]), x, np.ones((2, 9)))[:, :, 1],
        lambda x: _loop(lambda v, s: s + s[0] * v, x, np.ones((2, 9)))[:, 1],
        lambda x: _loop(lambda v, s: T.stack([s[:, 0] * v, s[:, 1] + v]), x, np.ones((2, 2)))[:, :, 1],
    ),
)
def entry_of_state_of_one_shape(c: Clock, init: Value, op: Op, j: Int, k: Int, s: State) -> Equation:
    """An entry of a state that is stacked at each step, and starts with that shape, is a state of its own."""
    right = delay(c, as_row(op(init[-1])), seen(op, s), 1)
    when = [takes_entry(op, j, k), kept_as(s, ops("stack", axis=j)), keeps_shape(s)]
    return Equation(op(delay(c, init, s, 1)), right, when=when)
