"""Computed variables that steps of loops use without being passed them.

A loop contains the expression that computes such a variable; only the inputs of that expression come from
outside.  For a gradient with respect to it, or to hold it constant, the loop must read the variable itself: here
the graph is rebuilt with a copy in its place, which loops then take for a non-sequence.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scanopt.array.op import Op
from scanopt.array.variable import Variable, apply
from scanopt.loops.graph import loops_of, schedule
from scanopt.loops.rebuild import rebuild

__all__ = ["with_copies"]


def with_copies(
    outputs: Sequence[Variable], wrt: Sequence[Variable], constant: Sequence[Variable]
) -> tuple[list[Variable], list[Variable], list[Variable]]:
    """The arguments, with every variable among them that a step uses without being passed it read as a non-sequence.

    Variables that depend on others are copied first: a step that reads the copy of `x ** 2` does not
    compute it from the copy of x.
    """
    named = [*outputs, *wrt, *constant]
    held = _inside_loops([*outputs, *wrt], {v for v in named if v.owner is not None})
    made = {v: i for i, node in enumerate(schedule(named)) for v in node.outputs} if held else {}
    for i in sorted(range(len(named)), key=lambda i: -made.get(named[i], -1)):
        v = named[i]
        if v in held:
            copy = apply(Op.make("positive"), v) if v.dtype != "bool" else v
            kept = [x is v for x in named]
            new = rebuild(named, {v: copy})
            moved = [v if k else x for k, x in zip(kept, new, strict=True)]
            held = {m for x, m in zip(named, moved, strict=True) if x in held and x is not v}
            named = moved
    n, m = len(outputs), len(outputs) + len(wrt)
    return named[:n], named[n:m], named[m:]


def _inside_loops(outputs: Sequence[Variable], wanted: Collection[Variable]) -> set[Variable]:
    """The variables in `wanted` that steps of loops compute themselves."""
    if not wanted:
        return set()
    return {
        v
        for loop in loops_of(outputs)
        for node in schedule(loop.inner_outputs, loop.inner_inputs)
        for v in node.outputs
        if v in wanted
    }
