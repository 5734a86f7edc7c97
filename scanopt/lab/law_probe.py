"""Why a law did not fire: its pattern is looked for without its conditions, then each condition is asked for.

A program is saturated as it was before; then rules that only count ask, for each law, where its left
side is found, and which of its conditions hold there.  These rules unite nothing, so they cannot
change what they look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from scanopt.calculus.condition import FACTS, Condition, sorts_of
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import TermGraph
from scanopt.calculus.law import Law
from scanopt.compilation.settings import Settings
from scanopt.egraph.readback import Binding, ReadBack
from scanopt.egraph.session import EGraph, Saturation
from scanopt.records import dataclass

__all__ = ["Failing", "IdleLaws", "Match", "Probed", "ProbedProgram", "probe"]

Match = dict[str, Binding]
"""One place where a pattern is found: what each variable stands for; `lhs_` is the left side itself."""


@dataclass(frozen=True, eq=False)
class Failing:
    """A condition that fails at some matches of a pattern: at `matches`, of which at `alone` no other one fails."""

    condition: Condition
    matches: tuple[Match, ...]
    alone: tuple[Match, ...]


@dataclass(frozen=True, eq=False)
class Probed:
    """A law and a saturated program: how often its pattern is found, how often all conditions hold there too.

    needs: conditions that belong to the pattern, since they alone say what its variables are.  sorts: of
    the variables.
    """

    law: Law
    found: int
    complete: int
    failing: tuple[Failing, ...]
    needs: tuple[Condition, ...]
    sorts: dict[str, str]


@dataclass(frozen=True, eq=False)
class ProbedProgram:
    """The saturated program that was looked at, for describing matches.

    places, loops: the class and clock of each term and loop of the program.
    """

    program: Encoded
    graph: TermGraph
    places: dict[int, int]
    loops: dict[int, int]


def probe(
    program: Encoded, laws: Sequence[Law], asked: Sequence[Law], settings: Settings
) -> tuple[ProbedProgram, list[Probed]]:
    """Saturate a program under some laws, then look for each law that is asked about."""
    engine = EGraph(program, laws, settings.fp)
    asking = IdleLaws(asked, all=True)
    try:
        asking.ask(engine, engine.saturate(settings.limits, settings.schedule))
        asking.hear(*engine.read_back())
    finally:
        engine.close()
    return asking.answers(program)


class IdleLaws:
    """Asks an e-graph, before it is closed, where patterns of laws that did not fire are found.  all: of all laws."""

    def __init__(self, laws: Sequence[Law], all: bool = False) -> None:
        self._laws, self._all = laws, all
        self._asked: list[tuple[_Questions, list[str]]] = []
        self._heard: tuple[ReadBack, TermGraph] | None = None

    def ask(self, engine: EGraph, saturation: Saturation) -> None:
        """Ask the questions; those asked before are forgotten.

        Conditions are asked only for laws whose pattern is found, and patterns are looked for only if all tables that
        they read have rows, which few do.
        """
        every = [_Questions(x) for x in self._laws if self._all or not saturation.matches.get(x.name)]
        questions = [q for q in every if engine.may_find(q.pattern)]
        patterns = engine.ask([(q.sorts, [q.pattern]) for q in questions])
        sizes = engine.sizes()
        there = [q for q, [pattern] in zip(questions, patterns, strict=True) if sizes.get(pattern)]
        more = [[x for x in dict.fromkeys(q.bodies()) if x != q.pattern] for q in there]
        asked = engine.ask([(q.sorts, bodies) for q, bodies in zip(there, more, strict=True)])
        told = {id(q): names for q, names in zip(questions, patterns, strict=True)}
        for q, bodies, names in zip(there, more, asked, strict=True):
            known = dict(zip([q.pattern, *bodies], [*told[id(q)], *names], strict=True))
            told[id(q)] += [known[x] for x in q.bodies()]
        self._asked = [(q, told.get(id(q), [])) for q in every]

    def hear(self, back: ReadBack, graph: TermGraph) -> None:
        """Keep the e-graph that was read back."""
        self._heard = back, graph

    def answers(self, program: Encoded) -> tuple[ProbedProgram, list[Probed]]:
        """The answers.  program: the one whose e-graph was asked."""
        assert self._heard is not None
        back, graph = self._heard
        scene = ProbedProgram(program, graph, back.places, back.loops)
        return scene, [q.answer(back, names) for q, names in self._asked]


class _Questions:
    """The questions about one law."""

    def __init__(self, law: Law) -> None:
        self.law = law
        self.sorts, pattern, needs = _pattern(law)
        self.pattern = tuple(pattern)
        self.needs = tuple(law.equation.when[i] for i in needs)
        self.rest = [i for i in range(len(law.equation.when)) if i not in needs]

    def bodies(self) -> Iterator[tuple[str, ...]]:
        """The pattern without each condition and with it, and with the first, first two, ... of them together."""
        for i in self.rest:
            context = self._context(i)
            yield self._with(context)
            yield self._with([*context, i])
        yield from (self._with(self.rest[: n + 1]) for n in range(len(self.rest)))

    def _with(self, conditions: Sequence[int]) -> tuple[str, ...]:
        """The pattern with some conditions."""
        when = self.law.equation.when
        start = len(self.law.atoms([]))
        return (*self.pattern, *self.law.atoms([when[i] for i in conditions])[start:])

    def _context(self, i: int) -> list[int]:
        """The conditions that bind the variables of condition i that the pattern does not bind."""
        when = self.law.equation.when
        compares = bool(FACTS[when[i].fact].pattern) and set(FACTS[when[i].fact].sorts) == {"i64"}
        before = [j for j in self.rest if j != i and (j < i or compares)]
        free, out = when[i].variables() - self.sorts.keys(), set[int]()
        while more := {j for j in before if j not in out and when[j].variables() & free}:
            out |= more
            free |= {v for j in more for v in when[j].variables()} - self.sorts.keys()
        return sorted(out)

    def answer(self, back: ReadBack, relations: Sequence[str]) -> Probed:
        """The answer, from the relations of the questions; the pattern was not found if there are none but its own."""
        if not relations or (len(relations) == 1 and self.rest):
            return Probed(self.law, 0, 0, (), self.needs, self.sorts)
        rows = [{*back.rows(r)} for r in relations]
        found, singly, together = rows[0], rows[1 : 2 * len(self.rest) + 1], rows[2 * len(self.rest) + 1 :]
        complete = together[-1] if together else found
        blamed: dict[tuple[Any, ...], list[int]] = {}
        for n in range(len(self.rest)):
            for m in (singly[2 * n] & found) - singly[2 * n + 1]:
                blamed.setdefault(m, []).append(n)
        for m in found - complete - blamed.keys():
            # Each holds by itself, but not all for the same terms: the first that does not join in is blamed.
            blamed[m] = [next(n for n, joined in enumerate(together) if m not in joined)]
        sorts = list(self.sorts.values())
        matches = {m: back.binding(m, sorts) for m in blamed}
        failing = tuple(self._failing(blamed, matches))
        return Probed(self.law, len(found), len(complete), failing, self.needs, self.sorts)

    def _failing(
        self, blamed: Mapping[tuple[Any, ...], list[int]], matches: Mapping[tuple[Any, ...], tuple[Binding, ...]]
    ) -> Iterator[Failing]:
        for n, i in enumerate(self.rest):
            rows = sorted((m for m, at in blamed.items() if n in at), key=lambda m: str(matches[m]))
            if rows:
                every, alone = (
                    [self._match(matches[m]) for m in some] for some in (rows, [m for m in rows if blamed[m] == [n]])
                )
                yield Failing(self.law.equation.when[i], tuple(every), tuple(alone))

    def _match(self, row: tuple[Binding, ...]) -> Match:
        return dict(zip(self.sorts, row, strict=True))


def _pattern(law: Law) -> tuple[dict[str, str], list[str], set[int]]:
    """Variables of a law's pattern, its atoms, and the conditions that it cannot be stated without.

    A left side that is a variable alone has no pattern: clocks are then all loops, two of them different
    ones; any other variable is bound by the first condition that has it.
    """
    left, right, when = law.equation.left, law.equation.right, law.equation.when
    sorts = sorts_of(left, right) if law.equation.found or left.args is None else sorts_of(left)
    atoms = law.atoms([])
    if left.args is not None:
        if law.equation.found:
            atoms = [*atoms, f"(= rhs_ {right.pattern()})"]
        return {"lhs_": "Value"} | sorts, atoms, set()
    clocks = [v for v, sort in sorts.items() if sort == "Clock"]
    atoms += [f"(within {c} in_{c})" for c in clocks]
    atoms += [f"(!= {a} {b})" for a, b in pairwise(clocks)]
    free, needs = sorts.keys() - set(clocks), set[int]()
    for i, c in enumerate(when):
        if c.variables() & free:
            needs.add(i)
            free -= c.variables()
    return sorts, atoms + law.atoms([when[i] for i in sorted(needs)]), needs
