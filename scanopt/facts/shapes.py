"""Facts about shapes: which values have the same shape at all steps, of their loop or of all loops around them."""

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
    at,
    delay,
    hold,
    ndim,
    root,
    seq,
    stack,
    steps,
    tail,
)  # fmt: skip
from scanopt.facts.lists import held
from scanopt.facts.loops import lies_on, runs_all
from scanopt.facts.operators import fixed_shape, shape_from_rest

__all__ = [
    "regular", "regular_list", "same_length", "shaped_as", "unchanging", "unchanging_list", "uniform", "uniform_list",
]  # fmt: skip


@fact
def same_length(v: Value, w: Value) -> None:
    """v, a length, equals w, a length of an array further out or a constant, by the shape rules of operators
    (given)."""


@fact
def shaped_as(v: Value, x: Value) -> None:
    """v has the shape of x, one of its arguments, whatever the inputs are (given for choices, parts that are written,
    and arrays that are brought to a shape).
    """


@fact
def regular(
    v: Value,
    *,
    c: Clock,
    d: Clock,
    f: Text,
    i: Value,
    k: Int,
    n: Value,
    o: Args,
    op: Op,
    r: Args,
    s: State,
    w: Value,
    X: Value,
    x: Value,
    xs: Args,
) -> Rules:
    """v has the same shape at every step of its loop."""
    yield when(v.is_(seq(c, X))).then(regular(v))
    yield when(v.is_(hold(c, x))).then(regular(v))
    yield when(v.is_(delay(c, i, s, k))).then(regular(v))
    yield when(ndim(v).is_(0)).then(regular(v))
    yield when(v.is_(op(xs)), fixed_shape(op), regular_list(xs)).then(regular(v))
    yield when(v.is_(op(xs)), shape_from_rest(op), xs.is_(args(x, r)), regular(x), held(c, r, o, f)).then(regular(v))
    yield when(v.is_(stack(d, w)), uniform(w), runs_all(d), steps(d).is_(hold(c, n))).then(regular(v))
    yield when(v.is_(tail(d, w, k)), uniform(w), runs_all(d), steps(d).is_(hold(c, n))).then(regular(v))
    yield when(v.is_(at(d, w, k)), uniform(w)).then(regular(v))
    yield when(v.is_(tail(d, w, 1)), uniform(w), steps(d).is_(hold(c, n))).then(regular(v))  # of one step at least


@fact
def regular_list(xs: Args, *, r: Args, v: Value) -> Rules:
    """Every value of the list has the same shape at every step."""
    yield when(xs.is_(args(v)), regular(v)).then(regular_list(xs))
    yield when(xs.is_(args(v, r)), regular(v), regular_list(r)).then(regular_list(xs))


@fact
def unchanging(v: Value, *, c: Clock, x: Value) -> Rules:
    """v is outside all loops, or held by every loop that it is in."""
    yield when(lies_on(v, root())).then(unchanging(v))
    yield when(v.is_(hold(c, x)), unchanging(x)).then(unchanging(v))


@fact
def unchanging_list(xs: Args, *, r: Args, v: Value) -> Rules:
    """Every value of the list is unchanging."""
    yield when(xs.is_(args(v)), unchanging(v)).then(unchanging_list(xs))
    yield when(xs.is_(args(v, r)), unchanging(v), unchanging_list(r)).then(unchanging_list(xs))


@fact
def uniform(
    v: Value,
    *,
    c: Clock,
    d: Clock,
    i: Value,
    k: Int,
    n: Value,
    op: Op,
    r: Args,
    s: State,
    w: Value,
    X: Value,
    x: Value,
    xs: Args,
) -> Rules:
    """v has the same shape at every step of all loops that it is in."""
    yield when(unchanging(v)).then(uniform(v))
    yield when(v.is_(seq(c, X)), uniform(X)).then(uniform(v))
    yield when(v.is_(hold(c, x)), uniform(x)).then(uniform(v))
    yield when(v.is_(delay(c, i, s, k)), uniform(i)).then(uniform(v))
    yield when(ndim(v).is_(0)).then(uniform(v))
    yield when(v.is_(op(xs)), fixed_shape(op), uniform_list(xs)).then(uniform(v))
    yield when(v.is_(op(x, r)), shape_from_rest(op), uniform(x), unchanging_list(r)).then(uniform(v))
    yield when(v.is_(stack(d, w)), uniform(w), runs_all(d), n.is_(steps(d)), unchanging(n)).then(uniform(v))
    yield when(v.is_(tail(d, w, k)), uniform(w), runs_all(d), n.is_(steps(d)), unchanging(n)).then(uniform(v))
    yield when(v.is_(at(d, w, k)), uniform(w)).then(uniform(v))


@fact
def uniform_list(xs: Args, *, r: Args, v: Value) -> Rules:
    """Every value of the list has the same shape at every step of all loops."""
    yield when(xs.is_(args(v)), uniform(v)).then(uniform_list(xs))
    yield when(xs.is_(args(v, r)), uniform(v), uniform_list(r)).then(uniform_list(xs))
