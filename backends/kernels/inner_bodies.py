"""The steps inside a step, rewritten, and what is read of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from scanopt.program.ir import Branch, Loop, Step

__all__ = ["read_after_step", "rewritten_inside"]

Rewrite = Callable[[Sequence[Step], Collection[str]], tuple[Step, ...]]
"""Steps in the place of others; the names that are read afterwards are told."""


def read_after_step(loop: Loop) -> set[str]:
    """The names that are read after each step of a loop: new values of states, what is kept, what ends it."""
    return {*(s.update for s in loop.states), *(k.value for k in loop.keeps), loop.until or ""}


def rewritten_inside(step: Step, rewrite: Rewrite) -> Step:
    """A step of which the body, or both sides, are rewritten."""
    if isinstance(step, Loop):
        return replace(step, body=rewrite(step.body, read_after_step(step)))
    if isinstance(step, Branch):
        then, otherwise = (rewrite(side, values) for side, values in step.sides)
        return replace(step, then=then, otherwise=otherwise)
    return step
