"""A loop inside a loop runs once for all outer steps: the loops are interchanged and the outer one becomes an axis.

d is a loop inside c; lift(c, d) stands beside c.  Its values are those of d at all steps of c, along a new first axis.
A value that is the same at all steps of c is *shared*: it is not repeated along that axis.
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
    Move,
    Op,
    State,
    Text,
    Value,
    args,
    delay,
    held_as,
    hold,
    lift,
    lifted,
    moved,
    on,
    ops,
    seq,
    stack,
    steps,
    tail,
    vmap,
)  # fmt: skip
from scanopt.facts.loops import runs_all, within
from scanopt.facts.operators import batched, fixed_shape, safe
from scanopt.facts.shapes import regular
from scanopt.facts.values import forward


@fact
def liftable(c: Clock, d: Clock, *, n: Value) -> Rules:
    """d is a loop inside c with the same number of steps at each step of c, and neither ends early."""
    yield when(runs_all(c), runs_all(d), steps(d).is_(hold(c, n))).then(liftable(c, d))


@hint
def differs(v: Value, *, c: Clock, i: Value, k: Int, op: Op, s: State, w: Value, X: Value, x: Value, xs: Args) -> Rules:
    """v, or a loop around it, reads a sequence or a state."""
    yield when(v.is_(seq(c, X))).then(differs(v))
    yield when(v.is_(delay(c, i, s, k))).then(differs(v))
    yield when(v.is_(hold(c, x)), differs(x)).then(differs(v))
    yield when(v.is_(stack(c, w)), differs(w)).then(differs(v))
    yield when(v.is_(tail(c, w, k)), differs(w)).then(differs(v))
    yield when(v.is_(op(xs)), differing(xs)).then(differs(v))


@hint
def differing(xs: Args, *, r: Args, v: Value) -> Rules:
    """Some value of the list differs."""
    yield when(xs.is_(args(v, r)), differs(v)).then(differing(xs))
    yield when(xs.is_(args(v, r)), differing(r)).then(differing(xs))


@hint
def to_lift(c: Clock, d: Clock, xs: Args, *, op: Op, r: Args, v: Value, w: Value) -> Rules:
    """The values of the list, or of one that it is a tail of, are needed at all steps of c."""
    yield when(w.is_(on(lifted(c, d), op(xs)))).then(to_lift(c, d, xs))
    yield when(to_lift(c, d, xs), xs.is_(args(v, r))).then(to_lift(c, d, r))


@fact
def shared(c: Clock, d: Clock, v: Value, y: Value, *, r: Args, x: Value, X: Value, xs: Args, Y: Value) -> Rules:
    """v in d is the same at all steps of c: it is y in lift(c, d)."""
    yield when(to_lift(c, d, xs), xs.is_(args(v, r)), x.is_(held_as(d, v)), y.is_(held_as(c, x))).then(
        shared(c, d, v, hold(lift(c, d), y))
    )
    yield when(to_lift(c, d, xs), xs.is_(args(v, r)), v.is_(seq(d, X)), Y.is_(held_as(c, X)), runs_all(d)).then(
        shared(c, d, v, seq(lift(c, d), Y))
    )


@fact
def shared_list(c: Clock, d: Clock, xs: Args, o: Args, *, r: Args, v: Value, y: Value) -> Rules:
    """All values of the list xs are shared; the second list has them in lift(c, d)."""
    yield when(to_lift(c, d, xs), xs.is_(args())).then(shared_list(c, d, xs, xs))
    yield when(to_lift(c, d, xs), xs.is_(args(v, r)), shared(c, d, v, y), shared_list(c, d, r, o)).then(
        shared_list(c, d, xs, args(y, o))
    )


@fact
def next_to_lift(c: Clock, d: Clock, xs: Args, v: Value, r: Args) -> Rules:
    """The list xs, which is v followed by r, is needed at all steps of c."""
    yield when(to_lift(c, d, xs), xs.is_(args(v, r))).then(next_to_lift(c, d, xs, v, r))


@fact
def lifted_list(c: Clock, d: Clock, xs: Args, o: Args, f: Text, *, r: Args, v: Value, y: Value) -> Rules:
    """The values of xs in lift(c, d), with a flag each: 0 shared, 1 with an axis for the steps of c; at least one
    has it."""
    yield when(next_to_lift(c, d, xs, v, r), differs(v), shared_list(c, d, r, o), flags_of(o, f)).then(
        lifted_list(c, d, xs, args(on(lifted(c, d), v), o), "1" + f)
    )
    yield when(next_to_lift(c, d, xs, v, r), differs(v), lifted_list(c, d, r, o, f)).then(
        lifted_list(c, d, xs, args(on(lifted(c, d), v), o), "1" + f)
    )
    yield when(next_to_lift(c, d, xs, v, r), shared(c, d, v, y), lifted_list(c, d, r, o, f)).then(
        lifted_list(c, d, xs, args(y, o), "0" + f)
    )


@fact
def flags_of(o: Args, f: Text, *, c: Clock, d: Clock, p: Args, xs: Args, y: Value) -> Rules:
    """A string of zeros, one for each value of the shared list."""
    yield when(shared_list(c, d, xs, o), o.is_(args())).then(flags_of(o, ""))
    yield when(shared_list(c, d, xs, o), o.is_(args(y, p)), flags_of(p, f)).then(flags_of(o, "0" + f))


@fact
def moves_up(
    c: Clock,
    d: Clock,
    *,
    e: Clock,
    f: Text,
    k: Int,
    K: Value,
    m: Move,
    n: Value,
    o: Args,
    op: Op,
    p: Clock,
    s: State,
    S: Value,
    T: Value,
    V: Value,
    v: Value,
    w: Value,
    X: Value,
    xs: Args,
) -> Rules:
    """Values of d are needed at all steps of c: lift(c, d) computes them."""
    yield when(e.is_(lift(c, d)), within(c, p)).then(moves_up(c, d), within(e, p))
    yield when(e.is_(lift(c, d)), steps(d).is_(hold(c, n))).then(steps(e).equals(n))
    yield when(w.is_(on(m, hold(d, X))), m.is_(lifted(c, d)), regular(X)).then(w.equals(hold(lift(c, d), stack(c, X))))
    yield when(w.is_(on(m, seq(d, X))), m.is_(lifted(c, d)), regular(X), runs_all(d)).then(
        w.equals(seq(lift(c, d), ops.swap_rows(stack(c, X))))
    )
    yield when(w.is_(on(m, delay(d, X, s, k))), m.is_(lifted(c, d)), regular(X), runs_all(d)).then(
        w.equals(delay(lift(c, d), ops.swap_rows(stack(c, X)), moved(m, s), k))
    )
    yield when(
        w.is_(on(lifted(c, d), op(xs))), lifted_list(c, d, xs, o, f), batched(op), fixed_shape(op), safe(op)
    ).then(w.equals(vmap(op, f)(o)))
    yield when(forward(V), V.is_(stack(d, v)), T.is_(tail(d, v, k))).then(forward(T))
    yield when(K.is_(ops.swap_rows(S)), forward(K)).then(forward(S))
    yield when(forward(K), K.is_(stack(c, w)), w.is_(op(args(V, xs))), S.is_(stack(c, V))).then(forward(S))
    yield when(e.is_(lift(c, d)), runs_all(d)).then(runs_all(e))


_SOURCE = "internal documentation of scan, PushOutSeqScan, for whole loops"


def _inner(row: Any) -> Any:
    return scanopt.scan(lambda v, s: T.tanh(s * v), row, [T.constant(0.5, dtype="float64")])[0]


def _each(X: Any) -> Any:
    return scanopt.map(_inner, X)[0]


def _growing(p: Any, a: Any) -> Any:
    """A loop whose inner loops have different lengths."""
    step = lambda n, s: scanopt.scan(lambda v: T.tanh(v), None, [s], n_steps=n)[0][-1:]  # noqa: E731
    return scanopt.map(step, abs(p) % 4 + 1, [a])[0]


def _recurrent(X: Any, a: Any) -> Any:
    """The inner loop starts from the outer state, which is updated from its trace."""

    def step(row: Any, s: Any) -> Any:
        trace = scanopt.scan(lambda v, r: T.tanh(r * v), row, [s])[0]
        return [trace.sum() * trace[-1:].sum(), trace, trace[-1:]]

    return scanopt.scan(step, X, [a, None, None])[0]


def _until(X: Any) -> Any:
    """An outer loop that may end early."""
    return scanopt.map(lambda row: (_inner(row), _inner(row)[-1:], scanopt.until(row[0] > 1)), X)[0]


@law(licence="exact", source=_SOURCE, example=_each, never=(lambda X: _until(X)[0], lambda X, a: _recurrent(X, a)[1]))
def trace_of_loops(c: Clock, d: Clock, v: Value) -> Equation:
    """The traces of d at all steps of c are one trace of lift(c, d), with its first two axes swapped."""
    at_once = stack(lift(c, d), on(lifted(c, d), v))
    return Equation(stack(c, stack(d, v)), ops.swap_rows(at_once), when=[liftable(c, d), forward(stack(d, v))])


@law(
    licence="exact",
    source=_SOURCE,
    example=lambda X: scanopt.map(lambda row: _inner(row)[-1], X)[0],
    never=(_growing, lambda X: _until(X)[1], lambda X, a: _recurrent(X, a)[2]),
)
def last_of_loops(c: Clock, d: Clock, v: Value, k: Int) -> Equation:
    """The last rows of d at all steps of c are the last rows of lift(c, d), with the first two axes swapped."""
    at_once = tail(lift(c, d), on(lifted(c, d), v), k)
    return Equation(stack(c, tail(d, v, k)), ops.swap_rows(at_once), when=[liftable(c, d), forward(tail(d, v, k))])
