"""Which laws a program can come to at all, by the operators that it is made of: the others cost nothing.

A law needs the operators that its left side names, and introduces those of its right side.  Operators that facts and
re-timing make are always there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from scanopt.array.op import Op
from scanopt.calculus.facts import ALL
from scanopt.calculus.law import Law
from scanopt.calculus.machinery import machinery_text

__all__ = ["Reach"]

_PRIM = re.compile(r'\(prim "(\w+)')
_BY_FACTS = {"accumulate", "fold", "fold_in_order", "segmented", "tensordot", "setitem"}
"""Operators that given facts name."""


@lru_cache(maxsize=2)
def _made_by_rules(facts: int) -> frozenset[str]:
    """Names of the operators in the conclusions of rules.  facts: how many facts there are."""
    rules = [line for fact in ALL.values() for line in fact.rules.splitlines()]
    heads = "\n".join(line.partition("=>")[2] for line in rules)
    return frozenset([*_PRIM.findall(heads), *_PRIM.findall(machinery_text()), *_BY_FACTS])


class Reach:
    """What some laws need and introduce."""

    def __init__(self, laws: Sequence[Law]) -> None:
        self._laws = tuple(laws)
        self._needs = [frozenset(Op.parse(key).name for key in x.needed_operators()) for x in laws]
        self._makes = [tuple(Op.parse(key) for key in sorted(x.operators())) for x in laws]
        self.at = lru_cache(maxsize=64)(self._at)

    def _at(self, names: frozenset[str]) -> tuple[tuple[Op, ...], tuple[Law, ...]]:
        """For a program of operators of these names: operators that laws may introduce, and the laws that may match."""
        known, found, left = set(names | _made_by_rules(len(ALL))), dict[Op, None](), set(range(len(self._laws)))
        while ready := {n for n in left if self._needs[n] <= known}:
            left -= ready
            for n in sorted(ready):
                found |= dict.fromkeys(self._makes[n])
                known |= {op.name for op in self._makes[n]}
        return tuple(found), tuple(x for n, x in enumerate(self._laws) if n not in left)
