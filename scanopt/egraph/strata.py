"""Which rules can fire in a program, and in which order they run, found from their text.

A rule can fire only if each table that it reads has rows: from loading the program, or from rules that can fire.  Other
rules do not run, so a law about an operator costs nothing in programs without that operator.

Of the remaining rules, those that feed one another (a strongly connected component) run together until nothing new
follows, after all rules whose results they only read.  The facts that follow do not depend on the order: no rule asks
for the absence of a fact.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache

from scanopt.analysis.components import components
from scanopt.records import dataclass

__all__ = [
    "Reached",
    "RuleTables",
    "Rules",
    "Stratum",
    "made_by",
    "one_by_one",
    "read_by",
    "row",
    "rows_of",
    "rules_of",
    "rulesets_in",
    "strata",
    "tables_of",
]


@dataclass(frozen=True, eq=False)
class RuleTables:
    """The tables of a rule that matter for the order.

    reads: the tables that it reads; in some tables the rows that begin with a text count as a table (`row`).  makes:
    the tables that it adds rows to, or hides rows of; rules that read them come after it.  unites: whether it makes
    things equal, which changes all tables.
    """

    ruleset: str
    reads: frozenset[str]
    makes: frozenset[str]
    unites: bool


@dataclass(frozen=True)
class Stratum:
    """Rulesets that run together.  again: whether until nothing new follows, since they feed one another."""

    rulesets: tuple[str, ...]
    again: bool


def one_by_one(text: str, ruleset: str, together: str) -> str:
    """A text in which each rule of a ruleset becomes a ruleset of its own.

    together: a ruleset of all of them, and of this one, to which rules may be added.

    >>> print(one_by_one("(ruleset r)\\n(rule ((a)) ((b)) :ruleset r)", "r", "all"))
    (ruleset r)
    (ruleset r_0) (rule ((a)) ((b)) :ruleset r_0)
    (unstable-combined-ruleset all r r_0)
    """
    lines: list[str] = []
    names = [ruleset]
    for line in text.splitlines():
        head, found, tail = line.rpartition(f":ruleset {ruleset}")
        if found and tail[:1] in (" ", ")"):
            names.append(f"{ruleset}_{len(names) - 1}")
            lines.append(f"(ruleset {names[-1]}) {head}:ruleset {names[-1]}{tail}")
        else:
            lines.append(line)
    return "\n".join([*lines, f"(unstable-combined-ruleset {together} {' '.join(names)})"])


def row(table: str, text: str) -> str:
    """The rows of a table that begin with a text in egglog's syntax, which count as a table of their own."""
    return f"{table} {text}"


_BY_TEXT = ("line", "prim", "prim_with")
"""The tables whose rows are told apart by the text that they begin with: loaded lines, and operators."""

_TEXT = r'"(?:[^"\\]|\\.)*"'
_TOKEN = re.compile(rf"\(([^\s()\"]+)(?: ({_TEXT}))?|{_TEXT}|[()]")
_TABLE = re.compile(r"\((?:constructor|relation|function) ([^\s()]+) (?!\(\) Param\))")
"""Declarations of tables, except of parameters without parts: these exist wherever operators with them do."""

_RULESET = re.compile(r":ruleset ([^\s()]+)")


def rows_of(operator: str) -> set[str]:
    """The rows that an operator in egglog's syntax is looked up by.

    >>> sorted(rows_of('(prim_with "sum(axis)" (int_param 0))'))
    ['(prim_with "sum(axis)" (int_param 0))', 'prim_with "sum(axis)"']
    """
    head, text = operator[1:].split(" ", 1)
    if head == "vmap":
        return {"vmap"}
    found = re.match(_TEXT, text)
    assert found is not None
    return {row(head, found[0])} | ({operator} if head == "prim_with" else set())


def _rows_made(operator: str) -> set[str]:
    """The rows of an operator in egglog's syntax, and of the operators that it batches."""
    inner = operator.removeprefix("(vmap ")
    return rows_of(operator) | (_rows_made(inner) if inner != operator else set())


def rules_of(text: str, tables: Collection[str] = ()) -> list[RuleTables]:
    """The rules of a text.  tables: those that it reads but does not declare.

    >>> (found,) = rules_of('(relation a (i64)) (rule ((a 1) (= x (prim "exp"))) ((b x)) :ruleset r)', ["b", "prim"])
    >>> sorted(found.reads), sorted(found.makes)
    (['a', 'prim "exp"'], ['b'])
    """
    known, names = {*tables, *tables_of(text)}, _names(text)
    return [_rule(part, known, names) for part in text.split("(rule (")[1:]]


def _names(text: str) -> dict[str, str]:
    """The operators that have names (see `ground`)."""
    return dict(re.findall(r"^\(constructor (\S+) \(\) Op\) \(union \(\1\) (.+)\) \(named .+\)$", text, re.MULTILINE))


def tables_of(text: str) -> list[str]:
    """The tables that a text declares."""
    found: list[str] = _TABLE.findall(text)
    return found


def rulesets_in(rules: str) -> list[str]:
    """The rulesets of some rules."""
    return list(dict.fromkeys(_RULESET.findall(rules)))


def made_by(commands: str, tables: Collection[str]) -> frozenset[str]:
    """The tables that commands add rows to."""
    return _rule(f") ({commands}) :ruleset none)", tables, {}).makes


def read_by(atoms: Iterable[str], tables: Collection[str]) -> frozenset[str]:
    """The tables that a query reads.

    >>> sorted(read_by(['(= x (prim "exp"))', "(a x)"], ["a", "prim"]))
    ['a', 'prim "exp"']
    """
    return _rule(f"{' '.join(atoms)}) () :ruleset none)", tables, {}).reads


def _rule(text: str, tables: Collection[str], names: Mapping[str, str]) -> RuleTables:
    """The rule of a text that begins with the rule's body.  names: the operators that have names.

    A rule that makes an operator with variables in its parameters may make any named operator of that kind.
    """
    sides: tuple[set[str], set[str]] = set(), set()
    depth, side, unites = 1, 0, False
    for token in _TOKEN.finditer(text):
        if token[0] == ")":
            depth -= 1
            side += not depth
            if side > 1:
                break
        elif token[0][0] == "(":
            depth += 1
            name, first = token.groups()
            unites |= name == "union"
            if name in names:
                sides[side].update(_rows_made(names[name]) if side else rows_of(names[name]))
            elif name in tables:
                sides[side].update(_rows(name, first, bool(side), names))
    ruleset = _RULESET.search(text)
    assert ruleset is not None
    return RuleTables(ruleset[1], frozenset(sides[0]), frozenset(sides[1]), unites)


def _rows(name: str, first: str | None, making: bool, names: Mapping[str, str]) -> Iterator[str]:
    """The tables that an expression reads or makes; first: its first argument, if that is a string."""
    if making or not first or name not in _BY_TEXT:
        yield name
    if first and name in _BY_TEXT:
        yield row(name, first)
        if making and name == "prim_with":
            yield from (x for x in names.values() if x.startswith(f"(prim_with {first} "))


_REMEMBERED = 64
"""The number of sets of tables for which the rules and tables reached from them are cached."""


class Rules:
    """A set of rules, to be asked which of them can fire.

    readers: by table the numbers of the rules that read it.  reads: how many tables each rule reads.
    """

    def __init__(self, rules: Iterable[RuleTables]) -> None:
        self.all = tuple(rules)
        self.readers: dict[str, list[int]] = defaultdict(list)
        for n, rule in enumerate(self.all):
            for table in rule.reads:
                self.readers[table].append(n)
        self.reads = [len(rule.reads) for rule in self.all]
        self._fed: dict[int, list[int]] = {}
        self._known: dict[frozenset[str], tuple[list[int], set[str]]] = {}

    @cached_property
    def made(self) -> Mapping[str, frozenset[str]]:
        """The tables to which the rules of each ruleset add rows."""
        found: dict[str, frozenset[str]] = defaultdict(frozenset)
        for rule in self.all:
            found[rule.ruleset] |= rule.makes
        return found

    def fed_by(self, n: int) -> list[int]:
        """The numbers of the rules that read what rule n makes."""
        if n not in self._fed:
            self._fed[n] = list({m: None for table in self.all[n].makes for m in self.readers.get(table, ())})
        return self._fed[n]

    def fireable(self, there: Iterable[str]) -> list[RuleTables]:
        """The rules that can fire if these tables have rows."""
        return [self.all[n] for n in sorted(self._found(there)[0])]

    def reachable(self, there: Iterable[str]) -> set[str]:
        """The tables that may get rows if these have some."""
        return self._found(there)[1]

    def _found(self, there: Iterable[str]) -> tuple[list[int], set[str]]:
        """The rules and tables that are reached from these tables; cached, as many programs have the same tables."""
        key = frozenset(there)
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            reached = Reached(self)
            reached.add(key)
            self._known[key] = reached.rules, reached.there
        return self._known[key]


class Reached:
    """The rules that can fire, found as more and more tables get rows.

    there: those tables, and those to which the rules may add.  rules: the numbers of the rules.  awaited: rulesets that
    count as adding to a table only once `add` is called with it.
    """

    def __init__(self, rules: Rules, awaited: Collection[str] = ()) -> None:
        self._rules, self._awaited = rules, awaited
        self._missing = [*rules.reads]
        self.there: set[str] = set()
        self.rules: list[int] = []

    def add(self, tables: Iterable[str]) -> bool:
        """Note that these tables have rows; return whether more rules can fire."""
        before = len(self.rules)
        todo = [x for x in dict.fromkeys(tables) if x not in self.there]
        self.there.update(todo)
        while todo:
            for n in self._rules.readers.get(todo.pop(), ()):
                self._missing[n] -= 1
                if not self._missing[n]:
                    self.rules.append(n)
                    rule = self._rules.all[n]
                    if rule.ruleset not in self._awaited:
                        new = rule.makes - self.there
                        self.there |= new
                        todo += new
        return len(self.rules) > before


_UNITED = -1
"""In place of a rule: what rules that unite feed, and what feeds all rules."""


@lru_cache(maxsize=_REMEMBERED)
def strata(rules: Rules, some: frozenset[int]) -> tuple[Stratum, ...]:
    """The order in which some of the rules run: each after all of them that make what it reads, or together with them.

    some: the numbers of these rules.  Among few rules fewer feed one another than among all.
    """
    edges = {n: [m for m in rules.fed_by(n) if m in some] for n in sorted(some)}
    if uniting := [n for n in edges if rules.all[n].unites]:
        edges[_UNITED] = [*edges]
        for n in uniting:
            edges[n].append(_UNITED)
    group = components(edges)
    members: dict[int, list[int]] = defaultdict(list)
    for n in group:  # what feeds others comes before them
        members[group[n]].append(n)
    level: dict[int, int] = defaultdict(int)
    found: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for together, all_ in members.items():
        here, fed = level[together], {group[m] for n in all_ for m in edges[n]}
        found[here, together in fed] += all_
        for other in fed - {together}:
            level[other] = max(level[other], here + 1)
    inside = {key: [rules.all[n].ruleset for n in sorted(found[key]) if n != _UNITED] for key in sorted(found)}
    return tuple(Stratum(tuple(dict.fromkeys(names)), again) for (_, again), names in inside.items())
