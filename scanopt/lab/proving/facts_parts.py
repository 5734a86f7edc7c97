"""The meanings of facts about parts and arrangements of arrays, tried with operators that have these facts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import Any

from scanopt.analysis.conversions import conversions
from scanopt.analysis.indexing import arrangements, computed_parts, entries_taken, in_two, of_two, parts, whole_rows
from scanopt.analysis.initial_facts import along_an_axis
from scanopt.analysis.reductions import facts_of_reductions
from scanopt.analysis.signs import facts_of_signs
from scanopt.analysis.whole_arrays import facts_of_whole_arrays
from scanopt.array.op import Op
from scanopt.array.operators.indexing import FULL
from scanopt.calculus.terms import Int, Term, ops
from scanopt.lab.proving.arrays import SymbolicArray
from scanopt.lab.proving.choices import NoProgramError
from scanopt.lab.proving.facts import MEANINGS, fact, say
from scanopt.lab.proving.model import Model, Operator
from scanopt.lab.proving.operators import applied

__all__ = ["computed", "operator"]

_ROWS: tuple[Any, ...] = (
    0, 1, -1, -2, ("slice", None, None, -1), ("slice", 1, None, None), ("slice", None, -1, None),
    ("slice", None, 2, None), ("slice", -2, None, None), ("slice", -3, -1, None), ("slice", -3, None, 2),
    ("slice", 1, 3, None), ("slice", None, 3, 2),
)  # fmt: skip
_COMPUTED: tuple[Any, ...] = (
    "in", ("slice", None, "in", None), ("slice", "in", None, None), ("slice", 1, "in", None), ("slice", "in", None, 2),
)  # fmt: skip
_ARRANGING = (
    Op.make("transpose", axes=(1, 0)), Op.make("transpose", axes=(0, 1)), Op.make("expand_dims", axis=(0,)),
    Op.make("squeeze", axis=(0,)), Op.make("expand_dims", axis=(1,)),
)  # fmt: skip
_SHAPING = (
    Op.make("reshape", shape=(None,)), Op.make("reshape", shape=(None, None)), Op.make("reshape", shape=(2, None)),
    Op.make("reshape", shape=(-1,)), Op.make("expand_dims", axis=(0,)), Op.make("expand_dims", axis=(1,)),
    Op.make("reshape", shape=(1,)), Op.make("reshape", shape=(1, -1)),
)  # fmt: skip

_IN_TWO = [
    Op.make("getitem", index=(*before, ("slice", *bounds, None)))
    for before in ((), (FULL,)) for bounds in ((None, 1), (1, None), (None, -2), (-2, None))
]  # fmt: skip
_PARTS_OF_ONE = [
    Op.make("getitem", index=(*before, ("slice", *bounds, None)))
    for before in ((), (FULL,)) for bounds in ((None, 1), (1, 2), (-1, None))
]  # fmt: skip
_SET = [
    Op.make("setitem", index=(*before, entry), mode=mode)
    for before in ((), (FULL,)) for mode in ("set", "inc")
    for entry in (FULL, ("slice", 1, None, None), ("slice", None, None, -1))
]  # fmt: skip
_SIGNED = [Op.make(name, axis=(k,), keepdims=False) for name in ("max", "min") for k in (0, 1)]
_SIGNED += [Op.make(name, axis=k) for name in ("argmax", "argmin") for k in (0, 1)]
_REDUCING = [Op.make(name, axis=(k,), keepdims=False) for name in ("max", "sum", "mean") for k in (0, 1)]
_CUMULATIVE = [Op.make(name, axis=k) for name in ("cumsum", "cumprod") for k in (0, 1)]
_ALONG = [Op.make(name, axis=(k,), keepdims=False) for name in ("max", "min", "sum", "prod", "mean") for k in (0, 1)]
_KEEPING = [Op.make(op.name, **{**op.options, "keepdims": True}) for op in _ALONG]

_MOST = 80
"""The most tuples of arguments that are tried for one fact."""


@cache
def _given(fact: str) -> tuple[tuple[Any, ...], ...]:
    """The tuples of arguments for which a fact holds in programs that have these operators."""
    rows = [Op.make("getitem", index=(i,)) for i in _ROWS]
    every = [Op.make("getitem", index=(i,)) for i in (FULL, ("slice", 0, None, 1))]
    several = [
        Op.make("getitem", index=i)
        for i in product(
            (-1, "in", FULL, ("slice", "in", None, None)), (0, ("slice", 1, None, None), ("slice", None, "in", None))
        )
    ]
    taking = [
        *rows,
        *every,
        Op.make("getitem", index=("in",)),
        Op.make("getitem", index=(("slice", None, "in", None),)),
    ]
    joints = [row for i, k in product(_ROWS, (1, 2)) for row in of_two(i, k)]
    found = [
        *parts(rows),
        *joints,
        *whole_rows(taking),
        *computed_parts(taking),
        *in_two([*several, *taking]),
        *arrangements(_ARRANGING),
        *conversions(_SHAPING),
        *facts_of_whole_arrays([*_IN_TWO, *_REDUCING, *_ARRANGING, *_SET]),
        *(("linear", (op,)) for op in _REDUCING if op.name == "sum"),
        *(told for op in _ALONG for told in along_an_axis(op)),
        *(signed for op in _SIGNED for signed in facts_of_signs(op, ())),
        *facts_of_reductions([*_CUMULATIVE, *_ARRANGING, *_ALONG, *_KEEPING]),
        *entries_taken([*rows, *(Op.make("getitem", index=(FULL, i)) for i in (0, 1, -1)), *_PARTS_OF_ONE]),
    ]
    of_fact = [args for name, args in found if name == fact]
    return tuple(of_fact[:: 1 + len(of_fact) // _MOST])


def computed(index: Iterable[Any]) -> int:
    """How many bounds of an index are arguments."""
    return sum(map(_bounds_computed, index))


def _bounds_computed(entry: Any) -> int:
    return entry.count("in") if isinstance(entry, tuple) else int(entry == "in")


def operator(m: Model, op: Op) -> Operator:
    """An operator of the table, as the prover runs it."""

    def run(*xs: SymbolicArray) -> SymbolicArray:
        return applied(m, op, xs)

    return run


def _meaning(fact: str) -> None:
    def mean(m: Model, *terms: Term) -> None:
        chosen = m.choose(fact, _given(fact))
        of_stacks = fact in ("takes_entry", "takes_part_of_one")  # their arguments are no bounds
        if not of_stacks and isinstance(chosen[0], Op) and chosen[0].name == "getitem":
            m.computed = computed(chosen[0].options["index"])
        elif fact in ("linear", "sets", "sign_outside", "sign_lost", "combines"):
            m.computed = 0
        elif fact == "order_alone":
            m.computed = chosen[0].options["shape"].count(None)
        for x, what in zip(terms, chosen, strict=True):
            if isinstance(x, Int):
                m.set_number(x, what)
            else:
                m.operators[x.head] = operator(m, what)

    MEANINGS[fact] = mean


for _fact in (
    "part_of_part", "undone", "reads_last", "reads_first", "takes_first", "reads_last_of", "takes_all", "takes_one",
    "in_first", "past_first", "in_last", "past_last", "in_two", "rows_before", "rows_first", "takes_a_row",
    "takes_row", "takes_rows", "reads_rows", "takes_entry", "takes_part_of_one", "order_alone", "makes_axes",
    "adds_to_all", "cut_in_two", "rows_in_two", "extreme_of_one", "sum_of_one_row", "linear", "sets", "sets_all",
    "sign_outside", "sign_lost", "combines", "turns",
    "keeps_axis", "reduces_turned", "transposes",
):  # fmt: skip
    _meaning(_fact)


@fact
def cast_back(m: Model, g: Term, h: Term, d: Term) -> None:
    """Casts there and back keep the numbers: in the model both return the array itself."""
    m.operators[g.head] = m.operators[h.head] = lambda *xs: xs[0]


@fact
def count_of_rows(m: Model, A: Term, k: Int | int) -> None:
    m.assume(m.value(A, {}).shape[:1] == (m.number(k),))


@fact
def row_if_any(m: Model, A: Term, X: Term) -> None:
    shape = m.value(X, {}).shape
    m.assume(bool(shape) and m.value(A, {}).shape == (min(shape[0], 1), *shape[1:]))


@fact
def shaped_as(m: Model, v: Term, x: Term) -> None:
    m.assume(m.value(v, {}).shape == m.value(x, {}).shape)


@fact
def entry(m: Model, xs: Term, k: Int | int, x: Term) -> None:
    values, place = m.elements(xs), m.number(k)
    if not -1 <= place < len(values):
        raise NoProgramError(f"no value {place} of {len(values)}")
    say(m, x, values[place])


@fact
def one_of_two(m: Model, S: Term, j: Int | int, k: Int | int, x: Term, y: Term) -> None:
    if m.number(k) not in (0, 1, -1, -2):
        raise NoProgramError(f"no value {m.number(k)} of two")
    for v in (x, y):
        m.types[v.head] = m.choose(f"dtype of {v}", m.dtypes), m.choose(f"shape of {v}", ((), (1,), (2,), (2, 1)))
    both = (x, y) if m.number(k) in (0, -2) else (y, x)
    say(m, S, ops.stack(*both, axis=m.number(j)))  # type: ignore[arg-type]
