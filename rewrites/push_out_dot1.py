"""The last value of a sum of products is one product (PushOutDot1): it contracts the steps, too.

Sums of outer products, of products of matrices and vectors, and of arrays that rows are added to: what
the gradients with respect to weights are.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.facts import within
from scanopt.calculus.facts_recurrences import floating
from scanopt.calculus.facts_states import becomes
from scanopt.calculus.facts_sums import adds_up, adds_up_freely, sums_until
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, State, Value, delay, ops, row_of, stack, tail


def _last(part: Any, xs: Any, start: Any, *more: Any) -> Any:
    """The last of a sum of what a function makes of the entries."""
    return scanopt.scan(lambda *a: a[len(xs)] + part(*a[: len(xs)], *a[len(xs) + 1 :]), xs, [start], more)[0][-1]


def _until(step: Any, X: Any, Y: Any, start: Any) -> Any:
    """All values of a state, until an entry is large."""
    more = [None] if isinstance(step(X[0], Y[0], start), list) else []
    return scanopt.scan(lambda v, w, s: (step(v, w, s), scanopt.until(v.sum() > 2)), [X, Y], [start, *more])[0]


@law(
    licence="reassoc",
    source="Theano scan internals, PushOutDot1",
    example=(
        lambda X, Y, W: _last(T.outer, [X, Y], W),
        lambda X, Y, a: _last(T.dot, [X, Y], a),
        lambda X, W, Y: _last(lambda v: T.outer(T.tanh(v), v) - T.outer(v, T.exp(v)), [X], W),
        lambda X, p, W: _last(lambda v, i: T.inc_subtensor(T.zeros_like(W)[i], v), [X, p % 2], W),
    ),
    never=(
        lambda X, Y, y: _last(T.dot, [X], y, Y),
        lambda X, Y, a: _last(lambda v, w: T.tanh(v * w).sum(), [X, Y], a),
        lambda X, p, W: _last(lambda v, i: T.inc_subtensor(T.ones_like(W)[i], v), [X, p % 2], W),
    ),
)
def last_of_sum_of_products(init: Value, X: Value, S: Value) -> Equation:
    """Rows that are products come to one row, one product.

    Adding that row is left to the fold: it raises where the row does not fit the state.
    """
    return Equation(
        ops.fold(init, X, ufunc="add"), ops.fold(init, ops.expand_dims(S, axis=(0,)), ufunc="add"), when=[adds_up(X, S)]
    )


@law(
    licence="reassoc",
    source="Theano scan internals, PushOutDot1",
    example=(
        lambda X, Y: scanopt.map(T.outer, [X, Y])[0].sum(axis=0),
        lambda x, Y: scanopt.map(lambda a, v: a * v, [x, Y])[0].sum(axis=0),
    ),
    never=lambda X, Y: scanopt.map(lambda v, w: v * w, [X, Y])[0].sum(axis=0),
)
def sum_of_products(X: Value, S: Value) -> Equation:
    """The sum of rows that are products is one product."""
    return Equation(ops.sum(X, axis=(0,), keepdims=False), S, when=[adds_up(X, S)])


@law(
    licence="reassoc",
    example=lambda X, Y, a: _until(lambda v, w, s: s + T.dot(v, w), X, Y, a)[-1],
    never=(
        lambda X, Y, a: _last(T.dot, [X, Y], a),
        lambda X, Y, a: _until(lambda v, w, s: s + T.dot(v, w), X, Y, a),
        lambda X, Y, a: _until(lambda v, w, s: s + T.dot(v, w) * s, X, Y, a)[-1],
        lambda X, Y, a: _until(lambda v, w, s: T.maximum(s, T.dot(v, w)), X, Y, a)[-1],
        lambda X, Y, a: _until(lambda v, w, s: [T.tanh(s) + T.dot(v, w), s + T.dot(v, w)], X, Y, a)[1][-1],
    ),
)
def last_of_sum_until(c: Clock, init: Value, s: State, x: Value, p: Clock) -> Equation:
    """A loop that may end early has added up the products of the steps that it ran: the rows of their trace."""
    new = delay(c, init, s, 1) + x
    rows = stack(c, x)
    last = row_of(rows, ops.fold(init[-1:], rows, ufunc="add"), p)
    return Equation(tail(c, new, 1), last, when=[becomes(s, new), sums_until(c, s, x), within(c, p)])


@law(
    licence="fast",
    example=(lambda X, W, y: _last(T.dot, [X], y, W), lambda X, W, y: _last(lambda v: T.dot(W, v), [X], y)),
    never=(
        lambda X, Y, a: _last(T.dot, [X, Y], a),
        lambda p, n, k: scanopt.scan(lambda v, s, k: s + v * k, p, [n], [k])[0][-1],
    ),
)
def last_of_sum_of_multiples(init: Value, X: Value, S: Value) -> Equation:
    """What products with one and the same value add up to is the product with what the others add up to."""
    return Equation(
        ops.fold(init, X, ufunc="add"),
        ops.fold(init, ops.expand_dims(S, axis=(0,)), ufunc="add"),
        when=[adds_up_freely(X, S), floating(X)],
    )
