"""A pass on steps, nested ones included: removes those that nothing reads and that cannot raise or have effects.

A loop that is there only for checks keeps one row, since a loop must keep something.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from dataclasses import replace

from scanopt.backends.kernels.inner_bodies import read_after_step
from scanopt.program.ir import Branch, Compute, Step, all_steps
from scanopt.program.text import names_made, names_read

__all__ = ["without_unread"]


def without_unread(steps: Sequence[Step], wanted: Collection[str]) -> tuple[Step, ...]:
    """Keep only the steps whose results are read or that may raise.  wanted: names that are read afterwards."""
    read, found = {*wanted}, list[Step]()
    for x in reversed(steps):
        new = _needed(x, read)
        if new is not None:
            found.insert(0, new)
            read.update(names_read(new))
    return tuple(found)


def _needed(x: Step, read: Set[str]) -> Step | None:
    if isinstance(x, Compute):
        return x if x.out in read or x.op.can_raise or x.op.spec.effect else None
    if isinstance(x, Branch):
        if read.isdisjoint(names_made(x)) and not _may_raise((*x.then, *x.otherwise)):
            return None
        then, otherwise = (without_unread(side, values) for side, values in x.sides)
        return replace(x, then=then, otherwise=otherwise)
    keeps = tuple(k for k in x.keeps if k.out in read)
    if not keeps and not _may_raise(x.body):
        return None
    keeps = keeps or tuple(k for k in x.keeps if k.rows == 1)[:1] or x.keeps[:1]
    left = replace(x, keeps=keeps)
    return replace(left, body=without_unread(x.body, read_after_step(left)))


def _may_raise(steps: Sequence[Step]) -> bool:
    """Whether any step may raise or has an effect."""
    return any(isinstance(x, Compute) and (x.op.can_raise or x.op.spec.effect) for x in all_steps(steps))
