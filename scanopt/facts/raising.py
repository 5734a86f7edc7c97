"""Facts about operators that cannot raise, and uses of operators whose shapes are sure to fit."""

from __future__ import annotations

from scanopt.calculus.condition import Rules, fact, when
from scanopt.calculus.terms import (
    Args,
    Clock,
    Int,
    Op,
    State,
    Text,
    Value,
    args,
    const,
    delay,
    hold,
    input_,
    ndim,
    ops,
    seq,
    stack,
    tail,
    vmap,
)  # fmt: skip
from scanopt.facts.lists import held, sliced
from scanopt.facts.loops import runs_all, some_steps
from scanopt.facts.operators import elementwise, quiet, safe

__all__ = [
    "always", "fits", "harmless", "hoistable", "invariant", "invariant_if_run", "raises_alike", "silent", "sure",
    "total", "total_list",
]  # fmt: skip


@fact
def always(v: Value, *, c: Clock, f: Text, o: Args, op: Op, xs: Args, Y: Value) -> Rules:
    """v is computed whenever the program runs: it is in no untaken side of an ifelse (given)."""
    yield when(sliced(c, xs, o, f), v.is_(op(xs)), always(v), Y.is_(vmap(op, f)(o))).then(always(Y))


@fact
def fits(v: Value, *, c: Clock, j: Int, k: Int, V: Value, xs: Args) -> Rules:
    """The program computes v from arguments whose shapes fit, for all inputs (given for concatenated arrays, and for
    all values if there is an ifelse; traces of these are put together of traces that fit, and numbers always fit).
    """
    yield when(fits(v), V.is_(stack(c, v))).then(fits(V))
    yield when(fits(v), V.is_(tail(c, v, k))).then(fits(V))
    yield when(v.is_(ops.stack(xs, axis=j)), ndim(v).is_(1)).then(fits(v))


@fact
def harmless(v: Value) -> None:
    """Operators that the program computes v with may raise, and shapes show that they do not (given)."""


@fact
def sure(op: Op, xs: Args, *, v: Value, x: Value) -> Rules:
    """op of xs cannot raise."""
    yield when(v.is_(op(xs)), quiet(op)).then(sure(op, xs))
    yield when(v.is_(op(xs)), harmless(v)).then(sure(op, xs))
    yield when(v.is_(op(xs)), safe(op), fits(v)).then(sure(op, xs))
    yield when(v.is_(op(xs)), elementwise(op), ndim(v).is_(0)).then(sure(op, xs))
    yield when(v.is_(op(x)), elementwise(op)).then(sure(op, args(x)))


@fact
def hoistable(c: Clock, op: Op, xs: Args, *, f: Text, o: Args, v: Value) -> Rules:
    """Computing op of the invariants xs once outside c raises only if running the program does."""
    yield when(held(c, xs, o, f), sure(op, xs)).then(hoistable(c, op, xs))
    yield when(held(c, xs, o, f), v.is_(op(xs)), always(v), safe(op)).then(hoistable(c, op, xs))
    yield when(held(c, xs, o, f), v.is_(op(xs)), always(v), some_steps(c)).then(hoistable(c, op, xs))


@fact
def invariant_if_run(c: Clock, V: Value) -> None:
    """V, a trace of a loop inside c, reads nothing that changes from step to step of c (given)."""


@fact
def invariant(c: Clock, V: Value) -> Rules:
    """V, a trace of a loop in c, is the same at all steps of c, and may be computed where c runs none (given)."""
    yield when(invariant_if_run(c, V), always(V), some_steps(c)).then(invariant(c, V))


@fact
def raises_alike(c: Clock, op: Op, xs: Args, *, f: Text, o: Args, v: Value) -> Rules:
    """Computing op of xs for all steps of c at once raises only if running the program does."""
    yield when(sliced(c, xs, o, f), sure(op, xs)).then(raises_alike(c, op, xs))
    yield when(sliced(c, xs, o, f), v.is_(op(xs)), always(v), safe(op)).then(raises_alike(c, op, xs))
    yield when(sliced(c, xs, o, f), v.is_(op(xs)), always(v), runs_all(c)).then(raises_alike(c, op, xs))


@fact
def total(v: Value, *, c: Clock, i: Value, k: Int, key: Text, op: Op, s: State, X: Value, x: Value, xs: Args) -> Rules:
    """Computing v cannot raise."""
    yield when(always(v)).then(total(v))
    yield when(v.is_(seq(c, X))).then(total(v))
    yield when(v.is_(hold(c, x))).then(total(v))
    yield when(v.is_(delay(c, i, s, k))).then(total(v))
    yield when(v.is_(input_(key))).then(total(v))
    yield when(v.is_(const(key))).then(total(v))
    yield when(v.is_(op(xs)), sure(op, xs), total_list(xs)).then(total(v))


@fact
def total_list(xs: Args, *, r: Args, v: Value) -> Rules:
    """Computing the values of the list cannot raise."""
    yield when(xs.is_(args(v)), total(v)).then(total_list(xs))
    yield when(xs.is_(args(v, r)), total(v), total_list(r)).then(total_list(xs))


@fact
def silent(v: Value) -> None:
    """Nothing that v is computed from checks anything or may raise, so v may be left out (given for conditions of
    choices, for bounds, and for integers that are added or taken away).
    """
