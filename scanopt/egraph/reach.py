"""Which operators laws may introduce into a program, and which laws can fire in it, found from the text of all rules.

A law can fire only if the tables that it reads may have rows: operators and facts of the program, and what rules that
can fire derive from these.  The operators that such rules make bring facts of their own, so that further rules may
fire.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain

from scanopt.analysis.initial_facts import ALWAYS_ASSUMED, Told, operators_of
from scanopt.analysis.recurrences import closed_operators
from scanopt.array.op import Op
from scanopt.calculus.condition import FACTS
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.law import Law
from scanopt.calculus.term import operators_in
from scanopt.egraph.loading import Rows, rows_of_operator
from scanopt.egraph.relation_files import quoted
from scanopt.egraph.rulebook import some_rules
from scanopt.egraph.strata import row
from scanopt.egraph.support_rules import machinery_rules

__all__ = ["Reach"]


class Reach:
    """What some laws introduce, and in which programs they can fire.  more: further rules."""

    def __init__(self, laws: Sequence[Law], more: str = "") -> None:
        self._rules, self._rulesets = some_rules(laws, more)
        made = [*(op for x in laws for op in x.operators()), *_made_by_rules(len(FACTS))]
        self._makes = {op: rows_of_operator(op) for op in dict.fromkeys(made)}

    def introduced(self, rows: Rows, ops: Sequence[Op], names: frozenset[str], told: Told) -> list[Op]:
        """The operators that laws may introduce into a program.

        rows: of the program.  ops: its operators.  names: of its facts.  told: the names of those of operators.
        """
        there = rows.there() | _lines(ALWAYS_ASSUMED | names)
        return [op for op in self._closed(there, ops, told)[0] if op not in {*ops}]

    def can_fire(self, g: Encoded) -> list[bool]:
        """Whether each law can fire: whether a program may come to have all that it reads."""
        found = self._closed(Rows(g).there() | _lines(FACTS), operators_of(g), lambda op: frozenset())[1]
        able = {rule.ruleset for rule in self._rules.fireable(found)}
        return [x in able for x in self._rulesets]

    def _closed(self, there: set[str], ops: Sequence[Op], told: Told) -> tuple[dict[Op, None], set[str]]:
        """All operators that may appear, and all tables that may get rows."""
        known = dict.fromkeys(ops)
        while True:
            facts = frozenset[str]().union(*map(told, known))
            found = self._rules.reachable(
                {"vmap", *there, *_lines(facts), *(x for op in known for x in rows_of_operator(op))}
            )
            new = [op for op, rows in self._makes.items() if op not in known and not rows.isdisjoint(found)]
            if not new:
                return known, found
            known |= dict.fromkeys([*new, *closed_operators([*known, *new])])


def _lines(names: Iterable[str]) -> set[str]:
    """The rows of the table that a program is read from, of facts of these names."""
    return {row("line", quoted(f"g_{name}")) for name in names}


@lru_cache(maxsize=2)
def _made_by_rules(facts: int) -> tuple[Op, ...]:
    """The operators introduced by rules of facts, types and clocks.  facts: the number of facts."""
    rules = [*chain.from_iterable(x.rules for x in FACTS.values()), *chain.from_iterable(machinery_rules().values())]
    made = (o for rule in rules for atom in rule.head for x in atom.args for o in operators_in(x))
    return tuple(dict.fromkeys(op for op, fixed in made if fixed))
