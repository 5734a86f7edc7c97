"""Schedules: which laws run when, and for how long.

By default there is no schedule: all laws run in every round, until none finds anything new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from scanopt.extensions import load_extensions
from scanopt.records import dataclass

__all__ = ["EVERYTHING", "Phase", "Schedule", "as_schedule", "register_schedule"]


@dataclass(frozen=True, init=False)
class Phase:
    """Rounds of some laws: each derives all facts that follow, then runs all these laws once, and those that only
    unite terms once more.

    names: laws or rulesets; none stands for all laws.  rounds: how many at most; None: until these
    laws find nothing new.  Raises TypeError or ValueError for anything but names and a number.

    >>> Phase("push_out_seq", "merge", rounds=3)
    Phase('push_out_seq', 'merge', rounds=3)
    """

    names: tuple[str, ...]
    rounds: int | None

    def __init__(self, *names: str, rounds: int | None = None) -> None:
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"a phase takes names of laws or rulesets, found {name!r}")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "rounds", _count("rounds", rounds))

    def __repr__(self) -> str:
        rounds = [] if self.rounds is None else [f"rounds={self.rounds}"]
        return f"Phase({', '.join([*map(repr, self.names), *rounds])})"


@dataclass(frozen=True, init=False)
class Schedule:
    """Phases that run one after the other, once or in several cycles.

    cycles: how many; None: until no law of any phase finds anything new.  nodes, seconds: limits on
    the forms in the e-graph and on time, in place of the usual ones.
    Raises TypeError or ValueError for anything but phases and numbers, and if there is no phase.

    >>> Schedule(Phase("algebra", rounds=2), Phase())
    Schedule(Phase('algebra', rounds=2), Phase())
    """

    phases: tuple[Phase, ...]
    cycles: int | None
    nodes: int | None
    seconds: float | None

    def __init__(
        self, *phases: Phase, cycles: int | None = 1, nodes: int | None = None, seconds: float | None = None
    ) -> None:
        for phase in phases:
            if not isinstance(phase, Phase):
                raise TypeError(f"a schedule is made of phases, found {phase!r}: write Phase({phase!r})")
        if not phases:
            raise ValueError("a schedule needs a phase: Schedule(Phase()) runs all laws until nothing is new")
        if seconds is not None and (not isinstance(seconds, int | float) or not seconds > 0):
            raise ValueError(f"seconds must be a number above zero, or None, found {seconds!r}")
        object.__setattr__(self, "phases", phases)
        object.__setattr__(self, "cycles", _count("cycles", cycles))
        object.__setattr__(self, "nodes", _count("nodes", nodes))
        object.__setattr__(self, "seconds", seconds)

    def check(self, known: Iterable[str]) -> None:
        """Raise ValueError where a phase names no law or ruleset of `known`.

        >>> Schedule(Phase("marge")).check(["merge", "save_mem"])
        Traceback (most recent call last):
        ValueError: schedule names 'marge', but there is no such law or ruleset; near: merge
        """
        names = sorted(set(known))
        for name in (n for p in self.phases for n in p.names):
            if name not in names:
                near = get_close_matches(name, names, 3) or names
                raise ValueError(
                    f"schedule names {name!r}, but there is no such law or ruleset; near: {', '.join(near)}"
                )

    def turns(self) -> Iterator[Phase]:
        """The phases in the order they run."""
        done = 0
        while self.cycles is None or done < self.cycles:
            yield from self.phases
            done += 1

    def __repr__(self) -> str:
        given = [] if self.cycles == 1 else [f"cycles={self.cycles}"]
        limits = {"nodes": self.nodes, "seconds": self.seconds}
        given += [f"{name}={value}" for name, value in limits.items() if value is not None]
        return f"Schedule({', '.join([*map(repr, self.phases), *given])})"


def _count(name: str, value: int | None) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ValueError(f"{name} must be a whole number from 1 on, or None, found {value!r}")
    return value


EVERYTHING = Schedule(Phase())
"""All laws in every round, until nothing is new."""


_REGISTERED: dict[str, Schedule] = {"everything": EVERYTHING}


def register_schedule(name: str, schedule: Schedule) -> None:
    """Make a schedule known by a name, for `function(..., schedule=name)`.

    Raises TypeError for anything but a schedule, ValueError for a name that another one has.

    >>> register_schedule("everything", Schedule(Phase("merge")))
    Traceback (most recent call last):
    ValueError: there is already a schedule named 'everything'
    """
    if not isinstance(schedule, Schedule):
        raise TypeError(f"expected a Schedule, found {schedule!r}")
    if _REGISTERED.setdefault(name, schedule) != schedule:
        raise ValueError(f"there is already a schedule named {name!r}")


def as_schedule(schedule: Schedule | str | None) -> Schedule:
    """A schedule from its name; None is the default.  Raises TypeError, ValueError.

    >>> as_schedule(None), as_schedule("everything")
    (Schedule(Phase()), Schedule(Phase()))
    """
    if schedule is None:
        return EVERYTHING
    if isinstance(schedule, Schedule):
        return schedule
    if not isinstance(schedule, str):
        raise TypeError(f"schedule must be a scanopt.Schedule or the name of one, found {schedule!r}")
    if schedule not in _REGISTERED:
        load_extensions()
    if schedule not in _REGISTERED:
        near = get_close_matches(schedule, _REGISTERED, 3) or list(_REGISTERED)
        raise ValueError(f"no schedule is named {schedule!r}; near: {', '.join(near)}")
    return _REGISTERED[schedule]
