"""Lowers states that shift by some elements, such as shift registers and delay lines, without copying them.

A step that joins new elements to all but as many of the old ones copies nothing: the state is a window on longer
memory that moves at each step, and only the new elements are written, next to those that stay.  A window that reaches
the end of the memory is copied to the other end, which happens seldom, since the memory is longer than three windows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Do, Expr, If, Lit, Point, Set, Stmt, Var, plus, product, times
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import WHOLE, Join, Node, View
from scanopt.backends.kernels.stages import is_few
from scanopt.backends.kernels.values import Array, packed
from scanopt.program.ir import CarriedState
from scanopt.records import dataclass

__all__ = ["Sliding", "all_sliding", "slide"]

_MORE = 512
"""The memory is this many elements longer than three windows, so that even short windows are copied seldom."""


@dataclass(frozen=True)
class Sliding:
    """How a state shifts.  stays: the part of the old state that stays; backwards: whether new elements precede it."""

    stays: str
    backwards: bool
    new: tuple[str, ...]


def all_sliding(
    states: Sequence[CarriedState], others: Collection[int], nodes: Sequence[Node], w: Lowering
) -> dict[int, Sliding]:
    """How states shift, by their numbers.  others: the numbers of those that are held in another way."""
    found = {i: _sliding(s, nodes, w) for i, s in enumerate(states) if i not in others}
    return {i: how for i, how in found.items() if how}


def _sliding(s: CarriedState, nodes: Sequence[Node], w: Lowering) -> Sliding | None:
    """How a state shifts, if it does."""
    if w.device or s.depth != 1 or len(s.taps) != 1 or not s.type.ndim or is_few(w.axes(s.update)):
        return None
    tap, made = s.taps[0][1], {name: n for n in nodes for name in n.outs}
    join = made.get(s.update)
    if not isinstance(join, Join) or join.axis or join.new or w.axes(s.update) != w.axes(tap):
        return None
    if join.dtype != s.type.dtype or any(map(w.grows, w.axes(tap))):
        return None
    for at, backwards in ((-1, True), (0, False)):
        name, new = join.args[at], join.args[:-1] if backwards else join.args[1:]
        part = made.get(name)
        known = not any(w.grows(n) for a in new for n in w.axes(a))
        if known and isinstance(part, View) and part.args[0] == tap and name not in new and _is_end(part, backwards, w):
            return Sliding(name, backwards, new)
    return None


def _is_end(part: View, first: bool, w: Lowering) -> bool:
    """Whether a part is the first elements of an array along its first axis, or, without `first`, the last ones."""
    (entry, *others), axes = part.axes or (None,), w.axes(part.args[0])
    if entry is None or part.at or len(part.axes) != len(axes) or any(map(w.grows, w.axes(part.out))):
        return False
    if any(x != (i, WHOLE) for i, x in enumerate(others, 1)):
        return False
    axis, (start, stop, step) = entry
    return axis == 0 and step in (None, 1) and (start in (None, 0) if first else stop is None)


def slide(s: CarriedState, how: Sliding, w: Lowering, step: list[Stmt]) -> None:
    """Allocate the memory of a state; write, in each step, the pointer to it, and set the place of the new state."""
    dtype, tap = s.type.dtype, s.taps[0][1]
    axes = w.axes(tap)
    last = plus(times(Lit(2), product(axes)), Lit(_MORE))
    by: Expr = ZERO
    for name in how.new:
        by = plus(by, product(w.axes(name)))
    memory, start = w.scratch(dtype, (plus(last, product(axes)),)), w.variable(INDEX)
    place = Var(start, INDEX)
    begin, full = (last, Do("less", (place, by), "bool", INDEX)) if how.backwards else (
        ZERO, Do("greater", (plus(place, by), last), "bool", INDEX))  # fmt: skip
    w.code.append(Set(start, begin))
    w.code += w.copied(w.value(s.init), memory, begin, (ONE, *axes), dtype)
    old = w.pointer(dtype)
    old_window = Array(old, axes, packed(axes), dtype)
    step.append(Point(old, memory, place, dtype))
    step.append(If(full, (*w.copied(old_window, memory, begin, axes), Set(start, begin))))
    moved = Do("subtract", (place, by), INDEX, INDEX) if how.backwards else plus(place, by)
    step += [Point(old, memory, place, dtype), Set(start, moved)]
    w.env[tap] = old_window
    w.homes[s.update] = memory, place
    w.stays[s.update] = how.stays
