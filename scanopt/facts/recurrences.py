"""Facts about recurrences: how the update of a state depends on the state and on values known without it.

A recurrence is recognized by the cycle that its state lies on.  Its inputs from outside the cycle are sequences,
whatever else the loop computes, so a loop can be split.
"""

from __future__ import annotations

from scanopt.calculus.condition import Body, Rules, fact, hint, query, when
from scanopt.calculus.terms import (
    Args,
    Clock,
    Int,
    Op,
    State,
    Text,
    Value,
    args,
    away,
    const_at,
    delay,
    dtype,
    greatest,
    hold,
    least,
    ndim,
    numeric,
    ops,
    seq,
    stack,
    steps,
    tail,
)  # fmt: skip
from scanopt.facts.lists import before, held_constant
from scanopt.facts.loops import runs_all
from scanopt.facts.states import becomes

__all__ = [
    "accumulates", "apart", "changing", "cumulates", "cumulates_from_itself", "cycle", "depends", "entries",
    "first_rows", "folds", "folds_in_order", "kept", "leads", "near", "nearest", "outside", "recurrent", "regroups",
    "segments", "spine", "swaps", "takes_part", "to_know",
]  # fmt: skip


@fact
def cycle(s: State, k: Text) -> None:
    """The state s lies on the cycle k of the program (given)."""


@fact
def outside(k: Text, v: Value) -> None:
    """v is an argument of the cycle k and not part of it (given)."""


@fact
def spine(s: State, v: Value, *, h: Value, low: Value, m: Value, op: Op, x: Value, y: Value) -> Rules:
    """v is the update of s, or an argument on the way to it by operators whose other arguments do not depend on s."""
    yield when(becomes(s, v)).then(spine(s, v))
    yield when(spine(s, v), v.is_(op(x, y)), apart(s, x)).then(spine(s, y))
    yield when(spine(s, v), v.is_(op(x, y)), apart(s, y)).then(spine(s, x))
    yield when(spine(s, v), v.is_(x + y), takes_part(s, x), takes_part(s, y)).then(spine(s, x), spine(s, y))
    yield when(spine(s, v), v.is_(ops.where(m, x, y)), apart(s, m)).then(spine(s, x), spine(s, y))
    yield when(spine(s, v), v.is_(ops.clip(x, low, h)), apart(s, low), apart(s, h)).then(spine(s, x))
    yield when(spine(s, v), v.is_(ops.negative(x))).then(spine(s, x))
    yield when(spine(s, v), v.is_(ops.invert(x))).then(spine(s, x))
    yield when(spine(s, v), v.is_(x - y), takes_part(s, x), takes_part(s, y)).then(spine(s, x), spine(s, y))


@hint
def takes_part(s: State, v: Value, *, c: Clock, i: Value, k: Int, m: Value, x: Value, y: Value) -> Rules:
    """v is an earlier value of s, or made of one by arithmetic: in a sum of two such values the order matters."""
    yield when(v.is_(delay(c, i, s, k))).then(takes_part(s, v))
    for made in (x + y, x - y, x * y, x / y, ops.where(m, x, y)):
        yield when(v.is_(made), takes_part(s, x)).then(takes_part(s, v))
        yield when(v.is_(made), takes_part(s, y)).then(takes_part(s, v))
    yield when(v.is_(-x), takes_part(s, x)).then(takes_part(s, v))


_FAR = 100
"""The distance (`away`) from the state of a value to which no operators on the state's spine lead."""


@hint
def on_the_way(v: Value, *, c: Clock, d: Text, i: Value, k: Int, op: Op, s: State, x: Value, y: Value) -> Rules:
    """v is on the spine of a state: `away` says how far from it; that of what no step makes is below zero."""
    yield when(leads(v, y, x)).then(on_the_way(v), away(v).gets(_FAR), away(y).gets(_FAR))
    yield when(held_constant(v)).then(away(v).gets(-2))
    yield when(v.is_(delay(c, i, s, k))).then(away(v).gets(0))
    yield when(leads(v, y, x), v.is_(op(y, x)), regroups(op, d), k.is_(away(y))).then(away(v).gets(k + 1))


@query
def nearest(v: Value, y: Value, *, j: Int, k: Int) -> Body:
    """y depends on the state whose spine v is on, and v is no nearer to it by another way.

    There is a shorter way where numbers undo one another: to move them would make new forms without end, as s + v is
    (s + 3) + (v - 3), where s is (s + 3) - 3.
    """
    return k.is_(away(y)), k >= 0, j.is_(away(v)), j >= least(k + 1, _FAR)


@query
def changing(y: Value, *, k: Int) -> Body:
    """y, on the spine of a state, is not known to be a constant."""
    return k.is_(away(y)), k >= -1


@query
def depends(y: Value, *, k: Int) -> Body:
    """y, on the spine of a state, is not known to be without it."""
    return k.is_(away(y)), k >= 0


@fact
def near(s: State, x: Value, *, h: Value, low: Value, m: Value, op: Op, v: Value, y: Value) -> Rules:
    """x is an argument of an operator on the spine of s."""
    yield when(spine(s, v), v.is_(op(x, y))).then(near(s, x), near(s, y))
    yield when(spine(s, v), v.is_(ops.where(m, x, y))).then(near(s, m), near(s, x), near(s, y))
    yield when(spine(s, v), v.is_(ops.clip(x, low, h))).then(near(s, low), near(s, h))


@fact
def apart(s: State, v: Value, *, c: Clock, k: Text, op: Op, x: Value, X: Value, y: Value) -> Rules:
    """v, an argument on the spine of s, does not depend on s.

    Its numbers stay with it: they come to it from other factors, and would leave it again without end.
    """
    yield when(near(s, v), v.is_(hold(c, x))).then(apart(s, v), away(v).gets(-1), numeric(v).gets(2))
    yield when(near(s, v), v.is_(seq(c, X)), before(c, X)).then(apart(s, v), away(v).gets(-1), numeric(v).gets(2))
    yield when(near(s, v), cycle(s, k), outside(k, v)).then(apart(s, v))
    yield when(near(s, v), v.is_(op(x, y)), apart(s, x), apart(s, y)).then(apart(s, v))


@fact
def leads(v: Value, y: Value, x: Value, *, op: Op, s: State) -> Rules:
    """v, on the spine of a state, is an operator of y, further down the spine, and of x, which does not depend on
    it."""
    yield when(spine(s, v), v.is_(op(y, x)), apart(s, x)).then(leads(v, y, x))
    yield when(spine(s, v), v.is_(op(x, y)), apart(s, x)).then(leads(v, y, x))


@fact
def kept(c: Clock, s: State, *, k: Int, v: Value, V: Value) -> Rules:
    """The loop c keeps rows of the update of s."""
    yield when(becomes(s, v), V.is_(stack(c, v))).then(kept(c, s))
    yield when(becomes(s, v), V.is_(tail(c, v, k))).then(kept(c, s))


@fact
def entries(c: Clock, x: Value, X: Value, *, n: Value, p: Clock, s: State, y: Value) -> Rules:
    """x, an argument of a recurrence of c, is the row of X at every step, and X does not depend on the recurrence."""
    yield when(apart(s, x), x.is_(seq(c, X)), before(c, X)).then(entries(c, x, X))
    yield when(apart(s, x), x.is_(hold(c, y)), runs_all(c)).then(entries(c, x, ops.repeat_rows(y, steps(c))))
    yield when(apart(s, x), runs_all(c), kept(c, s)).then(entries(c, x, stack(c, x)))
    yield when(entries(c, x, X), X.is_(ops.repeat_rows(y, n))).then(before(c, X))
    counted = ops.arange(const_at(p, "int64:0"), steps(c), const_at(p, "int64:1"), dtype="int64")
    yield when(X.is_(counted)).then(before(c, X), dtype(X).gets("int64"), ndim(X).gets(1))


@fact
def recurrent(op: Op) -> None:
    """op computes rows for all steps from rows for all steps (given)."""


@fact
def first_rows(
    c: Clock, xs: Args, *, i: Value, op: Op, r: Args, v: Value, x: Value, X: Value, Y: Value, y: Value
) -> Rules:
    """The list, or one that it is a tail of, begins with rows of an init; all of it is known before c."""
    yield when(v.is_(seq(c, Y)), Y.is_(op(xs)), recurrent(op), runs_all(c)).then(to_know(c, xs))
    yield when(to_know(c, xs), xs.is_(args(x, r))).then(to_know(c, r))
    yield when(to_know(c, xs), xs.is_(args())).then(first_rows(c, xs))
    yield when(to_know(c, xs), xs.is_(args(x, r)), before(c, x), first_rows(c, r)).then(first_rows(c, xs))
    yield when(Y.is_(op(i, r)), recurrent(op), first_rows(c, r)).then(before(c, Y))
    yield when(entries(c, x, X), x.is_(hold(c, y))).then(before(c, y))


@hint
def to_know(c: Clock, xs: Args) -> None:
    """The list, or one that it is a tail of, has the arguments of a closed form of c."""


@fact
def accumulates(op: Op, d: Text, g: Op) -> None:
    """g computes all steps of op at once, bit for bit, for states of dtype d (given, tried on NumPy)."""


@fact
def cumulates(h: Op, g: Op, d: Text) -> None:
    """g(X) is X[:1] with h(X[:1], X[1:]) behind it, for rows of dtype d (given)."""


@fact
def cumulates_from_itself(h: Op, g: Op) -> None:
    """g(X) is h(X[:1], X), as the first row changes itself no more (given for extremes)."""


@fact
def folds(op: Op, d: Text, g: Op) -> None:
    """g computes the last step of op directly, for states of dtype d, as far as the licence allows (given)."""


@fact
def folds_in_order(op: Op, d: Text, g: Op) -> None:
    """g computes the last step of op directly, bit for bit, for states of dtype d (given)."""


@fact
def segments(op: Op, d: Text, g: Op) -> None:
    """g computes all steps of op at once, bit for bit, for states of dtype d that restart (given, tried on NumPy)."""


@fact
def swaps(op: Op, d: Text) -> None:
    """op(x, y) = op(y, x) for results of dtype d, as far as the licence allows (trait)."""


@fact
def regroups(op: Op, d: Text, *, m: Int, n: Int, v: Value, x: Value, y: Value) -> Rules:
    """op(op(x, y), z) = op(x, op(y, z)), of dtype d as x, y, z are, as far as the licence allows (trait)."""
    yield when(regroups(op, d), v.is_(op(x, y)), d.is_(dtype(x)), d.is_(dtype(y))).then(dtype(v).gets(d))
    yield when(regroups(op, d), v.is_(op(x, y)), n.is_(ndim(x)), m.is_(ndim(y))).then(ndim(v).gets(greatest(n, m)))
