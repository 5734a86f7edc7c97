"""A lowering decision: computes only a prefix of a loop's states, if only first elements of the last states are read.

If each element of a state depends on elements of the old states at most `shift` places further on, a step that r others
follow needs only the first `read + shift * r` elements.  An example is a tree of option prices, which shrinks by one at
each step although the loop does not say so.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.backends.kernels.ir import INDEX, ONE, Do, Expr, Lit, plus, times
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import WHOLE, Fork, Join, Map, Nested, Node, Repeat, View
from scanopt.backends.kernels.stages import is_few
from scanopt.backends.kernels.values import Axes
from scanopt.records import dataclass

__all__ = ["Prefix", "prefix_of"]


@dataclass(frozen=True)
class Prefix:
    """The prefix that a loop needs of states with these axes.  read: elements of the last states; shift: see above."""

    axes: Axes
    read: int
    shift: int

    def at(self, t: Expr, steps: Expr) -> Expr:
        """The number of elements that step t needs."""
        after = Do("subtract", (plus(steps, Lit(-1)), t), INDEX, INDEX)
        needed = plus(Lit(self.read), times(Lit(self.shift), after))
        return Do("minimum", (self.axes[0], needed), INDEX, INDEX)


def prefix_of(node: Nested, w: Lowering) -> Prefix | None:
    """The prefix of its states that a loop of a whole program needs; None where it may need all."""
    loop, around = node.loop, w.body.root
    axes = next((x for s in loop.states if len(x := w.axes(s.update)) == 1), ())
    if not (w.body.whole and axes and node in around.nodes) or is_few(axes) or ONE in axes or loop.until is not None:
        return None
    states = [s for s in loop.states if w.axes(s.update)]
    if any(s.depth != 1 or w.axes(s.update) != axes for s in states):
        return None
    taps = {name for s in states for _, name in s.taps}
    shifts = _shifts(node, axes, taps, w)
    kept = [k for k in loop.keeps if w.axes(k.value)]
    if shifts is None or any(k.rows != 1 or w.axes(k.value) != axes for k in kept):
        return None
    wanted = {k.value for k in around.loop.keeps}
    read = [_read(k.out, True, around.nodes, wanted) for k in kept]
    if None in read:
        return None
    return Prefix(axes, max((n for n in read if n is not None), default=0), max(shifts, default=0))


def _shifts(node: Nested, axes: Axes, taps: set[str], w: Lowering) -> list[int] | None:
    """How many places further on the elements of states lie that steps read; None where they may lie anywhere."""
    lanes, parts = {*taps}, dict[str, View]()
    found: list[int] = []
    for n in node.nodes:
        if isinstance(n, Map) and not isinstance(n, Repeat) and w.axes(n.out) in ((), axes):
            if parts.keys() & {*n.args}:
                return None
            lanes |= {n.out} if w.axes(n.out) else set()
        elif isinstance(n, View) and n.args[0] in taps and not n.at and len(n.axes) == 1:
            parts[n.out] = n
        elif isinstance(n, Join) and not n.new and w.axes(n.out) == axes and not lanes & {*n.args}:
            shifts = [_shift(parts[a], i == len(n.args) - 1) for i, a in enumerate(n.args) if a in parts]
            if None in shifts:
                return None
            found += [x for x in shifts if x is not None]
            lanes.add(n.out)
        elif isinstance(n, Fork | Nested) or w.axes(n.out) or (lanes | parts.keys()) & {*n.args}:
            return None
    return found


def _shift(part: View, last: bool) -> int | None:
    """How many places further on the elements of a part lie in the state than in the array it is joined to, at most.

    A part of the last elements that is joined last keeps its places.
    """
    entry = part.axes[0]
    if entry is None or entry[1][2] not in (None, 1) or isinstance(entry[1][0], str):
        return None
    start, stop = int(entry[1][0] or 0), entry[1][1]
    if start >= 0:
        return start
    return 0 if last and stop is None else None


def _read(name: str, rows: bool, nodes: Sequence[Node], wanted: set[str]) -> int | None:
    """The number of first elements read of a row, or of an array of one row; None where others may be read."""
    if name in wanted:
        return None
    most = 0
    for n in nodes:
        if name not in n.args:
            continue
        at = dict(n.at) if isinstance(n, View) else {}
        if rows and at.pop(0, None) not in (0, -1):
            return None
        place, count = at.get(int(rows)), None
        if isinstance(place, int):
            count = place + 1 if place >= 0 else None
        elif isinstance(n, View) and n.axes == ((int(rows), WHOLE),):
            count = _read(n.out, False, nodes, wanted)
        if count is None:
            return None
        most = max(most, count)
    return most
