"""Checks, before a kernel runs, lengths that values determine, as n in `x.reshape(n)`, and lengths that were promised.

A kernel only knows the length and would read past the end where array steps raise an error.  So it runs only if all
such lengths are known to be right; indices and ends of slices are checked in the kernel itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from scanopt.array.abstract import cannot_raise
from scanopt.array.op import Operand
from scanopt.array.operators.idle import guarded
from scanopt.backends.kernels.bodies import Body, walk
from scanopt.backends.kernels.nodes import SetItem
from scanopt.program.ir import Compute
from scanopt.program.shapes import running

__all__ = ["lengths_fit"]

_LOOKED_AT = ("getitem",)
"""Operators that kernels check themselves: each index, and each computed end of a slice."""
_PROMISED = ("specify_shape",)
"""Operators that return their argument, if it has the lengths that it should have."""


def lengths_fit(body: Body, known: Mapping[str, Operand]) -> bool:
    """Whether all computed lengths are known to be right, as n in `x.reshape(n)` is if x has n elements."""
    steps = (step for step in running(body.loop.body, known) if isinstance(step, Compute))
    parts = (node for node in walk(body.root.nodes) if isinstance(node, SetItem) and node.args[1] in known)
    return all(_fits(step, known) for step in steps) and all(_fills(node, known) for node in parts)


def _fits(step: Compute, known: Mapping[str, Operand]) -> bool:
    inner = guarded(step.op)
    op, args = (step.op, step.args) if inner is None else (inner, step.args[1:])
    asks = op.data_shape or op.name in _PROMISED
    return not asks or op.name in _LOOKED_AT or cannot_raise(op, [known[a] for a in args])


def _fills(node: SetItem, known: Mapping[str, Operand]) -> bool:
    """Whether a value that a part is set to broadcasts to the part."""
    part, put = known[node.part.out].shape, known[node.args[1]].shape
    return all(n in (1, m) for m, n in zip(part[::-1], put[::-1], strict=False))
