"""What a loop program holds in memory: rows per loop, and bytes for given sizes.

The figures are those of the array steps of `scanopt.backends`.  A state holds as many rows as its
deepest tap reads back, and one more to write to, unless the new row replaces the oldest one or all its
rows are kept anyway.  A value kept whole holds one row per step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from scanopt.array.abstract import abstract_eval, concrete, executed, last_row, trace
from scanopt.array.op import Operand
from scanopt.array.operators.control import IFELSE
from scanopt.array.shapes import shape_text, widened
from scanopt.array.types import Dim, TensorType
from scanopt.program.ir import Branch, Compute, Loop, Program, Step
from scanopt.program.storage.placement import FRESH, StateOf, fresh_storage, storage_of
from scanopt.program.text import names_made, names_read
from scanopt.records import dataclass

__all__ = [
    "Held", "Joined", "MemoryReport", "loop_shapes", "memory_report", "peak_rows", "plan", "rows_of_states", "running",
    "shapes",
]  # fmt: skip

Known = dict[str, Operand]
Shape = tuple[Dim, ...]


@dataclass(frozen=True)
class Held:
    """Rows that a loop holds of one value.  rows: None is one per step; a name is that many, at most one per step.

    what: "state", "trace" or "last rows".  type: of one row.
    """

    loop: str
    name: str
    what: str
    rows: int | str | None
    type: TensorType

    def __str__(self) -> str:
        count = "row" if self.rows == 1 else "rows"
        rows = "one row per step" if self.rows is None else f"{self.rows} {count}"
        return f"loop {self.loop}: {self.what} {self.name}: {rows} of {self.type}"


def plan(program: Program) -> tuple[Held, ...]:
    """The rows that each loop holds, loop by loop: those of states, then those kept for after the loop."""
    counts = rows_of_states(program)
    return tuple(held for n, loop in enumerate(program.loops()) for held in _held(loop, n, counts))


def rows_of_states(program: Program) -> dict[StateOf, int]:
    """For each state, by the number of its loop and its own number, how many rows it has memory for."""
    try:
        storage = storage_of(program)
    except ImportError:
        storage = fresh_storage(program)
    made: dict[StateOf, int] = {}
    for n, loop in enumerate(program.loops()):
        for i, s in enumerate(loop.states):
            place = storage.places.get(s.update, FRESH)
            moved = (n, i) in storage.copied or (place.kind, place.state, place.other) == ("row", i, "")
            made[n, i] = storage.rows.get((n, i), s.depth) + moved
    return made


def _held(loop: Loop, number: int, counts: Mapping[StateOf, int]) -> Iterable[Held]:
    whole = {k.value for k in loop.keeps if k.rows is None}
    for i, s in enumerate(loop.states):
        if s.update not in whole:
            yield Held(loop.label, s.update, "state", counts[number, i], s.type)
    seen: set[tuple[str, int | str | None]] = set()
    for k in loop.keeps:
        last_of_state = k.rows == 1 and any(s.update == k.value for s in loop.states)
        if (k.value, k.rows) not in seen and not last_of_state:
            what = "trace" if k.rows is None else "last rows"
            yield Held(loop.label, k.value, what, k.rows, k.type.row())
        seen.add((k.value, k.rows))


def peak_rows(program: Program) -> dict[str, int | None]:
    """For each value that a loop holds on to, its rows; None means one per step."""
    rows: dict[str, int | None] = {}
    for held in plan(program):
        before = rows.get(held.name, 0)
        rows[held.name] = None if not isinstance(held.rows, int) or before is None else held.rows + before
    return rows


# Shapes, step counts and small values without running anything


class Joined(tuple[int | None, ...]):
    """The shape of an array joined of parts whose lengths vary, of which only the greatest are known."""

    __slots__ = ()


def shapes(steps: Sequence[Step], known: Known, states: Mapping[str, Shape] | None = None) -> None:
    """Add to `known` the type of every name that the steps make if they run, and its value where that follows.

    states: shapes that names must have: they fill in lengths that are not inferred; those of `Joined` always hold.
    """
    told = states or {}
    for step in steps:
        if isinstance(step, Compute):
            known[step.out] = abstract_eval(step.op, [known[a] for a in step.args])
        elif isinstance(step, Branch):
            _branch(step, known, told)
        else:
            value = known[step.steps].value
            loop_shapes(step, known, None if value is None else int(value), told)
        for name in names_made(step):
            if isinstance(found := told.get(name), Joined):
                known[name] = replace(known[name], shape=(None,) * len(found))
            known.update([] if found is None else [(name, known[name].within(found))])


def _branch(step: Branch, known: Known, told: Mapping[str, Shape]) -> None:
    """Add what is known of the results of a branch: from the side taken, else what both sides have in common.

    A side whose shapes do not fit could only raise, and is assumed not to be taken.
    """
    test = known[step.condition].value
    sides = step.sides if test is None else (step.sides[0 if test else 1],)
    found: list[tuple[str, ...]] = []
    errors: list[Exception] = []
    for steps, values in sides:
        try:
            shapes(steps, known, told)
            found.append(values)
        except (TypeError, ValueError, IndexError) as error:
            errors.append(error)
    if not found:
        raise errors[0]
    for r, a, b in zip(step.results, found[0], found[-1], strict=True):
        # A value that only one side makes, which is not read after the other one, has the shape that it has there.
        first, second = (known[b] if _nothing(known[a]) else known[a]), known[b]
        second = first if _nothing(second) else second
        known[r.out] = abstract_eval(IFELSE, [known[step.condition], first, second])


def _nothing(x: Operand) -> bool:
    """Whether this is the placeholder for a value that a side does not make: see `sides`."""
    return x.value is not None and bool(x.shape) and not any(x.shape)


def _may_run(steps: Sequence[Step], known: Mapping[str, Operand]) -> bool:
    """Whether a side may be taken: `shapes` got through its steps, so all their names are known."""
    return all(name in known for step in steps for name in names_made(step))


def running(steps: Sequence[Step], known: Mapping[str, Operand]) -> Iterable[Step]:
    """All steps, as `Program.walk`, except those on sides that are not taken.  known: as `shapes` filled it."""
    for step in steps:
        yield step
        if isinstance(step, Loop):
            yield from running(step.body, known)
        elif isinstance(step, Branch):
            for side in _taken(step, known):
                yield from running(side, known)


def _taken(step: Branch, known: Mapping[str, Operand]) -> Iterable[Sequence[Step]]:
    """The sides that may be taken."""
    test = known[step.condition].value
    sides = [step.then, step.otherwise] if test is None else [step.then if test else step.otherwise]
    return [side for side in sides if _may_run(side, known)]


def loop_shapes(loop: Loop, known: Known, steps: int | None, told: Mapping[str, Shape] | None = None) -> None:
    """The same as `shapes`, for one loop of `steps` steps (None: unknown).  told: as `states` there.

    Raises the errors of shape rules, and ValueError for a state that would change its shape.
    """
    for r in loop.reads:
        known[r.out] = _row(known[r.source])
    for s in loop.states:
        known.update((name, _row(known[s.init])) for _, name in s.taps)
        if (1, s.update) in s.taps:  # it never changes
            known[s.update] = last_row(known[s.init])
    starts = {s.update: known[s.init].shape[1:] for s in loop.states}
    joined = {name: shape for name, shape in (told or {}).items() if isinstance(shape, Joined)}
    shapes(loop.body, known, {**(told or {}), **starts, **joined})
    for s in loop.states:
        found, expected = known[s.update].shape, known[s.init].shape[1:]
        if not TensorType("bool", expected).compatible(TensorType("bool", found)):
            where = f" of loop {loop.label}" if loop.label else ""
            raise ValueError(
                f"state {s.label or s.update}{where} must keep the shape that it starts with: expected shape "
                f"{shape_text(expected)}, found {shape_text(found)}{widened(expected, found)}"
            )
    run = executed(steps, None if loop.until is None else known[loop.until])
    for k in loop.keeps:
        runs = steps or k.type.shape[:1] == (1,)  # it runs at least one step
        known[k.out] = trace(known[k.value], 1 if k.rows == 1 and runs else _rows_kept(k.rows, known, run))


def _rows_kept(rows: int | str | None, known: Known, steps: int | None) -> int | None:
    """How many rows are kept after `steps` steps; None where that is not known."""
    if not steps or rows is None:
        return steps
    if isinstance(rows, str):
        value = known[rows].value
        return None if value is None else min(int(value), steps)
    return min(rows, steps)


def _row(x: Operand) -> Operand:
    return Operand(x.dtype, x.shape[1:])


# Bytes


@dataclass(frozen=True)
class MemoryReport:
    """Bytes of results and buffers; arguments and constants are not counted.

    outer: bytes of each array made outside loops.  held: bytes of the rows that each loop holds.
    peak: the most bytes at one time, without temporaries inside one operator.  A length that
    depends on values counts as 0, and `exact` is then False.
    """

    outer: dict[str, int]
    held: tuple[tuple[Held, int], ...]
    peak: int
    exact: bool

    def __str__(self) -> str:
        lines = [f"{n:>14,} bytes  {held}" for held, n in self.held]
        lines += [f"{n:>14,} bytes  {name}" for name, n in self.outer.items()]
        sign = "" if self.exact else "at least "
        return "\n".join([*lines, f"{self.peak:>14,} bytes  {sign}at one time"])


def memory_report(program: Program, sizes: Mapping[str, Any]) -> MemoryReport:
    """Bytes of a program for given arguments.

    sizes: for each input, by label or name, an array, a shape, or for a scalar its value.
    Raises KeyError when one is missing.
    """
    known: Known = {c.name: concrete(c.value) for c in program.consts}
    for x in program.inputs:
        given = sizes[x.label] if x.label in sizes else sizes[x.name]
        known[x.name] = _given(x.type, given)
    shapes(program.steps, known)
    run = list(running(program.steps, known))
    loops = [s for s in run if isinstance(s, Loop)]
    inside = {name for s in loops for inner in running(s.body, known) for name in names_made(inner)}
    counts = {id(s): known[s.steps].value for s in loops}
    held: list[tuple[Held, int]] = []
    numbers = {id(loop): n for n, loop in enumerate(program.loops())}
    rows_of = rows_of_states(program)
    for loop in loops:
        steps = counts[id(loop)]
        for h in _held(loop, numbers[id(loop)], rows_of):
            count = None if steps is None else int(steps)
            rows = h.rows if isinstance(h.rows, int) else _rows_kept(h.rows, known, count)
            held.append((h, (rows or 0) * _bytes(known[h.name])))
    made = [s.out for s in run if isinstance(s, Compute)]
    outer = {name: _bytes(known[name]) for name in made if name not in inside}
    unknown = any(None in known[n].shape for n in known) or None in counts.values()
    last = dict.fromkeys(program.outputs, len(program.steps))
    return MemoryReport(outer, tuple(held), _peak(program.steps, last, known, held), not unknown)


def _given(type: TensorType, given: Any) -> Operand:
    if isinstance(given, tuple):
        return Operand(type.dtype, given)
    return concrete(np.asarray(given, dtype=type.dtype))


def _bytes(x: Operand) -> int:
    return int(np.prod([n or 0 for n in x.shape])) * np.dtype(x.dtype).itemsize


def _peak(steps: Sequence[Step], last: dict[str, int], known: Known, held: Sequence[tuple[Held, int]]) -> int:
    """The most bytes alive after a step outside loops; an array is freed after its last use or that of a view of it.

    last: names that are read after the steps.  On a side of a branch, arrays made before it are not counted.
    """
    last = dict(last)
    for i, step in reversed(list(enumerate(steps))):
        until = last.get(step.out, i) if _is_view(step) else i
        for name in names_read(step):
            last[name] = max(last.get(name, i), until)
    alive: dict[str, int] = {}
    peak = 0
    for i, step in enumerate(steps):
        during = sum(alive.values())
        if isinstance(step, Branch):
            values = {name: len(steps) for _, names in step.sides for name in names}
            sides = [_peak(side, values, known, held) for side in _taken(step, known)]
            peak = max(peak, during + max(sides, default=0))
        if not _is_view(step):
            alive.update((name, _bytes(known[name])) for name in names_made(step))
        inside = 0
        if isinstance(step, Loop):
            labels = {step.label, *(s.label for s in _inner(step.body))}
            inside = sum(n for h, n in held if h.loop in labels and h.what == "state")
        peak = max(peak, sum(alive.values()) + inside)
        alive = {name: n for name, n in alive.items() if last.get(name, -1) > i}
    return peak


def _is_view(step: Step) -> TypeGuard[Compute]:
    """Whether a step allocates no array, because its result is a view of an argument."""
    return isinstance(step, Compute) and step.op.cost == "free" and step.op.view


def _inner(steps: Sequence[Step]) -> Iterable[Loop]:
    for step in steps:
        if isinstance(step, Loop):
            yield step
            yield from _inner(step.body)
        elif isinstance(step, Branch):
            yield from _inner((*step.then, *step.otherwise))
