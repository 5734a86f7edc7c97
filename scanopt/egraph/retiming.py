"""Rules for `on(m, v)`, the value v re-timed by m: one rule per form; no other rule substitutes inside terms.

Inner loops are re-timed with the outer one (`under`).  A form without a rule stays unknown; a term that contains it is
never chosen.
"""

from __future__ import annotations

from scanopt.calculus.condition import Rule, Rules, fact, rules_of, when
from scanopt.calculus.terms import (
    Args,
    Clock,
    Int,
    Move,
    Op,
    State,
    Value,
    args,
    const_at,
    cut,
    delay,
    hold,
    int_value,
    moved,
    on,
    on_args,
    only,
    ops,
    recent,
    seq,
    stack,
    steps,
    tail,
    to_cut,
    to_step,
    to_string,
    to_upto,
    under,
    upto,
)  # fmt: skip
from scanopt.facts.few_steps import copied, fleeting
from scanopt.facts.loops import until, within
from scanopt.facts.states import becomes

__all__ = ["keeps_shapes", "retiming", "way_out"]


@fact
def keeps_shapes(m: Move) -> None:
    """The re-timing m keeps shapes."""


@fact
def way_out(m: Move, c: Clock, p: Clock) -> None:
    """m leads from c to one step of c, and so to p, the clock around it."""


def retiming() -> list[Rule]:
    """All re-timing rules."""
    parts = (_moves, _arguments, _fewer_steps, _one_step, _only_step, _loops_moved, _loops_of_one_step, _values_moved)
    return [rule for part in parts for rule in rules_of(part)]


def _moves(m: Move, n: Move, c: Clock, d: Clock, p: Clock, k: Int, x: Value) -> Rules:
    yield when(m.is_(only(n, d))).then(keeps_shapes(m))
    yield when(m.is_(to_upto(c, x))).then(keeps_shapes(m))
    yield when(m.is_(to_step(c, k))).then(keeps_shapes(m))
    yield when(m.is_(to_step(c, k)), within(c, p)).then(way_out(m, c, p))
    yield when(m.is_(only(n, d)), way_out(n, c, p)).then(way_out(m, d, p))


def _arguments(m: Move, v: Value, op: Op, xs: Args, r: Args, o: Args, s: State, q: State) -> Rules:
    yield when(v.is_(on(m, op(xs))), keeps_shapes(m)).then(v.equals(op(on_args(m, xs))))
    yield when(o.is_(on_args(m, args(v, r)))).then(o.equals(args(on(m, v), on_args(m, r))))
    yield when(o.is_(on_args(m, args()))).then(o.equals(args()))
    yield when(s.is_(moved(m, q)), becomes(q, v)).then(becomes(s, on(m, v)))


def _fewer_steps(
    c: Clock, d: Clock, e: Clock, p: Clock, m: Move, n: Value, k: Int, j: Int, v: Value, x: Value, X: Value, i: Value,
    s: State,
) -> Rules:  # fmt: skip
    """Re-timing to `upto(c, n)`.  If it removes no step, c and d are one clock and all values stay.

    Otherwise values of c would be re-timed to c again and again.
    """
    number = const_at(p, "int64:" + to_string(j))
    fewer = ops.minimum(steps(c), number)
    yield when(d.is_(cut(c, j)), within(c, p)).then(
        d.equals(upto(c, fewer)), to_cut(c, j).equals(to_upto(c, fewer)), int_value(number).gets(j)
    )
    yield when(d.is_(cut(c, j)), e.is_(cut(d, k)), k >= j).then(e.equals(d))
    yield when(d.is_(upto(c, n)), within(c, p)).then(within(d, p), steps(d).equals(n))
    yield when(d.is_(upto(c, n)), n.is_(steps(c))).then(d.equals(c))
    yield when(d.is_(upto(c, n)), until(c, v)).then(until(d, on(to_upto(c, n), v)))
    yield when(v.is_(on(m, x)), m.is_(to_upto(c, n)), c.is_(upto(c, n))).then(v.equals(x))
    yield when(v.is_(on(m, hold(c, x))), m.is_(to_upto(c, n))).then(v.equals(hold(upto(c, n), x)))
    shorter = (m.is_(to_upto(c, n)), d.is_(upto(c, n)), c.differs_from(d))
    yield when(v.is_(on(m, seq(c, X))), *shorter).then(v.equals(seq(d, X[:n])))
    yield when(v.is_(on(m, delay(c, i, s, k))), *shorter).then(v.equals(delay(d, i, moved(m, s), k)))


def _one_step(c: Clock, m: Move, t: Int, k: Int, v: Value, w: Value, x: Value, X: Value, i: Value, s: State) -> Rules:
    """Re-timing to step t of c, outside c."""
    yield when(v.is_(on(m, hold(c, x))), m.is_(to_step(c, t))).then(v.equals(x))
    yield when(v.is_(on(m, seq(c, X))), m.is_(to_step(c, t))).then(v.equals(X[t]))
    yield when(v.is_(on(m, delay(c, i, s, k))), m.is_(to_step(c, t)), t < k).then(v.equals(i[t - k]))
    yield when(v.is_(on(m, delay(c, i, s, k))), m.is_(to_step(c, t)), t >= k, becomes(s, w)).then(
        v.equals(on(to_step(c, t - k), w))
    )


def _only_step(d: Clock, m: Move, n: Move, k: Int, w: Value, x: Value, X: Value, i: Value, s: State) -> Rules:
    """A loop of one step is not re-timed but removed: `only(n, d)` is the only step of d, where n leads to."""
    yield when(w.is_(on(m, hold(d, x))), m.is_(only(n, d))).then(w.equals(on(n, x)))
    yield when(w.is_(on(m, seq(d, X))), m.is_(only(n, d))).then(w.equals(on(n, X)[0]))
    yield when(w.is_(on(m, delay(d, i, s, k))), m.is_(only(n, d))).then(w.equals(on(n, i)[-k]))


def _loops_moved(
    c: Clock, d: Clock, e: Clock, f: Clock, p: Clock, m: Move, n: Value, k: Int, v: Value, w: Value
) -> Rules:
    """Inner loops are re-timed too: e is d re-timed by m; f is the clock around d."""
    for trace in (stack(d, v), tail(d, v, k)):
        yield when(w.is_(on(to_upto(c, n), trace)), within(d, c), e.is_(upto(c, n)), c.differs_from(e)).then(
            within(under(to_upto(c, n), d), e)
        )
        yield when(w.is_(on(m, trace)), way_out(m, c, p), within(d, c), copied(d)).then(within(under(m, d), p))
        yield when(w.is_(on(m, trace)), e.is_(under(m, f)), within(d, f), copied(d)).then(within(under(m, d), e))
    yield when(e.is_(under(to_upto(c, n), d)), c.is_(upto(c, n))).then(e.equals(d))
    yield when(e.is_(under(m, d))).then(steps(e).equals(on(m, steps(d))))
    yield when(e.is_(under(m, d)), until(d, v)).then(until(e, on(m, v)))


def _loops_of_one_step(c: Clock, d: Clock, p: Clock, m: Move, k: Int, v: Value, w: Value) -> Rules:
    for trace in (stack(d, v), tail(d, v, k)):
        yield when(w.is_(on(m, trace)), way_out(m, c, p), within(d, c), fleeting(d)).then(
            w.equals(ops.expand_dims(on(only(m, d), v), axis=(0,)))
        )


def _values_moved(
    d: Clock, e: Clock, m: Move, k: Int, v: Value, w: Value, x: Value, X: Value, i: Value, s: State
) -> Rules:
    """Values in an inner loop that was re-timed."""
    yield when(w.is_(on(m, stack(d, v))), e.is_(under(m, d))).then(w.equals(stack(e, on(m, v))))
    yield when(w.is_(on(m, tail(d, v, k))), e.is_(under(m, d))).then(w.equals(tail(e, on(m, v), k)))
    yield when(w.is_(on(m, recent(d, v, x))), e.is_(under(m, d))).then(w.equals(recent(e, on(m, v), on(m, x))))
    yield when(w.is_(on(m, hold(d, x))), e.is_(under(m, d))).then(w.equals(hold(e, on(m, x))))
    yield when(w.is_(on(m, seq(d, X))), e.is_(under(m, d))).then(w.equals(seq(e, on(m, X))))
    yield when(w.is_(on(m, delay(d, i, s, k))), e.is_(under(m, d)), d.differs_from(e)).then(
        w.equals(delay(e, on(m, i), moved(m, s), k))
    )
