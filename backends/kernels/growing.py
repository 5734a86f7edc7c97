"""Axes whose lengths steps decide: of x[:k], and of what is computed of it, where k is another number at each step.

A kernel has a variable for each such length, which is set where the part is taken.  Memory is for the longest there may
be.  What is carried from step to step, or kept, has no such axis, and nothing else is as long as one.  Such parts may
be joined to an array that is as long as others: kernels look whether they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from scanopt.array.op import Operand
from scanopt.backends.kernels.bodies import Body, walk
from scanopt.backends.kernels.nodes import (
    IDENTITY,
    REVERSED,
    WHOLE,
    Call,
    Extreme,
    Fork,
    Join,
    Length,
    Map,
    Nested,
    Node,
    Product,
    Reduce,
    Running,
    SetItem,
    Sort,
    Take,
    View,
)  # fmt: skip
from scanopt.backends.kernels.ties import Axis
from scanopt.backends.kernels.windows import parts_by_computed_ends
from scanopt.program.memory import Joined

__all__ = ["all_growing", "grown", "joined_shapes", "never_empty"]

Shape = tuple[int | None, ...]
Reader = Call | Extreme | Length | Map | Product | Reduce | Running | SetItem | Sort | Take | View


def grown(body: Body, known: Mapping[str, Operand]) -> dict[str, Shape]:
    """The parts of which values decide some lengths, with the greatest that these may have, None for others."""
    lengths: dict[Axis, int | None] = {}
    for view in parts_by_computed_ends(body):
        shape, x = (known[name].shape if name in known else () for name in (view.out, view.args[0]))
        for i, (n, entry) in enumerate(zip(shape, view.axes, strict=False)):
            if n is None and entry is not None and entry[0] < len(x) and any(isinstance(p, str) for p in entry[1]):
                lengths[view.out, i] = x[entry[0]]
    if not lengths or None in lengths.values():
        return {}
    most = max(n for n in lengths.values() if n is not None)  # so that what is computed of several has one length
    return {
        name: tuple(most if (name, i) in lengths else None for i in range(len(known[name].shape)))
        for name in {name for name, _ in lengths}
    }


def joined_shapes(body: Body, known: Mapping[str, Operand]) -> dict[str, Joined]:
    """Arrays joined of such parts, as long as what they are computed with or the state that they become."""
    nodes = [*walk(body.root.nodes)]
    starts = {s.update: s.init for n in nodes if isinstance(n, Nested) for s in n.loop.states}
    starts |= {s.update: s.init for s in body.loop.states}
    found: dict[str, Joined] = {}
    for n in nodes:
        if not isinstance(n, Join) or n.new or not all(a in known for a in (*n.args, n.out)):
            continue
        shape = known[n.out].shape
        if all(known[a].shape[n.axis] is not None for a in n.args):
            continue
        behind, alike, others = len(shape) - n.axis, {n.out}, list[Shape]()
        for m in nodes:
            if isinstance(m, Map | Call) and not alike.isdisjoint(m.args):
                alike.update(m.outs)
                others += [known[a].shape for a in m.args if a in known]
        others += [known[x].shape[1:] for name, x in starts.items() if name in alike and x in known]
        lengths = {size for x in others if len(x) >= behind if (size := x[-behind]) not in (None, 1)}
        if len(lengths) == 1:
            found[n.out] = Joined(next(iter(lengths)) if i == n.axis else size for i, size in enumerate(shape))
    return found


def all_growing(body: Body, starts: Collection[Axis], classes: Sequence[Sequence[Axis]]) -> frozenset[Axis] | None:
    """All axes as long as some that steps decide, which `starts` are; None where kernels cannot handle that.

    classes: axes that are equally long, together.
    """
    members = {axis: c for c in classes for axis in c}
    found: set[Axis] = set()
    todo = [*starts]
    while todo:
        axis = todo.pop()
        if axis in found or axis not in members:
            continue
        found.update(members[axis])
        todo += [(view.out, i) for view, i, j in _cuts(body) if (view.args[0], j) in found]
    names = {name for name, _ in found}
    nodes = [n for n in walk(body.root.nodes) if names & {*n.outs, *n.args}]
    fixed = {*body.outer, *_fixed(body)}
    return frozenset(found) if not names & fixed and all(_fits(n, found) for n in nodes) else None


def never_empty(nodes: Iterable[Node], body: Body) -> Iterator[Axis]:
    """The axes that must have an element: of what is reduced in another way than a row is summed up.

    Those of what a branch reduces are left out, unless the nodes are those of one of its sides.
    """
    for n in nodes:
        if isinstance(n, Nested):
            yield from never_empty(n.nodes, body)
        elif isinstance(n, Extreme) or (isinstance(n, Reduce) and not _is_sum_of_row(n, body)):
            yield from ((name, i) for name in (*n.args, n.out) for i in range(body.types[name].ndim))


def _is_sum_of_row(node: Reduce, body: Body) -> bool:
    return node.op in IDENTITY and not node.counted and body.types[node.args[0]].ndim == 1


def _cuts(body: Body) -> Iterator[tuple[View, int, int]]:
    """The axes of views that are a part of one of x, and the number of that."""
    for node in walk(body.root.nodes):
        view = node.part if isinstance(node, SetItem) else node
        if isinstance(view, View):
            kept = [(i, x) for i, x in enumerate(view.axes) if x is not None]
            yield from ((view, i, x[0]) for i, x in kept if x[1] not in (WHOLE, REVERSED))


def _fixed(body: Body) -> Iterator[str]:
    """What has one length at all steps: rows that are read or kept, states, results of branches."""
    nodes = [*walk(body.root.nodes)]
    for loop in (body.loop, *(n.loop for n in nodes if isinstance(n, Nested))):
        yield from (name for r in loop.reads for name in (r.source, r.out))
        yield from (name for s in loop.states for name in (s.init, s.update, *(tap for _, tap in s.taps)))
        yield from (name for k in loop.keeps for name in (k.value, k.out))
    forks = [n for n in nodes if isinstance(n, Fork)]
    yield from (name for n in forks for r in n.branch.results for name in (r.out, r.then, r.otherwise))


def _fits(node: Node, growing: Collection[Axis]) -> bool:
    """Whether a node can handle such axes."""
    if isinstance(node, SetItem):
        return node.args[0] not in {name for name, _ in growing} and _is_cut_well(node.part, growing)
    if isinstance(node, Fork):
        return True  # its results are of one length, and what its sides do with others is looked at by itself
    if isinstance(node, Call):
        return not node.whole
    if isinstance(node, Product):
        return not node.as_they_lie
    if isinstance(node, Join):
        axes = {i for name, i in growing if name in node.args}
        return not node.new and axes == {node.axis} and node.out not in {name for name, _ in growing}
    return _is_cut_well(node, growing) if isinstance(node, View) else isinstance(node, Reader)


def _is_cut_well(view: View, growing: Collection[Axis]) -> bool:
    """Whether a part of such an axis is longest where the axis is, and goes through it one by one or as a whole."""
    parts: list[tuple[Any, ...]] = [x[1] for x in view.axes if x is not None and (view.args[0], x[0]) in growing]
    for start, stop, step in (p for p in parts if p not in (WHOLE, REVERSED)):
        ends = [p for p in (start, stop) if isinstance(p, int)]
        if step == -1 and isinstance(start, str):
            continue
        if step not in (None, 1) or (len(ends) == 2 and ends[0] < 0 <= ends[1]):
            return False
    return True
