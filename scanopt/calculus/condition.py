"""How facts are declared and how laws state them; the facts themselves are in `facts`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scanopt.calculus.declarations import APPLIED
from scanopt.calculus.terms import Args, Clock, Int, Op, State, Term, Text, Value

__all__ = ["FACTS", "Condition", "Fact", "facts_text", "flat", "new_fact", "rules_text", "sort_of", "sorts_of"]


@dataclass(frozen=True)
class Condition:
    """A fact about certain terms: what a law lists in `when`."""

    fact: str
    args: tuple[Term | int, ...]

    def egglog(self) -> str:
        """The condition in egglog's syntax, to be looked up."""
        parts = [a.pattern() if isinstance(a, Term) else str(a) for a in self.args]
        fact = FACTS[self.fact]
        return fact.pattern.format(*parts) if fact.pattern else f"({' '.join([fact.name, *parts])})"

    def variables(self) -> set[str]:
        """Names of the variables that it speaks of."""
        return {v for a in self.args if isinstance(a, Term) for v in a.variables()}

    def __str__(self) -> str:
        return f"{self.fact}({', '.join(map(str, self.args))})"


@dataclass(frozen=True)
class Fact:
    """A named fact: its argument sorts, its meaning, and the rules that derive it.

    pattern: atoms of a query, with {0}, {1} ... for the terms, in place of a relation of its own.  hint: it claims
    nothing of its terms, and says only where it pays to look for other facts.
    """

    name: str
    sorts: tuple[str, ...]
    meaning: str
    rules: str = ""
    pattern: str = ""
    hint: bool = False

    def __call__(self, *args: Term | int) -> Condition:
        """The fact, stated of certain terms."""
        if len(args) != len(self.sorts):
            raise TypeError(f"fact {self.name} takes {len(self.sorts)} terms, found {len(args)}")
        return Condition(self.name, args)


FACTS: dict[str, Fact] = {}
"""All facts by name."""

_SORTS: dict[type[Term] | type[int], str] = {
    Value: "Value", Clock: "Clock", State: "State", Op: "Op", Args: "Args", Text: "String", Int: "i64",
}  # fmt: skip


def sort_of(x: Term) -> str:
    """The sort of a term in egglog."""
    return _SORTS.get(type(x), type(x).__name__)


def sorts_of(*terms: Term | int) -> dict[str, str]:
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


def new_fact(
    name: str, *sorts: type[Term], meaning: str, rules: str = "", pattern: str = "", hint: bool = False
) -> Callable[..., Condition]:
    """Declare a fact; laws call what is returned to state it of their terms.

    rules: Datalog in egglog's syntax, one `body => head` per line.  hint: that it holds of more would only cost time.
    Raises ValueError when the name is taken by a fact that says something else.

    >>> from scanopt.calculus import facts
    >>> new_fact("runs_all", Clock, meaning=FACTS["runs_all"].meaning)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: there is already a fact named 'runs_all'
    """
    fact = Fact(name, tuple(_SORTS[s] for s in sorts), meaning, rules, pattern, hint)
    if name in FACTS and FACTS[name] != fact:
        raise ValueError(f"there is already a fact named {name!r}")
    FACTS[name] = fact
    return fact


def facts_text() -> str:
    """Declarations and rules of all facts, for egglog."""
    relations = [f"(relation {f.name} ({' '.join(f.sorts)}))" for f in FACTS.values() if not f.pattern]
    return "\n".join([*relations, *(rules_text(f"fact {f.name}", f.rules) for f in FACTS.values())])


def rules_text(name: str, rules: str, as_written: bool = False) -> str:
    """Rules written `body => head`, one per line, for egglog.  as_written: bodies are not made flat."""
    lines = [line.strip() for line in rules.splitlines() if line.strip()]
    return "\n".join(_rule(f"{name} {i}", line, as_written) for i, line in enumerate(lines))


def _rule(name: str, line: str, as_written: bool) -> str:
    body, arrow, head = line.partition("=>")
    if not arrow:
        raise ValueError(f"{name}: expected `body => head`, found {line!r}")
    return f'(rule ({body if as_written else flat(body)}) ({head}) :ruleset facts :name "{name}")'


_Tree = list["_Tree"] | str


def flat(query: str) -> str:
    """A query in which operators of one to three arguments are looked up at once, not list by list.

    Each atom is one more way to join: short queries are many times faster.

    >>> flat('(= v (apply op (cons x (nil)))) (= w (apply op r))')
    '(= v (apply_one op x)) (= w (apply op r))'
    """
    return " ".join(map(_text, _read(iter(_TOKEN.findall(query)))))


_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[()]|[^\s()"]+')


def _read(tokens: Iterator[str]) -> list[_Tree]:
    out: list[_Tree] = []
    for token in tokens:
        if token == ")":
            break
        out.append(_read(tokens) if token == "(" else token)
    return out


def _text(x: _Tree) -> str:
    if isinstance(x, str):
        return x
    if len(x) == 3 and x[0] == "apply" and len(items := _items(x[2])) in APPLIED:
        x = [APPLIED[len(items)], x[1], *items]
    return f"({' '.join(map(_text, x))})"


def _items(x: _Tree) -> list[_Tree]:
    """The elements of a list that is written out to its end, else nothing."""
    out: list[_Tree] = []
    while len(x) == 3 and x[0] == "cons":
        out.append(x[1])
        x = x[2]
    return out if x == ["nil"] else []
