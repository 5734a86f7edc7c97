"""Where the values of a loop program live: what may vary, what shares memory, what is overwritten.

Everything here is decided once per program, from its text alone.  A *root* is a piece of memory,
named after the value that made it; `holds[x]` are the roots that x may be a view of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.program.ir import Compute, Const, Input, Loop, Program, State, Step
from scanopt.program.text import names_read

__all__ = ["Layout", "Place", "elementwise", "given", "layout"]

Loops = frozenset[int]
NONE: Loops = frozenset()


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

    number: loops by id, in the order of Program.loops().  scope: the loops around a name.
    varies: loops over whose steps its shape may change.  copied: (loop, state) pairs whose new row
    must be copied, because the update lives in memory that the next step overwrites.  last_use:
    position of the last step that reads a name, in the body that makes it.  resets: the loop
    before which the buffer of a name is to be forgotten.  spent: (loop, state) pairs whose initial
    rows nobody else reads, so that they may be overwritten.
    """

    number: dict[int, int]
    types: dict[str, TensorType]
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
    names = _Names(program)
    places = dict(_places(program, names))
    memory = _Memory(program, names, places)
    while memory.spread():
        pass
    memory.reuse()
    spent = frozenset(memory.spent(program.steps, ()))
    return Layout(
        names.number, names.types, names.scope, names.varies, memory.places, memory.holds,
        frozenset(memory.copied), frozenset(memory.views), names.last_use, memory.resets,
        spent,
    )  # fmt: skip


def given(program: Program) -> tuple[Input | Const, ...]:
    """What a program does not make itself: its inputs and constants."""
    return (*program.inputs, *program.consts)


def used_at_end(loop: Loop) -> Iterator[str]:
    """The names a loop reads when a step is over."""
    yield from (s.update for s in loop.states)
    yield from (k.value for k in loop.keeps)
    if loop.until is not None:
        yield loop.until


def elementwise(op: Op) -> bool:
    """Whether element i of the result depends on elements i of the arguments alone."""
    name = op.spec.ufunc
    return name is not None and getattr(np, name).signature is None


def may_overwrite(step: Compute) -> tuple[str, ...]:
    """The arguments that a step may write its result onto, if nobody else reads them."""
    if elementwise(step.op) or step.op.name == "sigmoid":
        return step.args
    return step.args[:1] if step.op.name == "setitem" and step.args[0] not in step.args[1:] else ()


class _Names:
    """Type, scope, varying shapes, place in the body and last use of every name."""

    def __init__(self, program: Program) -> None:
        self.number = {id(loop): i for i, loop in enumerate(program.loops())}
        self.types: dict[str, TensorType] = {}
        self.scope: dict[str, tuple[int, ...]] = {}
        self.varies: dict[str, Loops] = {}
        self.moving: dict[str, Loops] = {}  # loops over whose steps the value may change
        self.made: dict[str, int] = {}
        self.together: dict[tuple[int, ...], list[str]] = {}  # by scope: the names made there
        self.last_use: dict[str, int] = {}
        for x in given(program):
            self._add(x.name, x.type, (), -1, NONE, NONE)
        self._body(program.steps, (), (*program.outputs, *program.checks))
        self._known(*program.outputs, *program.checks)

    def _add(
        self, name: str, type: TensorType, scope: tuple[int, ...], made: int, varies: Loops, moving: Loops
    ) -> None:
        if name in self.types:
            raise ValueError(f"the program makes {name!r} twice")
        self.types[name], self.scope[name], self.made[name] = type, scope, made
        self.together.setdefault(scope, []).append(name)
        self.varies[name] = varies if None in type.shape else NONE
        self.moving[name] = moving

    def _body(self, steps: tuple[Step, ...], scope: tuple[int, ...], at_end: Iterable[str]) -> None:
        for position, step in enumerate(steps):
            for name in names_read(step):
                self._use(name, scope, position)
            if isinstance(step, Compute):
                self._compute(step, scope, position)
            else:
                self._loop(step, scope, position)
        for name in at_end:
            self._use(name, scope, len(steps))

    def _use(self, name: str, scope: tuple[int, ...], position: int) -> None:
        # A name made inside a loop of this body is not known yet, or lies deeper: not ours.
        if name in self.scope and self.scope[name] == scope:
            self.last_use[name] = position

    def _known(self, *names: str) -> None:
        for name in names:
            if name not in self.types:
                raise ValueError(f"the program reads {name!r} before it is made")

    def _compute(self, step: Compute, scope: tuple[int, ...], position: int) -> None:
        self._known(*step.args)
        varies = NONE.union(*(self.varies[a] for a in step.args))
        moving = NONE.union(*(self.moving[a] for a in step.args))
        if step.op.data_shape:
            varies |= moving
        if step.op.name == "shape_i":
            moving = varies
        self._add(step.out, step.type, scope, position, varies, moving)

    def _loop(self, loop: Loop, scope: tuple[int, ...], position: int) -> None:
        me = self.number[id(loop)]
        inside = (*scope, me)
        self._known(loop.steps, *(r.source for r in loop.reads), *(s.init for s in loop.states))
        for r in loop.reads:
            moving = self.moving[r.source] | {me}
            self._add(r.out, r.type, inside, -1, self.varies[r.source], moving)
        for s in loop.states:
            for _, name in s.taps:
                moving = self.moving[s.init] | {me} | frozenset(scope)
                self._add(name, s.type, inside, -1, self.varies[s.init], moving)
        self._body(loop.body, inside, used_at_end(loop))
        self._known(*used_at_end(loop))
        for k in loop.keeps:
            varies = (self.varies[k.value] - {me}) | self.moving[loop.steps]
            if loop.until is not None:
                varies |= frozenset(scope)
            self._add(k.out, k.type, scope, position, varies, frozenset(scope))


def _places(program: Program, names: _Names) -> Iterator[tuple[str, Place]]:
    """Where results go before anything is known of shared memory."""
    for step in program.steps:
        if isinstance(step, Compute):
            yield step.out, FRESH
    for loop in program.loops():
        traces = {k.value: k.out for k in reversed(loop.keeps) if k.rows is None}
        states = {s.update: i for i, s in reversed(list(enumerate(loop.states)))}
        for step in loop.body:
            if not isinstance(step, Compute):
                continue
            name, me = step.out, names.number[id(loop)]
            steady = step.op.takes_out and step.type.ndim > 0 and not step.op.view
            if not steady or me in names.varies[name]:
                yield name, FRESH
            elif name in traces:
                yield name, Place("trace", other=traces[name])
            elif name in states:
                yield name, Place("row", state=states[name])
            else:
                yield name, Place("buffer")


class _Memory:
    """Which roots each name holds, found by going over the program until nothing changes."""

    def __init__(self, program: Program, names: _Names, places: dict[str, Place]) -> None:
        self.program, self.names, self.places = program, names, places
        self.holds: dict[str, frozenset[str]] = {}
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
        name, place = step.out, self.places[step.out]
        self.holds[name] = frozenset((place.other if place.kind == "trace" else name,))
        if step.op.view and step.args:
            self.holds[name] |= self.holds[step.args[0]]
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
        for loop in self.program.loops():
            for position, step in enumerate(loop.body):
                if isinstance(step, Compute) and may_overwrite(step):
                    self._reuse(loop, position, step)

    def spent(self, steps: tuple[Step, ...], scope: tuple[int, ...]) -> Iterator[tuple[int, int]]:
        """The states, in loops of a body, whose initial rows may be overwritten."""
        for position, step in enumerate(steps):
            if isinstance(step, Loop):
                me = self.names.number[id(step)]
                yield from self.spent(step.body, (*scope, me))
                read = Counter(names_read(step))
                for i, s in enumerate(step.states):
                    if self._is_spent(s, scope, position, read):
                        yield me, i

    def _is_spent(self, s: State, scope: tuple[int, ...], position: int, read: Counter[str]) -> bool:
        roots, names = self.holds[s.init], self.names
        if names.scope[s.init] != scope or (s.depth > 1 and roots != {s.init}):
            return False
        for root in roots:
            if root not in names.scope or names.scope[root][: len(scope)] != scope:
                return False
            if root not in self.overwritten or self.overwritten[root] & set(scope):
                return False
        return all(
            names.last_use.get(x, -1) <= position and read[x] == (x == s.init)
            for x in names.together[scope]
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
        for other, roots in self.holds.items():
            if name in roots:
                self.holds[other] = roots | more

    def _spare(self, a: str, position: int, step: Compute) -> bool:
        return (
            self.places.get(a, FRESH).kind in ("buffer", "onto")
            and self.names.scope[a] == self.names.scope[step.out]
            and self.overwritten[a] == self.overwritten[step.out]
            and self._dead(a, position, step)
        )

    def _dead(self, a: str, position: int, step: Compute) -> bool:
        """Whether `step` is the last to read a or what shares its memory, and reads a only."""
        names, type = self.names, self.names.types[a]
        if (type.dtype, type.ndim) != (step.type.dtype, step.type.ndim):
            return False
        for other in names.together[names.scope[a]]:
            if names.made[other] < position and self.holds[other] & self.holds[a]:
                last = names.last_use.get(other, -1)
                if last > position or (last == position and other != a):
                    return False
        return True
