"""Proofs on patterns: that a law follows from other laws, or one of its conditions from the others.

The variables of a law become constants that nothing else is known of, its conditions are stated of
them, and both of its sides are put into an e-graph.  If the other laws unite the two there, the law
says nothing new.  If facts derive a condition from the other conditions, that condition says nothing new.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from scanopt.calculus.condition import FACTS, Condition, noted, sorts_of
from scanopt.calculus.ground import digest
from scanopt.calculus.law import LICENCES, Law
from scanopt.calculus.syntax import Node, node_text, parsed
from scanopt.calculus.terms import Term, egglog_text
from scanopt.egraph.engine import Engine, EngineError, take
from scanopt.egraph.loading import unknown
from scanopt.egraph.rulebook import ALL_FACTS, rules_beside, rules_text, rulesets_of
from scanopt.records import dataclass

__all__ = ["Proofs"]

_ROUNDS = 8
_FORMS = 20_000
_INTEGERS = range(-2, 4)


@dataclass(frozen=True)
class _Instance:
    """A law with constants for its variables: commands that make them and state some of its conditions."""

    commands: tuple[str, ...]
    left: str
    right: str
    query: str


class Proofs:
    """Proofs under a set of laws.

    A proof about a law with integers is made for those from -2 to 3 that its conditions allow.
    """

    def __init__(self, laws: Sequence[Law]) -> None:
        self._laws = {x.name: x for x in laws}
        self._rulesets, own = rulesets_of(laws)
        self._own = rules_beside(own)

    def derivable(self, law: Law) -> tuple[str, ...] | None:
        """Laws that unite both sides of a law without it, in the order of their names; None where they do not.

        Only laws whose licence allows no more than its own are used.
        """
        if law.folds:
            return None
        others = [
            x
            for x in self._laws.values()
            if x.name != law.name and LICENCES.index(x.licence) <= LICENCES.index(law.licence)
        ]
        used = self._united(law, others)
        if used is None:
            return None
        for x in used:  # those that are not needed are left out
            fewer = [y for y in used if y is not x]
            if self._united(law, fewer) is not None:
                used = fewer
        return tuple(sorted(x.name for x in used))

    def implied(self, law: Law, condition: int) -> bool:
        """Whether facts derive a condition of a law, by its place, from its pattern and the other conditions."""
        instances = list(_instances(law.without(condition), law.equation.when[condition]))
        return bool(instances) and all(self._holds(i) for i in instances)

    def _united(self, law: Law, others: Sequence[Law]) -> list[Law] | None:
        """The laws that matched, if both sides were united; else None."""
        matched: set[str] = set()
        instances = list(_instances(law, None))
        for i in instances:
            found = self._run(i, others)
            if found is None:
                return None
            matched |= found
        return [x for x in others if x.name in matched] if instances else None

    def _run(self, instance: _Instance, laws: Sequence[Law]) -> set[str] | None:
        """The laws that matched on the way, None where both sides stay apart."""

        rulesets = " ".join(self._rulesets[x.name] for x in laws)
        together = f"proof_{digest(rulesets)}"

        def rounds(engine: Engine) -> set[str] | None:
            engine.run(f"(unstable-combined-ruleset {together} {rulesets})")
            matched: set[str] = set()
            for _ in range(_ROUNDS):
                (report,) = engine.run(f"(run-schedule (seq (repeat 100 (run {ALL_FACTS})) (run {together})))")
                matched |= report.matches.keys() & self._laws.keys()
                if engine.holds(f"(= {instance.left} {instance.right})"):
                    return matched
                if not report.updated or sum(engine.sizes()[0].values()) > _FORMS:
                    return None
            return None

        found: set[str] | None = self._inside(instance, rounds)
        return found

    def _holds(self, instance: _Instance) -> bool:
        def derive(engine: Engine) -> bool:
            engine.run(f"(run-schedule (repeat 100 (run {ALL_FACTS})))")
            return engine.holds(instance.query)

        return bool(self._inside(instance, derive))

    def _inside(self, instance: _Instance, body: Callable[[Engine], Any]) -> Any:
        engine = take(rules_text())
        try:
            engine.run("\n".join([self._own, *instance.commands]))
            return body(engine)
        except EngineError as error:
            if "Illegal merge" in str(error):  # its conditions exclude one another here
                return None
            raise
        finally:
            engine.close()


# Instances


def _instances(law: Law, asked: Condition | None) -> Iterator[_Instance]:
    """The law with constants for its variables, for each of the integers tried that its conditions allow."""
    e = law.equation
    extra = asked.args if asked is not None else ()
    sorts = sorts_of(e.left, e.right, *(a for c in e.when for a in c.args), *extra)
    integers = [v for v, sort in sorts.items() if sort == "i64"]
    for values in itertools.product(_INTEGERS, repeat=len(integers)):
        known = dict(zip(integers, values, strict=True))
        if all(_compares(c, known) for c in e.when):
            yield _instance(law, asked, sorts, known)


def _compares(c: Condition, integers: Mapping[str, int]) -> bool:
    """Whether a condition holds, if it compares integers; True for all others."""
    if not FACTS[c.fact].pattern or {*FACTS[c.fact].sorts} != {"i64"}:
        return True
    (atom,) = parsed(FACTS[c.fact].pattern.format(*(str(_value(a, integers)) for a in c.args), place=""))
    head, x, y = str(atom[0]), int(str(atom[1])), int(str(atom[2]))
    return {">=": x >= y, "<": x < y, ">": x > y, "<=": x <= y, "!=": x != y}.get(head, False)


def _value(a: Term | int | str, integers: Mapping[str, int]) -> int:
    if not isinstance(a, Term):
        return int(a)
    if a.args is None:
        return integers[a.head]
    x, y = (_value(b, integers) for b in a.args if isinstance(b, Term | int))
    return x + y if a.head == "+" else x - y


def _instance(law: Law, asked: Condition | None, sorts: Mapping[str, str], integers: Mapping[str, int]) -> _Instance:
    e = law.equation
    names = {v: _name(v, n, sort, integers) for n, (v, sort) in enumerate(sorts.items())}
    said = [_said(c, n, names) for n, c in enumerate(e.when)]
    atoms = [a for c in said for a in c]
    commands = [f"(constructor sym_{v} () {sort})" for v, sort in sorts.items() if names[v] == f"(sym_{v})"]
    placed = {node_text(a[1]) for a in atoms if a[0] == "within"}
    for n, (v, sort) in enumerate(sorts.items(), len(sorts)):
        if sort == "Clock":
            commands.append(f"(steps {names[v]})")
            if names[v] not in placed:
                commands.append(noted("within", names[v], unknown("Clock", n)))
    left, right = (_rendered(x, names) for x in (e.left, e.right))
    commands += [x for x in (left, right) if x.startswith("(")]
    commands += [*_types(atoms), *(command for c in said for command in _stated(c))]
    query = " ".join(map(node_text, _said(asked, len(said), names))) if asked is not None else ""
    return _Instance(tuple(commands), left, right, query)


def _name(variable: str, place: int, sort: str, integers: Mapping[str, int]) -> str:
    """The text that stands for a variable of a law: that of an unknown term, of a string or of an integer."""
    if sort == "i64":
        return str(integers[variable])
    return f'"text of {variable}"' if sort == "String" else unknown(sort, place) or f"(sym_{variable})"


def _said(c: Condition, place: int, names: Mapping[str, str]) -> list[tuple[Node, ...]]:
    """A condition as atoms; names that its pattern introduces are made unique to it."""
    parts = [_rendered(a, names) for a in c.args]
    pattern = FACTS[c.fact].pattern
    atoms = parsed(pattern.format(*parts, place="") if pattern else f"({c.fact} {' '.join(parts)})")
    return [_renamed(a, place) for a in atoms if isinstance(a, tuple)]


def _renamed(x: tuple[Node, ...], place: int) -> tuple[Node, ...]:
    return tuple(_renamed(a, place) if isinstance(a, tuple) else f"{a}{place}" if a.endswith("_") else a for a in x)


def _rendered(x: Term | int | str, names: Mapping[str, str]) -> str:
    """A pattern in egglog's syntax, with names for variables."""
    if not isinstance(x, Term):
        return egglog_text(x)
    return names[x.head] if x.args is None else f"({' '.join([x.head, *(_rendered(a, names) for a in x.args)])})"


# What conditions say, as commands

_USUAL = {"dtype": '"float64"', "ndim": "1", "int_value": "3", "numeric": "0"}
"""Functions of a value, with the results that are assumed where conditions leave them open."""


def _types(atoms: Sequence[tuple[Node, ...]]) -> Iterator[str]:
    """Commands that set dtypes and numbers of axes as the conditions tie them together."""
    same: dict[str, str] = {}
    slots: dict[str, str] = {}

    def root(x: str) -> str:
        while same.setdefault(x, x) != x:
            x = same[x]
        return x

    for a in atoms:
        if a[0] == "=" and any(_function(x) in _USUAL for x in a[1:]):
            slots |= {node_text(x): _function(x) for x in a[1:] if _function(x) in _USUAL}
            same[root(node_text(a[1]))] = root(node_text(a[2]))
    values = {root(x): x for x in list(same) if x.startswith('"') or x.lstrip("-").isdigit()}
    for x, function in slots.items():
        yield f"(set {x} {values.setdefault(root(x), _USUAL[function])})"


def _stated(atoms: Sequence[tuple[Node, ...]]) -> Iterator[str]:
    """Commands that make the atoms of a condition true; types and comparisons are seen to elsewhere."""
    named: dict[str, str] = {}
    for a in atoms:
        if a[0] in ("!=", ">=", "<", ">", "<="):
            continue
        if a[0] != "=":
            for x in a[1:]:
                if isinstance(x, str) and x[0].isalpha() and x not in named:
                    named[x] = f"(some_{x})"
                    yield f"(constructor some_{x} () Value)"
            yield f"(set {node_text(tuple(named.get(x, x) if isinstance(x, str) else x for x in a))} ())"
            continue
        x, y = a[1], a[2]
        if any(_function(z) in _USUAL for z in (x, y)):
            continue
        if isinstance(x, str):
            if x in named:
                yield f"(union {named[x]} {node_text(y)})"
            named[x] = node_text(y)
        else:
            yield f"(union {node_text(x)} {node_text(y)})"


def _function(x: Node) -> str:
    return str(x[0]) if isinstance(x, tuple) else ""
