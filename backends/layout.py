"""Where the values of a loop program live: what may vary, what shares memory, what is overwritten.

Everything here is decided once per program, from its text alone.  A *root* is a piece of memory,
named after the value that made it; `holds[x]` are the roots that x may be a view of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.backends.names import NONE, Loops, Names, Path, given
from scanopt.program.ir import Branch, Compute, Loop, Program, State, Step
from scanopt.program.text import names_read

__all__ = ["Layout", "Place", "elementwise", "layout", "may_overwrite"]


@dataclass(frozen=True)
class Place:
    """How the result of a Compute gets its memory.

    fresh: a new array each time.  buffer: an array of its own, overwritten at the next step.
    onto: the array of the argument `other`, which nobody reads any more, if the shapes agree.
    row: the next row of state number `state`; with `other`, the row of that tap, overwritten.
    trace: the next row of what Keep `other` collects.
    """

    kind: Literal["fresh", "buffer", "onto", "row", "trace"]
    other: str = ""
    state: int = -1


FRESH = Place("fresh")


@dataclass(frozen=True)
class Layout:
    """What the writer of source text needs to know of each name.

    number: loops by id, in the order of Program.loops().  path: the loops and the sides of branches
    around a name (see `Names`); scope: the loops alone.  varies: loops over whose steps its shape
    may change.  copied: (loop, state) pairs whose new row must be copied, because the update lives
    in memory that the next step overwrites.  last_use: position of the last step that reads a
    name, in the body that makes it.  resets: the loop before which the buffer of a name is to be
    forgotten.  spent: (loop, state) pairs whose initial rows nobody else reads, so that they may
    be overwritten.
    """

    number: dict[int, int]
    types: dict[str, TensorType]
    path: dict[str, Path]
    scope: dict[str, tuple[int, ...]]
    varies: dict[str, Loops]
    places: dict[str, Place]
    holds: dict[str, frozenset[str]]
    copied: frozenset[tuple[int, int]]
    views: frozenset[str]
    last_use: dict[str, int]
    resets: dict[str, int]
    spent: frozenset[tuple[int, int]]


def layout(program: Program) -> Layout:
    """The layout of a program."""
    names = Names(program)
    places = dict(_places(program.steps, names, {}, {}))
    memory = _Memory(program, names, places)
    while memory.spread():
        pass
    memory.reuse()
    spent = frozenset(memory.spent(program.steps, ()))
    return Layout(
        names.number, names.types, names.path, names.scope, names.varies, memory.places,
        memory.holds, frozenset(memory.copied), frozenset(memory.views), names.last_use,
        memory.resets, spent,
    )  # fmt: skip


def elementwise(op: Op) -> bool:
    """Whether element i of the result depends on elements i of the arguments alone."""
    name = op.spec.ufunc
    return name is not None and getattr(np, name).signature is None


def may_overwrite(step: Compute) -> tuple[str, ...]:
    """The arguments that a step may write its result onto, if nobody else reads them."""
    if elementwise(step.op) or step.op.name == "sigmoid":
        return step.args
    return step.args[:1] if step.op.name == "setitem" and step.args[0] not in step.args[1:] else ()


def _places(
    steps: tuple[Step, ...], names: Names, traces: Mapping[str, str], states: Mapping[str, int]
) -> Iterator[tuple[str, Place]]:
    """Where results go before anything is known of shared memory.

    traces, states: for values of this body, the Keep that collects all rows, the state they update.
    """
    for step in steps:
        if isinstance(step, Loop):
            kept = {k.value: k.out for k in reversed(step.keeps) if k.rows is None}
            updates = {s.update: i for i, s in reversed(list(enumerate(step.states)))}
            yield from _places(step.body, names, kept, updates)
        elif isinstance(step, Branch):
            for inner, _ in step.sides:
                yield from _places(inner, names, {}, {})
        else:
            yield step.out, _place(step, names, traces, states)


def _place(step: Compute, names: Names, traces: Mapping[str, str], states: Mapping[str, int]) -> Place:
    name, scope = step.out, names.scope[step.out]
    steady = step.op.takes_out and step.type.ndim > 0 and not step.op.view
    if not scope or not steady or scope[-1] in names.varies[name]:
        return FRESH
    if name in traces:
        return Place("trace", other=traces[name])
    return Place("row", state=states[name]) if name in states else Place("buffer")


class _Memory:
    """Which roots each name holds, found by going over the program until nothing changes."""

    def __init__(self, program: Program, names: Names, places: dict[str, Place]) -> None:
        self.program, self.names, self.places = program, names, places
        self.holds: dict[str, frozenset[str]] = {}
        self.holders: dict[str, set[str]] = {}  # by root: the names that hold it; filled for `reuse`
        self.copied: set[tuple[int, int]] = set()
        self.views: set[str] = set()
        self.carried: dict[tuple[int, int], frozenset[str]] = {}
        self.overwritten: dict[str, Loops] = {}  # by root: the loops whose next step overwrites it
        self.resets: dict[str, int] = {}
        for x in given(program):
            self.holds[x.name] = frozenset((x.name,))

    def spread(self) -> bool:
        """One pass; whether anything was learned."""
        before = dict(self.carried), set(self.copied)
        for step in self.program.steps:
            self._step(step)
        return before != (self.carried, self.copied)

    def _step(self, step: Step) -> None:
        if isinstance(step, Loop):
            self._loop(step)
            return
        if isinstance(step, Branch):
            self._branch(step)
            return
        name, place = step.out, self.places[step.out]
        self.holds[name] = frozenset((place.other if place.kind == "trace" else name,))
        if step.op.view and step.args:
            either = step.args[1:] if step.op.name == "ifelse" else step.args[:1]
            self.holds[name] = self.holds[name].union(*(self.holds[a] for a in either))
            self.views.add(name)
        scope = self.names.scope[name]
        self.overwritten[name] = NONE
        if place.kind == "row":
            self.overwritten[name] = frozenset(scope[-1:])
        elif place.kind == "buffer":
            varies = self.names.varies[name]
            keep_from = max((i + 1 for i, n in enumerate(scope) if n in varies), default=0)
            self.overwritten[name] = frozenset(scope[keep_from:])
            self.resets[name] = scope[keep_from]

    def _loop(self, loop: Loop) -> None:
        me = self.names.number[id(loop)]
        for r in loop.reads:
            self.holds[r.out] = self.holds[r.source]
        for i, s in enumerate(loop.states):
            held = self.holds[s.init] | self.carried.get((me, i), frozenset())
            for _, name in s.taps:
                self.holds[name] = held
        for step in loop.body:
            self._step(step)
        for i, s in enumerate(loop.states):
            self.carried[me, i] = self._carry(me, i, s.update)
        kept: dict[tuple[str, int | None], str] = {}
        for k in loop.keeps:
            first = kept.setdefault((k.value, k.rows), k.out)
            self.holds[k.out] = self.holds[k.value] if k.rows == 1 else frozenset((first,))
            self.overwritten.setdefault(first, NONE)
            if k.rows == 1:
                self.views.add(k.out)

    def _branch(self, step: Branch) -> None:
        """A result may be the value of either side, never an array of its own."""
        for steps, _ in step.sides:
            for inner in steps:
                self._step(inner)
        for r in step.results:
            self.holds[r.out] = self.holds[r.then] | self.holds[r.otherwise]
            self.views.add(r.out)

    def _carry(self, me: int, i: int, update: str) -> frozenset[str]:
        place = self.places.get(update, FRESH)
        if self.names.scope[update][-1:] == (me,) and place == Place("row", place.other, i):
            return self.holds[update]
        if any(me in self.overwritten.get(root, NONE) for root in self.holds[update]):
            self.copied.add((me, i))
        if (me, i) in self.copied:
            root = f"state {i} of loop {me}"
            self.overwritten[root] = frozenset((me,))
            return frozenset((root,))
        return self.carried.get((me, i), frozenset()) | self.holds[update]

    # Writing onto dead arguments: decided last, in the order of the program

    def reuse(self) -> None:
        """Let operators write onto an argument that nobody reads any more."""
        for name, roots in self.holds.items():
            for root in roots:
                self.holders.setdefault(root, set()).add(name)
        self._reuse_in(self.program.steps, None)

    def _reuse_in(self, steps: tuple[Step, ...], loop: Loop | None) -> None:
        for position, step in enumerate(steps):
            if isinstance(step, Loop):
                self._reuse_in(step.body, step)
            elif isinstance(step, Branch):
                for inner, _ in step.sides:
                    self._reuse_in(inner, loop)
            elif loop is not None and may_overwrite(step):
                self._reuse(loop, position, step)

    def spent(self, steps: tuple[Step, ...], path: Path) -> Iterator[tuple[int, int]]:
        """The states, in loops of a body, whose initial rows may be overwritten."""
        for position, step in enumerate(steps):
            if isinstance(step, Loop):
                me = self.names.number[id(step)]
                yield from self.spent(step.body, (*path, me))
                read = Counter(names_read(step))
                for i, s in enumerate(step.states):
                    if self._is_spent(s, path, position, read):
                        yield me, i
            elif isinstance(step, Branch):
                for n, (inner, _) in enumerate(step.sides):
                    yield from self.spent(inner, self.names.sides[id(step), n])

    def _is_spent(self, s: State, path: Path, position: int, read: Counter[str]) -> bool:
        roots, names = self.holds[s.init], self.names
        if names.path[s.init] != path or (s.depth > 1 and roots != {s.init}):
            return False
        for root in roots:
            if root not in names.path or names.path[root][: len(path)] != path:
                return False
            if root not in self.overwritten or self.overwritten[root] & set(path):
                return False
        return all(
            names.last_use.get(x, -1) <= position and read[x] == (x == s.init)
            for x in names.together[path]
            if self.holds[x] & roots and names.made[x] < position
        )

    def _reuse(self, loop: Loop, position: int, step: Compute) -> None:
        place = self.places[step.out]
        if place.kind == "row" and loop.states[place.state].depth == 1:
            taps = {name for _, name in loop.states[place.state].taps}
            found = next((a for a in may_overwrite(step) if a in taps and self._dead(a, position, step)), None)
            if found is not None:
                self.places[step.out] = Place("row", found, place.state)
        elif place.kind == "buffer":
            found = next((a for a in may_overwrite(step) if self._spare(a, position, step)), None)
            if found is not None:
                self.places[step.out] = Place("onto", found)
                # Views of the result were made after it, so they are found by its own root.
                self.holds[step.out] |= self.holds[found]
                self._follow(step.out, self.holds[found])

    def _follow(self, name: str, more: frozenset[str]) -> None:
        for other in self.holders.get(name, ()):
            self.holds[other] |= more
            for root in more:
                self.holders[root].add(other)

    def _spare(self, a: str, position: int, step: Compute) -> bool:
        return (
            self.places.get(a, FRESH).kind in ("buffer", "onto")
            and self.names.path[a] == self.names.path[step.out]
            and self.overwritten[a] == self.overwritten[step.out]
            and self._dead(a, position, step)
        )

    def _dead(self, a: str, position: int, step: Compute) -> bool:
        """Whether `step` is the last to read a or what shares its memory, and reads a only."""
        names, type = self.names, self.names.types[a]
        if (type.dtype, type.ndim) != (step.type.dtype, step.type.ndim):
            return False
        for other in set[str]().union(*(self.holders[root] for root in self.holds[a])):
            if names.path[other] == names.path[a] and names.made[other] < position:
                last = names.last_use.get(other, -1)
                if last > position or (last == position and other != a):
                    return False
        return True
