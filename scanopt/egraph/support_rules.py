"""Rules beside facts and laws: types of new terms, expansions of batched operators, constants of loops."""

from __future__ import annotations

from collections.abc import Callable

from scanopt.calculus.condition import Rule, Rules, fact, rules_of, rules_text, when
from scanopt.calculus.terms import (
    Args,
    Clock,
    Int,
    Move,
    Op,
    State,
    Text,
    Value,
    applied,
    args,
    as_row,
    const,
    const_at,
    delay,
    dtype,
    held_as,
    hold,
    int_value,
    lifted,
    ndim,
    on,
    ops,
    recent,
    root,
    seq,
    slot,
    stack,
    subsume,
    tail,
    vmap,
)  # fmt: skip
from scanopt.egraph.consecutive import consecutive
from scanopt.egraph.retiming import keeps_shapes, retiming
from scanopt.facts.expansions import (
    arranges,
    expands_one,
    expands_three,
    expands_two,
    result_of,
    step_of_one,
    step_of_three,
    step_of_two,
)  # fmt: skip
from scanopt.facts.loops import no_steps, within
from scanopt.facts.values import integer

__all__ = ["machinery_rules", "machinery_text"]


@fact
def list_one(xs: Args, x: Value) -> None:
    """The list has one value, x (found in all lists)."""


@fact
def list_two(xs: Args, x: Value, y: Value) -> None:
    """The list has two values, x and y (found in all lists)."""


@fact
def list_three(xs: Args, x: Value, y: Value, z: Value) -> None:
    """The list has three values, x, y and z (found in all lists)."""


@fact
def expanding(xs: Args, r: Int, v: Value, g: Op) -> None:
    """v is g, a batched operator, applied to the list, and r is its expansion."""


@fact
def expanded(g: Op, xs: Args) -> None:
    """g applied to the list is known as operators of the table."""


@fact
def needless(c: Clock, X: Value) -> None:
    """c holds an integer that equals the rows of X, so X is not read.

    If c takes no step, the shapes of its results follow from the integers that it holds, and X has no row to read them
    from.
    """


def _looked_up_at_once(c: Clock, op: Op, xs: Args, r: Args, v: Value, x: Value, y: Value, z: Value) -> Rules:
    """Note operators of one to three arguments in functions, where queries look them up (see `Term.pattern`).

    A value that is one of its own two arguments (zeros = zeros * 2) is not noted: this tells nothing about the value,
    and laws on products of numbers would make new forms without end.

    held_as: one of the values that v holds, always the same: where a value is an operator of itself (x = x[:n]), all of
    them would make new forms without end.
    """
    yield when(xs.is_(args(x))).then(list_one(xs, x))
    yield when(xs.is_(args(x, r)), list_one(r, y)).then(list_two(xs, x, y))
    yield when(xs.is_(args(x, r)), list_two(r, y, z)).then(list_three(xs, x, y, z))
    yield when(v.is_(op(xs)), list_one(xs, x)).then(applied(op, x).gets(v))
    yield when(v.is_(op(xs)), list_two(xs, x, y), v.differs_from(x), v.differs_from(y)).then(applied(op, x, y).gets(v))
    yield when(v.is_(op(xs)), list_three(xs, x, y, z)).then(applied(op, x, y, z).gets(v))
    yield when(v.is_(hold(c, x))).then(held_as(c, v).gets(x))


def _types(
    c: Clock, e: Clock, m: Move, k: Int, n: Int, d: Text, v: Value, w: Value, x: Value, y: Value, V: Value, X: Value
) -> Rules:
    """A class with two types stops egglog: the cheapest alarm for an unsound law."""
    yield when(v.is_(seq(c, X)), d.is_(dtype(v))).then(dtype(X).gets(d))
    yield when(v.is_(seq(c, X)), d.is_(dtype(X))).then(dtype(v).gets(d))
    yield when(v.is_(seq(c, X)), n.is_(ndim(v))).then(ndim(X).gets(n + 1))
    yield when(v.is_(seq(c, X)), n.is_(ndim(X))).then(ndim(v).gets(n - 1))
    yield when(v.is_(hold(c, x)), d.is_(dtype(v))).then(dtype(x).gets(d))
    yield when(v.is_(hold(c, x)), d.is_(dtype(x))).then(dtype(v).gets(d))
    yield when(v.is_(hold(c, x)), n.is_(ndim(v))).then(ndim(x).gets(n))
    yield when(v.is_(hold(c, x)), n.is_(ndim(x))).then(ndim(v).gets(n))
    yield when(v.is_(ops.given(x, y)), d.is_(dtype(v))).then(dtype(x).gets(d))
    yield when(v.is_(ops.given(x, y)), n.is_(ndim(v))).then(ndim(x).gets(n))
    yield when(V.is_(as_row(x)), d.is_(dtype(x))).then(dtype(V).gets(d))
    yield when(V.is_(as_row(x)), n.is_(ndim(x))).then(ndim(V).gets(n + 1))
    for trace in (stack(c, v), tail(c, v, k), recent(c, v, x)):
        yield when(V.is_(trace), d.is_(dtype(v))).then(dtype(V).gets(d))
        yield when(V.is_(trace), n.is_(ndim(v))).then(ndim(V).gets(n + 1))
    yield when(w.is_(on(m, v)), d.is_(dtype(v))).then(dtype(w).gets(d))
    yield when(w.is_(on(m, v)), keeps_shapes(m), n.is_(ndim(v))).then(ndim(w).gets(n))
    yield when(w.is_(on(lifted(c, e), v)), n.is_(ndim(v))).then(ndim(w).gets(n + 1))


def _constants(c: Clock, p: Clock, k: Int, key: Text, v: Value, x: Value) -> Rules:
    yield when(v.is_(hold(c, x)), k.is_(int_value(x))).then(int_value(v).gets(k))
    yield when(v.is_(const_at(c, key)), c.is_(root())).then(v.equals(const(key)))
    yield when(v.is_(const_at(c, key)), within(c, p)).then(v.equals(hold(c, const_at(p, key))))


def _idle(c: Clock, k: Int, s: State, i: Value, v: Value, x: Value, X: Value) -> Rules:
    """In a loop that takes no step all values are equal, even 0 and 1: laws must not reach what it reads."""
    for read in (hold(c, x), seq(c, X), delay(c, i, s, k)):
        yield when(no_steps(c), v.is_(read)).then(subsume(read))


def _needless(c: Clock, n: Int, v: Value, x: Value, X: Value) -> Rules:
    yield when(v.is_(hold(c, x)), v.is_(seq(c, X)), integer(v), n.is_(ndim(v)), n <= 1).then(needless(c, X))


def _expansions(
    op: Op, g: Op, f: Text, xs: Args, r: Int, k: Int, m: Int, n: Int, v: Value, x: Value, y: Value, z: Value
) -> Rules:
    """Batched operators are expanded into operators of the table: v is g of the list, and expansion r."""
    batch = (g.is_(vmap(op, f)), v.is_(g(xs)))
    first, second, third = (slot(xs, r, i) for i in range(3))
    yield when(*batch, list_one(xs, x), n.is_(ndim(x)), expands_one(op, f, n, r)).then(
        expanding(xs, r, v, g), first.gets(x)
    )
    yield when(*batch, list_two(xs, x, y), n.is_(ndim(x)), m.is_(ndim(y)), expands_two(op, f, n, m, r)).then(
        expanding(xs, r, v, g), first.gets(x), second.gets(y)
    )
    lengths = (n.is_(ndim(x)), m.is_(ndim(y)), k.is_(ndim(z)))
    yield when(*batch, list_three(xs, x, y, z), *lengths, expands_three(op, f, n, m, k, r)).then(
        expanding(xs, r, v, g), first.gets(x), second.gets(y), third.gets(z)
    )


def _steps_of_expansions(
    op: Op, g: Op, xs: Args, r: Int, s: Int, a: Int, b: Int, e: Int, n: Int, d: Text, v: Value, x: Value, y: Value,
    z: Value,
) -> Rules:  # fmt: skip
    first, second, third = (slot(xs, r, i) for i in (a, b, e))
    now = expanding(xs, r, v, g)
    yield when(now, step_of_one(r, s, op, a), x.is_(first)).then(slot(xs, r, s).gets(op(x)))
    yield when(now, step_of_two(r, s, op, a, b), x.is_(first), y.is_(second)).then(slot(xs, r, s).gets(op(x, y)))
    yield when(now, step_of_three(r, s, op, a, b, e), x.is_(first), y.is_(second), z.is_(third)).then(
        slot(xs, r, s).gets(op(x, y, z))
    )
    yield when(now, arranges(r, s, a, n), x.is_(first), d.is_(dtype(x)), y.is_(slot(xs, r, s))).then(
        dtype(y).gets(d), ndim(y).gets(n)
    )
    yield when(now, result_of(r, s), y.is_(slot(xs, r, s))).then(v.equals(y), expanded(g, xs))


_GROUPS: dict[str, tuple[Callable[..., Rules], ...]] = {
    "flat": (_looked_up_at_once,),
    "typing": (_types, _constants),
    "idle": (_idle,),
    "needless": (_needless,),
    "expanding": (_expansions, _steps_of_expansions),
}


def machinery_rules() -> dict[str, list[Rule]]:
    """Typing, re-timing, joining and expanding rules, by their rulesets."""
    groups = {name: [rule for f in facts for rule in rules_of(f)] for name, facts in _GROUPS.items()}
    return {**groups, "on": retiming(), "both": consecutive()}


def machinery_text() -> str:
    """The same rules as text for egglog."""
    return "\n".join(rules_text(name, rules) for name, rules in machinery_rules().items())
