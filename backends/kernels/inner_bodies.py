"""Helpers of passes on steps: apply a pass to the body of a loop and to the sides of a branch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from scanopt.program.ir import Branch, Loop, Step

__all__ = ["read_after_step", "rewritten_inside"]

Rewrite = Callable[[Sequence[Step], Collection[str]], tuple[Step, ...]]
"""A pass: returns steps that replace the given ones, whose results of the given names are read afterwards."""


def read_after_step(loop: Loop) -> set[str]:
    """The names that are read after each step of a loop: new states, kept values, the stop condition."""
    return {*(s.update for s in loop.states), *(k.value for k in loop.keeps), loop.until or ""}


def rewritten_inside(step: Step, rewrite: Rewrite) -> Step:
    """A step whose body, or both sides, are rewritten; other steps are unchanged."""
    if isinstance(step, Loop):
        return replace(step, body=rewrite(step.body, read_after_step(step)))
    if isinstance(step, Branch):
        then, otherwise = (rewrite(side, values) for side, values in step.sides)
        return replace(step, then=then, otherwise=otherwise)
    return step
