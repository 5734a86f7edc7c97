"""Mutation of facts: what the rules of a fact derive if one atom of one body is dropped.

A rule with fewer atoms derives all that the rule derives, and more.  So a mutant is added to the existing rules:
nothing is loaded again.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from scanopt.calculus.condition import FACTS, Body, Condition, Rule
from scanopt.calculus.declarations import APPLIED
from scanopt.calculus.law import Law, standard_laws
from scanopt.calculus.syntax import Node, parsed
from scanopt.calculus.terms import Atom, Term
from scanopt.egraph.engine import EngineError, take
from scanopt.egraph.loading import unknown
from scanopt.egraph.rulebook import ALL_FACTS, rules_text
from scanopt.records import dataclass

__all__ = ["Chase", "Mutant", "mutants"]

_COMPUTED = ("+", "-", "max", "min", "to-string")
_COMPARED = ("!=", ">=", "<=", ">", "<")
_MADE_TRUE = ("set", "union")


@dataclass(frozen=True)
class Mutant:
    """A rule of a fact without one atom.

    rule: its place among the rules of the fact.  body: the atoms that are left.  alike: the same mutants of rules that
    differ from this one only in the arguments that an operator is batched in.
    """

    fact: str
    rule: int
    atom: Condition | Atom
    body: Body
    head: Body
    alike: tuple[Mutant, ...] = ()

    @property
    def name(self) -> str:
        """Its unique name."""
        return f"{self.fact} {self.rule} {self.atom}"

    @property
    def left(self) -> Rule:
        """The remaining rule."""
        return Rule(self.body, self.head)

    @property
    def whole(self) -> Rule:
        """The original rule."""
        return FACTS[self.fact].rules[self.rule]

    @property
    def wrong(self) -> str:
        """The mutant as egglog rules among the facts."""
        return "\n".join(dict.fromkeys(m.left.egglog() for m in (self, *self.alike)))

    @cached_property
    def unbound(self) -> tuple[str, ...]:
        """Variables of the head, and of what the body computes or compares, that no atom binds."""
        body, head = _nodes(self.body), _nodes(self.head, stated=True)
        bound = {v for a in body for v in _looked_up(a)}
        while more := {str(a[1]) for a in body if _names(a) and _all_variables(a[2]) <= bound} - bound:
            bound |= more
        asked = {v for a in (*head, *body) for v in _all_variables(a)}
        return tuple(sorted(asked - bound))

    @cached_property
    def steers(self) -> str:
        """Why the atom does not say what is true, only where it pays to look; "" where that cannot be shown.

        A fact that is a hint claims nothing.  Extraction itself takes care of what is known before what.  And any term
        may be written down, so its presence claims nothing either, if nothing else is said of it.  (A `seq(c, X)` does
        claim something: that X has as many rows as c has steps.)
        """
        concluded = {a.fact if isinstance(a, Condition) else a.head for a in self.head}
        if all(map(_is_hint, self.head)):
            return "what it concludes is a hint"
        if _is_hint(self.atom):
            return "it is a hint"
        if concluded <= CAUSAL or (isinstance(self.atom, Condition) and self.atom.fact in CAUSAL):
            return "what is known before what, extraction sees to by itself"
        said = {v for a in (*self.body, *self.head) if not _is_hint(a) for v in a.variables()}
        if _is_there(self.atom) and str(self.atom.args[0]) not in said:
            return "it asks that a term is there"
        return ""

    def __str__(self) -> str:
        return f"{self.fact}: without {self.atom}: {self.left}"


def mutants() -> Iterator[Mutant]:
    """Every rule of every fact without each of its atoms."""
    standard_laws()  # loading the laws declares their facts
    for fact in FACTS.values():
        found: dict[str, list[Mutant]] = {}
        for n, rule in enumerate(fact.rules):
            for k, atom in enumerate(rule.body):
                m = Mutant(fact.name, n, atom, (*rule.body[:k], *rule.body[k + 1 :]), rule.head)
                found.setdefault(_FLAGS.sub("vmap(op)", f"{k} {rule}"), []).append(m)
        yield from (replace(some[0], alike=tuple(some[1:])) for some in found.values())


_FLAGS = re.compile(r"vmap\(op, 10*\)")


CAUSAL = frozenset({
    "apart", "before", "cycle", "first_rows", "forward", "kept", "late", "leads", "near", "outside",
    "repeated", "spine",
})  # fmt: skip
"""Facts about which values are known before, or without, which others: equations hold whatever these facts say.

Of equal forms one is chosen that can run: nothing in a loop that needs the loop's own trace.  These facts keep forms
out of the e-graph that would never be chosen, and rewrite recurrences where that leads to a closed form.
"""


def _is_hint(a: Condition | Atom) -> bool:
    if isinstance(a, Condition):
        return FACTS[a.fact].hint
    return a.head == "set" and isinstance(f := a.args[0], Term) and f.head in ("numeric", "away")


_WRITTEN = ("apply", "cons", "stack", "tail")
"""Constructors of terms that may be written with any values of one clock."""


def _is_there(a: Condition | Atom) -> bool:
    """Whether an atom asks for a term by its form."""
    if isinstance(a, Condition) or a.head != "=":
        return False
    name, form = a.args
    return isinstance(name, Term) and name.args is None and isinstance(form, Term) and form.head in _WRITTEN


def _nodes(atoms: Sequence[Condition | Atom], stated: bool = False) -> tuple[Node, ...]:
    """Atoms as nodes of egglog's syntax; facts that are stated look like those that are asked for."""
    found = parsed(" ".join(a.stated() if stated else a.egglog() for a in atoms))
    return tuple(a[1] if a[0] == "set" and a[2] == () else a for a in found)


# Variables


def _is_variable(x: Node) -> bool:
    return isinstance(x, str) and x[0].isalpha()


def _all_variables(x: Node) -> set[str]:
    if isinstance(x, str):
        return {x} if _is_variable(x) else set()
    return {v for a in x[1:] for v in _all_variables(a)}


def _looked_up(x: Node) -> set[str]:
    """The variables that an atom, or a term in it, binds: those in what is looked up, not in what is computed."""
    if isinstance(x, str) or x[0] in _COMPARED:
        return set()
    if x[0] in _COMPUTED:
        return {v for a in x[1:] if isinstance(a, tuple) for v in _looked_up(a)}
    if x[0] == "=":
        found = [a for a in x[1:] if isinstance(a, tuple) and a[0] not in _COMPUTED]
        names = {str(a) for a in x[1:] if _is_variable(a)} if found else set[str]()
        return names | {v for a in x[1:] if isinstance(a, tuple) for v in _looked_up(a)}
    return {v for a in x[1:] for v in ({str(a)} if _is_variable(a) else _looked_up(a))}


def _names(x: Node) -> bool:
    """Whether an atom gives a name to a value that is computed from others."""
    return isinstance(x, tuple) and x[0] == "=" and _is_variable(x[1]) and isinstance(x[2], tuple)


# Sorts


class _Sorts:
    """The sorts of variables, inferred from the places where they stand."""

    def __init__(self, declarations: str) -> None:
        found = re.findall(r"^\((?:constructor|relation|function) (\S+) \(([^)]*)\) ?(\w*)", declarations, re.MULTILINE)
        self._of: dict[str, tuple[list[str], str]] = {name: (args.split(), out) for name, args, out in found}

    def variables(self, atoms: Sequence[Node]) -> dict[str, str]:
        """The sorts of the variables of some atoms."""
        found: dict[str, str] = {}
        for _ in range(2):  # a computation may need the sort that a later atom gives
            for a in atoms:
                self._sort(a, "", found)
        return found

    def _sort(self, x: Node, expected: str, found: dict[str, str]) -> str:
        if isinstance(x, str):
            if x.startswith('"'):
                return "String"
            if not _is_variable(x):
                return "i64"
            if expected:
                found[x] = expected
            return found.get(x, "")
        head = str(x[0])
        if head in self._of:
            args, out = self._of[head]
            for a, sort in zip(x[1:], args, strict=True):
                self._sort(a, sort, found)
            return out
        if head == "to-string":
            self._sort(x[1], "i64", found)
            return "String"
        sorts = [self._sort(a, "", found) for a in x[1:]]
        known = next(filter(None, sorts), expected)
        for a in x[1:]:
            self._sort(a, known, found)
        return known


# The chase

_FUNCTIONS = ("dtype", "ndim", "int_value", "added")
_INTEGERS = range(-2, 4)


class Chase:
    """Proofs that an atom is redundant: the rest of the body, stated of unknowns, leads to the conclusion."""

    def __init__(self, laws: Sequence[Law]) -> None:
        self._laws = laws
        self._sorts = _Sorts(rules_text())

    def implied(self, m: Mutant) -> bool:
        """Whether the existing facts derive the conclusion without the atom."""
        (atom,), body, head = _nodes([m.atom]), _nodes(m.body), _nodes(m.head, stated=True)
        return self._follows(body, head, self._sorts.variables((atom, *body, *head)), atom)

    def implied_in_use(self, m: Mutant) -> bool:
        """Whether they derive it wherever the fact is asked for, with the help of the other atoms there."""
        (atom,), body, (head, *more) = _nodes([m.atom]), _nodes(m.body), _nodes(m.head, stated=True)
        if more or head[0] != m.fact:
            return False
        asked = list(self._asked(m.fact))
        own = {v: f"own_{v}" for v in self._sorts.variables((atom, *body, head))}
        rule = tuple(_renamed(a, own) for a in body), _renamed(head, own), _renamed(atom, own)
        return bool(asked) and all(self._follows_there(*rule, *there) for there in asked)

    def _follows_there(self, body: Node, head: Node, atom: Node, there: Sequence[Node], question: Node) -> bool:
        same = dict[str, Node]()
        more: list[Node] = []
        for x, y in zip(head[1:], question[1:], strict=True):
            if isinstance(x, str) and x not in same and _is_variable(x):
                same[x] = y
            else:
                more.append(("=", y, x))
        atoms = [*(_renamed(a, same) for a in (*body, *more)), *there]
        sorts = self._sorts.variables([*atoms, question, _renamed(atom, same)])
        return self._follows(atoms, [question], sorts, _renamed(atom, same))

    def _asked(self, fact: str) -> Iterator[tuple[list[Node], Node]]:
        """Where a fact is asked for: what else is asked there, and the question."""
        for atoms in self._bodies:
            for k, a in enumerate(atoms):
                if a[0] == fact:
                    yield [*atoms[:k], *atoms[k + 1 :]], a

    @cached_property
    def _bodies(self) -> list[list[Node]]:
        """The conditions of laws, and the bodies of the rules of facts."""
        bodies = [parsed(" ".join(x.atoms(x.equation.when))) for x in self._laws]
        return bodies + [list(_nodes(rule.body)) for known in FACTS.values() for rule in known.rules]

    def _follows(self, body: Sequence[Node], head: Sequence[Node], sorts: Mapping[str, str], atom: Node) -> bool:
        integers = [v for v, sort in sorts.items() if sort == "i64"]
        if len(integers) > 2 or not all(sorts.values()):
            return False
        tried = 0
        for values in itertools.product(_INTEGERS, repeat=len(integers)):
            frozen = {v: unknown(sort, n) or f"(frozen_{v})" for n, (v, sort) in enumerate(sorts.items())}
            if atom[0] == "!=":  # with it, they differ: without it, they may be the same
                frozen[str(atom[2])] = frozen[str(atom[1])]
            frozen |= {v: f'"text of {v}"' for v, sort in sorts.items() if sort == "String"}
            frozen |= {v: str(k) for v, k in zip(integers, values, strict=True)}
            found = self._derived(body, head, sorts, frozen)
            if found is False:
                return False
            tried += found is True
        return tried > 0

    def _derived(
        self, body: Sequence[Node], head: Sequence[Node], sorts: Mapping[str, str], frozen: Mapping[str, str]
    ) -> bool | None:
        """Whether the head follows from the rest of the body; None where the rest contradicts itself."""
        commands = [f"(constructor frozen_{v} () {sorts[v]})" for v, x in frozen.items() if x == f"(frozen_{v})"]
        stated = [_stated(a, frozen) for a in body]
        if any(x is None for x in stated):
            return False
        goals = [g for a in head for g in _goal(a, frozen)]
        engine = take(rules_text())
        try:
            engine.run("\n".join([*commands, *(x for x in stated if x)]))
            engine.run(f"(run {ALL_FACTS} 20)")
            return all(engine.holds(g) for g in goals)
        except EngineError as error:
            if "Illegal merge" in str(error):
                return None
            raise
        finally:
            engine.close()


def _renamed(x: Node, names: Mapping[str, Node]) -> Node:
    if isinstance(x, str):
        return names.get(x, x)
    return tuple(_renamed(a, names) for a in x)


def _stated(a: Node, frozen: Mapping[str, str]) -> str | None:
    """The command that makes an atom true of frozen values; "" where it is true already, None where there is none."""
    text = _frozen(a, frozen)
    if isinstance(a, str):
        return None
    if a[0] in _COMPARED:
        m, n = (_frozen(b, frozen) for b in a[1:])
        if m.lstrip("-").isdigit() and n.lstrip("-").isdigit():
            holds = {"!=": m != n, ">=": int(m) >= int(n), "<=": int(m) <= int(n), ">": int(m) > int(n),
                     "<": int(m) < int(n)}[str(a[0])]  # fmt: skip
            return "" if holds else '(set (dtype (input "")) "a") (set (dtype (input "")) "b")'
        return "" if a[0] == "!=" else None
    if a[0] != "=":
        return f"(set {text} ())"
    x, y = a[1:]
    for f, other in ((x, y), (y, x)):
        if isinstance(f, tuple) and f[0] in _FUNCTIONS:
            return f"(set {_frozen(f, frozen)} {_frozen(other, frozen)})" if isinstance(other, str) else None
        if isinstance(f, tuple) and f[0] in _COMPUTED:
            return None
    first, second = _frozen(x, frozen), _frozen(y, frozen)
    return f"(union {first} {second})" if first.startswith("(") and second.startswith("(") else None


def _goal(a: Node, frozen: Mapping[str, str]) -> Iterator[str]:
    if isinstance(a, tuple) and a[0] in _MADE_TRUE:
        yield f"(= {_frozen(a[1], frozen)} {_frozen(a[2], frozen)})"
    else:
        yield _frozen(a, frozen)


def _frozen(x: Node, frozen: Mapping[str, str]) -> str:
    if isinstance(x, str):
        return frozen.get(x, x)
    head, args = str(x[0]), [_frozen(a, frozen) for a in x[1:]]
    match head:
        case "held_as":
            head = "hold"
        case "apply_any":
            head = "apply"
        case "list_of":
            head = "cons"
        case "list_of_one":
            return _list(args)
        case _ if head in APPLIED.values():
            head, args = "apply", [args[0], _list(args[1:])]
        case _:
            pass
    return f"({' '.join([head, *args])})"


def _list(values: Sequence[str]) -> str:
    out = "(nil)"
    for x in reversed(values):
        out = f"(cons {x} {out})"
    return out
