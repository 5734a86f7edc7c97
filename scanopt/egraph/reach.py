"""Which operators laws may introduce into a program: those of all laws that can fire, given the operators it has.

A law needs the operators that its left side names, and introduces those of its right side.  Operators that facts and
re-timing make are always available.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from scanopt.analysis.initial_facts import operators_of
from scanopt.array.op import Op
from scanopt.calculus.condition import FACTS
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.law import Law
from scanopt.egraph.support_rules import machinery_text

__all__ = ["Reach"]

_OPERATOR = re.compile(r'\(prim(?:_with)? "(\w+)')
_BY_FACTS = {"accumulate", "fold", "fold_in_order", "segmented", "tensordot", "setitem"}
"""Operators that given facts name."""


@lru_cache(maxsize=2)
def _made_by_rules(facts: int) -> frozenset[str]:
    """Names of the operators in the conclusions of rules.  facts: how many facts there are."""
    heads = " ".join(atom.stated() for fact in FACTS.values() for rule in fact.rules for atom in rule.head)
    return frozenset([*_OPERATOR.findall(heads), *_OPERATOR.findall(machinery_text()), *_BY_FACTS])


class Reach:
    """What some laws need and introduce."""

    def __init__(self, laws: Sequence[Law]) -> None:
        self._needs = [frozenset(op.name for op in x.needed_operators()) for x in laws]
        self._makes = [tuple(x.operators()) for x in laws]
        self.introduced = lru_cache(maxsize=64)(self._introduced)

    def can_fire(self, g: Encoded) -> list[bool]:
        """Of each law whether a program may come to have all operators that it needs."""
        known = {op.name for op in operators_of(g, self.introduced)} | _made_by_rules(len(FACTS))
        return [needs <= known for needs in self._needs]

    def _introduced(self, names: frozenset[str]) -> tuple[Op, ...]:
        """The operators that laws may introduce into a program of operators of these names."""
        known, found, left = set(names | _made_by_rules(len(FACTS))), dict[Op, None](), set(range(len(self._needs)))
        while ready := {n for n in left if self._needs[n] <= known}:
            left -= ready
            for n in sorted(ready):
                found |= dict.fromkeys(self._makes[n])
                known |= {op.name for op in self._makes[n]}
        return tuple(found)
