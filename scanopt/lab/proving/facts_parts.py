"""What facts about parts and arrangements of arrays mean: those that a program is told of some operators, one each."""

from __future__ import annotations

from functools import cache
from typing import Any

from scanopt.array.op import Op
from scanopt.calculus.given_indexing import arrangements, parts
from scanopt.calculus.terms import Int, Term
from scanopt.lab.proving.arrays import Array
from scanopt.lab.proving.facts import MEANINGS
from scanopt.lab.proving.model import Model, Operator
from scanopt.lab.proving.operators import applied

__all__: list[str] = []

_ROWS: tuple[Any, ...] = (
    0, 1, -1, -2, ("slice", None, None, -1), ("slice", 1, None, None), ("slice", None, -1, None),
    ("slice", None, 2, None), ("slice", -2, None, None), ("slice", -3, -1, None), ("slice", -3, None, 2),
    ("slice", 1, 3, None), ("slice", None, 3, 2),
)  # fmt: skip
_ARRANGING = (
    Op.make("transpose", axes=(1, 0)), Op.make("transpose", axes=(0, 1)), Op.make("expand_dims", axis=(0,)),
    Op.make("squeeze", axis=(0,)), Op.make("expand_dims", axis=(1,)),
)  # fmt: skip


@cache
def _given(fact: str) -> tuple[tuple[Any, ...], ...]:
    """What a program with these operators is told by a fact."""
    rows = [Op.make("getitem", index=(i,)) for i in _ROWS]
    found = [*parts(rows), *arrangements(_ARRANGING)]
    return tuple(args for name, args in found if name == fact)


def _operator(m: Model, op: Op) -> Operator:
    def run(*xs: Array) -> Array:
        return applied(m, op, xs)

    return run


def _meaning(fact: str) -> None:
    def mean(m: Model, *terms: Term) -> None:
        chosen = m.choose(fact, _given(fact))
        for x, what in zip(terms, chosen, strict=True):
            if isinstance(x, Int):
                m.set_number(x, what)
            else:
                m.operators[x.head] = _operator(m, what)

    MEANINGS[fact] = mean


for _fact in ("part_of_part", "undone", "reads_last", "reads_first", "takes_first"):
    _meaning(_fact)
