"""Where the values of a loop program live: the facts for the rules, and what the rules decide.

A *root* is a piece of memory, named after the value that made it, or after the state (number of its
loop, number among the loop's states) that rows are copied to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from scanopt.array.op import Op
from scanopt.program.ir import Branch, Compute, Loop, Program, Step
from scanopt.program.names import Names, Path, given, loops_of, used_at_end
from scanopt.program.storage.rules import StorageRule, derive
from scanopt.program.text import names_read
from scanopt.records import dataclass

__all__ = [
    "FRESH",
    "Allocation",
    "Root",
    "StateOf",
    "Storage",
    "elementwise",
    "facts_of",
    "fresh_storage",
    "keep_storage",
    "may_overwrite",
    "roots_of",
    "storage_of",
]  # fmt: skip

StateOf = tuple[int, int]
"""A state: the number of its loop, and its own number there."""

Root = str | StateOf


@dataclass(frozen=True)
class Allocation:
    """How the result of a Compute gets its memory.

    fresh: a new array each time.  buffer: an array of its own, overwritten at the next step.
    onto: the array of the argument `other`, which nobody reads any more, if the shapes agree.
    row: the next row of state number `state`; with `other`, the row of that tap, overwritten.
    trace: the next row of what Keep `other` collects.
    """

    kind: Literal["fresh", "buffer", "onto", "row", "trace"]
    other: str = ""
    state: int = -1


FRESH = Allocation("fresh")


@dataclass(frozen=True)
class Storage:
    """Where the values of a program live.

    places: how results that are not fresh get their memory.  holds: for each name, the roots that it
    may be a view of, unless that is its own alone.  forgotten: for each buffer, the loop before which
    it is forgotten.  copied: states whose new row must be copied, because it lies in memory that the
    next step overwrites.  spent: states whose initial rows are overwritten, as nobody else reads them.
    rows: states that need fewer rows than they have initial ones, and how many.
    """

    places: Mapping[str, Allocation] = field(default_factory=dict[str, Allocation])
    holds: Mapping[str, frozenset[Root]] = field(default_factory=dict[str, frozenset[Root]])
    forgotten: Mapping[str, int] = field(default_factory=dict[str, int])
    copied: frozenset[StateOf] = frozenset()
    spent: frozenset[StateOf] = frozenset()
    rows: Mapping[StateOf, int] = field(default_factory=dict[StateOf, int])


def elementwise(op: Op) -> bool:
    """Whether element i of the result depends on elements i of the arguments alone."""
    name = op.spec.ufunc
    return name is not None and getattr(np, name).signature is None


def may_overwrite(step: Compute) -> tuple[str, ...]:
    """The arguments that a step could write its result onto, whoever else reads them."""
    if elementwise(step.op) or step.op.name == "sigmoid":
        return step.args
    return step.args[:1] if step.op.name == "setitem" else ()


def roots_of(storage: Storage, name: str) -> frozenset[Root]:
    """The roots that a name may be a view of."""
    return storage.holds.get(name) or frozenset((name,))


# Facts

Fact = tuple[str, tuple[int, ...]]


class _Facts:
    """The facts of a program, in which names, bodies and states are numbers."""

    def __init__(self, program: Program, names: Names) -> None:
        self.program, self.names = program, names
        self.ids = {name: i for i, name in enumerate(names.types)}
        self.states: dict[int, StateOf] = {}
        self.bodies: dict[Path, int] = {}
        self.types: dict[tuple[str, int], int] = {}
        self._found: list[Fact] = []

    def all(self) -> list[Fact]:
        """All facts."""
        for x in given(self.program):
            self._add("given", self.ids[x.name])
            self._add("own", self.ids[x.name])
        self._body(self.program.steps, (), (*self.program.outputs, *self.program.checks))
        for name, i in self.ids.items():
            self._add("made", i, self._number(self.names.path[name]), self.names.made[name])
        return self._found

    def _add(self, name: str, *row: int) -> None:
        self._found.append((name, row))

    def _number(self, path: Path) -> int:
        return self.bodies.setdefault(path, len(self.bodies))

    def _body(self, steps: tuple[Step, ...], path: Path, at_end: tuple[str, ...]) -> None:
        body, loops = self._number(path), loops_of(path)
        for depth, loop in enumerate(loops):
            self._add("around", body, loop, depth)
        for loop in loops[-1:]:
            self._add("inner", body, loop)
        for n in range(len(path) + 1):
            self._add("within", body, self._number(path[:n]))
        for position, step in enumerate(steps):
            self._reads(names_read(step), path, position)
            if isinstance(step, Compute):
                self._compute(step, loops)
            elif isinstance(step, Branch):
                self._branch(step)
            else:
                self._loop(step, path, position)
        self._reads(iter(at_end), path, len(steps))

    def _reads(self, names: Iterator[str], path: Path, position: int) -> None:
        body = self._number(path)
        for name, count in Counter(names).items():
            if self.names.path[name] == path:
                self._add("reads", body, position, self.ids[name], count)

    def _type(self, name: str) -> None:
        type = self.names.types[name]
        number = self.types.setdefault((type.dtype, type.ndim), len(self.types))
        self._add("typed", self.ids[name], number)

    def _view(self, x: str, y: str) -> None:
        self._add("view", self.ids[x], self.ids[y])

    def _compute(self, step: Compute, loops: tuple[int, ...]) -> None:
        x = self.ids[step.out]
        self._add("own", x)
        if step.op.view:
            for a in step.args[1:] if step.op.name == "ifelse" else step.args[:1]:
                self._view(step.out, a)
        elif loops and step.op.takes_out and step.type.ndim:
            self._add("fills", x)
            self._type(step.out)
            for loop in self.names.varies[step.out]:
                self._add("varies", x, loop)
            if may_overwrite(step):
                self._add("changes" if step.op.name == "setitem" else "entrywise", x)
                for i, a in enumerate(step.args):
                    self._add("argument", x, i, self.ids[a])

    def _branch(self, step: Branch) -> None:
        for i, (steps, values) in enumerate(step.sides):
            self._body(steps, self.names.sides[id(step), i], values)
        for r in step.results:
            self._view(r.out, r.then)
            self._view(r.out, r.otherwise)

    def _loop(self, loop: Loop, path: Path, position: int) -> None:
        me = self.names.number[id(loop)]
        self._add("stands", me, self._number(path), position)
        for r in loop.reads:
            self._view(r.out, r.source)
        for i, state in enumerate(loop.states):
            s = len(self.ids) + len(self.states)
            self.states[s] = me, i
            self._add("state", s, me)
            self._add("starts", s, self.ids[state.init])
            self._add("depth", s, state.depth)
            self._add("update", s, self.ids[state.update])
            for k, name in state.taps:
                self._add("tap", s, k, self.ids[name])
                self._type(name)
        self._body(loop.body, (*path, me), tuple(used_at_end(loop)))
        self._keeps(loop, me)

    def _keeps(self, loop: Loop, me: int) -> None:
        first: dict[tuple[str, int | str | None], str] = {}
        for k in loop.keeps:
            if k.rows == 1:
                self._view(k.out, k.value)
            elif first.setdefault((k.value, k.rows), k.out) != k.out:
                self._view(k.out, first[k.value, k.rows])
            else:
                self._add("own", self.ids[k.out])
                if k.rows is None:
                    self._add("keeps", me, self.ids[k.value], self.ids[k.out])


def facts_of(program: Program) -> tuple[list[Fact], list[str], dict[int, StateOf]]:
    """The facts that the rules start from, the names by their numbers, and states by theirs."""
    facts = _Facts(program, Names(program))
    return facts.all(), list(facts.ids), facts.states


# What the rules decide

_WANTED = ("placed", "row_of", "trace_of", "forgotten", "written", "copied", "spent", "rows", "shares")
_KEPT: WeakKeyDictionary[Program, Storage] = WeakKeyDictionary()


def storage_of(program: Program, rules: tuple[StorageRule, ...] | None = None) -> Storage:
    """Where the values of a program live: as found before or read with the program, else derived now and kept.

    rules: in place of those of the project; the result is then not kept.
    Raises ValueError where the program contradicts itself, ImportError where nothing is kept and egglog is missing.
    """
    if rules is not None:
        return _derived(program, rules)
    found = _KEPT.get(program)
    if found is None:
        found = _KEPT[program] = _derived(program, None)
    return found


def keep_storage(program: Program, storage: Storage) -> None:
    """Make `storage_of` return this storage for the program from now on."""
    _KEPT[program] = storage


def fresh_storage(program: Program) -> Storage:
    """A storage that needs no rules: a new array for each result, any of which may share memory with any other."""
    anything: frozenset[Root] = frozenset(((-1, -1),))
    return Storage(holds=dict.fromkeys(Names(program).types, anything))


def _derived(program: Program, rules: tuple[StorageRule, ...] | None) -> Storage:
    facts, names, states = facts_of(program)
    found = derive(facts, _WANTED, rules)
    onto = {x: names[a] for x, a in found["written"]}
    row_of: dict[int, int] = dict(found["row_of"])
    trace_of: dict[int, int] = dict(found["trace_of"])
    places: dict[str, Allocation] = {}
    for x, kind in found["placed"]:
        if kind == 0:
            places[names[x]] = Allocation("onto", onto[x]) if x in onto else Allocation("buffer")
        elif kind == 1:
            places[names[x]] = Allocation("row", onto.get(x, ""), states[row_of[x]][1])
        else:
            places[names[x]] = Allocation("trace", names[trace_of[x]])
    holds: dict[int, set[Root]] = {}
    for x, r in found["shares"]:
        holds.setdefault(x, set()).add(states[r] if r in states else names[r])
    depths = {row[0]: row[1] for name, row in facts if name == "depth"}
    return Storage(
        places,
        {names[x]: frozenset(roots) for x, roots in holds.items()},
        {names[x]: loop for x, loop in found["forgotten"]},
        frozenset(states[s] for (s,) in found["copied"]),
        frozenset(states[s] for (s,) in found["spent"]),
        {states[s]: n for s, n in found["rows"] if n < depths[s]},
    )
