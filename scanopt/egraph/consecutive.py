"""Rules for `both(m, v, w)`: v at the steps of one loop and w at those before or after it; one rule per form.

`both` moves inwards through operators that v and w have in common, down to rows of one array, values that never change,
and states that are handed on.  To read the last row of a loop that takes no step is an error, and must stay one:
`given(i, n)` is i, and raises if n is 0.  A form without a rule stays unknown; a term that contains it is never chosen.
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
    Text,
    Value,
    and_first,
    and_last,
    args,
    as_row,
    both,
    both_args,
    const_at,
    continued,
    delay,
    dtype,
    followed,
    hold,
    joint,
    ndim,
    ops,
    seq,
    stack,
    steps,
)  # fmt: skip
from scanopt.facts.lists import before
from scanopt.facts.loops import runs_all, some_steps, within
from scanopt.facts.modes import may_rewrite
from scanopt.facts.operators import commutative
from scanopt.facts.products import numbered_beside
from scanopt.facts.states import becomes, passed_on
from scanopt.facts.values import at_least, forward, like, of_dtype, positive, static_shape

__all__ = ["consecutive"]


def consecutive() -> list[Rule]:
    """All rules of `both`."""
    parts = (
        _pairs,
        _loops,
        _modes,
        _types,
        _operators,
        _states,
        _products,
        _two_loops,
        _one_step_more,
        _step_after,
        _step_before,
        _shorter_sequences,
    )
    return [rule for part in parts for rule in rules_of(part)]


@fact
def goes_on_alike(c: Clock, v: Value, d: Clock, w: Value) -> None:
    """w is computed on d as v is on c, where d goes on where c ended (given)."""


@fact
def step_after_alike(c: Clock, v: Value, w: Value) -> None:
    """w is computed as v is on c, at the step after its last one (given)."""


@fact
def step_before_alike(c: Clock, v: Value, w: Value) -> None:
    """w is computed as v is on c, at the step before its first one (given)."""


@fact
def computed_alike(m: Move, v: Value, w: Value) -> None:
    """The text computes w as v, at the steps that m puts after those of v, or before them."""


@fact
def counted(m: Move, k: Int, a: Value, b: Value, n: Value) -> None:
    """Arrays have a rows before row k and b from there on, n in all: the least numbers that sequences of m have."""


@fact
def counted_by_length(m: Move, j: Value, a: Value, b: Value, n: Value) -> None:
    """The same for row j, a part of some length."""


@fact
def row_number(j: Value) -> None:
    """j is a part of some length, and so is not negative."""


@fact
def counted_from_second(m: Move, a: Value, n: Value) -> None:
    """Arrays have a rows after the first one, n in all: the least numbers that sequences of m have."""


@fact
def lists_computed_alike(m: Move, xs: Args, ys: Args) -> None:
    """The text computes the values of two lists alike, two by two."""


def _pairs(c: Clock, d: Clock, v: Value, w: Value) -> Rules:
    yield when(goes_on_alike(c, v, d, w)).then(computed_alike(followed(c, d), v, w))
    yield when(step_after_alike(c, v, w)).then(computed_alike(and_last(c), v, w))
    yield when(step_before_alike(c, v, w)).then(computed_alike(and_first(c), v, w))


def _loops(c: Clock, d: Clock, e: Clock, m: Move, p: Clock) -> Rules:
    """The loop of all steps."""
    one = const_at(p, "int64:1")
    yield when(m.is_(followed(c, d)), e.is_(joint(m)), within(c, p)).then(
        within(e, p), steps(e).equals(steps(c) + steps(d))
    )
    yield when(m.is_(followed(c, d)), e.is_(joint(m)), runs_all(c), runs_all(d)).then(runs_all(e))
    for beside in (and_last, and_first):
        yield when(m.is_(beside(c)), e.is_(joint(m)), within(c, p)).then(within(e, p), steps(e).equals(steps(c) + one))
        yield when(m.is_(beside(c)), e.is_(joint(m)), runs_all(c)).then(runs_all(e))


def _modes(c: Clock, d: Clock, e: Clock, m: Move, name: Text) -> Rules:
    yield when(m.is_(followed(c, d)), e.is_(joint(m)), may_rewrite(name, c), may_rewrite(name, d)).then(
        may_rewrite(name, e)
    )
    for beside in (and_last, and_first):
        yield when(m.is_(beside(c)), e.is_(joint(m)), may_rewrite(name, c)).then(may_rewrite(name, e))


def _types(m: Move, k: Int, t: Text, v: Value, w: Value, z: Value) -> Rules:
    yield when(z.is_(both(m, v, w)), t.is_(dtype(v)), t.is_(dtype(w))).then(dtype(z).gets(t))
    yield when(z.is_(both(m, v, w)), k.is_(ndim(v)), k.is_(ndim(w))).then(ndim(z).gets(k))
    yield when(z.is_(both(m, v, w)), forward(v), forward(w)).then(forward(z))


def _operators(
    m: Move, op: Op, q: Args, r: Args, t: Text, v: Value, w: Value, x: Value, xs: Args, y: Value, ys: Args, z: Value
) -> Rules:
    """Operators of values that the text computes alike: of forms that laws found, each would pair with each."""
    yield when(computed_alike(m, v, w), xs.is_(args())).then(lists_computed_alike(m, xs, xs))
    yield when(computed_alike(m, v, w), xs.is_(args(v, r)), ys.is_(args(w, q)), lists_computed_alike(m, r, q)).then(
        lists_computed_alike(m, xs, ys)
    )
    yield when(z.is_(both(m, op(xs), op(ys))), lists_computed_alike(m, xs, ys)).then(z.equals(op(both_args(m, xs, ys))))
    swapped = computed_alike(m, v, y), computed_alike(m, x, w), commutative(op, t), of_dtype(v, t), of_dtype(x, t)
    yield when(z.is_(both(m, op(args(v, args(x))), op(args(w, args(y))))), *swapped).then(
        z.equals(op(args(both(m, v, y), args(both(m, x, w)))))
    )
    yield when(xs.is_(both_args(m, args(v, r), args(w, q)))).then(xs.equals(args(both(m, v, w), both_args(m, r, q))))
    yield when(xs.is_(both_args(m, args(), args()))).then(xs.equals(args()))


def _states(j: Int, m: Move, q: State, r: State, s: State, t: State, v: Value, w: Value, x: Value) -> Rules:
    """States with equal updates are united: if a loop is its own first part, they would be continued without end."""
    yield when(q.is_(continued(m, s, w)), becomes(s, v)).then(becomes(q, both(m, v, w)))
    yield when(q.is_(continued(m, s, w)), becomes(q, v), becomes(r, v)).then(q.equals(r))
    yield when(q.is_(continued(m, s, w)), r.is_(continued(m, t, x)), passed_on(s, t, j)).then(passed_on(q, r, j))


def _products(c: Clock, d: Clock, g: Int, k: Int, m: Move, op: Op, W: Value, x: Value, y: Value) -> Rules:
    """A value that several matrices multiply in a loop is multiplied by them in a longer loop, too."""
    for way in (followed(c, d), and_last(c), and_first(c)):
        yield when(numbered_beside(c, x, W, op, g, k), computed_alike(m, x, y), m.is_(way)).then(
            numbered_beside(joint(m), both(m, x, y), W, op, g, k)
        )


def _two_loops(
    c: Clock, d: Clock, i: Value, j: Int, k: Int, m: Move, n: Value, r: State, s: State, S: Value, v: Value, w: Value,
    X: Value, x: Value, z: Value,
) -> Rules:  # fmt: skip
    """The steps of c, then those of d."""
    loop = joint(m)
    yield when(z.is_(both(m, hold(c, x), hold(d, x))), m.is_(followed(c, d))).then(z.equals(hold(loop, x)))
    handed_on = (
        z.is_(both(m, delay(c, i, s, 1), delay(d, as_row(S[-1]), r, 1))), m.is_(followed(c, d)), S.is_(stack(c, v)),
        becomes(s, v), becomes(r, w),
    )  # fmt: skip
    yield when(*handed_on, some_steps(c)).then(z.equals(delay(loop, i, continued(m, s, w), 1)))
    yield when(*handed_on).then(z.equals(delay(loop, ops.given(i, steps(c)), continued(m, s, w), 1)))
    several = (
        z.is_(both(m, delay(c, i, s, k), delay(d, S[-j:][:j], r, k))), m.is_(followed(c, d)), S.is_(stack(c, v)),
        becomes(s, v), becomes(r, w), at_least(j, k),
    )  # fmt: skip
    yield when(*several).then(z.equals(delay(loop, i, continued(m, s, w), k)))  # the program checks that S has j rows
    for first, rest in ((X[:k], X[k:]), (X[:-k], X[-k:]), (X[:n], X[n:])):
        side_by_side = z.is_(both(m, seq(c, first), seq(d, rest))), m.is_(followed(c, d))
        yield when(*side_by_side).then(z.equals(seq(loop, X)), steps(loop).equals(X.shape[0]))
        yield when(*side_by_side, before(c, first), before(d, rest)).then(before(loop, X))


def _one_step_more(c: Clock, m: Move, X: Value, x: Value, z: Value) -> Rules:
    """The row that the step beside the loop reads may be missing, which is an error: then `given` raises it."""
    loop = joint(m)
    for beside, row, rest in ((and_last, X[-1], X[:-1]), (and_first, X[0], X[1:])):
        there = ops.given(X, X.shape[0])
        yield when(z.is_(both(m, hold(c, x), x)), m.is_(beside(c))).then(z.equals(hold(loop, x)))
        yield when(z.is_(both(m, seq(c, rest), row)), m.is_(beside(c))).then(
            z.equals(seq(loop, there)), steps(loop).equals(there.shape[0])
        )
        yield when(z.is_(both(m, seq(c, rest), row)), m.is_(beside(c)), before(c, rest)).then(before(loop, there))


def _step_after(c: Clock, i: Value, m: Move, s: State, S: Value, v: Value, y: Value, z: Value) -> Rules:
    """The step after the loop starts from the state's last value, S[-1]; its own update y is in the result alone."""
    handed_on = (
        z.is_(both(m, delay(c, i, s, 1), S[-1])), m.is_(and_last(c)), S.is_(stack(c, v)), becomes(s, v),
        computed_alike(m, v, y),
    )  # fmt: skip
    yield when(*handed_on, some_steps(c)).then(z.equals(delay(joint(m), i, continued(m, s, y), 1)))
    yield when(*handed_on).then(z.equals(delay(joint(m), ops.given(i, steps(c)), continued(m, s, y), 1)))


def _step_before(c: Clock, d: Text, e: Value, m: Move, s: State, t: Text, x: Value, y: Value, z: Value) -> Rules:
    """The state before the first step has the dtype and the shape of those after it, as loops need and steps do not."""
    started = z.is_(both(m, delay(c, as_row(y), s, 1), x)), m.is_(and_first(c)), of_dtype(x, d), of_dtype(y, d)
    state = delay(joint(m), as_row(x), continued(m, s, y), 1)
    yield when(*started, ndim(x).is_(0), ndim(y).is_(0)).then(z.equals(state))
    yield when(*started, static_shape(x, t), static_shape(y, t)).then(z.equals(state))
    yield when(*started, like(x, y, e)).then(z.equals(state))


def _shorter_sequences(
    a: Value, b: Value, c: Clock, d: Clock, h: Value, j: Value, k: Int, m: Move, n: Value, p: Value, q: Value,
    r: Value, X: Value, x: Value, Y: Value, y: Value, Z: Value, z: Value,
) -> Rules:  # fmt: skip
    """Several sequences are cut to the length of the shortest, in each part for itself."""
    fewer, fewer_after = ops.minimum(a, x), ops.minimum(b, y)
    part_of_length = j.is_(ops.floor_divide(Z.shape[0], h)), positive(h)  # not negative: it counts from the first row
    yield when(*part_of_length).then(row_number(j))
    for row, least, known in ((k, counted, ()), (j, counted_by_length, (row_number(j),))):
        in_two = z.is_(both(m, seq(c, Y), seq(d, Z))), m.is_(followed(c, d)), Y.is_(X[:row][:a]), Z.is_(X[row:][:b])
        yield when(*in_two, *known, x.is_(X[:row].shape[0]), y.is_(X[row:].shape[0])).then(
            least(m, row, x, y, X.shape[0])
        )
        yield when(least(m, row, a, b, n), least(m, row, x, y, q), p.is_(fewer), r.is_(fewer_after)).then(
            least(m, row, p, r, ops.minimum(n, q))
        )
        whole = *in_two, a.is_(steps(c)), b.is_(steps(d)), least(m, row, a, b, n)
        yield when(*whole).then(z.equals(seq(joint(m), X[:n])), steps(joint(m)).equals(n))
        yield when(*whole, before(c, Y), before(d, Z)).then(before(joint(m), X[:n]))
    there = ops.given(X, X.shape[0])
    after = z.is_(both(m, seq(c, Y), X[0])), m.is_(and_first(c)), Y.is_(X[1:][:a])
    yield when(*after, x.is_(X[1:].shape[0])).then(counted_from_second(m, x, there.shape[0]))
    yield when(counted_from_second(m, a, n), counted_from_second(m, x, q), p.is_(fewer)).then(
        counted_from_second(m, p, ops.minimum(n, q))
    )
    longer = *after, a.is_(steps(c)), counted_from_second(m, a, n)
    yield when(*longer).then(z.equals(seq(joint(m), there[:n])), steps(joint(m)).equals(n))
    yield when(*longer, before(c, Y)).then(before(joint(m), there[:n]))
