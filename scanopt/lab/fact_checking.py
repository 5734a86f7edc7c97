"""What goes wrong when a rule of a fact has one atom less: the list docs/fact-mutations.md.

A mutant is added to all facts and laws while a program is optimized.  Then a law fires on a program where it must not,
or programs become equal that are not.  If neither happens, the atom is implied, or it only says where it pays to look:
without it the tables grow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from scanopt.calculus.condition import FACTS
from scanopt.calculus.law import Law, Program, standard_laws
from scanopt.egraph.session import EGraph, UnsoundLawError
from scanopt.lab.attacked_program import Saturated, Subject
from scanopt.lab.checking import WAYS
from scanopt.lab.fact_mutation import Chase, Mutant, mutants
from scanopt.lab.fact_programs import FACT_PROGRAMS
from scanopt.lab.fact_steering import STEERING
from scanopt.lab.fact_witnesses import WITNESSES
from scanopt.lab.loops import LOOPS
from scanopt.progress import each
from scanopt.records import dataclass
from scanopt.view.tables import markdown_table

__all__ = ["FactCheck", "Outcome", "checked_facts", "fact_mutations_page", "outcomes"]

_TRIES = 2
"""How many programs are tried from an e-graph: the cheapest, and one for random costs."""


@dataclass(frozen=True)
class Outcome:
    """The outcome for a rule without one atom.

    kind: "unbound" (there is no such rule), "implied" (by what is left of the body, or by all that ask for the fact),
    "fires" (a law, on a program where it must not), "unsound" (unequal programs are equal), "grows" (the atom only says
    where it pays to look: the tables of a program grow), or "survives": nothing showed.  detail: the program, and
    why; witness: the program alone.
    """

    mutant: Mutant
    kind: str
    detail: str = ""
    witness: str = ""

    def row(self) -> list[str]:
        """The row of the page: without values, which differ from machine to machine."""
        kind = self.kind.upper() if self.kind == "survives" else self.kind
        where = self.witness if self.kind in ("fires", "unsound") else self.detail
        rule = str(self.mutant.whole).replace("|", "\\|")
        return [f"`{self.mutant.fact}`", f"`{rule}`", f"`{self.mutant.atom}`", kind, where]

    def told(self) -> dict[str, str]:
        """The outcome as plain data."""
        m = self.mutant
        about = {"fact": m.fact, "rule": str(m.whole), "without": str(m.atom), "outcome": self.kind}
        return about | {"detail": self.detail, "witness": self.witness}

    def __str__(self) -> str:
        kind = self.kind.upper() if self.kind == "survives" else self.kind
        return f"{self.mutant}\n    {kind}{': ' if self.detail else ''}{self.detail}"


class _Case:
    """A program to try mutants on.  never: a law that must not fire on it."""

    def __init__(self, program: Program, never: Law | None = None) -> None:
        self.subject = Subject(program, WAYS)
        self.never = never
        self._right: set[frozenset[str]] = set()

    def difference(self, laws: Sequence[Law], found: Saturated) -> str | None:
        """A wrong result of a program of its e-graph, if there is one."""
        differences = self.subject.differences(laws, found, _TRIES, quick=True, cheapest=True)
        return next((d.text for d in differences), None)

    def must_be_right(self, laws: Sequence[Law]) -> None:
        """Raise RuntimeError if a result is wrong although no fact is changed."""
        names = frozenset(x.name for x in laws)
        if names not in self._right and (wrong := self.difference(laws, self.subject.saturated(laws))) is not None:
            raise RuntimeError(f"the program is wrong without any mutant: {wrong}")
        self._right.add(names)

    def grows(self, laws: Sequence[Law], wrong: str) -> bool:
        """Whether a wrong rule, run once, adds to the tables after saturation; it might go on without end."""
        engine = EGraph(self.subject.encoded, laws, "reassoc")
        try:
            engine.saturate()
            return any(engine.run(ruleset).changed for ruleset in engine.add(wrong))
        except UnsoundLawError:
            return False
        finally:
            engine.close()


class FactCheck:
    """Mutants of facts, and programs to try them on.

    search: whether to try all programs where the noted witness shows nothing.
    """

    def __init__(self, search: bool = False) -> None:
        self._laws = standard_laws()
        self._exact = tuple(x for x in self._laws if x.licence == "exact")
        self._chase = Chase(self._laws)
        self._search = search

    def outcome(self, m: Mutant) -> Outcome:
        """The outcome for one mutant."""
        if m.unbound:
            return Outcome(m, "unbound", ", ".join(m.unbound))
        if self._chase.implied(m):
            return Outcome(m, "implied", "by what is left of the rule")
        if self._chase.implied_in_use(m):
            return Outcome(m, "implied", "by what is asked beside it")
        return next(self._shown(m), Outcome(m, "survives"))

    def _shown(self, m: Mutant) -> Iterator[Outcome]:
        noted = WITNESSES.get(m.name, "")
        reason = m.steers or STEERING.get(m.name, "")
        names = [noted] if noted in _programs() else []
        if self._search:
            names += [n for n in _programs() if n != noted]
        for name in names:
            case = _case(name)
            if reason and case.grows(self._laws, m.wrong):
                yield Outcome(m, "grows", f"{name}: {reason}", name)
            elif found := self._wrong(m, case):
                yield Outcome(m, found[0], f"{name}: {found[1]}" if found[1] else name, name)

    def _wrong(self, m: Mutant, case: _Case) -> tuple[str, str] | None:
        for laws in (self._laws, self._exact):
            try:
                never = case.never.name if case.never is not None else ""
                found = case.subject.saturated(laws, more=m.wrong, sought=never)
                if found.matches.get(never):
                    return "fires", never
                wrong = case.difference(laws, found)
            except (IndexError, KeyError) as error:  # terms without a meaning
                wrong = f"no program: {error!r}"
            if wrong is not None:
                case.must_be_right(laws)
                return "unsound", wrong
        return None


@cache
def _programs() -> Mapping[str, tuple[Program, Law | None]]:
    """All programs by name: those kept for facts, those of laws, loops of all kinds."""
    out: dict[str, tuple[Program, Law | None]] = {n: (p, None) for n, p in FACT_PROGRAMS.items()}
    for x in standard_laws():
        out |= {f"{x.name}, never {n}": (p, x) for n, p in enumerate(x.never)}
        out |= {f"{x.name}, example {n}": (p, None) for n, p in enumerate(x.example)}
    return out | {n: (p, None) for n, p in LOOPS.items()}


@cache
def _case(name: str) -> _Case:
    return _Case(*_programs()[name])


def outcomes(names: Sequence[str], search: bool = False) -> Iterator[Outcome]:
    """The outcomes of dropping each atom of each rule of some facts (default: all)."""
    check = FactCheck(search)
    asked = [m for m in mutants() if not names or m.fact in names]
    yield from map(check.outcome, each("dropping atoms", asked, lambda m: m.fact))


def checked_facts(names: Sequence[str], say: Callable[[str], None], search: bool = False) -> bool:
    """Drop each atom of each rule of some facts (default: all) and print what goes wrong; True if all are needed.

    search: try all programs where the one that is noted shows nothing, which takes long.
    """
    survivors = count = 0
    for found in outcomes(names, search):
        count += 1
        survivors += found.kind == "survives"
        say(str(found))
    say(f"{count} atoms dropped, one at a time; nothing showed for {survivors}")
    return not survivors


_PAGE = """\
# Atoms that rules of facts cannot do without

Made by `scanopt check-facts --markdown`; do not edit.  Each atom of each rule of each fact was dropped, one at a
time, and programs were optimized with that rule beside all others.  *unsound*: programs become equal that are not.
*fires*: a law fires on one of its `never` programs.  *unbound*: without it nothing says what some variable is, so there
is no such rule.  *implied*: the rest of the rule implies what it concludes, or whatever asks for the fact also asks for
what implies it; this is proven on the rules.  *grows*: it says only where it pays to look, for the reason given;
without it the tables of that program have more rows, or other values.  *SURVIVES*: no difference was seen; there must
be no such row.

"""


def fact_mutations_page() -> str:
    """The page docs/fact-mutations.md."""
    check = FactCheck()
    found = [check.outcome(m) for m in mutants()]
    kinds = sorted({x.kind for x in found})
    summary = ", ".join(f"{sum(x.kind == kind for x in found)} {kind}" for kind in kinds)
    table = markdown_table(["fact", "rule", "without", "what goes wrong", "where, why"], [x.row() for x in found])
    return f"{_PAGE}{table}\n\n{len(found)} atoms of the rules of {len(FACTS)} facts: {summary}.\n"
