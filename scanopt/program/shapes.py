"""Shapes, numbers of steps and small values in a loop program for given arguments, found without running it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from scanopt.array.abstract import abstract_eval, executed, last_row, trace
from scanopt.array.op import Operand
from scanopt.array.operators.control import IFELSE
from scanopt.array.shapes import shape_text, widened
from scanopt.array.types import Dim, TensorType
from scanopt.program.ir import Branch, Compute, Loop, Step
from scanopt.program.text import names_made

__all__ = ["Joined", "loop_shapes", "running", "shapes"]

Known = dict[str, Operand]
Shape = tuple[Dim, ...]


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
