"""Facts about lists of arguments: which of them are loop-invariant, sequences, or computed in the loop."""

from __future__ import annotations

from scanopt.calculus.condition import Rules, fact, hint, when
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
    held_as,
    hold,
    seq,
    stack,
    tail,
    vmap,
)  # fmt: skip
from scanopt.facts.loops import runs_all
from scanopt.facts.values import forward

__all__ = ["before", "constants", "held", "held_constant", "held_constants", "sliced", "varies", "varying"]


@fact
def held(c: Clock, xs: Args, o: Args, f: Text, *, r: Args, v: Value, x: Value) -> Rules:
    """Every value of the list is hold(c, x); the second list has the x."""
    yield when(xs.is_(args(v)), x.is_(held_as(c, v))).then(held(c, xs, args(x), "0"))
    yield when(xs.is_(args(v, r)), x.is_(held_as(c, v)), held(c, r, o, f)).then(held(c, xs, args(x, o), "0" + f))


@fact
def sliced(c: Clock, xs: Args, o: Args, f: Text, *, r: Args, v: Value, X: Value, x: Value) -> Rules:
    """Every value of the list is hold(c, x), or seq(c, X) with X before c; at least one is a seq."""
    yield when(xs.is_(args(v)), v.is_(seq(c, X)), before(c, X)).then(sliced(c, xs, args(X), "1"))
    yield when(xs.is_(args(v, r)), v.is_(seq(c, X)), before(c, X), held(c, r, o, f)).then(
        sliced(c, xs, args(X, o), "1" + f)
    )
    yield when(xs.is_(args(v, r)), v.is_(seq(c, X)), before(c, X), sliced(c, r, o, f)).then(
        sliced(c, xs, args(X, o), "1" + f)
    )
    yield when(xs.is_(args(v, r)), x.is_(held_as(c, v)), sliced(c, r, o, f)).then(sliced(c, xs, args(x, o), "0" + f))


@fact
def before(c: Clock, X: Value, *, f: Text, o: Args, op: Op, xs: Args, Y: Value) -> Rules:
    """X is known before c begins (given for arrays that the program reads in c)."""
    yield when(sliced(c, xs, o, f), Y.is_(vmap(op, f)(o)), runs_all(c)).then(before(c, Y))


@hint
def varies(v: Value, *, c: Clock, d: Clock, i: Value, k: Int, op: Op, s: State, w: Value, X: Value, xs: Args) -> Rules:
    """v changes from step to step: it reads a sequence or a state, or is the trace of an inner loop."""
    yield when(v.is_(seq(c, X))).then(varies(v))
    yield when(v.is_(delay(c, i, s, k))).then(varies(v))
    yield when(v.is_(stack(d, w)), forward(v)).then(varies(v))
    yield when(v.is_(tail(d, w, k)), forward(v)).then(varies(v))
    yield when(v.is_(op(xs)), varying(xs)).then(varies(v))


@hint
def varying(xs: Args, *, r: Args, v: Value) -> Rules:
    """Some value of the list varies."""
    yield when(xs.is_(args(v, r)), varies(v)).then(varying(xs))
    yield when(xs.is_(args(v, r)), varying(r)).then(varying(xs))


@fact
def constants(xs: Args, *, k: Text, r: Args) -> Rules:
    """Every value of the list is a constant."""
    yield when(xs.is_(args(const(k)))).then(constants(xs))
    yield when(xs.is_(args(const(k), r)), constants(r)).then(constants(xs))


@fact
def held_constant(v: Value, *, c: Clock, k: Text, x: Value) -> Rules:
    """v is a constant, or a constant held by loops."""
    yield when(v.is_(const(k))).then(held_constant(v))
    yield when(v.is_(hold(c, x)), held_constant(x)).then(held_constant(v))


@fact
def held_constants(xs: Args, *, r: Args, v: Value) -> Rules:
    """Every value of the list is a constant, or a constant held by loops."""
    yield when(xs.is_(args(v)), held_constant(v)).then(held_constants(xs))
    yield when(xs.is_(args(v, r)), held_constant(v), held_constants(r)).then(held_constants(xs))
