"""A pass on steps: gives the last row that a nested loop keeps a start, its value if the loop takes no step.

A program reads the last state of a loop as the last row of the initial rows joined with the last row that the loop
keeps; there is no such row if the loop took no step.  A kernel keeps exactly one row in any case: the last one, or else
the last initial row (`Keep.start`).  Where only that row is read and there is no start for it, the loop must take a
step, which the kernel checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field, replace

from scanopt.array.op import Op
from scanopt.array.operators.idle import guarded
from scanopt.array.types import TensorType
from scanopt.backends.kernels.inner_bodies import rewritten_inside
from scanopt.backends.kernels.parts_by_ends import LAST, first_index, joins_rows, readers_of, where_it_runs
from scanopt.program.ir import Compute, Keep, Loop, Step
from scanopt.program.text import names_made, names_read
from scanopt.records import dataclass

__all__ = ["with_starts"]

Types = dict[str, TensorType]


def with_starts(steps: Sequence[Step], wanted: Collection[str], types: Types, top: bool = False) -> tuple[Step, ...]:
    """Rewrite steps so that the last rows that loops keep have starts, at all depths.

    wanted: names that are read afterwards.  top: whether the steps are those of a program; its own loops need no
    starts. types: of all names; names made here are added.
    """
    inside = [rewritten_inside(x, lambda body, after: with_starts(body, after, types)) for x in steps]
    if top or not any(isinstance(x, Loop) for x in inside):
        return tuple(inside)
    found = _Starts(inside, wanted, types).written()
    idle = {x.steps for x in found if isinstance(x, Loop) and all(k.start is not None for k in x.keeps)}
    return tuple(y for x in found for y in where_it_runs(x, idle, types))


@dataclass
class _Uses:
    """The uses of the rows that a loop keeps.  parts: steps that read the last row, and raise where there is none;
    joins: steps that join the rows to others, with the name that they join."""

    parts: list[Compute] = field(default_factory=list[Compute])
    joins: list[tuple[Compute, str]] = field(default_factory=list[tuple[Compute, str]])


def _is_by_row(x: Compute, rows: Collection[str], types: Types) -> bool:
    """Whether a step computes row by row, from rows of some arrays, and cannot raise."""
    most = max(types[a].ndim for a in x.args if a in rows)
    if x.op.can_raise or any(types[a].ndim != most if a in rows else types[a].ndim >= most for a in x.args):
        return False
    if x.op.name in ("expand_dims", "stack", "concatenate"):
        axes = x.op.options["axis"]
        return all(i % x.type.ndim for i in (axes if isinstance(axes, tuple) else (axes,)) if isinstance(i, int))
    return (x.op.spec.ufunc is not None or x.op.name in ("cast", "where")) and x.type.ndim == most


class _Starts:
    """Rewrites the steps of one body.

    rows: for each name that is no longer made, the row that stands for it; chosen: for each row that is chosen when the
    kernel runs, the number of steps that decides; alike: the rows that a loop keeps, and what is computed of them row
    by row.
    """

    def __init__(self, steps: Sequence[Step], wanted: Collection[str], types: Types) -> None:
        self.steps, self.types = _simpler(steps, wanted, types), types
        self.readers = readers_of(self.steps, wanted)
        self.made = {name: x for x in self.steps for name in names_made(x)}
        self.rows: dict[str, str] = {}
        self.chosen: dict[str, str] = {}
        self.alike: set[str] = set()

    def written(self) -> list[Step]:
        """Return all steps, in an order in which starts are computed before their loops."""
        found = [self._started(x) if isinstance(x, Loop) else x for x in self.steps]
        read = [y for x in found for y in self._choosing(x)]
        read = [self._reading(x) for x in read if not (isinstance(x, Compute) and x.out in self.rows)]
        made, done, ordered = {name: x for x in read for name in names_made(x)}, set[int](), list[Step]()

        def put(x: Step) -> None:
            if id(x) not in done:
                done.add(id(x))
                for name in names_read(x):
                    if name in made:
                        put(made[name])
                ordered.append(x)

        for x in read:
            put(x)
        return ordered

    def _choosing(self, x: Step) -> tuple[Step, ...]:
        """A step; for a join, the steps that choose between the loop's last row and the last of the initial rows."""
        if not isinstance(x, Compute) or x.out not in self.chosen:
            return (x,)
        runs, last, row = (f"{x.out}#{part}" for part in ("runs", "first", "row"))
        one = TensorType(x.type.dtype, (1, *x.type.shape[1:]))
        self.types |= {runs: TensorType("bool", ()), last: self.types[x.args[0]].rows(1), row: one}
        self.rows[x.out] = row
        return (
            Compute(runs, _cast("bool"), (self.chosen[x.out],), self.types[runs]),
            Compute(last, Op.make("getitem", index=(LAST,)), x.args[:1], self.types[last]),
            Compute(row, Op.make("where"), (runs, x.args[1], last), one),
        )

    def _reading(self, x: Step) -> Step:
        """A step that reads, in place of rows that are no longer made, the row that stands for them."""
        return replace(x, args=tuple(self.rows.get(a, a) for a in x.args)) if isinstance(x, Compute) else x

    def _started(self, loop: Loop) -> Loop:
        """A loop with starts for its last rows."""
        self.alike = {k.out for k in loop.keeps if k.rows in (None, 1)}
        for x in self.steps:
            if isinstance(x, Compute) and not self.alike.isdisjoint(x.args) and _is_by_row(x, self.alike, self.types):
                self.alike.add(x.out)
        return replace(loop, keeps=tuple(new for k in loop.keeps for new in self._kept(loop, k)))

    def _kept(self, loop: Loop, k: Keep) -> Iterator[Keep]:
        """Yield what replaces a kept value: one row for each start."""
        uses = self._uses(k.out) if k.rows in (None, 1) else None
        start = next((s.init for s in loop.states if s.update == k.value), None)
        if k.rows == 1 and k.type.shape[:1] == (1,) and start is not None:  # without a step, a fold gives its start
            yield replace(k, start=start)
            return
        if uses is None or (start is None and not all(self._stands_for(x, rows, k, loop) for x, rows in uses.joins)):
            yield k
            return
        type, alone = TensorType(k.type.dtype, (1, *k.type.shape[1:])), len(uses.joins) == 1 and not uses.parts
        left = False
        for x, rows in uses.joins:
            if self._stands_for(x, rows, k, loop):
                name = k.out if alone else f"{k.out}#{x.out}"
                self.rows[x.out], self.types[name] = name, type
                yield Keep(name, k.value, 1, type, x.args[0])
            else:
                self.chosen[x.out], left = loop.steps, True
        if left:
            self.types[k.out] = type
            yield Keep(k.out, k.value, 1, type, start)
        if uses.parts:
            name = f"{k.out}#last" if left else k.out
            self.types[name] = type
            yield Keep(name, k.value, 1, type)

    def _uses(self, rows: str) -> _Uses | None:
        """The uses of some rows, and of what is computed of them row by row; None if more than the last row is read."""
        uses, todo = _Uses(), [rows]
        while todo:
            here = todo.pop()
            for x in self.readers.get(here, (None,)):
                if not isinstance(x, Compute):
                    return None
                if first_index(x, here) == -1:
                    uses.parts.append(x)
                elif joins_rows(x) and x.args[1] == here != x.args[0] and self._only_last(x.out):
                    uses.joins.append((x, here))
                elif x.out in self.alike:
                    todo.append(x.out)
                else:
                    return None
        return uses

    def _only_last(self, name: str) -> bool:
        """Whether only the last row of an array is read."""
        last = self.readers.get(name, ())
        return bool(last) and all(first_index(y, name) in (-1, LAST) for y in last)

    def _stands_for(self, join: Compute, rows: str, k: Keep, loop: Loop) -> bool:
        """Whether the rows to which a kept row is joined are known before the loop, and have its dtype."""
        first = join.args[0]
        return rows == k.out and self.types[first].dtype == k.type.dtype and not self._follows(first, loop)

    def _follows(self, name: str, loop: Loop) -> bool:
        """Whether a value depends on the results of a loop."""
        todo, seen = [name], set[str]()
        while todo:
            here = todo.pop()
            if here in seen or here not in self.made:
                continue
            seen.add(here)
            if self.made[here] is loop:
                return True
            todo += names_read(self.made[here])
        return False


def _simpler(steps: Sequence[Step], wanted: Collection[str], types: Types) -> list[Step]:
    """Simplify steps: drop guards that cannot fail, those of the last row of rows joined to others.

    A join of the last row of a join with others joins that join's first rows only.
    """
    made = {x.out: x for x in steps if isinstance(x, Compute)}
    found: list[Step] = []
    for x in steps:
        op = guarded(x.op) if isinstance(x, Compute) else None
        join = made.get(x.args[1]) if isinstance(x, Compute) and len(x.args) == 2 else None
        if op == Op.make("getitem", index=(-1,)) and isinstance(x, Compute) and join is not None and joins_rows(join):
            x = replace(x, op=op, args=x.args[1:]) if types[join.args[0]].shape[0] else x
        elif isinstance(x, Compute) and joins_rows(x) and join is not None and first_index(join, join.args[0]) == LAST:
            x = replace(x, args=(x.args[0], join.args[0]))
        found.append(x)
    read = {*wanted}.union(*(names_read(x) for x in found))
    gone = {x.out for x in made.values() if x.args and first_index(x, x.args[0]) == LAST and x.out not in read}
    return [x for x in found if not isinstance(x, Compute) or x.out not in gone]


def _cast(dtype: str) -> Op:
    return Op.make("cast", dtype=dtype)
