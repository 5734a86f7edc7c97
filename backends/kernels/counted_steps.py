"""A pass on steps: a loop that may end early counts its steps, where only the number or the last of its rows is read.

A kernel must know the lengths of all arrays before it runs, but not how many rows such a loop will keep.  So the loop
carries a counter as a state and keeps its last value, and the last row, in place of all rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TypeGuard

from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.backends.kernels.inner_bodies import rewritten_inside
from scanopt.program.ir import CarriedState, Compute, Keep, Loop, Step
from scanopt.program.text import names_read

__all__ = ["with_steps_counted"]

Types = dict[str, TensorType]
_LENGTH = Op.make("shape_i", axis=0)
_NUMBER, _NUMBERS = TensorType("int64", ()), TensorType("int64", (1,))


def with_steps_counted(steps: Sequence[Step], wanted: Collection[str], types: Types) -> tuple[Step, ...]:
    """Rewrite steps so that such lengths are counters.  wanted: names that are read afterwards.

    types: of all names; names made here are added.
    """
    inside = [rewritten_inside(x, lambda body, after: with_steps_counted(body, after, types)) for x in steps]
    kept = {k.out for x in inside if isinstance(x, Loop) and x.until is not None for k in x.keeps if k.rows is None}
    asked = {x.args[0] for x in inside if _is_length(x)} & kept
    others = {name for x in inside if not _is_length(x) and not _is_last(x) for name in names_read(x)} | {*wanted}
    last = {x.args[0] for x in inside if _is_last(x)} & asked - others
    found: list[Step] = []
    for x in inside:
        mine = [k.out for k in x.keeps if k.out in asked] if isinstance(x, Loop) else []
        found += _counted(x, mine, last, others, types) if mine and isinstance(x, Loop) else (_read(x, asked, last),)
    return tuple(found)


def _is_length(step: Step) -> TypeGuard[Compute]:
    return isinstance(step, Compute) and step.op == _LENGTH


def _is_last(step: Step) -> TypeGuard[Compute]:
    """Whether a step reads the last row of an array, or a part of it."""
    return isinstance(step, Compute) and step.op.name == "getitem" and step.op.options["index"][:1] == (-1,)


def _counted(
    loop: Loop, asked: Sequence[str], last: Collection[str], others: Collection[str], types: Types
) -> Iterator[Step]:
    """Yield a loop that counts its steps, and the steps before it.

    asked: names of rows whose number is read; last: of these, rows of which also the last one is read but no other;
    others: names that other steps read.
    """
    true, one, zero, start, before, now = (f"{asked[0]}#c{i}" for i in range(6))
    types |= {true: TensorType("bool", ()), start: _NUMBERS} | dict.fromkeys((one, zero, before, now), _NUMBER)
    yield Compute(true, Op.make("equal"), (loop.steps, loop.steps), types[true])
    yield Compute(one, Op.make("cast", dtype="int64"), (true,), _NUMBER)
    yield Compute(zero, Op.make("subtract"), (one, one), _NUMBER)
    yield Compute(start, Op.make("expand_dims", axis=(0,)), (zero,), _NUMBERS)
    keeps = [k for k in loop.keeps if k.out in others or k.out not in asked]
    for k in loop.keeps:
        if k.out in last:
            types[_last(k.out)] = TensorType(k.type.dtype, (1, *k.type.shape[1:]))
            keeps.append(Keep(_last(k.out), k.value, 1, types[_last(k.out)]))
        if k.out in asked:
            types[_count(k.out)] = _NUMBERS
            keeps.append(Keep(_count(k.out), now, 1, _NUMBERS))
    state = CarriedState(start, 1, ((1, before),), now, _NUMBER)
    body = (*loop.body, Compute(now, Op.make("add"), (before, one), _NUMBER))
    yield replace(loop, states=(*loop.states, state), body=body, keeps=tuple(keeps))


def _count(kept: str) -> str:
    """The name of the counter for some rows, an array of one element."""
    return f"{kept}#steps"


def _last(kept: str) -> str:
    """The name of the last of some rows."""
    return f"{kept}#last"


def _read(step: Step, asked: Collection[str], last: Collection[str]) -> Step:
    """A step that reads the counter or the kept last row in place of all rows; other steps are unchanged."""
    if _is_length(step) and step.args[0] in asked:
        return Compute(step.out, Op.make("getitem", index=(0,)), (_count(step.args[0]),), step.type)
    if _is_last(step) and step.args[0] in last:
        return replace(step, args=(_last(step.args[0]), *step.args[1:]))
    return step
