"""The operators of a program, as it is written and as it was compiled."""

from __future__ import annotations

from collections.abc import Iterable

from scanopt.array.variable import Apply, Variable
from scanopt.loops.graph import schedule
from scanopt.loops.node import Scan
from scanopt.program.ir import Branch, Compute, Loop, Step

__all__ = ["operators", "operators_of_steps"]


def operators(outputs: Iterable[Variable]) -> set[str]:
    """The operators that outputs are made of, those in steps of loops too."""
    found = set[str]()
    for node in schedule(outputs):
        if isinstance(node, Apply):
            found.add(node.op.name)
        elif isinstance(node, Scan):
            found |= operators(node.inner_outputs)
    return found


def operators_of_steps(steps: Iterable[Step]) -> set[str]:
    """The operators of a compiled program."""
    found = set[str]()
    for s in steps:
        if isinstance(s, Compute):
            found.add(s.op.name)
        elif isinstance(s, Loop):
            found |= operators_of_steps(s.body)
        elif isinstance(s, Branch):
            found.update(*(operators_of_steps(body) for body, _ in s.sides))
    return found
