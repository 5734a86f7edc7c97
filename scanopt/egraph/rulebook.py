"""The rules of the engine as one text, and which of them run in a program."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from functools import lru_cache

from scanopt.calculus.condition import FACTS, Fact, facts_text
from scanopt.calculus.declarations import DECLARATIONS, LISTED
from scanopt.calculus.ground import digest, with_named_operators
from scanopt.calculus.joins import with_types_compared
from scanopt.calculus.law import Law, standard_laws
from scanopt.egraph.engine_additions import LASTING
from scanopt.egraph.kept_rules import kept
from scanopt.egraph.loading import load_text
from scanopt.egraph.operators_in_use import IN_USE
from scanopt.egraph.provenance import notes_text
from scanopt.egraph.relation_files import quoted
from scanopt.egraph.strata import (
    Reached,
    Rules,
    RuleTables,
    made_by,
    one_by_one,
    read_by,
    row,
    rules_of,
    strata,
    tables_of,
)
from scanopt.egraph.support_rules import machinery_text

__all__ = [
    "ALL_FACTS",
    "ActiveRules",
    "Same",
    "facts_apart",
    "facts_asked",
    "own_laws",
    "rules_beside",
    "rules_text",
    "rulesets_of",
    "some_rules",
]

ALL_FACTS = "all_facts"
"""The ruleset of all facts, those added to a program among them."""


_FIRST = frozenset({"apply_any", *LISTED})
"""The tables that are filled first in a round of facts: there, all other rules look up what laws have made."""


class Same:
    """A key that compares objects by identity: there are many laws and facts, and their texts are long."""

    def __init__(self, objects: Iterable[object]) -> None:
        self.objects = tuple(objects)
        self._ids = tuple(map(id, self.objects))

    def __hash__(self) -> int:
        return hash(self._ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self._ids == other._ids


def rules_text(noted: bool = False) -> str:
    """Declarations, facts, support rules and the standard laws, for egglog: the same whichever laws run.

    noted: with rules that record where forms come from.
    """
    return _rules_text(Same(standard_laws()), Same(FACTS.values()), noted)


@lru_cache(maxsize=4)
def _rules_text(same: Same, facts: Same, noted: bool) -> str:
    laws = [x for x in same.objects if isinstance(x, Law)]
    known = [x for x in facts.objects if isinstance(x, Fact)]
    return kept("text, noted" if noted else "text", [*laws, *known], lambda: _text(laws, noted))


def _text(laws: Sequence[Law], noted: bool) -> str:
    rules = [_ruleset(x, f"law_{x.name}") for x in laws]
    notes = [notes_text(laws)] if noted else []
    text = with_types_compared("\n".join([facts_text(), load_text(), machinery_text(), IN_USE, *rules, *notes]))
    named = with_named_operators(text, "op")
    return one_by_one(one_by_one(f"{DECLARATIONS}\n{named}", "facts", ALL_FACTS), "load", "all_load")


def _ruleset(law: Law, name: str) -> str:
    """A law as a ruleset, so that it runs with others or without."""
    return f"(ruleset {name})\n{law.rule(name)}"


def facts_asked(laws: Sequence[Law]) -> frozenset[str]:
    """The names of the facts that laws have as conditions."""
    return _facts_asked(Same(laws))


@lru_cache(maxsize=8)
def _facts_asked(laws: Same) -> frozenset[str]:
    return frozenset(c.fact for x in laws.objects if isinstance(x, Law) for c in x.equation.when)


def own_laws(laws: Sequence[Law]) -> list[Law]:
    """The laws that are not standard ones."""
    standard = {id(x) for x in standard_laws()}
    return [x for x in laws if id(x) not in standard]


def rulesets_of(laws: Sequence[Law]) -> tuple[dict[str, str], str]:
    """The ruleset of each law by name, and the rules of the laws that are not standard."""
    own = own_laws(laws)
    names = {x.name: f"law_{x.name}" for x in laws} | {x.name: _own_ruleset(x) for x in own}
    return names, "\n".join(_ruleset(x, names[x.name]) for x in own)


def _own_ruleset(law: Law) -> str:
    """The ruleset of a law that is not standard, named by the name of the law and by what it says."""
    return f"{LASTING}{law.name}_{digest(law.rule(law.name))}"


def rules_beside(rules: str) -> str:
    """Further rules as they are added to the text of all rules: with named operators and checks of types, those among
    the facts in rulesets of their own.

    An engine that stays for the next program knows rules by this text: the same rule in another text would be refused.
    """
    return with_named_operators(facts_apart(with_types_compared(rules)), f"{LASTING}op")


_FACT_RULE = re.compile(r"^(\(rule .*) :ruleset facts\)$", re.MULTILINE)


def facts_apart(rules: str) -> str:
    """Move each rule of the ruleset `facts` to its own ruleset, named by the text of the rule.

    >>> print(facts_apart("(rule ((a)) ((b)) :ruleset facts)"))
    (ruleset facts_lasting_1f480d01f92ec9ed) (rule ((a)) ((b)) :ruleset facts_lasting_1f480d01f92ec9ed)
    """

    def apart(found: re.Match[str]) -> str:
        name = f"facts_{LASTING}{digest(found[1])}"
        return f"(ruleset {name}) {found[1]} :ruleset {name})"

    return _FACT_RULE.sub(apart, rules)


@lru_cache(maxsize=8)
def _among(text: str, more: str, laws: tuple[str, ...]) -> tuple[Rules, frozenset[str]]:
    """The rules of `text` and `more`, of laws only those with a ruleset in `laws`; and all tables."""
    tables = _tables(text) | {*tables_of(more)}
    chosen = {*laws}
    known = [x for x in _parsed(text) if x.ruleset in chosen or x.ruleset.startswith(("facts", "load"))]
    return Rules([*known, *rules_of(more, tables)]), tables


@lru_cache(maxsize=4)
def _parsed(text: str) -> Sequence[RuleTables]:
    return kept(f"rules {digest(text)}", [], lambda: rules_of(text))


@lru_cache(maxsize=4)
def _tables(text: str) -> frozenset[str]:
    return frozenset(tables_of(text))


def some_rules(laws: Sequence[Law], more: str) -> tuple[Rules, tuple[str, ...]]:
    """The standard rules and those of `more`, of laws only `laws`; and the rulesets of these laws."""
    rulesets, own = rulesets_of(laws)
    names = tuple(rulesets.values())
    return _among(rules_text(), f"{own}\n{more}", names)[0], names


class ActiveRules:
    """The rules that run in a program: laws and facts that can fire in it, facts by strata.

    A rule runs once each table that it reads has rows or may get some: from the loaded program, from laws that have
    fired, or from rules of facts that can fire, which all run before laws do.
    facts: rulesets, each with whether it runs until nothing new follows.
    """

    def __init__(self, text: str, more: str, laws: Mapping[str, str], noted: Mapping[str, str]) -> None:
        """text: the rules of the engine.  more: further ones, laws and facts among them.

        laws: the ruleset of each law.  noted: rulesets that run in place of these, where there are any.
        """
        self.facts: list[tuple[str, bool]] = []
        self._text, self._more = text, more
        self._laws, self._noted = laws, noted
        self._awaited = frozenset(laws.values())
        self._able: set[str] = set()
        self._fired: set[str] = set()
        self._made: dict[str, str] = {}
        self._commands: list[str] = []
        self._begin({"vmap"})  # operators that rules name are there in all programs (see `ground`)

    def _begin(self, there: Collection[str]) -> None:
        self._rules, self._tables = _among(self._text, self._more, tuple(self._laws.values()))
        self._reached = Reached(self._rules, self._awaited)
        self._reached.add(there)
        self._choose()

    @property
    def there(self) -> Set[str]:
        """The tables that have rows, or to which rules of facts may add some."""
        return self._reached.there

    def know(self, there: Collection[str]) -> None:
        """Note that these tables have rows now."""
        if self._reached.add(there):
            self._choose()

    def loading(self, tables: Iterable[str]) -> str:
        """The ruleset that loads the rows of some tables of a program."""
        readers = (n for x in tables for n in self._rules.readers.get(row("line", quoted(x)), ()))
        return self._combined(sorted({self._rules.all[n].ruleset for n in readers} & self._able))

    def know_made(self, commands: str) -> None:
        """Note to which tables commands add rows."""
        self.know(made_by(commands, self._tables))

    def fired(self, names: Iterable[str]) -> None:
        """Note that these laws have fired."""
        new = [n for n in names if n in self._laws and n not in self._fired]
        if new:
            self._fired.update(new)
            self.know(frozenset[str]().union(*(self._rules.made[self._laws[n]] for n in new)))

    def may_find(self, atoms: Iterable[str]) -> bool:
        """Whether all that a query reads has rows, or rules of facts may add some."""
        return read_by(atoms, self._tables) <= self.there

    def add(self, more: str) -> None:
        """Add rules."""
        self._more = f"{self._more}\n{more}"
        self._begin(self._reached.there)

    def laws(self, names: Collection[str]) -> str:
        """One ruleset of the laws in `names` that can fire; "" if none can."""
        able = [n for n, ruleset in self._laws.items() if n in names and ruleset in self._able]
        return self._combined(self._noted.get(n, self._laws[n]) for n in able)

    def may_fire(self, law: str) -> bool:
        """Whether a law can fire."""
        return self._laws[law] in self._able

    def commands(self) -> str:
        """The commands that the engine has to run before these rulesets; each is returned only once."""
        commands, self._commands = self._commands, []
        return "\n".join(commands)

    def _choose(self) -> None:
        found = {n: self._rules.all[n] for n in self._reached.rules}
        self._able = {rule.ruleset for rule in found.values()}
        facts = {n: rule for n, rule in found.items() if rule.ruleset.startswith("facts")}
        first = {rule.ruleset for rule in facts.values() if rule.makes and rule.makes <= _FIRST}
        self.facts = [(self._combined(sorted(first)), False)] * bool(first)
        for stratum in strata(self._rules, frozenset(facts)):
            self.facts.append((self._combined(stratum.rulesets), stratum.again))

    def _combined(self, rulesets: Iterable[str]) -> str:
        """One ruleset made of several, named by its parts: the engine may have it from another program."""
        together = " ".join(rulesets)
        if not together:
            return ""
        if together not in self._made:
            name = self._made[together] = f"running_{digest(together)}"
            self._commands.append(f"(unstable-combined-ruleset {name} {together})")
        return self._made[together]
