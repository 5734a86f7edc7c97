"""Which laws can fire in a program, found from the text of all rules.

A law can fire only if the tables that it reads may have rows: operators and facts of the program, and what rules that
can fire derive from these.  The operators that such rules make bring facts of their own, so that further rules may
fire.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scanopt.analysis.initial_facts import operators_of
from scanopt.analysis.recurrences import closed_operators
from scanopt.array.op import Op
from scanopt.calculus.condition import FACTS
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.law import Law
from scanopt.egraph.introduced import made_by_rules
from scanopt.egraph.loading import Rows, rows_of_operator
from scanopt.egraph.relation_files import quoted
from scanopt.egraph.rulebook import some_rules
from scanopt.egraph.strata import row

__all__ = ["Reach"]


class Reach:
    """Finds in which programs some laws can fire.  more: further rules."""

    def __init__(self, laws: Sequence[Law], more: str = "") -> None:
        self._rules, self._rulesets = some_rules(laws, more)
        made = [*(op for x in laws for op in x.operators), *made_by_rules(len(FACTS))]
        self._makes = {op: rows_of_operator(op) for op in dict.fromkeys(made)}

    def can_fire(self, g: Encoded) -> list[bool]:
        """Whether each law can fire: whether all tables that it reads may get rows in a program."""
        found = self._reachable(Rows(g).there() | _lines(FACTS), operators_of(g))
        able = {rule.ruleset for rule in self._rules.fireable(found)}
        return [x in able for x in self._rulesets]

    def _reachable(self, there: set[str], ops: Sequence[Op]) -> set[str]:
        """All tables that may get rows."""
        known = dict.fromkeys(ops)
        while True:
            found = self._rules.reachable({"vmap", *there, *(x for op in known for x in rows_of_operator(op))})
            new = [op for op, rows in self._makes.items() if op not in known and not rows.isdisjoint(found)]
            if not new:
                return found
            known |= dict.fromkeys([*new, *closed_operators([*known, *new])])


def _lines(names: Iterable[str]) -> set[str]:
    """The rows with facts of these names in the table from which a program is loaded."""
    return {row("line", quoted(f"g_{name}")) for name in names}
