"""Facts, as they are declared, derived by rules, and stated by laws; the facts themselves are in `facts`.

    @fact
    def nonnegative(v: Value, *, x: Value, y: Value, l: Args) -> Rules:
        \"\"\"No element of v is below zero or -0.0.\"\"\"
        yield when(v.is_(ops.exp(l))).then(nonnegative(v))
        yield when(v.is_(x + y), nonnegative(x), nonnegative(y)).then(nonnegative(v))

The positional parameters of the function are the arguments of the fact, the others are further variables of its rules,
and the docstring is its meaning.  A rule is Datalog: where all atoms of its body hold, so do those of its head.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn

from scanopt.calculus import terms
from scanopt.calculus.declarations import DECLARATIONS
from scanopt.calculus.pattern import variables_in
from scanopt.calculus.terms import Args, Atom, Clock, Int, Move, Op, State, Term, Text, Value, egglog_text, variable
from scanopt.records import dataclass

__all__ = [
    "FACTS", "Body", "Condition", "Fact", "Rule", "Rules", "fact", "facts_text", "hint", "noted", "parameters", "query",
    "rules_of", "rules_text", "sort_of", "sorts_of", "when",
]  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """A fact about certain terms: what a law lists in `when`, and what rules derive."""

    fact: str
    args: tuple[Term | int | str, ...]

    def egglog(self, place: int | str = "") -> str:
        """The condition as part of an egglog query.  place: its place among others, for names of its own variables."""
        parts = [a.pattern() if isinstance(a, Term) else egglog_text(a) for a in self.args]
        fact = FACTS[self.fact]
        return fact.pattern.format(*parts, place=place) if fact.pattern else f"({' '.join([fact.name, *parts])})"

    def stated(self) -> str:
        """The condition as an egglog command that asserts it."""
        return noted(self.fact, *map(egglog_text, self.args))

    def variables(self) -> set[str]:
        """Names of the variables in it."""
        return variables_in(self.args)

    @property
    def meaning(self) -> str:
        """The meaning of the fact, stated for these terms.

        >>> Condition("at_least", (Int("k"), 1)).meaning
        'k >= 1'
        """
        fact = FACTS[self.fact]
        said = dict(zip(parameters(fact.made)[0], map(str, self.args), strict=True))
        said.pop("a" if not fact.meaning.startswith("a ") and " a " in fact.meaning else "", None)  # the article
        if not said:
            return fact.meaning
        return re.sub(rf"\b({'|'.join(said)})\b(?!')", lambda m: said[m[0]], fact.meaning)

    def __bool__(self) -> bool:
        raise TypeError(f"{self} is neither true nor false before a program is looked at: list conditions, when=[a, b]")

    def __and__(self, other: object) -> NoReturn:
        raise TypeError(f"{self} & ...: conditions that must hold together are listed, when=[a, b]")

    def __or__(self, other: object) -> NoReturn:
        raise TypeError(f"{self} | ...: write two laws, or a fact of your own that two rules derive")

    def __invert__(self) -> NoReturn:
        raise TypeError(
            f"~{self}: what is not known does not hold, so there is no `not`: write a fact for the opposite"
        )

    def __str__(self) -> str:
        return f"{self.fact}({', '.join(repr(a) if isinstance(a, str) else str(a) for a in self.args)})"


Body = tuple[Condition | Atom, ...]


@dataclass(frozen=True)
class Rule:
    """A Datalog rule: where all atoms of the body hold, those of the head are made to hold."""

    body: Body
    head: Body

    def egglog(self, name: str = "") -> str:
        """The rule in egglog's syntax, under a name that no other rule has.

        Each atom is one more join, so an operator of one to three arguments is one atom, not one per cell of a list.
        """
        atoms = (a.egglog(n) if isinstance(a, Condition) else a.egglog() for n, a in enumerate(self.body))
        body, head = " ".join(atoms), " ".join(a.stated() for a in self.head)
        called = f' :name "{name}"' if name else ""
        return f"(rule ({body}) ({head}) :ruleset facts{called})"

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.body))} => {', '.join(map(str, self.head))}"


Rules = Iterator[Rule]


@dataclass(frozen=True)
class when:  # noqa: N801  # begins a sentence
    """The body of a rule: `when(until(c, v), is_false(v)).then(runs_all(c))`."""

    body: Body

    def __init__(self, *body: Condition | Atom) -> None:
        object.__setattr__(self, "body", body)

    def then(self, *head: Condition | Atom) -> Rule:
        """The rule with this body that concludes the head."""
        return Rule(self.body, head)


@dataclass(frozen=True)
class Fact:
    """A named fact: its argument sorts, its meaning, and the rules that derive it.

    kind: "fact"; "hint", which asserts nothing about its terms and only says where it pays to look for other facts; or
    "query", which has no table of its own: a rule or law that lists it looks up the atoms that `made` returns.
    """

    name: str
    sorts: tuple[str, ...]
    meaning: str
    kind: str
    made: Callable[..., Any]

    @property
    def signature(self) -> str:
        """The name of the fact with the names and sorts of its arguments."""
        columns, _ = parameters(self.made)
        return f"{self.name}({', '.join(f'{name}: {type(x).__name__}' for name, x in columns.items())})"

    @property
    def module(self) -> str:
        """The module to import it from."""
        return self.made.__module__

    @property
    def hint(self) -> bool:
        """Whether it is a hint, which asserts nothing about its terms."""
        return self.kind == "hint"

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that derive it, in the order in which they are written."""
        return rules_of(self.made) if self.kind != "query" else ()

    @cached_property
    def pattern(self) -> str:
        """The atoms of a query in egglog's syntax, with {0}, {1} ... for the terms, and {place} in names of its own."""
        if self.kind != "query":
            return ""
        columns, others = parameters(self.made)
        places = [type(x)(f"{{{i}}}") for i, x in enumerate(columns.values())]
        own = {name: type(x)(f"{name}_{{place}}") for name, x in others.items()}
        return " ".join(atom.egglog() for atom in self.made(*places, **own))

    def __call__(self, *args: Term | int | str) -> Condition:
        """The fact, stated of certain terms."""
        if len(args) != len(self.sorts):
            raise TypeError(f"fact {self.name} takes {len(self.sorts)} terms, found {len(args)}")
        return Condition(self.name, args)

    def same_as(self, other: Fact) -> bool:
        """Whether both have the same meaning."""
        mine, its = ((x.name, x.sorts, x.meaning, x.kind, x.rules, x.pattern) for x in (self, other))
        return mine == its


FACTS: dict[str, Fact] = {}
"""All facts by name."""

_SORTS: dict[type[Term], str] = {
    Value: "Value", Clock: "Clock", State: "State", Op: "Op", Args: "Args", Move: "Move", Text: "String", Int: "i64",
}  # fmt: skip


def sort_of(x: Term) -> str:
    """The sort of a term in egglog."""
    return _SORTS.get(type(x), type(x).__name__)


def sorts_of(*terms: Term | int | str) -> dict[str, str]:
    """The variables of some terms with their sorts in egglog.

    >>> sorts_of(Value("hold", (Clock("c"), Value("x"))))
    {'c': 'Clock', 'x': 'Value'}
    """
    out: dict[str, str] = {}
    for x in terms:
        if isinstance(x, Term):
            out |= (
                {x.head: _SORTS[type(x)]} if x.args is None else sorts_of(*(a for a in x.args if isinstance(a, Term)))
            )
    return out


def parameters(f: Callable[..., Any]) -> tuple[dict[str, Term], dict[str, Term]]:
    """Pattern variables for the parameters of a function by name: the positional ones, and the keyword-only ones.

    Raises TypeError when a parameter has no sort (Clock, Value, ...).
    """
    hints = _annotations(f)
    by_place: dict[str, Term] = {}
    by_name: dict[str, Term] = {}
    code = f.__code__  # `inspect.signature` takes ten times as long, and this is done for every law and fact
    for n, name in enumerate(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]):
        sort = hints.get(name)
        if not (isinstance(sort, type) and issubclass(sort, Term)):
            raise TypeError(f"{f.__name__}: parameter {name!r} needs a sort such as Value")
        (by_place if n < code.co_argcount else by_name)[name] = variable(sort, name)
    return by_place, by_name


def _annotations(f: Callable[..., Any]) -> Mapping[str, Any]:
    """The annotations of a function, in which sorts need not be imported.  Plain names are looked up, which is fast."""
    known: dict[str, Any] = {}
    for name, written in f.__annotations__.items():
        if isinstance(written, str):
            written = f.__globals__.get(written, getattr(terms, written, None) if written.isidentifier() else None)
            if written is None and name != "return":
                return typing.get_type_hints(f, vars(terms) | f.__globals__)
        known[name] = written
    return known


def rules_of(f: Callable[..., Rules | None]) -> tuple[Rule, ...]:
    """The rules that a function of their variables yields."""
    by_place, by_name = parameters(f)
    return tuple(f(**by_place, **by_name) or ())


def fact(f: Callable[..., Rules | None]) -> Fact:
    """Declare a fact by a function of its arguments; laws and rules call the result to state the fact of terms.

    The function yields the rules that derive the fact; if it yields none, the fact holds only where it is read off the
    program itself.
    Raises ValueError when the name is taken by a fact that says something else.

    >>> @fact
    ... def runs_all(c: Clock) -> None:
    ...     '''Another meaning.'''
    Traceback (most recent call last):
    ValueError: there is already a fact named 'runs_all'
    """
    return _declared(f, "fact")


def hint(f: Callable[..., Rules | None]) -> Fact:
    """Declare a fact that only says where it pays to look: it claims nothing, and holding of more only costs time."""
    return _declared(f, "hint")


def query(f: Callable[..., Sequence[Condition | Atom]]) -> Fact:
    """Declare a fact that is a query, by a function of terms that returns the atoms to look up."""
    return _declared(f, "query")


_DECLARED = frozenset(re.findall(r"^\((?:constructor|function|relation|sort) (\S+) ", DECLARATIONS, re.MULTILINE))


def _declared(f: Callable[..., Any], kind: str) -> Fact:
    columns, _ = parameters(f)
    meaning = " ".join((inspect.getdoc(f) or "").split()).rstrip(".")
    made = Fact(f.__name__, tuple(map(sort_of, columns.values())), meaning, kind, f)
    if made.name in _DECLARED:
        raise ValueError(f"a fact cannot be named {made.name!r}, which is the name of a kind of term or of a table")
    if made.name in FACTS and not FACTS[made.name].same_as(made):
        raise ValueError(f"there is already a fact named {made.name!r}")
    return FACTS.setdefault(made.name, made)


def noted(fact: str, *args: str) -> str:
    """The command that notes a fact, in egglog's syntax.

    >>> noted("runs_all", "c")
    '(set (runs_all c) ())'
    """
    return f"(set ({' '.join([fact, *args])}) ())"


def facts_text() -> str:
    """Declarations and rules of all facts, for egglog.

    Facts are functions of egglog, not relations: queries of relations are slower, as their rows can be hidden (see
    `declarations`).
    """
    tables = [f"(function {f.name} ({' '.join(f.sorts)}) Unit :merge old)" for f in FACTS.values() if f.kind != "query"]
    return "\n".join([*tables, *(rules_text(f"fact {f.name}", f.rules) for f in FACTS.values())])


def rules_text(name: str, rules: Sequence[Rule]) -> str:
    """Some rules in egglog's syntax, each named by `name` and its number."""
    return "\n".join(rule.egglog(f"{name} {i}") for i, rule in enumerate(rules))
