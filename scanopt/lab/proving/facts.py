"""The meanings, in the model, of the facts that laws ask for: each of them restricts choices, or is assumed.

A fact that binds a variable says what it is: `entries(c, x, X)` makes x the rows of X.  A fact about an operator holds
for all entries.  Facts that only steer (`STEERING`) say nothing about values, and nothing is assumed for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanopt.calculus.terms import Clock, Int, Op, State, Term, Text, Value, hold, seq, stack, tail
from scanopt.lab.fact_mutation import CAUSAL
from scanopt.lab.proving.arrays import SymbolicArray, equal, filled
from scanopt.lab.proving.entries import cast, lifted, same
from scanopt.lab.proving.forms import is_variable
from scanopt.lab.proving.loops import At
from scanopt.lab.proving.model import Model
from scanopt.lab.proving.unknown import of_entries

__all__ = ["MEANINGS", "STEERING", "Meaning", "assume", "fact", "say", "scalar_of"]

STEERING = CAUSAL | {
    "within", "passes_on", "keeps_shape", "kept_as", "kept_times", "sums_until", "lies_on", "constants",
    "held_constant", "held_constants", "tells_no_length", "varying_product", "no_number", "least_multiple", "differ",
    "nearest", "changing", "depends", "takes_part", "written_bounds",
}  # fmt: skip
"""Facts for which nothing is assumed: they say what is known before what, where terms lie, or what pays."""

_OF_ENTRIES = {
    "commutative", "swaps", "regroups", "idempotent", "absorbs", "projection", "involution", "neutral", "left_neutral",
    "absorbing", "by_element", "cancels", "undoes", "accumulates", "folds", "folds_in_order", "segments",
}  # fmt: skip
"""Facts about operators that compute each entry from entries alone."""

Meaning = Callable[..., None]
MEANINGS: dict[str, Meaning] = {}

_FIRST = (
    "runs_all", "liftable", "liftable_until", "exact_steps", "one_step", "no_steps", "some_steps", "row_of_step",
    "same_steps", "ends_alike", "held", "sliced", "traced_all", "becomes", "entries", "mirrors", "scalar", "vector",
    "float_vector", "matrix", "has_axes", "has_so_many_axes", "more_axes",
)  # fmt: skip
"""Facts that say how loops run and what lists hold, in this order: those about what is computed there come later."""


def fact(f: Meaning) -> Meaning:
    """Register a function as the meaning of the fact of its name."""
    MEANINGS[f.__name__] = f
    return f


def assume(m: Model, conditions: Sequence[Any]) -> None:
    """Assume all conditions of a law.  Raises NotImplementedError for one that has no meaning here."""
    known = [c for c in conditions if c.fact not in STEERING]
    for c in known:
        if c.fact in _OF_ENTRIES:
            of_entries(m, [m.unknown(x) for x in c.args if isinstance(x, Op)])
    for c in sorted(known, key=lambda c: _FIRST.index(c.fact) if c.fact in _FIRST else len(_FIRST)):
        if c.fact not in MEANINGS:
            raise NotImplementedError(f"the condition {c.fact}(..)")
        MEANINGS[c.fact](m, *c.args)


# Loops


@fact
def runs_all(m: Model, c: Clock) -> None:
    m.loops.whole.add(c)


@fact
def some_steps(m: Model, c: Clock) -> None:
    m.assume(m.loops.steps(c, {}) > 0)


@fact
def no_steps(m: Model, c: Clock) -> None:
    m.assume(m.loops.steps(c, {}) == 0)


@fact
def one_step(m: Model, c: Clock) -> None:
    m.assume(m.loops.executed(c, {}) == 1)


@fact
def ends_at_once(m: Model, c: Clock) -> None:
    m.assume(m.loops.executed(c, {}) == min(m.loops.steps(c, {}), 1))


@fact
def exact_steps(m: Model, c: Clock, n: Int | int) -> None:
    m.loops.whole.add(c)
    m.assume(m.loops.steps(c, {}) == m.number(n))


@fact
def row_of_step(m: Model, c: Clock, k: Int | int, t: Int | int) -> None:
    m.loops.whole.add(c)
    n = m.loops.steps(c, {})
    m.assume(n in (2, 3))
    row = m.number(k)
    m.assume(-n <= row < n and m.number(t) == row % n)


@fact
def same_steps(m: Model, c: Clock, d: Clock) -> None:
    m.assume(m.loops.steps(c, {}) == m.loops.steps(d, {}))


@fact
def ends_alike(m: Model, c: Clock, d: Clock) -> None:
    same_steps(m, c, d)
    m.assume(m.loops.executed(c, {}) == m.loops.executed(d, {}))


@fact
def liftable(m: Model, c: Clock, d: Clock) -> None:
    m.loops.whole |= {c, d}
    m.loops.alike.add(d)


@fact
def liftable_until(m: Model, c: Clock, d: Clock) -> None:
    m.loops.whole.add(c)
    m.loops.alike.add(d)


# Integers


@fact
def at_least(m: Model, a: Int | int, b: Int | int) -> None:
    m.assume(m.number(a) >= m.number(b))


@fact
def less(m: Model, a: Int | int, b: Int | int) -> None:
    m.assume(m.number(a) < m.number(b))


# Types


def _axes(*counts: int) -> Meaning:
    return lambda m, v: m.assume(len(m.type_of(v)[1]) in counts)


@fact
def has_so_many_axes(m: Model, v: Value, n: Int | int) -> None:
    m.assume(len(m.type_of(v)[1]) == m.number(n) >= 1)


def _kind(*kinds: str) -> Meaning:
    return lambda m, v: m.assume(m.kind(m.type_of(v)[0]) in kinds)


MEANINGS |= {
    "scalar": _axes(0), "vector": _axes(1), "matrix": _axes(2), "has_axes": _axes(1, 2),
    "boolean": _kind("bool"), "integer": _kind("int", "int8"),
    "int64": _kind("int"), "within_int64": _kind("int", "int8"), "floating": _kind("float"), "float64": _kind("float"),
}  # fmt: skip


@fact
def float_vector(m: Model, v: Term) -> None:
    _axes(1)(m, v)
    _kind("float")(m, v)


@fact
def of_dtype(m: Model, v: Term, d: Text) -> None:
    dtype, _ = m.type_of(v)
    m.assume(m.texts.setdefault(d.head, dtype) == dtype)


@fact
def same_type(m: Model, v: Term, w: Term) -> None:
    (dtype, shape), (other, further) = m.type_of(v), m.type_of(w)
    m.assume(dtype == other and len(shape) == len(further))


@fact
def static_shape(m: Model, v: Term, shape: Text) -> None:
    m.texts[shape.head] = m.type_of(v)


# Values


def say(m: Model, x: Term, what: Term | Callable[[At], SymbolicArray]) -> None:
    """Define the value of a variable that has none yet."""
    if not is_variable(x) or x.head in m.values or x.head in m.types:
        raise NotImplementedError(f"a condition that says what {x} is")
    m.values[x.head] = what


def scalar_of(m: Model, x: Term) -> tuple[Any, str]:
    """The entry of a value without axes, outside of loops, and its dtype."""
    found = m.value(x, {})
    m.assume(found.shape == ())
    return lifted(found.entries[0], found.dtype), found.dtype


@fact
def is_true(m: Model, v: Term) -> None:
    entry, dtype = scalar_of(m, v)
    m.assume(dtype == "bool" and same(entry, True, "bool"))


@fact
def is_false(m: Model, v: Term) -> None:
    entry, dtype = scalar_of(m, v)
    m.assume(dtype == "bool" and same(entry, False, "bool"))


@fact
def like(m: Model, x: Term, y: Term, e: Term) -> None:
    value = m.value(e, {})
    m.assume(value.shape == ())
    entry, dtype = value.entries[0], value.dtype

    def full(at: At) -> SymbolicArray:
        shaped = m.value(y, at)
        own = dtype if e.head in m.types else shaped.dtype  # a zero without other facts may have any dtype
        return filled(own, shaped.shape, [cast(entry, dtype, own)] * shaped.data.size)

    say(m, x, full)


@fact
def rows(m: Model, x: Term, c: Clock) -> None:
    n = m.loops.steps(c, {})
    found = m.variable(x.head, {}, n) if is_variable(x) else m.value(x, {})
    m.assume(found.shape[:1] == (n,))


@fact
def same_entries(m: Model, c: Clock, x: Term, y: Term) -> None:
    n = m.loops.steps(c, {})
    one, other = (m.variable(v.head, {}, n) for v in (x, y))
    m.assume(one.dtype == other.dtype and one.shape == other.shape)
    for t in range(m.loops.executed(c, {})):
        m.assume(equal(one.row(t), other.row(t)))


@fact
def same_value(m: Model, c: Clock, x: Term, y: Term) -> None:
    one, other = m.value(x, {}), m.value(y, {})
    m.assume(one.dtype == other.dtype and len(one.shape) == len(other.shape))
    if m.loops.executed(c, {}):
        m.assume(equal(one, other))


MEANINGS |= dict.fromkeys(("same_length", "same_numbers", "same_sums"), say)


@fact
def equal_rows(m: Model, x: Term, y: Term) -> None:
    found, row = m.value(x, {}), m.value(y, {})
    m.assume(found.dtype == row.dtype and found.shape[1:] == row.shape and found.shape != ())
    for t in range(found.shape[0]):
        m.assume(equal(found.row(t), row))


@fact
def entries(m: Model, c: Clock, x: Term, rows: Term) -> None:
    say(m, x, seq(c, rows))  # type: ignore[arg-type]


@fact
def mirrors(m: Model, c: Clock, v: Term, w: Term) -> None:
    def backwards(at: At) -> SymbolicArray:
        t = at[c]
        n = m.loops.steps(c, m.loops.outside(c, at))
        return m.value(w, at if t is None else {**at, c: n - 1 - t})

    say(m, v, backwards)


# States


@fact
def becomes(m: Model, s: State, v: Term) -> None:
    m.updates[s.head] = v


def _alike(m: Model, s: State, r: State, c: Clock) -> None:
    """Let two states become the same unknown value at each step."""
    m.places.on["what they become"] = c
    m.updates[s.head] = m.updates[r.head] = Value("what they become")
    m.places.states[s.head] = m.places.states[r.head] = c


@fact
def become_alike(m: Model, s: State, r: State) -> None:
    _alike(m, s, r, Clock("c"))


@fact
def equal_in_time(m: Model, c: Clock, s: State, d: Clock, r: State) -> None:
    _alike(m, s, r, c)


# Lists of arguments


@fact
def held(m: Model, c: Clock, args: Term, outer: Term, flags: Text) -> None:
    m.lists[outer.head] = m.fresh_list(outer, m.choose(f"values in {args}", (1, 2, 3)))
    m.lists[args.head] = [hold(c, x) for x in m.lists[outer.head]]  # type: ignore[arg-type]
    m.texts[flags.head] = "0" * len(m.lists[outer.head])


def _flags(m: Model, args: Term, flags: Text) -> str:
    """For each value of a list "1" if it has rows, else "0"; at least one has."""
    options = ("1", "11", "10", "01", "101")
    found: str = m.texts.setdefault(flags.head, m.choose(f"values in {args} that have rows", options))
    return found


@fact
def sliced(m: Model, c: Clock, args: Term, outer: Term, flags: Text) -> None:
    chosen = _flags(m, args, flags)
    m.lists[outer.head] = m.fresh_list(outer, len(chosen))
    ways = {"1": seq, "0": hold}
    m.lists[args.head] = [ways[f](c, x) for f, x in zip(chosen, m.lists[outer.head], strict=True)]  # type: ignore[arg-type]


@fact
def traced_all(m: Model, c: Clock, k: Int | int, op: Term, args: Term, outer: Term, flags: Text) -> None:
    chosen, n = _flags(m, args, flags), m.number(k)
    m.assume(n >= 0)
    inside, outside = m.fresh_list(args, len(chosen)), m.fresh_list(outer, len(chosen))
    m.lists[args.head], m.lists[outer.head] = [], []
    for f, v, x in zip(chosen, inside, outside, strict=True):
        trace = stack(c, v) if n == 0 else tail(c, v, n)  # type: ignore[arg-type]
        m.lists[args.head].append(v if f == "1" else hold(c, x))  # type: ignore[arg-type]
        m.lists[outer.head].append(trace if f == "1" else x)
    m.unknown(op).exact = True


# Errors


@fact
def safe(m: Model, op: Term) -> None:
    m.unknown(op).fails = False


@fact
def fits(m: Model, v: Term) -> None:
    m.value(v, {})  # raises NoProgramError where shapes do not fit


@fact
def always(m: Model, v: Term) -> None:
    m.always = True


@fact
def total_(m: Model, v: Term) -> None:
    m.fragile[v.head] = False


MEANINGS["total"] = MEANINGS["silent"] = MEANINGS.pop("total_")


@fact
def hoistable(m: Model, c: Clock, op: Term, args: Term) -> None:
    if m.unknown(op).may_raise():
        m.assume(m.is_always() and m.loops.steps(c, {}) > 0)


@fact
def raises_alike(m: Model, c: Clock, op: Term, args: Term) -> None:
    if m.unknown(op).may_raise():
        m.assume(m.is_always() and m.loops.executed(c, {}) == m.loops.steps(c, {}))


@fact
def batchable(m: Model, c: Clock, op: Term, args: Term) -> None:
    m.unknown(op).exact = True


@fact
def guarded_by(m: Model, op: Term, g: Term) -> None:
    inner = m.unknown(op)

    def guarded(n: SymbolicArray, *xs: SymbolicArray) -> SymbolicArray:
        if n.entries[0] > 0:
            return inner(*xs)
        return m.quietly(lambda: inner(*xs))

    m.operators[g.head] = guarded
