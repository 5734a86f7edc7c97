"""The operators that laws and rules introduce into a program as they fire, and the facts that are given of them then.

Few of the operators that laws might introduce come into any one program, and giving the facts of all of them would take
longer than optimizing a small program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import field
from functools import cached_property, lru_cache
from itertools import chain

from scanopt.analysis.initial_facts import Given, GivenFacts, related_operators
from scanopt.array.op import Op
from scanopt.calculus.condition import FACTS
from scanopt.calculus.law import Law
from scanopt.calculus.term import operators_in
from scanopt.egraph.kept_rules import kept
from scanopt.egraph.loading import rows_of_operator
from scanopt.egraph.operators_in_use import name_of
from scanopt.egraph.rulebook import Same
from scanopt.egraph.support_rules import machinery_rules
from scanopt.records import dataclass

__all__ = ["Introduced", "made_by_rules"]


@dataclass
class Introduced:
    """The operators of a program, also those that laws have introduced, and the facts that were given about them.

    given: all facts that can be given.  laws: all laws that may introduce operators.  known: the operators, and those
    that facts about them name.  said: the facts that were given.
    """

    given: GivenFacts
    laws: Sequence[Law]
    operators: dict[Op, None] = field(default_factory=dict[Op, None])
    known: dict[Op, None] = field(default_factory=dict[Op, None])
    said: set[Given] = field(default_factory=set[Given])

    def first(self) -> list[Given]:
        """The facts of the program, and of its own operators."""
        return [*self.given.of_program(), *self._new(self.given.operators)]

    def apart(self) -> Introduced:
        """A copy, for a trial in which other laws fire."""
        return Introduced(self.given, self.laws, {**self.operators}, {**self.known}, {*self.said})

    def after(self, there: Set[str], in_use: Callable[[], Set[str]] | None = None) -> list[Given]:
        """The facts to add once the tables `there` have rows, or may get some from rules of facts.

        in_use: asks for the names of the operators in use (`operators_in_use`); without it, as before the first round,
        the facts of all operators that may come are added.
        """
        awaited = [(op, name) for op, rows, name in self._may_come if op not in self.operators and rows <= there]
        names = in_use() if awaited and in_use is not None else {name for _, name in awaited}
        brought = [op for op, name in awaited if name in names]
        return self._new(brought) if brought else []

    @cached_property
    def _may_come(self) -> Sequence[tuple[Op, frozenset[str], str]]:
        return _rows_made(Same(self.laws))

    def _new(self, brought: Iterable[Op]) -> list[Given]:
        """The facts that can be given once these operators are there, and were not given before."""
        self.operators |= dict.fromkeys(brought)
        new = [op for op in related_operators(self.operators) if op not in self.known]
        self.known |= dict.fromkeys(new)
        found: list[Given] = []
        for x in self.given.of_operators(self.known, new):
            before = len(self.said)
            self.said.add(x)  # once: to look a fact up takes longer than most else here
            if len(self.said) > before:
                found.append(x)
        return found


@lru_cache(maxsize=8)
def _rows_made(laws: Same) -> Sequence[tuple[Op, frozenset[str], str]]:
    """The operators that laws and rules of facts may introduce, with the rows that look them up, and their names."""
    some = [x for x in laws.objects if isinstance(x, Law)]
    return kept("operators that may come", [*some, *FACTS.values()], lambda: _rows_of_made(some))


def _rows_of_made(laws: Iterable[Law]) -> Sequence[tuple[Op, frozenset[str], str]]:
    made = dict.fromkeys((*(op for x in laws for op in x.operators), *made_by_rules(len(FACTS))))
    return [(op, rows_of_operator(op), name_of(op)) for op in made if isinstance(op, Op)]


@lru_cache(maxsize=2)
def made_by_rules(facts: int) -> tuple[Op, ...]:
    """The operators that rules of facts, types and clocks may introduce.  facts: the number of facts."""
    return kept("operators of rules", FACTS.values(), _made_by_rules)


def _made_by_rules() -> tuple[Op, ...]:
    rules = [*chain.from_iterable(x.rules for x in FACTS.values()), *chain.from_iterable(machinery_rules().values())]
    made = (o for rule in rules for atom in rule.head for x in atom.args for o in operators_in(x))
    return tuple(dict.fromkeys(op for op, fixed in made if fixed and isinstance(op, Op)))
