"""Facts about operators whose trace or last rows are needed: which can be computed for all steps at once."""

from __future__ import annotations

from scanopt.calculus.condition import Rules, fact, hint, when
from scanopt.calculus.terms import Args, Clock, Int, Op, Text, Value, args, held_as, stack, tail
from scanopt.facts.lists import held, sliced, varies
from scanopt.facts.operators import batched_here, fixed_shape, safe
from scanopt.facts.shapes import regular
from scanopt.facts.values import forward

__all__ = ["alike", "asked", "batchable", "rows_of", "traceable", "traced", "traced_all", "wanted"]


@fact
def batchable(c: Clock, op: Op, xs: Args, *, f: Text, g: Text, o: Args, p: Args, r: Args, v: Value, x: Value) -> Rules:
    """op has a batched form for the sliced list, with rows of equal length where op makes them."""
    yield when(sliced(c, xs, o, f), batched_here(v, op, xs), fixed_shape(op)).then(batchable(c, op, xs))
    yield when(sliced(c, xs, o, f), batched_here(v, op, xs), xs.is_(args(x, r)), held(c, r, p, g)).then(
        batchable(c, op, xs)
    )


@fact
def traceable(c: Clock, k: Int, op: Op, xs: Args, *, S: Value, v: Value) -> Rules:
    """The trace (k = 0) or last k rows of op of the list are needed, and op can compute all rows at once.

    Errors that op raises at other rows must not be lost.
    """
    yield when(S.is_(stack(c, v)), forward(v), batched_here(v, op, xs), regular(v)).then(traceable(c, 0, op, xs))
    yield when(S.is_(tail(c, v, k)), forward(v), batched_here(v, op, xs), regular(v), safe(op)).then(
        traceable(c, k, op, xs)
    )


@hint
def wanted(c: Clock, k: Int, xs: Args, *, op: Op, r: Args, v: Value) -> Rules:
    """The traces (k = 0) or last k rows of the values of the list are needed."""
    yield when(traceable(c, k, op, xs)).then(wanted(c, k, xs))
    yield when(wanted(c, k, xs), xs.is_(args(v, r))).then(wanted(c, k, r))


@hint
def asked(c: Clock, k: Int, v: Value, *, r: Args, xs: Args) -> Rules:
    """The trace of v (k = 0) or its last k rows are needed."""
    yield when(wanted(c, k, xs), xs.is_(args(v, r))).then(asked(c, k, v))


@fact
def traced(c: Clock, k: Int, v: Value, V: Value) -> Rules:
    """V is the trace of v (k = 0), or its last k rows."""
    yield when(asked(c, 0, v), varies(v), regular(v)).then(traced(c, 0, v, stack(c, v)))
    yield when(asked(c, k, v), k >= 1, varies(v), regular(v)).then(traced(c, k, v, tail(c, v, k)))


@fact
def alike(c: Clock, k: Int, xs: Args, o: Args, f: Text) -> Rules:
    """Every value of the wanted list is hold(c, x)."""
    yield when(wanted(c, k, xs), held(c, xs, o, f)).then(alike(c, k, xs, o, f))


@fact
def rows_of(c: Clock, k: Int, xs: Args, o: Args, f: Text, *, r: Args, v: Value, V: Value, x: Value) -> Rules:
    """The second list has the traces (k = 0) or last k rows of values that vary, and x for hold(c, x)."""
    yield when(xs.is_(args(v)), traced(c, k, v, V)).then(rows_of(c, k, xs, args(V), "1"))
    yield when(xs.is_(args(v, r)), traced(c, k, v, V), alike(c, k, r, o, f)).then(
        rows_of(c, k, xs, args(V, o), "1" + f)
    )
    yield when(xs.is_(args(v, r)), traced(c, k, v, V), rows_of(c, k, r, o, f)).then(
        rows_of(c, k, xs, args(V, o), "1" + f)
    )
    yield when(xs.is_(args(v, r)), x.is_(held_as(c, v)), rows_of(c, k, r, o, f)).then(
        rows_of(c, k, xs, args(x, o), "0" + f)
    )


@fact
def traced_all(c: Clock, k: Int, op: Op, xs: Args, o: Args, f: Text) -> Rules:
    """op can compute all rows of the list at once; the second list has these rows: all (k = 0), or the last k."""
    yield when(traceable(c, k, op, xs), rows_of(c, k, xs, o, f)).then(traced_all(c, k, op, xs, o, f))
