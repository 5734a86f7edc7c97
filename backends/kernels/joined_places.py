"""Decides to compute parts in place, in the array that they are concatenated to or set in, so that they are not copied.

So a step that joins the unchanged ends of a row with new values in between writes each element once, and so does one
that sets the result of an inner loop as a part of a row.  This is right if the part's elements lie together in the
array and nothing reads the part afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from scanopt.backends.kernels.frames import COMPUTED
from scanopt.backends.kernels.ir import ZERO, Expr, plus, product
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import WHOLE, Join, Nested, Node, SetItem, Setting
from scanopt.backends.kernels.places import part_of
from scanopt.backends.kernels.stages import Stage, is_few
from scanopt.backends.kernels.values import Array, index

__all__ = ["parts_made_in_place"]


def parts_made_in_place(nodes: Sequence[Node], stages: Sequence[Stage], wanted: Collection[str], w: Lowering) -> None:
    """Assign places to parts that nothing wants afterwards: in the array to which they are joined, or in which set."""
    made = {name for n in nodes for name in _made(n)} - {*wanted, *w.homes, *w.repeated}
    settings = [n for n in nodes if isinstance(n, Setting)]
    if w.device:
        return
    if settings:  # they may change other arrays, so no joins are made in place
        _parts_set_in_place(settings, nodes, made, w)
        return
    joins = [s for s in stages if isinstance(s, Join)]
    times_joined = Counter(a for n in joins for a in n.args)
    for join in joins:
        parts = {a for a in join.args if a in made and times_joined[a] == 1 and _fits(a, join, w)}
        if parts:
            pointer = w.place(join.out)
            start: Expr = ZERO
            for a in join.args:
                if a in parts:
                    w.homes[a] = pointer, start
                start = plus(start, product(w.axes(a)))
            w.joined[join.out] = pointer, frozenset(parts)


def _parts_set_in_place(settings: Sequence[Setting], nodes: Sequence[Node], made: Collection[str], w: Lowering) -> None:
    """Assign a place to the result of an inner loop, if the only setting of the step makes it a part of an array."""
    kept = {name for n in nodes if isinstance(n, Nested) for name in n.outs} & {*made}
    node = settings[0]
    if len(settings) > 1 or not isinstance(node, SetItem) or node.added or node.out in w.in_place:
        return
    x, y = node.args[:2]
    readers = [n for n in nodes if y in n.args]
    if y not in kept or readers != [node] or w.dtype(y) != node.dtype or x == y or not _lies_together(node, w):
        return
    pointer = w.place(node.out)
    whole = w.env[node.out]
    assert isinstance(whole, Array)
    if whole.packed:
        starts, _ = part_of(node.part, whole, w)
        w.homes[y] = pointer, index(ZERO, starts, whole.strides)
    w.joined[node.out] = pointer, frozenset({y} if whole.packed else ())


def _lies_together(node: SetItem, w: Lowering) -> bool:
    """Whether a part that is set is a fixed range of the first axis, with all of the other axes."""
    axes, part = w.axes(node.out), node.part
    if part.at or part.ends or len(part.axes) != len(axes) or is_few(axes) or any(map(w.grows, axes)):
        return False
    first, others = part.axes[0], part.axes[1:]
    whole = all(x == (i, WHOLE) for i, x in enumerate(others, 1))
    return whole and first is not None and first[0] == 0 and first[1][2] in (None, 1)


def _made(node: Node) -> list[str]:
    """The arrays that a node can write to a given place."""
    if isinstance(node, Nested):
        return [k.out for k in node.loop.keeps] if node.loop.until is None else []
    return [node.out] if isinstance(node, COMPUTED) else []


def _fits(name: str, join: Join, w: Lowering) -> bool:
    """Whether the elements of a part lie together in the joined array."""
    axes, own = w.axes(join.out), w.axes(name)
    if join.axis or is_few(axes) or is_few(own) or not own or len(own) != len(axes) - join.new:
        return False
    known = not any(w.grows(n) for a in (join.out, *join.args) for n in w.axes(a))
    return own[1 - join.new :] == axes[1:] and w.dtype(name) == join.dtype and known
