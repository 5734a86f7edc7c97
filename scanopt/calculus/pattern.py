"""Patterns: a constructor of the calculus applied to patterns, or a variable; and the atoms of rules about them.

How values and operators are written is in `term`, the constructors are in `terms`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from operator import is_

from scanopt.calculus.declarations import APPLIED, LISTED
from scanopt.records import dataclass

__all__ = [
    "SPECIAL", "Args", "Atom", "Clock", "Int", "Move", "Param", "State", "Term", "Text", "egglog_text", "elements",
    "number_text", "numbered", "variables_in",
]  # fmt: skip


def variables_in(args: Iterable[object]) -> set[str]:
    """Names of the variables in the terms among the arguments of a pattern."""
    return {v for a in args if isinstance(a, Term) for v in a.variables()}


@dataclass(frozen=True)
class Atom:
    """A part of a rule: a query (`=`, `!=`, `>=` and their like), or an action (set, union, subsume)."""

    head: str
    args: tuple[Term | int | str, ...]

    def egglog(self) -> str:
        """The atom as part of an egglog query."""
        return (
            f"({' '.join([self.head, *(a.pattern() if isinstance(a, Term) else egglog_text(a) for a in self.args)])})"
        )

    def stated(self) -> str:
        """The atom as an egglog command."""
        return f"({' '.join([self.head, *map(egglog_text, self.args)])})"

    def __bool__(self) -> bool:
        raise TypeError(f"{self} is neither true nor false before a program is looked at: no `and`, `if`, j < k < n")

    def variables(self) -> set[str]:
        """Names of the variables in it."""
        return variables_in(self.args)

    def __str__(self) -> str:
        texts = [repr(a) if isinstance(a, str) else str(a) for a in self.args]
        sign = {"union": "=", "set": ":="}.get(self.head, self.head)
        return f"{texts[0]} {sign} {texts[1]}" if len(texts) == 2 else f"{self.head} {', '.join(texts)}"


@dataclass(frozen=True, repr=False)
class Term:
    """A pattern: a constructor applied to patterns, or (`args` is None) a variable."""

    head: str
    args: tuple[Term | int | str, ...] | None = None

    def egglog(self) -> str:
        """The pattern in egglog's syntax."""
        if self.args is None:
            return self.head
        return f"({' '.join([self.head, *map(egglog_text, self.args)])})"

    def pattern(self) -> str:
        """The pattern as part of an egglog query: up to three arguments are looked up at once, not list by list."""
        if self.args is None:
            return self.head
        table, args = self._looked_up(self.args)
        return f"({' '.join([table, *[x.pattern() if isinstance(x, Term) else egglog_text(x) for x in args]])})"

    def _looked_up(self, args: tuple[Term | int | str, ...]) -> tuple[str, tuple[Term | int | str, ...]]:
        """The table that holds the pattern, and its arguments there (see `declarations`)."""
        if self.head == "apply" and isinstance(xs := args[1], Term):
            fixed = _fixed(xs)
            return (APPLIED[len(fixed)], (args[0], *fixed)) if len(fixed) in APPLIED else ("apply_any", args)
        if self.head == "cons" and isinstance(xs := args[1], Term):
            return (LISTED[1], args[:1]) if xs.head == "nil" else (LISTED[0], args)
        return self.head, args

    def is_(self, other: Term | int | str) -> Atom:
        """The query "both are equal"."""
        return Atom("=", (self, other))

    def differs_from(self, other: Term | int | str) -> Atom:
        """The query "both differ, as far as is known"."""
        return Atom("!=", (self, other))

    def equals(self, other: Term | int | str) -> Atom:
        """The action that unites both."""
        return Atom("union", (self, other))

    def gets(self, value: Term | int | str) -> Atom:
        """The action that sets the value of a function: dtype(v).gets(d)."""
        return Atom("set", (self, value))

    def variables(self) -> set[str]:
        """Names of the variables in it."""
        if self.args is None:
            return {self.head}
        return variables_in(self.args)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if self.args is None:
            return self.head
        if self.head == "-" and self.args[0] == 0:
            return f"-{number_text(self.args[1])}"
        if self.head in _INFIX and len(self.args) == 2:
            return f"{self.args[0]}{self.head}{self.args[1]}"
        if self.head in ("cons", "nil"):
            return f"({', '.join(elements(self))})"
        special = SPECIAL.get(self.head)
        return special(*self.args) if special else f"{self.head}({', '.join(map(str, self.args))})"


SPECIAL: dict[str, Callable[..., str]] = {}
"""How terms of some constructors are printed: by constructor, a function of its arguments."""

_INFIX = {"+", "-"}


def egglog_text(x: Term | int | str) -> str:
    """A part of a term in egglog's syntax."""
    if isinstance(x, Term):
        return x.egglog()
    return str(x) if isinstance(x, int) else '"' + x.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _fixed(x: Term) -> list[Term]:
    """The elements of an argument list that is written out to its end; otherwise an empty list."""
    out: list[Term] = []
    while x.head == "cons" and x.args is not None:
        first, x = (a for a in x.args if isinstance(a, Term))
        out.append(first)
    return out if x.head == "nil" else []


def elements(x: Term) -> list[str]:
    """The values of a list as text; a rest that is not written out has a star."""
    if x.head == "cons" and x.args is not None and isinstance(x.args[1], Term):
        return [str(x.args[0]), *elements(x.args[1])]
    return [] if x.head == "nil" else [f"*{x}"]


def number_text(k: Term | int | str) -> str:
    """An integer, in parentheses where it is computed."""
    return f"({k})" if isinstance(k, Term) and k.args is not None else str(k)


class Clock(Term):
    """A loop (or the root: outside all loops)."""


class State(Term):
    """The name of a carried state; recursion passes only through names."""


class Param(Term):
    """A parameter of an operator."""


class Args(Term):
    """A list of values."""


class Move(Term):
    """A re-timing: from a clock to another one."""


class Text(Term):
    """A string."""

    def __add__(self, other: Text | str) -> Text:
        return Text("+", (self, other))

    def __radd__(self, other: str) -> Text:
        return Text("+", (other, self))


class Int(Term):
    """An integer."""

    def __add__(self, other: Int | int) -> Int:
        return Int("+", (self, other))

    __radd__ = __add__

    def __sub__(self, other: Int | int) -> Int:
        return Int("-", (self, other))

    def __neg__(self) -> Int:
        return Int("-", (0, self))

    def __ge__(self, other: Int | int) -> Atom:
        return Atom(">=", (self, other))

    def __le__(self, other: Int | int) -> Atom:
        return Atom("<=", (self, other))

    def __gt__(self, other: Int | int) -> Atom:
        return Atom(">", (self, other))

    def __lt__(self, other: Int | int) -> Atom:
        return Atom("<", (self, other))


def numbered(x: Term, numbers: dict[Int, Int] | None = None) -> tuple[Term, dict[Int, Int]]:
    """Replace the integers that are computed in a right side by names; return it, and the name of each integer.

    Computed by the query, an integer that does not fit into 64 bits makes no match; computed in the right side, it
    would end the run.
    """
    known = {} if numbers is None else numbers
    if isinstance(x, Int) and x.args is not None:
        return known.setdefault(x, Int(f"number{len(known)}_")), known
    if x.args is None:
        return x, known
    args = tuple([numbered(a, known)[0] if isinstance(a, Term) else a for a in x.args])
    return (x if all(map(is_, args, x.args)) else replace(x, args=args)), known
