"""How long laws run: rounds under a schedule and limits, and their outcome.

Each round derives facts and runs laws once.  Rounds end when nothing new is found, or at a limit; laws that would make
forms without end are set aside before that, so that the others run to the end.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any

from scanopt.calculus.law import Law
from scanopt.egraph.schedule import Phase, Schedule
from scanopt.progress import working
from scanopt.records import dataclass

__all__ = ["READ", "Limits", "Round", "Saturation", "laws_of_phase", "next_matches", "next_size", "run_schedule"]


READ = 2
"""To read a program back, this many times the memory that it takes must be free."""

_ALIKE = 3
"""Rounds are alike if they are of at most this many kinds, by the matches of each law and the number of new forms."""

_NEW = 0.1
"""The greatest share of expected matches that is assumed to make new forms: most find what laws made already."""


@dataclass(frozen=True)
class Limits:
    """When saturation stops: rounds, forms in the e-graph, forms for each form of the program (with 1,000
    always allowed), seconds; and in any case if memory might not suffice for one more round.

    Laws that make forms without end are set aside before they hit the limit of forms, or where rounds have long been
    alike, and the others go on.
    """

    rounds: int = 10_000
    nodes: int = 100_000
    ratio: int = 40
    seconds: float = 20.0

    def most(self, size: int) -> int:
        """The limit of forms for a program of this size."""
        return min(self.nodes, max(1_000, self.ratio * size))


@dataclass(frozen=True)
class Saturation:
    """How saturation went: per law the matches and seconds, per round the number of forms.

    stopped_by: "" if no law found anything new in the end, "schedule" if the schedule ended before that, otherwise the
    limit that was hit.  aside: laws that were stopped because they would have hit the limit of forms, if only after
    many rounds; the others went on.
    rounds: matches per law of each round.
    """

    matches: dict[str, int] = field(default_factory=dict[str, int])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    growth: tuple[int, ...] = ()
    stopped_by: str = ""
    aside: tuple[str, ...] = ()
    rounds: tuple[dict[str, int], ...] = ()


@dataclass(frozen=True)
class Round:
    """One round: matches and seconds per law, whether anything was new, and the number of forms once laws had run.

    size: without constants that are folded after the round, which count in the next one.  room: the ratio of free
    memory to the memory that the program takes.
    """

    matches: dict[str, int]
    seconds: dict[str, float]
    changed: bool
    size: int
    room: float = math.inf


def laws_of_phase(phase: Phase, laws: Sequence[Law]) -> frozenset[str]:
    """The names of the laws among `laws` that run in a phase."""
    return frozenset(x.name for x in laws if not phase.names or {x.name, x.ruleset} & {*phase.names})


class _Watch:
    """The outcome of the rounds so far, and whether it is time to stop."""

    def __init__(
        self, wanted: frozenset[str], laws: Sequence[Law], seconds: float, nodes: int, rounds: int, long: int
    ) -> None:
        self._wanted = wanted
        self._laws = laws
        self._makers = frozenset(x.name for x in laws if x.makes_forms)
        self._limits = seconds, nodes, rounds
        self._start = time.perf_counter()
        self._quiet: frozenset[str] = frozenset()  # laws that found nothing since the last change
        self._matches: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._growth: list[int] = []
        self._rounds: list[dict[str, int]] = []
        self._found: list[int] = []
        self._long = long
        self._kinds: deque[tuple[Any, ...]] = deque(maxlen=long)  # of the last rounds
        self._stopped = "schedule"
        self.aside: frozenset[str] = frozenset()

    def over(self, names: frozenset[str], done: Round) -> bool:
        """Record a round of the laws of these names; return whether it was the last one."""
        self._matches.update(done.matches)
        for name, t in done.seconds.items():
            self._seconds[name] += t
        self._growth.append(done.size)
        self._rounds.append(done.matches)
        self._found.append(sum(self._made(done.matches).values()))
        self._quiet = frozenset() if done.changed else self._quiet | names
        if not done.changed and self._quiet >= self._wanted - self.aside:
            everything = len(self._wanted) == len(self._laws)
            self._stopped = "nodes" if self.aside else "" if everything else "schedule"
            return True
        seconds, nodes, rounds = self._limits
        expected = max(next_size(self._growth), done.size + self._new() * next_matches(self._found))
        if self._creeps(done.matches) or expected > nodes:
            self._set_aside(done.matches)
        grown = self._growth[-1] / max(self._growth[-2], 1) if len(self._growth) > 1 else 1.0
        for name, hit in (
            ("memory", done.room < READ * grown),
            ("nodes", done.size > nodes),
            ("seconds", time.perf_counter() - self._start > seconds),
            ("rounds", len(self._growth) >= rounds),
        ):
            if hit:
                self._stopped = name
                return True
        return False

    def _creeps(self, matches: Mapping[str, int]) -> bool:
        """Whether each of the last `long` rounds has made a few forms, and the rounds are alike.

        Laws that only move something along the program would have reached its end by then.
        """
        grown = self._growth[-1] - (self._growth[-2] if len(self._growth) > 1 else 0)
        self._kinds.append((grown, frozenset(self._made(matches).items())))
        alike = len(self._kinds) == self._long and len({*self._kinds}) <= _ALIKE
        return alike and all(some > 0 for some, *_ in self._kinds)

    def _made(self, matches: Mapping[str, int]) -> dict[str, int]:
        """The matches of laws that make forms."""
        return {name: n for name, n in matches.items() if n and name in self._makers}

    def _new(self) -> float:
        """The share of expected matches assumed to make new forms: twice that of the last round, at most `_NEW`."""
        last, before = (*self._growth[:-3:-1], 0)[:2]
        return min(_NEW, 2 * max(last - before, 0) / max(self._found[-1], 1))

    def _set_aside(self, matches: Mapping[str, int]) -> None:
        """Stop the laws with most matches of a round, until those left have a quarter of the matches.

        Laws that only unite existing forms go on: they add no forms.
        """
        made = self._made(matches)
        found = Counter({x.name: made[x.name] for x in self._laws if x.name in made})
        left = total = found.total()
        for name, count in found.most_common():
            if 4 * left > total and count:
                self.aside |= {name}
                left -= count
        self._found[-1] = left
        self._kinds.clear()

    def saturation(self) -> Saturation:
        """The outcome of all rounds."""
        fired = [x.name for x in self._laws if self._matches[x.name]]
        return Saturation(
            {n: self._matches[n] for n in fired},
            {n: self._seconds[n] for n in fired},
            tuple(self._growth),
            self._stopped,
            tuple(x.name for x in self._laws if x.name in self.aside),
            tuple(self._rounds),
        )


def run_schedule(
    schedule: Schedule,
    laws: Sequence[Law],
    run: Callable[[frozenset[str]], Round],
    limits: Limits,
    size: int,
    sought: str = "",
    long: int = 1_000,
) -> Saturation:
    """Run rounds in the order of a schedule, until no law finds anything new, or a limit is hit.

    run: runs one round of the laws of these names.  size: forms of the program as written.  sought: a law; rounds end
    as soon as it has found something.  long: laws that come to an end do so in fewer than this many rounds alike.
    """
    wanted = frozenset[str]().union(*(laws_of_phase(p, laws) for p in schedule.phases))
    nodes = limits.most(size) if schedule.nodes is None else schedule.nodes
    watch = _Watch(wanted, laws, schedule.seconds or limits.seconds, nodes, limits.rounds, long)
    with working("applying laws") as tell:
        for phase in schedule.turns():
            names = laws_of_phase(phase, laws)
            for n in itertools.count(1) if phase.rounds is None else range(1, phase.rounds + 1):
                done = run(names - watch.aside)
                tell(f"round {n}, {done.size:,} forms")
                if watch.over(names, done) or done.matches.get(sought):
                    return watch.saturation()
                if not done.changed:
                    break
    return watch.saturation()


def next_size(growth: Sequence[int]) -> float:
    """Predict how large the e-graph may be after one more round, from how its growth itself has grown.

    A round cannot be stopped half way, so an explosion has to be recognized one round ahead; many programs grow fast in
    one round, and few in two that follow each other.  growth: forms after each round.

    >>> next_size([10, 20, 200]), next_size([100, 120, 400]), next_size([100, 120, 400, 1600])
    (20000.0, 960.0, 6742.857142857143)
    """
    size = float(growth[-1])
    if len(growth) >= 3:
        *_, earlier, before, last = (0, *(new - old for old, new in pairwise(growth)))
        if growth[-1] > 4 * growth[-2]:
            size *= (growth[-1] / growth[-2]) ** 2
        elif last > before > 0:
            size += last * (min(last / before, max(2.0, before / earlier)) if before > earlier > 0 else 2)
    return size


def next_matches(found: Sequence[int]) -> float:
    """Expected matches, in one more round, of laws that make forms, if they explode; else 0.

    >>> next_matches([3000, 30_000]), next_matches([3000, 6000])
    (300000.0, 0.0)
    """
    return found[-1] ** 2 / found[-2] if len(found) >= 2 and found[-1] > 4 * found[-2] > 0 else 0.0
