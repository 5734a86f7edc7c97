"""The meanings of facts about operators: equations of their functions of entries, closed forms of recurrences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement, product
from typing import Any

from scanopt.array.op import Op
from scanopt.calculus.terms import Term, Text
from scanopt.lab.proving.arrays import SymbolicArray, filled, joined
from scanopt.lab.proving.entries import cast, lifted, symbol, z3
from scanopt.lab.proving.facts import MEANINGS, Meaning, fact, scalar_of
from scanopt.lab.proving.model import Model
from scanopt.lab.proving.operators import applied, pointwise, unrolled
from scanopt.lab.proving.unknown import UnknownFunction, of_entries

__all__ = ["closed", "dtype_of", "for_all"]


def dtype_of(m: Model, d: Text) -> str:
    """The dtype that a text stands for."""
    if d.head not in m.texts:
        m.texts[d.head] = m.choose(f"dtype {d.head}", m.dtypes)
    found: str = m.texts[d.head]
    return found


def for_all(m: Model, dtypes: Sequence[str], holds: Callable[..., Any]) -> None:
    """Assume that `holds` is true for all entries of these dtypes."""
    xs = [symbol(f"any {i}", d) for i, d in enumerate(dtypes)]
    m.assume(z3().ForAll(xs, holds(*xs)))


def closed(m: Model, op: Term, *dtypes: str) -> Any:
    """The function of entries of an operator, whose result is assumed to have the dtype of its first argument."""
    made = m.unknown(op)
    of_entries(m, [made])
    m.assume(made.dtypes.setdefault(dtypes, dtypes[0]) == dtypes[0])
    return made.function(dtypes)


def _trait(count: int, holds: Callable[..., Any], arguments: int = 2) -> Meaning:
    """The meaning of a trait: that `holds` is true of an operator f for all entries of a dtype."""

    def mean(m: Model, op: Term, d: Text) -> None:
        dtype = dtype_of(m, d)
        f = closed(m, op, *[dtype] * arguments)
        for_all(m, [dtype] * count, lambda *xs: holds(f, *xs))

    return mean


MEANINGS |= {
    "commutative": _trait(2, lambda f, x, y: f(x, y) == f(y, x)),
    "regroups": _trait(3, lambda f, x, y, z: f(f(x, y), z) == f(x, f(y, z))),
    "idempotent": _trait(1, lambda f, x: f(x, x) == x),
    "absorbs": _trait(2, lambda f, x, y: f(f(x, y), y) == f(x, y)),
    "projection": _trait(1, lambda f, x: f(f(x)) == f(x), 1),
    "involution": _trait(1, lambda f, x: f(f(x)) == x, 1),
}


@fact
def holds_of_equals(m: Model, op: Term) -> None:
    """A check of a number and itself returns it."""
    m.operators[op.head] = lambda x, y: x


@fact
def by_element(m: Model, op: Term) -> None:
    of_entries(m, [m.unknown(op)])


@fact
def neutral(m: Model, op: Term, e: Term, d: Text) -> None:
    dtype, (entry, own) = dtype_of(m, d), scalar_of(m, e)
    for of in {own, dtype}:
        f = closed(m, op, dtype, of)
        there = lifted(cast(entry, own, of), of)
        for_all(m, [dtype], lambda x, f=f, there=there: f(x, there) == x)


@fact
def left_neutral(m: Model, op: Term, e: Term, d: Text) -> None:
    dtype, (entry, own) = dtype_of(m, d), scalar_of(m, e)
    made = m.unknown(op)
    of_entries(m, [made])
    for of in {own, dtype}:
        m.assume(made.dtypes.setdefault((of, dtype), dtype) == dtype)
        f = made.function((of, dtype))
        there = lifted(cast(entry, own, of), of)
        for_all(m, [dtype], lambda x, f=f, there=there: f(there, x) == x)


@fact
def absorbing(m: Model, op: Term, z: Term) -> None:
    entry, dtype = scalar_of(m, z)
    f = closed(m, op, dtype, dtype)
    for_all(m, [dtype], lambda x: z3().And(f(x, entry) == entry, f(entry, x) == entry))


@fact
def cancels(m: Model, op: Term, d: Text, k: Text) -> None:
    dtype = dtype_of(m, d)
    f, entry = closed(m, op, dtype, dtype), symbol(k.head, dtype)
    m.texts[k.head] = filled(dtype, (), [entry])
    for_all(m, [dtype], lambda x: f(x, x) == entry)


@fact
def swaps(m: Model, op: Term, d: Text) -> None:
    dtype, made = dtype_of(m, d), m.unknown(op)
    of_entries(m, [made])
    for a, b in combinations_with_replacement(m.dtypes, 2):
        m.assume((made.dtype((a, b)) == dtype) == (made.dtype((b, a)) == dtype))
        if made.dtype((a, b)) == dtype:
            f, g = made.function((a, b)), made.function((b, a))
            for_all(m, [a, b], lambda x, y, f=f, g=g: f(x, y) == g(y, x))


@fact
def undoes(m: Model, g: Term, op: Term) -> None:
    one, other = m.unknown(op), m.unknown(g)
    of_entries(m, [one, other])
    for a, b in product(m.dtypes, repeat=2):
        result = m.promoted([a, b])  # the dtype that these operators compute in
        m.assume(one.dtype((a, b)) == other.dtype((a, b)) == result)
        if result == a and m.kind(a) in ("int", "int8"):
            there, back = one.function((a, b)), other.function((a, b))
            for_all(m, [a, b], lambda x, y, f=there, h=back: h(f(x, y), y) == x)


@fact
def casts_beside(m: Model, op: Term, h: Term, d: Text, e: Text) -> None:
    dtype, other = dtype_of(m, d), dtype_of(m, e)
    of_one = UnknownFunction(m, f"{op.head} of one dtype")
    of_entries(m, [of_one])

    def cast_to(x: SymbolicArray) -> SymbolicArray:
        return filled(dtype, x.shape, [cast(entry, x.dtype, dtype) for entry in x.entries])

    m.operators[h.head] = cast_to
    m.operators[op.head] = lambda *xs: of_one(*(cast_to(x) if x.dtype == other else x for x in xs))


def _closed_form(
    kinds: str, last: bool, step: Callable[[Model, UnknownFunction], Callable[..., SymbolicArray]]
) -> Meaning:
    """The meaning of a closed form: g computes all steps of op, or the last one, for states of dtype d."""

    def mean(m: Model, op: Term, d: Text, g: Term) -> None:
        made, dtype = m.unknown(op), dtype_of(m, d)
        of_entries(m, [made])
        made.exact = True
        other = UnknownFunction(m, g.head)

        def run(init: SymbolicArray, *xs: SymbolicArray) -> SymbolicArray:
            if init.dtype != dtype:
                return other(init, *xs)
            return unrolled(step(m, made), kinds, (init, *xs), dtype, last)

        m.operators[g.head] = run

    return mean


def _itself(m: Model, op: UnknownFunction) -> Callable[..., SymbolicArray]:
    return op


def _restarting(m: Model, op: UnknownFunction) -> Callable[..., SymbolicArray]:
    return lambda s, mark, y, x: pointwise(m, "where", mark, y, op(s, x))


def _going_on(m: Model, h: Term, g: Term, dtypes: Sequence[str]) -> UnknownFunction:
    """Make h a recurrence that starts from a given row, if it is not known yet as one, and g the one that starts from
    the first row; return the step of h."""
    step = UnknownFunction(m, f"step of {h.head}", exact=True, dtypes={(d, d): d for d in dtypes})
    of_entries(m, [step])

    def run(init: SymbolicArray, x: SymbolicArray) -> SymbolicArray:
        return unrolled(step, "is", (init, x), init.dtype, last=False)

    def whole(x: SymbolicArray) -> SymbolicArray:
        rows = [x.row(t) for t in range(x.shape[0])]
        first, rest = (joined(x.dtype, some, x.shape[1:]) for some in (rows[:1], rows[1:]))
        after = running(first, rest) if rows else rest
        return joined(x.dtype, [*rows[:1], *(after.row(t) for t in range(after.shape[0]))], x.shape[1:])

    running = m.operators.setdefault(h.head, run)
    m.operators[g.head] = whole
    return step


@fact
def recurrent(m: Model, op: Term) -> None:
    m.unknown(op)


@fact
def cumulates(m: Model, h: Term, g: Term, d: Text) -> None:
    _going_on(m, h, g, [dtype_of(m, d)])


@fact
def cumulates_from_itself(m: Model, h: Term, g: Term) -> None:
    step = _going_on(m, h, g, m.dtypes)
    for d in m.dtypes:
        f = step.function((d, d))
        for_all(m, [d], lambda x, f=f: f(x, x) == x)


@fact
def runs_along(m: Model, op: Term, g: Term) -> None:
    reduce = Op.make(m.choose(f"{op}", ("sum", "prod", "max", "min")), axis=(0,), keepdims=False)

    def along(x: SymbolicArray) -> SymbolicArray:
        rows = [x.row(t) for t in range(x.shape[0])]
        first = (joined(x.dtype, rows[: t + 1], x.shape[1:]) for t in range(len(rows)))
        return joined(x.dtype, [applied(m, reduce, [some]) for some in first], x.shape[1:])

    m.operators[op.head] = lambda *xs: applied(m, reduce, xs)
    m.operators[g.head] = along


MEANINGS |= {
    "accumulates": _closed_form("is", False, _itself),
    "folds": _closed_form("is", True, _itself),
    "folds_in_order": _closed_form("is", True, _itself),
    "segments": _closed_form("isss", False, _restarting),
}
