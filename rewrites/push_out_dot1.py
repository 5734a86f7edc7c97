"""The last value of a sum of products is one product, which contracts the steps too (PushOutDot1).

This covers sums of outer products, of matrix-vector products and of arrays to which rows are added (scatters): the
gradients with respect to weights.  A sum of scatters becomes one scatter of all rows.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import Rules, fact, hint, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import (
    Args,
    Clock,
    Op,
    State,
    Text,
    Value,
    added,
    delay,
    dtype,
    ndim,
    ops,
    row_of,
    stack,
    tail,
    to_string,
    vmap,
)  # fmt: skip
from scanopt.facts.loops import until, within
from scanopt.facts.operators import guarded_by
from scanopt.facts.parts import adds_to_part
from scanopt.facts.recurrences import apart
from scanopt.facts.states import becomes
from scanopt.facts.values import floating, nothing, of_dtype

ALONE = ("1", "10", "100", "1000", "10000")
"""Flags of an operator batched in its first argument."""


@fact
def contracts(op: Op, k: Text, g: Op) -> None:
    """The sum of op(a, b) over pairs of rows of two arrays is g of the arrays; k gives their numbers of axes, or ""
    (given)."""


@fact
def additive(op: Op) -> None:
    """op(x + y) = op(x) + op(y), bit for bit, if the other arguments of op are fixed (given)."""


@fact
def termwise(op: Op) -> None:
    """op(x + y, u + v) = op(x, u) + op(y, v), up to rounding (given)."""


@fact
def bilinear(op: Op) -> None:
    """op(x, y) is linear in x and in y (given)."""


@fact
def scatters(op: Op, k: Text, g: Op) -> None:
    """g adds rows at many places at once where op adds one row, or those of one step; op takes k indices (given)."""


@hint
def to_add_up(X: Value, *, i: Value, op: Op, r: Args, V: Value, Y: Value) -> Rules:
    """The program, or a law, sums the rows of X."""
    yield when(V.is_(ops.fold(i, X, ufunc="add"))).then(to_add_up(X))
    yield when(V.is_(ops.sum(X, axis=(0,), keepdims=False))).then(to_add_up(X))
    yield when(to_add_up(V), V.is_(vmap(op, "11")(X, Y)), termwise(op)).then(to_add_up(X), to_add_up(Y))
    for flags in ALONE:
        yield when(to_add_up(V), V.is_(vmap(op, flags)(X, r)), additive(op)).then(to_add_up(X))
    yield when(to_add_up(V), V.is_(vmap(op, "11")(X, Y)), adds_to_part(op)).then(to_add_up(X))


@fact
def adds_up(
    X: Value,
    S: Value,
    *,
    A: Value,
    B: Value,
    d: Text,
    g: Op,
    J: Value,
    k: Text,
    K: Value,
    op: Op,
    r: Args,
    T: Value,
    V: Value,
    Y: Value,
    z: Value,
) -> Rules:
    """S is the sum of the rows of X, in their dtype: the same products or rows, added in some order."""
    yield when(adds_up(X, S)).then(added(X).gets(S))
    yield when(
        to_add_up(X), X.is_(vmap(op, "11")(A, B)), contracts(op, k, g), k.is_(to_string(ndim(A)) + to_string(ndim(B)))
    ).then(adds_up(X, g(A, B)))
    yield when(to_add_up(X), X.is_(vmap(op, "11")(A, B)), contracts(op, "", g)).then(adds_up(X, g(A, B)))
    yield when(
        to_add_up(V),
        V.is_(vmap(op, "11")(X, Y)),
        termwise(op),
        d.is_(dtype(X)),
        d.is_(dtype(Y)),
        S.is_(added(X)),
        T.is_(added(Y)),
    ).then(adds_up(V, op(S, T)))
    yield when(
        to_add_up(X),
        X.is_(vmap(op, "011")(z, Y, J)),
        nothing(z),
        scatters(op, "1", g),
        (ndim(Y) + 1).is_(ndim(J) + ndim(z)),
    ).then(adds_up(X, g(z, Y, J)))
    yield when(
        to_add_up(X),
        X.is_(vmap(op, "0111")(z, Y, J, K)),
        nothing(z),
        scatters(op, "2", g),
        (ndim(Y) + 2).is_(ndim(J) + ndim(z)),
        ndim(J).is_(ndim(K)),
    ).then(adds_up(X, g(z, Y, J, K)))
    for flags in ALONE:
        yield when(V.is_(vmap(op, flags)(X, r)), additive(op), d.is_(dtype(V)), d.is_(dtype(X)), S.is_(added(X))).then(
            adds_up(V, op(S, r))
        )
    total, n = ops.sum(Y, axis=(0,), keepdims=False), Y.shape[0]
    put = adds_up(V, ops.where(ops.cast(n, dtype="bool"), g(n, S, total), S))  # without a row nothing is out of range
    yield when(
        to_add_up(V), V.is_(vmap(op, "01")(S, Y)), nothing(S), adds_to_part(op), guarded_by(op, g), sums_alike(Y)
    ).then(put)
    yield when(
        to_add_up(V), V.is_(vmap(op, "11")(X, Y)), S.is_(added(X)), adds_to_part(op), guarded_by(op, g), sums_alike(Y)
    ).then(put)


@fact
def sums_alike(X: Value) -> Rules:
    """Sums of X have the dtype of X; those of bools and small integers are wider."""
    for d in ("int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"):
        yield when(dtype(X).is_(d)).then(sums_alike(X))


@fact
def sums_until(c: Clock, s: State, x: Value, *, a: Value, b: Value, g: Op, k: Text, op: Op, u: Value) -> Rules:
    """c may end early; x, an argument on the spine of s that is known without s, is such a product."""
    yield when(apart(s, x), x.is_(op(a, b)), contracts(op, k, g), until(c, u)).then(sums_until(c, s, x))


@fact
def adds_up_freely(X: Value, S: Value, *, A: Value, a: Value, b: Value, B: Value, op: Op) -> Rules:
    """S is the sum of the rows of X, with a common factor taken out (infinities aside).

    Sums of integers are of a wider dtype.
    """
    yield when(to_add_up(X), X.is_(vmap(op, "10")(A, b)), bilinear(op), floating(A)).then(
        adds_up_freely(X, op(ops.sum(A, axis=(0,), keepdims=False), b))
    )
    yield when(to_add_up(X), X.is_(vmap(op, "01")(a, B)), bilinear(op), floating(B)).then(
        adds_up_freely(X, op(a, ops.sum(B, axis=(0,), keepdims=False)))
    )


def _last(part: Any, xs: Any, start: Any, *more: Any) -> Any:
    """The last value of a state to which part(*entries, *more) is added at each step."""
    return scanopt.scan(lambda *a: a[len(xs)] + part(*a[: len(xs)], *a[len(xs) + 1 :]), xs, [start], more)[0][-1]


def _put(y: Any, k: int, a: Any) -> Any:
    """Zeros like y with a added to entry k."""
    return T.inc_subtensor(T.zeros_like(y)[k], a)


def _until(step: Any, X: Any, Y: Any, start: Any) -> Any:
    """All values of a state, until the sum of an entry is large."""
    more = [None] if isinstance(step(X[0], Y[0], start), list) else []
    return scanopt.scan(lambda v, w, s: (step(v, w, s), scanopt.until(v.sum() > 2)), [X, Y], [start, *more])[0]


def _narrow_and_wide(x: Any, Y: Any) -> Any:
    """A sum of 32-bit products: once step by step in 32 bits, once in 64 bits."""
    rows, _ = scanopt.map(lambda a, v: a * v, [x, Y])
    return _last(lambda a, v: a * v, [x, Y], Y[0] * 0) + rows.sum(axis=0)


@law(
    licence="reassoc",
    source="Theano scan internals, PushOutDot1",
    example=(
        lambda X, Y, W: _last(T.outer, [X, Y], W),
        lambda X, Y, a: _last(T.dot, [X, Y], a),
        lambda X, W, Y: _last(lambda v: T.outer(T.tanh(v), v) - T.outer(v, T.exp(v)), [X], W),
        lambda X, p, W: _last(lambda v, i: T.inc_subtensor(T.zeros_like(W)[i], v), [X, p % 2], W),
        lambda x, y: _last(lambda a: _put(y, 1, T.tanh(a)) + _put(y, 0, a), [x], y),
    ),
    never=(
        lambda X, Y, y: _last(T.dot, [X], y, Y),
        lambda X, Y, a: _last(lambda v, w: T.tanh(v * w).sum(), [X, Y], a),
        lambda X, p, W: _last(lambda v, i: T.inc_subtensor(T.ones_like(W)[i], v), [X, p % 2], W),
        lambda x, Y: _last(lambda a, v: a * v, [T.cast(x, "int32"), T.cast(Y, "int32")], T.cast(Y[0], "int64")),
        lambda x, y: _last(lambda a: T.inc_subtensor(T.ones_like(y)[1], a), [x], y),
        lambda x, y: _last(lambda a: T.set_subtensor(T.zeros_like(y)[1], a), [x], y),
    ),
)
def last_of_sum_of_products(init: Value, X: Value, S: Value, d: Text) -> Equation:
    """A sum of products is one product, in the dtype of the state, added by a fold of one row.

    The fold raises if the product does not fit the state.
    """
    return Equation(
        ops.fold(init, X, ufunc="add"),
        ops.fold(init, ops.expand_dims(S, axis=(0,)), ufunc="add"),
        when=[adds_up(X, S), of_dtype(init, d), of_dtype(X, d)],
    )


@law(
    licence="reassoc",
    source="Theano scan internals, PushOutDot1",
    example=(
        lambda X, Y: scanopt.map(T.outer, [X, Y])[0].sum(axis=0),
        lambda x, Y: scanopt.map(lambda a, v: a * v, [x, Y])[0].sum(axis=0),
    ),
    never=(
        lambda X, Y: scanopt.map(lambda v, w: v * w, [X, Y])[0].sum(axis=0),
        lambda x, Y: _narrow_and_wide(T.cast(x, "int32"), T.cast(Y, "int32")),
    ),
)
def sum_of_products(X: Value, S: Value) -> Equation:
    """The sum of rows that are products is one product, in their dtype."""
    return Equation(ops.sum(X, axis=(0,), keepdims=False), S, when=[adds_up(X, S), sums_alike(X)])


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
    """A loop that may end early has summed the products of the steps that it ran: the rows of their trace."""
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
        lambda X, y: _last(lambda v, w: v * w, [T.cast(X, "float32")], y, T.cast(y, "float32")),
    ),
)
def last_of_sum_of_multiples(init: Value, X: Value, S: Value, d: Text) -> Equation:
    """A common factor is taken out of a sum of products."""
    return Equation(
        ops.fold(init, X, ufunc="add"),
        ops.fold(init, ops.expand_dims(S, axis=(0,)), ufunc="add"),
        when=[adds_up_freely(X, S), of_dtype(init, d), of_dtype(X, d)],
    )
