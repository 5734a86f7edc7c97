"""The meanings of facts about units, constants of set bits, and logic and comparisons as other operators."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

from scanopt.analysis.recurrences import BITS, PICKS
from scanopt.array.op import Op
from scanopt.calculus.terms import Term, Text
from scanopt.lab.proving.arrays import SymbolicArray, filled
from scanopt.lab.proving.entries import cast, lifted, symbol
from scanopt.lab.proving.facts import MEANINGS, Meaning, fact, say
from scanopt.lab.proving.facts_operators import closed, dtype_of, for_all
from scanopt.lab.proving.model import Model
from scanopt.lab.proving.operators import applied

__all__: list[str] = []


def _constant(m: Model, k: Text, e: Term, entry: SymbolicArray) -> None:
    """Make a constant known both by its key and as a value."""
    m.texts[k.head] = entry
    say(m, e, lambda at: entry)


@fact
def minus_one(m: Model, d: Text, k: Text, e: Term) -> None:
    dtype = dtype_of(m, d)
    if m.theory == "free":
        raise NotImplementedError("a constant of a dtype that is not known")
    _constant(m, k, e, filled(dtype, (), [lifted(True if dtype == "bool" else -1, dtype)]))


@fact
def unit(m: Model, op: Term, d: Text, k: Text, e: Term) -> None:
    dtype = dtype_of(m, d)
    f, entry = closed(m, op, dtype, dtype), symbol(k.head, dtype)
    _constant(m, k, e, filled(dtype, (), [entry]))
    for_all(m, [dtype], lambda x: f(x, entry) == x)
    _promotes(m, op)


def _promotes(m: Model, op: Term) -> None:
    """Assume that an operator computes in the dtype that its arguments are promoted to."""
    made = m.unknown(op)
    for a, b in product(m.dtypes, repeat=2):
        p = m.promoted([a, b])
        m.assume(made.dtypes.setdefault((a, b), p) == made.dtypes.setdefault((p, p), p) == p)
        if (a, b) != (p, p):
            f, g = made.function((a, b)), made.function((p, p))
            for_all(m, [a, b], lambda x, y, f=f, g=g, ab=(a, b), p=p: f(x, y) == g(*_cast((x, y), ab, p)))


def _cast(xs: Sequence[Any], dtypes: Sequence[str], new: str) -> list[Any]:
    return [lifted(cast(x, d, new), new) for x, d in zip(xs, dtypes, strict=True)]


def _apply(m: Model, op: Op, *xs: SymbolicArray) -> SymbolicArray:
    return applied(m, op, xs)


def _as_another(pairs: tuple[tuple[str, str], ...]) -> Meaning:
    """Let two operators be those of a pair of the table: each pair is tried."""

    def mean(m: Model, op: Term, g: Term) -> None:
        for term, name in zip((op, g), m.choose(f"{op} and {g}", pairs), strict=True):
            m.operators[term.head] = partial(_apply, m, Op.make(name))

    return mean


MEANINGS |= {
    "on_bools": _as_another(tuple(BITS.items())),
    "picks": _as_another(tuple((op, same) for op, (same, _) in PICKS.items())),
    "picks_other": _as_another(tuple((op, other) for op, (_, other) in PICKS.items())),
}


@fact
def negates(m: Model, e: Term, d: Text) -> None:
    dtype = dtype_of(m, d)
    if m.theory == "free":
        raise NotImplementedError("a constant of a dtype that is not known")
    m.assume(dtype != "bool")
    say(m, e, lambda at: filled(dtype, (), [lifted(-1, dtype)]))
