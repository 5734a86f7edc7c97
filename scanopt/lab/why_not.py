"""Why a law did nothing for a program: not found, found where a condition does not hold, or not allowed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scanopt.calculus.encoded import Encoded
from scanopt.calculus.law import LICENCES, Law, named_laws
from scanopt.compilation.optimize import Optimized, optimize
from scanopt.compilation.settings import Settings
from scanopt.lab.law_probe import Failing, Probed, probe
from scanopt.lab.term_text import Teller
from scanopt.lab.ways_out import WAYS_OUT, WayOut
from scanopt.records import dataclass

__all__ = ["Barrier", "Verdict", "WhyNot", "barred", "why_not"]

_PLACES = 3  # listed for one condition, at most


@dataclass(frozen=True)
class Barrier:
    """A condition that does not hold where the pattern of a law is found.

    plain: what that means, in plain words; way_out: what to write for it to hold; "" where there are none.
    count: the number of such places; alone: of these, where no other one fails.  places: some of them in words.
    """

    condition: str
    meaning: str
    plain: str
    way_out: str
    count: int
    alone: int
    places: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """The verdict on one law.

    barred: "", "licence" or "left out" (by `exclude` or a mode).  fired: matches; found: places where its
    pattern is found once all laws have run, complete: those where all its conditions hold.  looser: more
    places where they would hold if results need not be equal bit for bit.  cost_without: of the program
    that would be chosen without it, where it fired.  needs: conditions without which there is no pattern.
    """

    law: Law
    barred: str
    fired: int
    found: int
    complete: int
    barriers: tuple[Barrier, ...]
    needs: tuple[str, ...] = ()
    looser: int = 0
    cost_without: float | None = None


@dataclass(frozen=True)
class WhyNot:
    """The answer of `f.why_not(name)`: a verdict on each law of that name.

    cost: of the program that was chosen.  fp: the licence of the function.
    """

    name: str
    fp: str
    cost: float
    verdicts: tuple[Verdict, ...]

    def __str__(self) -> str:
        return "\n".join(line for v in self.verdicts for line in self._lines(v))

    def _lines(self, v: Verdict) -> Iterator[str]:
        yield f"{v.law.name}: {self._headline(v)}"
        if v.looser:
            yield f'    with fp="reassoc" it would fire {_times(v.looser)} more: a batched form is equal up to rounding'
        if not v.found and not v.fired:
            yield f"    nothing in the program looks like {_pattern(v)}"
        for b in v.barriers:
            only = "" if b.alone == b.count else f" ({b.alone} of them: it alone)" if b.alone else ""
            yield f"    {_times(b.count)}{only} " + (b.plain or f"{b.condition} is not known: {b.meaning}")
            if b.plain:
                yield f"        condition: {b.condition}: {b.meaning}"
            if b.way_out:
                yield f"        way out: {b.way_out}"
            yield from (f"        at {place}" for place in b.places)
            if b.count > len(b.places):
                yield f"        and at {b.count - len(b.places)} more"

    def _headline(self, v: Verdict) -> str:
        would = f"it would fire {_times(v.complete)}" if v.complete else "it would not fire anyway"
        if v.barred == "licence":
            return f'barred by the licence: it is "{v.law.licence}", and the function has fp="{self.fp}"; {would}'
        if v.barred:
            return f"left out by exclude= or by a mode; {would}"
        if not v.fired:
            return f"did not fire: {f'its pattern was found {_times(v.found)}' if v.found else 'never found'}"
        without = v.cost_without
        if without is None or without <= self.cost * (1 + 1e-9):
            return f"fired {_times(v.fired)}; the program costs the same without it"
        digits = next(n for n in (4, 6, 10, 17) if f"{without:.{n}g}" != f"{self.cost:.{n}g}")
        costs = f"{without:.{digits}g}, not {self.cost:.{digits}g}"
        return f"fired {_times(v.fired)}; without it the program would cost {costs}"


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _pattern(v: Verdict) -> str:
    left = v.law.equation.left
    if v.law.equation.found:
        return f"{left} beside {v.law.equation.right}"
    if left.args is None:
        where = f" where {', '.join(v.needs)}" if v.needs else ""
        return f"{left} and {v.law.equation.right}{where}"
    return str(left)


def why_not(
    program: Encoded, known: Sequence[Law], laws: Sequence[Law], name: str, settings: Settings, done: Optimized
) -> WhyNot:
    """The verdict on the laws of a name.

    known: all laws there are; laws: those that may fire; done: the result of optimizing with them.
    Raises ValueError, naming those near, where no law or ruleset has the name.
    """
    asked = named_laws(known, name)
    scene, probed = probe(program, laws, asked, settings)
    looser = dict.fromkeys((x.name for x in asked), 0)
    if settings.fp == "exact":
        _, others = probe(program, laws, asked, replace(settings, fp="reassoc"))
        looser = {a.law.name: max(0, b.complete - a.complete) for a, b in zip(probed, others, strict=True)}
    teller = Teller(scene)
    may_fire = {x.name for x in laws}
    verdicts: list[Verdict] = []
    for p in probed:
        x = p.law
        why = "" if x.name in may_fire else barred(x, settings.fp)
        fired = done.saturation.matches.get(x.name, 0)
        rest = [y for y in laws if y.name != x.name]
        without = optimize(program, rest, settings).extraction.cost if fired else None
        barriers = tuple(_barrier(f, p, teller) for f in p.failing)
        needs = tuple(map(str, p.needs))
        verdicts.append(
            Verdict(x, why, fired, p.found, p.complete, barriers, needs, looser[x.name] if not why else 0, without)
        )
    return WhyNot(name, settings.fp, done.extraction.cost, tuple(verdicts))


def barred(law: Law, fp: str) -> str:
    """Why a law that may not fire may not: its licence goes beyond fp, or it was left out."""
    return "licence" if LICENCES.index(law.licence) > LICENCES.index(fp) else "left out"


def _barrier(failing: Failing, probed: Probed, teller: Teller) -> Barrier:
    order = lambda m: (m not in failing.alone, teller.rank(m))  # noqa: E731
    shown = sorted(failing.matches, key=order)[:_PLACES]
    places = tuple(dict.fromkeys(teller.place(m, probed.sorts) for m in shown))
    name = failing.condition.fact
    said = WAYS_OUT.get(name, WayOut(""))
    count, alone = len(failing.matches), len(failing.alone)
    return Barrier(str(failing.condition), failing.condition.meaning, said.plain, said.way, count, alone, places)
