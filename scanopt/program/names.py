"""What can be read off a loop program for each name: its type, its path, where its shape may vary, its last use.

The *path* of a name is the loops and the sides of branches around it, outermost first: a loop
is its number, a side a negative number.  Its *scope* is the loops alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from scanopt.array.types import TensorType
from scanopt.program.ir import Branch, Compute, Const, Input, Loop, Program, Step
from scanopt.program.text import names_read

__all__ = ["NONE", "Loops", "Names", "Path", "given", "used_at_end"]

Loops = frozenset[int]
NONE: Loops = frozenset()
Path = tuple[int, ...]


def given(program: Program) -> tuple[Input | Const, ...]:
    """The inputs and constants of a program, which none of its steps makes."""
    return (*program.inputs, *program.consts)


def used_at_end(loop: Loop) -> Iterator[str]:
    """The names a loop reads when a step is over."""
    yield from (s.update for s in loop.states)
    yield from (k.value for k in loop.keeps)
    if loop.until is not None:
        yield loop.until


class Names:
    """Type, path, scope, varying shapes, place in the body and last use of every name."""

    def __init__(self, program: Program) -> None:
        self.number = {id(loop): i for i, loop in enumerate(program.loops())}
        self.types: dict[str, TensorType] = {}
        self.path: dict[str, Path] = {}
        self.scope: dict[str, tuple[int, ...]] = {}
        self.varies: dict[str, Loops] = {}
        self.moving: dict[str, Loops] = {}  # loops over whose steps the value may change
        self.made: dict[str, int] = {}
        self.together: dict[Path, list[str]] = {}  # by path: the names made there
        self.last_use: dict[str, int] = {}
        self.sides: dict[tuple[int, int], Path] = {}  # by id of a branch and number of its side
        self._fresh = count(1)
        for x in given(program):
            self._add(x.name, x.type, (), -1, NONE, NONE)
        self._body(program.steps, (), (*program.outputs, *program.checks))

    def _add(self, name: str, type: TensorType, path: Path, made: int, varies: Loops, moving: Loops) -> None:
        if name in self.types:
            raise ValueError(f"the program makes {name!r} twice")
        self.types[name], self.path[name], self.made[name] = type, path, made
        self.scope[name] = loops_of(path)
        self.together.setdefault(path, []).append(name)
        self.varies[name] = varies if None in type.shape else NONE
        self.moving[name] = moving

    def _body(self, steps: tuple[Step, ...], path: Path, at_end: Iterable[str]) -> None:
        at_end = tuple(at_end)
        for position, step in enumerate(steps):
            for name in names_read(step):
                self._use(name, path, position)
            if isinstance(step, Compute):
                self._compute(step, path, position)
            elif isinstance(step, Loop):
                self._loop(step, path, position)
            else:
                self._branch(step, path, position)
        for name in at_end:
            self._use(name, path, len(steps))
        self._known(*at_end)

    def _use(self, name: str, path: Path, position: int) -> None:
        # A name made inside a loop or a side of this body is not known yet, or lies deeper: not ours.
        if name in self.path and self.path[name] == path:
            self.last_use[name] = position

    def _known(self, *names: str) -> None:
        for name in names:
            if name not in self.types:
                raise ValueError(f"the program reads {name!r} before it is made")

    def _compute(self, step: Compute, path: Path, position: int) -> None:
        self._known(*step.args)
        varies = NONE.union(*(self.varies[a] for a in step.args))
        moving = NONE.union(*(self.moving[a] for a in step.args))
        if step.op.data_shape:
            varies |= moving
        if step.op.name == "shape_i":
            moving = varies
        self._add(step.out, step.type, path, position, varies, moving)

    def _loop(self, loop: Loop, path: Path, position: int) -> None:
        me, scope = self.number[id(loop)], loops_of(path)
        inside = (*path, me)
        counts = (k.rows for k in loop.keeps if isinstance(k.rows, str))
        self._known(loop.steps, *counts, *(r.source for r in loop.reads), *(s.init for s in loop.states))
        for r in loop.reads:
            moving = self.moving[r.source] | {me}
            self._add(r.out, r.type, inside, -1, self.varies[r.source], moving)
        for s in loop.states:
            for _, name in s.taps:
                moving = self.moving[s.init] | {me} | frozenset(scope)
                self._add(name, s.type, inside, -1, self.varies[s.init], moving)
        self._body(loop.body, inside, used_at_end(loop))
        for k in loop.keeps:
            varies = (self.varies[k.value] - {me}) | self.moving[loop.steps]
            if isinstance(k.rows, str):
                varies |= self.moving[k.rows]
            if loop.until is not None:
                varies |= frozenset(scope)
            self._add(k.out, k.type, path, position, varies, frozenset(scope))

    def _branch(self, step: Branch, path: Path, position: int) -> None:
        self._known(step.condition)
        for i, (steps, names) in enumerate(step.sides):
            inside = self.sides[id(step), i] = (*path, -next(self._fresh))
            self._body(steps, inside, names)
        for r in step.results:
            values = (r.then, r.otherwise)
            varies, moving = (NONE.union(*(f[v] for v in values)) for f in (self.varies, self.moving))
            moving |= self.moving[step.condition]
            if not self.same_shape(*values):
                varies |= self.moving[step.condition]
            self._add(r.out, r.type, path, position, varies, moving)

    def same_shape(self, a: str, b: str) -> bool:
        """Whether two values are known to have the same shape, axis by axis."""
        x, y = self.types[a].shape, self.types[b].shape
        return a == b or (x == y and None not in x)


def loops_of(path: Path) -> tuple[int, ...]:
    """The loops of a path."""
    return tuple(n for n in path if n >= 0)
