"""Provenance: which law made each form, and which forms laws stated to be equal, recorded by the engine itself.

A law that is recorded does more when it fires than unite its two sides.  Each form of its right side is labelled with
the law's name, unless the form existed before, and the forms of both sides go into a table of equalities.  The engine
maintains the rows of such tables like forms: when two forms become one, so do their rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice

from scanopt.array.op import Op
from scanopt.calculus.condition import sort_of
from scanopt.calculus.forms import Batched, Form
from scanopt.calculus.law import Law
from scanopt.calculus.pattern import numbered
from scanopt.calculus.terms import Term, egglog_text
from scanopt.egraph.readback import Binding, ReadBack
from scanopt.records import dataclass

__all__ = ["NOTE_FACTS", "NOTE_WRITTEN", "Equality", "Notes", "Provenance", "notes_text", "noting"]

_SORTS = {
    "input": ("String",), "const": ("String",), "apply": ("Op", "Args"), "hold": ("Clock", "Value"),
    "seq": ("Clock", "Value"), "delay": ("Clock", "Value", "State", "i64"), "stack": ("Clock", "Value"),
    "tail": ("Clock", "Value", "i64"), "at": ("Clock", "Value", "i64"), "recent": ("Clock", "Value", "Value"),
}  # fmt: skip
"""The constructors of forms, and the sorts of their arguments."""

_WRITTEN, _BY_FACTS = "as written", ""
"""In place of a law's name: for forms of the program as written, and for those that facts and re-timing made."""

NOTE_WRITTEN = "(run as_written 1)"
"""Note down the forms that are there when the program has been loaded."""

NOTE_FACTS = "(run by_facts 1)"
"""Note down the forms that came by other ways than a law since the last time."""


@dataclass(frozen=True, eq=False)
class Equality:
    """An equality that a law stated when it fired: two forms.

    left, right: None if that side of the law is a variable, which only says which class it is.  inner: further forms
    inside both sides.
    """

    law: str
    left: Form | None
    right: Form | None
    inner: tuple[Form, ...]


@dataclass(frozen=True, eq=False)
class Provenance:
    """Where the forms of an e-graph come from.

    classes: the class of each form.  written: forms of the program as written.  made: per other form the law that made
    it, "" for facts and re-timing.  equalities: by class of value.  united: laws that united loops or states, by sort
    and number.  rounds: the round in which each law first found something.
    """

    classes: Mapping[Form, int]
    written: frozenset[Form]
    made: Mapping[Form, str]
    equalities: Mapping[int, Sequence[Equality]]
    united: Mapping[tuple[str, int], set[str]]
    rounds: Mapping[str, int]


@dataclass(frozen=True)
class _Side:
    """A side of a law, or a subterm of it: its arguments if it is a form, else itself.

    columns: pairs of sort and term.  head: the constructor of a form, otherwise "".
    """

    head: str
    columns: tuple[tuple[str, str], ...]


def _side(x: Term) -> _Side:
    if x.args is None or x.head not in _SORTS:
        return _Side("", ((sort_of(x), x.egglog()),))
    texts = map(egglog_text, x.args)
    return _Side(x.head, tuple(zip(_SORTS[x.head], texts, strict=True)))


def _parts(x: Term) -> Iterator[Term]:
    """All subterms of a term, without itself."""
    for a in x.args or ():
        if isinstance(a, Term):
            yield a
            yield from _parts(a)


def notes_text(laws: Sequence[Law]) -> str:
    """The tables and rules, in egglog's syntax, by which laws record what they do."""
    return "\n".join([*_tables(), *map(noting, laws)])


def _ruleset(law: Law) -> str:
    return f"noted_{law.name}"


def noting(law: Law) -> str:
    """The table and ruleset of a law that records what it does when it fires."""
    columns = [c for s in _sides(law) for c in s.columns]
    actions = [f"(equal_{law.name} {' '.join(text for _, text in columns)})"]
    if law.makes_forms and not law.folds:
        right = numbered(law.equation.right)[0]
        made = [s for x in (right, *_parts(right)) if (s := _side(x)).head]
        actions += [f'(set (made_{s.head} {" ".join(text for _, text in s.columns)}) "{law.name}")' for s in made]
    name = _ruleset(law)
    return (
        f"(relation equal_{law.name} ({' '.join(sort for sort, _ in columns)}))\n"
        f"(ruleset {name})\n{law.rule(name, more=' '.join(actions))}"
    )


def _sides(law: Law) -> tuple[_Side, ...]:
    """The terms recorded when a law fires: its left side, its right side, and the forms in both."""
    left, right = law.equation.left, numbered(law.equation.right)[0]
    inner = [s for x in (*_parts(left), *(() if law.folds else _parts(right))) if (s := _side(x)).head]
    return _side(left), _Side("", ()) if law.folds else _side(right), *inner


class Notes:
    """The records of some laws."""

    def __init__(self, laws: Sequence[Law]) -> None:
        self._laws = tuple(laws)

    @property
    def rulesets(self) -> dict[str, str]:
        """The ruleset of each law by its name."""
        return {x.name: _ruleset(x) for x in self._laws}

    def tables(self, fired: Container[str]) -> list[str]:
        """The tables that must be read back if laws of these names fired."""
        return [*(f"made_{head}" for head in _SORTS), *(f"equal_{x.name}" for x in self._laws if x.name in fired)]

    def provenance(self, back: ReadBack, rounds: Mapping[str, int]) -> Provenance:
        """The records, in the numbers of a term graph that was read back before."""
        makers: dict[Form, str] = {}
        for head, sorts in _SORTS.items():
            for row, name in back.valued(f"made_{head}", sorts):
                if (form := _form(head, row)) is not None:
                    makers[form] = name
        equalities: defaultdict[int, list[Equality]] = defaultdict(list)
        united: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        for law in self._laws:
            side = _side(law.equation.left)
            sort = "Value" if side.head else side.columns[0][0]
            for place, x in _equalities(law, back):
                if sort == "Value":
                    equalities[place].append(x)
                else:
                    united[sort, place].add(law.name)
        made = {f: name for f, name in makers.items() if name != _WRITTEN}
        written = frozenset(makers.keys() - made.keys())
        return Provenance(back.classes, written, made, equalities, united, rounds)


def _equalities(law: Law, back: ReadBack) -> Iterator[tuple[int, Equality]]:
    """The records of a law, each with the number of the class, loop or state on its left side."""
    sides = _sides(law)
    sorts = [sort for s in sides for sort, _ in s.columns]
    for row, _ in back.valued(f"equal_{law.name}", sorts):
        columns = iter(row)
        parts = [(s.head, tuple(islice(columns, len(s.columns)))) for s in sides]
        left, right, *inner = (_form(head, part) for head, part in parts)
        place = back.classes.get(left) if left is not None else None if sides[0].head else row[0]
        if isinstance(place, int):
            yield place, Equality(law.name, left, right, tuple(f for f in inner if f is not None))


def _tables() -> Iterator[str]:
    """Tables of forms with the law that made them, and rules for forms that no law made."""
    yield "(ruleset as_written)"
    yield "(ruleset by_facts)"
    for head, sorts in _SORTS.items():
        yield f"(function made_{head} ({' '.join(sorts)}) String :merge old)"
        row = " ".join(f"x{n}" for n in range(len(sorts)))
        for ruleset, maker in (("as_written", _WRITTEN), ("by_facts", _BY_FACTS)):
            yield f'(rule ((= v ({head} {row}))) ((set (made_{head} {row}) "{maker}")) :ruleset {ruleset})'


def _form(head: str, row: tuple[Binding, ...]) -> Form | None:
    """A form of the term graph; None if part of it is not in the graph."""
    match head, row:
        case (("input" | "const"), (str() as key,)):
            return Form(head, key=key)
        case "apply", (Op() | Batched() as operator, tuple() as args):
            return Form("apply", args, operator=operator)
        case (("hold" | "seq" | "stack"), (int() as clock, int() as x)):
            return Form(head, (x,), clock=clock)
        case (("tail" | "at"), (int() as clock, int() as x, int() as k)):
            return Form(head, (x,), clock=clock, k=k)
        case "recent", (int() as clock, int() as x, int() as n):
            return Form(head, (x, n), clock=clock)
        case "delay", (int() as clock, int() as x, int() as state, int() as k):
            return Form("delay", (x,), clock=clock, state=state, k=k)
        case _:
            return None
