"""The loops of a law in one world: how many steps each may run and does run, at each step of those around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scanopt.calculus.terms import Clock, Int, Move, Term, Value
from scanopt.lab.proving.choices import NoProgramError

if TYPE_CHECKING:
    from scanopt.lab.proving.model import Model
    from scanopt.lab.proving.places import LawPlaces

__all__ = ["At", "Loops", "path"]

At = dict[Clock, int | None]
"""A step for each loop; None is no step, where nothing is computed."""


def path(places: LawPlaces, c: Clock | None, at: At) -> tuple[int | None, ...]:
    """The steps of a loop and of those around it, from the outside."""
    if c is None:
        return ()
    if c not in at:
        raise NotImplementedError(f"values of {c} outside of it")
    return (*path(places, places.around(c), at), at[c])


class Loops:
    """Numbers of steps, chosen when they are first asked for.

    alike: loops that may run equally many steps at all steps around them.  whole: those that run all their steps.
    """

    def __init__(self, m: Model) -> None:
        self.m = m
        self.alike: set[Clock] = set()
        self.whole: set[Clock] = set()
        self.size: int | None = None
        self._steps: dict[Any, int] = {}
        self._executed: dict[Any, int] = {}

    def fix(self, c: Clock, steps: int, executed: int) -> None:
        """Set how many steps a loop outside of all others may run and does run."""
        self._steps[self._key(c, {})], self._executed[c, ()] = steps, executed

    def outside(self, c: Clock, at: At) -> At:
        """The steps of all loops but this one."""
        return {d: t for d, t in at.items() if d != c}

    def _key(self, c: Clock, at: At) -> Any:
        return c if c in self.alike else (c, path(self.m.places, self.m.places.around(c), at))

    def _told(self, c: Clock, at: At) -> str:
        around = path(self.m.places, self.m.places.around(c), at)
        return f"{c}{' at step ' + ', '.join(map(str, around)) if around and c not in self.alike else ''}"

    def steps(self, c: Clock, at: At) -> int:
        """How many steps a loop may run."""
        match c.head, c.args:
            case "cut", (Clock() as d, (Int() | int()) as n):
                k = self.m.number(n)
                if k < 0:
                    raise NoProgramError(f"a loop cut to {k} steps")
                return min(self.steps(d, at), k)
            case "upto", (Clock() as d, Value() as count):
                k = self.m.value(count, at).entries[0]
                if not 0 <= k <= self.steps(d, at):
                    raise NoProgramError(f"{k} steps of a loop of {self.steps(d, at)}")
                return int(k)
            case "lift", (Clock() as d, Clock() as e):
                return self._lifted(d, e, at)
            case "chunks", (Clock() as d,):
                return -(-self.steps(d, at) // self.chunk())
            case "joint", (Move(args=(Clock() as d, *rest)),):
                return self.steps(d, at) + sum(self.steps(e, at) for e in rest if isinstance(e, Clock)) + (not rest)
        key = self._key(c, at)
        if key not in self._steps:
            most = self.m.bounds.steps if self.m.places.around(c) is None else 2
            self._steps[key] = self.m.choose(f"steps of {self._told(c, at)}", range(most + 1))
        return self._steps[key]

    def executed(self, c: Clock, at: At) -> int:
        """How many steps a loop runs: at least one, if it may run any."""
        match c.head, c.args:
            case "cut" | "upto", (Clock() as d, _):
                return min(self.executed(d, at), self.steps(c, at))
            case "lift", (Clock() as d, Clock() as e):
                return self._lifted(d, e, at, run=True)
            case "chunks", (Clock() as d,):
                return -(-self.executed(d, at) // self.chunk())
            case "joint", (Move(args=(Clock() as d, *rest)),):
                more = (self.executed(e, at) for e in rest if isinstance(e, Clock))
                return self.executed(d, at) + sum(more) + (not rest)
        n = self.steps(c, at)
        if c in self.whole or n == 0:
            return n
        key = c, path(self.m.places, self.m.places.around(c), at)
        if key not in self._executed:
            self._executed[key] = self.m.choose(f"steps that {self._told(c, at)} runs", range(n, 0, -1))
        return self._executed[key]

    def _lifted(self, c: Clock, d: Clock, at: At, run: bool = False) -> int:
        """The steps of d beside c, equally many at each step of c; one that may end early runs until all have ended."""
        if d not in self.alike or c not in self.whole:
            raise NoProgramError(f"{d} for all steps of {c}, where it need not have as many steps at each")
        if d in self.whole or not run:
            return self.steps(d, {**at, c: 0 if self.steps(c, at) else None})
        first = min(1, self.steps(d, {**at, c: None}))
        return max((self.executed(d, {**at, c: t}) for t in range(self.steps(c, at))), default=first)

    def chunk(self) -> int:
        """Steps in a chunk."""
        if self.size is None:
            self.size = self.m.choose("steps in a chunk", (1, 2, 3))
        return self.size

    def not_after_end(self, d: Clock, at: At) -> At:
        """A step of d, the last one where it has ended before."""
        t = at[d]
        return at if t is None else {**at, d: min(t, self.executed(d, at) - 1)}

    def one_of(self, m: Term, v: Value, w: Value, at: At) -> tuple[Value, At]:
        """The value at a step of a loop joined with what comes before or after it: v or w, and its place."""
        c, *rest = (x for x in m.args or () if isinstance(x, Clock))
        loop = Clock("joint", (m,))
        outside, t, first = self.outside(loop, at), at[loop], int(m.head == "and_first")
        n = self.executed(c, outside)
        if t is None or first <= t < n + first:
            return v, outside | {c: None if t is None else t - first}
        return w, outside | dict.fromkeys(rest, t - n)
