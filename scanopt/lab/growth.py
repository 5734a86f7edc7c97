"""What each law does to the e-graph: forms made and classes united, round by round.

Saturation runs all laws of a round together and knows only how often each matched.  Here they run
one after the other, each in two steps: first it makes its right sides, then both sides are united.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from scanopt.calculus.condition import sorts_of
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.law import Law
from scanopt.compilation.settings import Settings
from scanopt.egraph.saturation import next_size
from scanopt.egraph.session import EGraph
from scanopt.records import dataclass

__all__ = ["Growth", "LawGrowth", "growth"]

_SHOWN = 12  # how many rounds are shown, the last ones


@dataclass(frozen=True)
class LawGrowth:
    """What one law did.  matches: in all rounds.  made: forms that it added, per round.

    seconds: in all rounds, run by itself, with all that a run takes beside it; `history` has the time of the law alone.

    unions: how often it united two classes that were not one already, in all rounds.
    """

    law: str
    matches: int
    seconds: float
    made: tuple[int, ...]
    unions: int


@dataclass(frozen=True)
class Growth:
    """All laws that fired, and the forms after each round.  facts: forms that facts and re-timing added, per round.

    stopped_by: "" when no law had anything left to say, else the limit that was hit.
    """

    laws: tuple[LawGrowth, ...]
    sizes: tuple[int, ...]
    facts: tuple[int, ...]
    stopped_by: str

    @property
    def exploding(self) -> LawGrowth | None:
        """The law that made most forms in the last round of a saturation that a limit ended."""
        if not self.stopped_by or not self.laws:
            return None
        return max(self.laws, key=lambda x: x.made[-1])

    def __str__(self) -> str:
        last = slice(-_SHOWN, None)
        first = max(0, len(self.sizes) - _SHOWN)
        heads = [
            "law",
            "matches",
            "ms",
            "unions",
            "forms",
            *(f"{first + n + 1}." for n in range(len(self.sizes[last]))),
        ]
        rows = [
            [x.law, f"{x.matches}", f"{x.seconds * 1e3:.1f}", f"{x.unions}", f"{sum(x.made)}", *map(str, x.made[last])]
            for x in sorted(self.laws, key=lambda x: (-sum(x.made), -x.matches))
        ]
        rows.append(["facts and re-timing", "", "", "", f"{sum(self.facts)}", *map(str, self.facts[last])])
        rows.append(["forms after the round", "", "", "", "", *map(str, self.sizes[last])])
        widths = [max(len(row[n]) for row in (heads, *rows)) for n in range(len(heads))]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(row[1:], widths[1:], strict=True))])
            for row in (heads, *rows)
        ]
        if worst := self.exploding:
            lines.append(f"stopped by the limit of {self.stopped_by}; most forms of the last round: {worst.law}")
        return "\n".join(lines)


def growth(program: Encoded, laws: Sequence[Law], settings: Settings) -> Growth:
    """Saturate a program law by law; every round runs all laws that can fire, whatever the schedule."""
    engine = EGraph(program, laws, settings.fp)
    try:
        return _Meter(engine, settings).run()
    finally:
        engine.close()


def _in_two_steps(law: Law) -> str:
    """A law as two rulesets: one that makes its right sides, one that unites both sides."""
    (sort,) = sorts_of(law.equation.left).values() if law.equation.left.args is None else ("Value",)
    name = law.name
    return (
        f"(ruleset make_{name}) (relation pair_{name} ({sort} {sort})) {law.rule(f'make_{name}', f'pair_{name}')}\n"
        f"(ruleset unite_{name}) (rule ((pair_{name} a b)) ((union a b)) :ruleset unite_{name})"
    )


def _classes_less(pairs: Sequence[tuple[Any, Any]]) -> int:
    """By how many the number of classes falls once the two of each pair are united."""
    root: dict[Any, Any] = {}

    def find(x: Any) -> Any:
        while root.setdefault(x, x) != x:
            x = root[x]
        return x

    less = 0
    for a, b in pairs:
        if (x := find(a)) != (y := find(b)):
            root[x] = y
            less += 1
    return less


class _Meter:
    def __init__(self, engine: EGraph, settings: Settings) -> None:
        self._engine = engine
        self._settings = settings
        self._made: dict[str, list[int]] = {x.name: [] for x in engine.laws}
        self._matches = dict.fromkeys(self._made, 0)
        self._seconds = dict.fromkeys(self._made, 0.0)
        self._unions = dict.fromkeys(self._made, 0)
        self._waiting = {x.name: x for x in engine.laws}
        self._facts: list[int] = []
        self._sizes: list[int] = []

    def run(self) -> Growth:
        """Run rounds until nothing changes or a limit is hit."""
        start, limits = time.perf_counter(), self._settings.limits
        nodes = self._settings.schedule.nodes or limits.most(self._engine.program.size)
        stopped = "rounds"
        for _ in range(limits.rounds):
            if not self._round():
                stopped = ""
                break
            if next_size(self._sizes) > nodes:
                stopped = "nodes"
                break
            if time.perf_counter() - start > limits.seconds:
                stopped = "seconds"
                break
        laws = [
            LawGrowth(n, self._matches[n], self._seconds[n], tuple(self._made[n]), self._unions[n])
            for n in self._made
            if self._matches[n]
        ]
        return Growth(tuple(laws), tuple(self._sizes), tuple(self._facts), stopped)

    def _round(self) -> bool:
        """Run one round: first all facts that follow, then each law by itself.  Returns whether anything changed."""
        engine = self._engine
        before = engine.size()
        facts = engine.round(frozenset())
        changed = facts.changed
        self._facts.append(facts.size - before)
        size = facts.size
        for name, made in self._made.items():
            if not engine.may_fire(name):
                made.append(0)
                continue
            if (law := self._waiting.pop(name, None)) is not None:
                engine.state(_in_two_steps(law))
            before, start = size, time.perf_counter()
            done = engine.run(f"make_{name}")
            made.append(done.size - before)
            unions = _classes_less(engine.pairs(f"pair_{name}")) if done.matches.get(name) else 0
            size = engine.run(f"unite_{name}").size if unions else done.size
            self._seconds[name] += time.perf_counter() - start
            self._matches[name] += done.matches.get(name, 0)
            self._unions[name] += unions
            changed = changed or bool(unions) or (done.changed and done.size > before)
        self._sizes.append(size)
        return changed
