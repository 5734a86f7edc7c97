"""Maps that end early: they compute a chunk of steps at once and drop the steps after the end.

Steps computed beyond the end can neither raise nor be observed.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import Rules, fact, hint, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import (
    Args,
    Clock,
    Int,
    Op,
    State,
    Text,
    Value,
    args,
    chunks,
    delay,
    dtype,
    hold,
    loop,
    ndim,
    ops,
    seq,
    stack,
    steps,
    tail,
    vmap,
)  # fmt: skip
from scanopt.facts.loops import until, within
from scanopt.facts.operators import batched, fixed_shape, safe
from scanopt.facts.states import becomes

SIZE = 1024
"""Steps of a chunk: as many as fit the cache, many enough that a step in Python costs little."""


@hint
def to_chunk(c: Clock, v: Value, *, k: Int, n: Text, op: Op, r: Args, u: Value, V: Value, xs: Args) -> Rules:
    """v, in a loop of the program that may end early, is needed in chunks."""
    yield when(until(c, v), c.is_(loop(n))).then(to_chunk(c, v))
    yield when(until(c, u), c.is_(loop(n)), V.is_(stack(c, v))).then(to_chunk(c, v))
    yield when(until(c, u), c.is_(loop(n)), V.is_(tail(c, v, k))).then(to_chunk(c, v))
    yield when(to_chunk(c, v), v.is_(op(xs)), safe(op), fixed_shape(op)).then(to_chunk_all(c, xs))
    yield when(to_chunk_all(c, xs), xs.is_(args(v, r))).then(to_chunk(c, v))


@hint
def to_chunk_all(c: Clock, xs: Args, *, r: Args, v: Value) -> Rules:
    """All values of the list are needed in chunks."""
    yield when(to_chunk_all(c, xs), xs.is_(args(v, r))).then(to_chunk_all(c, r))


@fact
def chunked(
    c: Clock,
    v: Value,
    w: Value,
    *,
    d: Text,
    e: Clock,
    f: Text,
    i: Value,
    k: Int,
    n: Int,
    o: Args,
    op: Op,
    s: State,
    u: Value,
    X: Value,
    x: Value,
    xs: Args,
    Y: Value,
) -> Rules:
    """w, in the chunks of c, holds rows of v: v is made of sequences by safe operators."""
    yield when(to_chunk(c, v), v.is_(seq(c, X))).then(rows_to_chunk(c, v, X))
    yield when(to_chunk(c, v), v.is_(delay(c, i, s, k)), becomes(s, u), u.is_(seq(c, Y))).then(
        rows_to_chunk(c, v, ops.concatenate(i[-k:], Y, axis=0)[: steps(c)])
    )
    yield when(rows_to_chunk(c, v, X), chunked_on(c, e), c.differs_from(e)).then(
        chunked(c, v, seq(e, ops.in_chunks(X, size=1024)))
    )
    alike = [safe(op), batched(op), fixed_shape(op)]
    yield when(
        to_chunk(c, v), v.is_(op(xs)), *alike, chunked_all(c, xs, o, f), chunked_on(c, e), c.differs_from(e)
    ).then(chunked(c, v, vmap(op, f)(o)))
    yield when(chunked(c, v, w), chunked(c, v, x)).then(w.equals(x))
    yield when(chunked(c, v, w), n.is_(ndim(v))).then(ndim(w).gets(n + 1))
    yield when(chunked(c, v, w), d.is_(dtype(v))).then(dtype(w).gets(d))


@fact
def rows_to_chunk(c: Clock, v: Value, X: Value) -> None:
    """v, which is needed in chunks of c, is a row of X at each step."""


@fact
def chunked_on(c: Clock, e: Clock, *, p: Clock, v: Value, X: Value) -> Rules:
    """The chunks of c are the steps of e, which is c itself if a chunk is one step: chunks have no chunks."""
    yield when(rows_to_chunk(c, v, X)).then(chunked_on(c, chunks(c)))
    yield when(chunked_on(c, e), within(c, p)).then(within(e, p), steps(e).equals(ops.chunk_count(steps(c), size=1024)))


@fact
def unchunked(c: Clock, v: Value, w: Value, *, e: Clock, x: Value) -> Rules:
    """v is the same at every step of c: it is w in the chunks of c."""
    yield when(to_chunk(c, v), v.is_(hold(c, x)), chunked_on(c, e)).then(unchunked(c, v, hold(e, x)))


@fact
def unchunked_all(c: Clock, xs: Args, o: Args, f: Text, *, r: Args, v: Value, w: Value) -> Rules:
    """The second list has the values of the first in the chunks of c; all are the same at every step."""
    yield when(unchunked(c, v, w), xs.is_(args(v))).then(unchunked_all(c, xs, args(w), "0"))
    yield when(unchunked(c, v, w), xs.is_(args(v, r)), unchunked_all(c, r, o, f)).then(
        unchunked_all(c, xs, args(w, o), "0" + f)
    )


@fact
def chunked_all(c: Clock, xs: Args, o: Args, f: Text, *, r: Args, v: Value, w: Value) -> Rules:
    """The second list has the values of the first in the chunks of c; at least one of them has rows."""
    yield when(chunked(c, v, w), to_chunk_all(c, xs), xs.is_(args(v))).then(chunked_all(c, xs, args(w), "1"))
    yield when(chunked(c, v, w), xs.is_(args(v, r)), chunked_all(c, r, o, f)).then(
        chunked_all(c, xs, args(w, o), "1" + f)
    )
    yield when(chunked(c, v, w), xs.is_(args(v, r)), unchunked_all(c, r, o, f)).then(
        chunked_all(c, xs, args(w, o), "1" + f)
    )
    yield when(unchunked(c, v, w), xs.is_(args(v, r)), chunked_all(c, r, o, f)).then(
        chunked_all(c, xs, args(w, o), "0" + f)
    )


@fact
def ends_in_chunks(c: Clock, w: Value, *, e: Clock, u: Value) -> Rules:
    """The end condition of c depends on sequences alone; w is that condition, in chunks."""
    yield when(until(c, u), chunked(c, u, w)).then(ends_in_chunks(c, w))
    yield when(ends_in_chunks(c, w), chunked_on(c, e)).then(until(e, ops.any(w, axis=(0,), keepdims=False)))


_SOURCE = "strip mining: what is computed for nothing is one chunk at most"


def _map_until(step: Any, condition: Any) -> Any:
    """A map over 500 entries, until a condition on the entry holds."""
    return lambda x, a: scanopt.scan(lambda v, a: (step(v, a), scanopt.until(condition(v))), x, None, a, n_steps=500)[0]


def _sum_until(x: Any, a: Any) -> Any:
    """A recurrence that ends once its state is large."""
    return scanopt.scan(lambda v, s: (T.tanh(s) + v, scanopt.until(s > 1)), x, a)[0]


def _rows(c: Clock, w: Value) -> Value:
    """The rows of all chunks that ran, without the padding of the last chunk."""
    return ops.join_rows(stack(chunks(c), w))[: steps(c)]


def _taken(c: Clock, u: Value) -> Value:
    """The number of steps that ran."""
    return ops.first_true(_rows(c, u), axis=0)


@law(
    licence="exact",
    source=_SOURCE,
    example=(
        _map_until(lambda v, a: T.exp(v) * a, lambda v: v > 1),
        lambda x, a: scanopt.scan(lambda v, s: (s + v, scanopt.until(s > 1)), x, a, n_steps=500)[0],
    ),
    never=(
        _sum_until,
        lambda x, a: scanopt.map(lambda v: T.exp(v), x)[0] * a,
        lambda x, p: scanopt.scan(lambda i, v: (T.exp(i), scanopt.until(v[i] > 1)), p, None, x)[0],
    ),
)
def trace_until(c: Clock, v: Value, w: Value, u: Value) -> Equation:
    """The trace of a map that ends early is computed in chunks."""
    right = _rows(c, w)[: _taken(c, u)]
    return Equation(stack(c, v), right, when=[chunked(c, v, w), ends_in_chunks(c, u)])


@law(
    licence="exact",
    source=_SOURCE,
    example=lambda x, a: _map_until(lambda v, a: T.exp(v) * a, lambda v: v > 1)(x, a)[-1],
    never=(lambda x, a: _sum_until(x, a)[-1], lambda x, a: scanopt.map(lambda v: T.exp(v), x)[0][-1] * a),
)
def last_until(c: Clock, v: Value, w: Value, u: Value, k: Int) -> Equation:
    """The last rows of a map that ends early are computed in chunks."""
    right = _rows(c, w)[: _taken(c, u)][-k:]
    return Equation(tail(c, v, k), right, when=[chunked(c, v, w), ends_in_chunks(c, u)])


@law(
    licence="exact",
    source=_SOURCE,
    example=lambda x, a: scanopt.scan(lambda v, a: (T.exp(a), scanopt.until(v > 1)), x, None, a, n_steps=500)[0],
    never=(_sum_until, lambda x, a: scanopt.map(lambda v, a: a, x, a)[0]),
)
def trace_of_invariant_until(c: Clock, x: Value, u: Value) -> Equation:
    """The trace of a loop-invariant value, in a map that ends early, is that value repeated."""
    left = stack(c, hold(c, x))
    return Equation(left, ops.repeat_rows(x, _taken(c, u)), when=[ends_in_chunks(c, u)])
