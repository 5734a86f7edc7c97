"""Finds, for `sizes.py`, the axes whose lengths differ from step to step, as that of x[:k] for a computed k.

The rows of a loop that may end early are such an axis, too, if nodes read them.  A kernel has a variable for each such
length, which is set where the part is taken or the loop ends, and memory for the greatest possible length.  This is
right only if no state, kept row or branch result has such an axis, and every node that reads one can handle it, but
results of a program may have a row for each step of the loop that may end early.  Parts may be joined to an array that
must be as long as others: the kernel checks that it is.
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
from scanopt.program.shapes import Joined

__all__ = ["all_growing", "grown", "joined_shapes", "never_empty"]

Shape = tuple[int | None, ...]
Reader = Call | Extreme | Length | Map | Product | Reduce | Running | SetItem | Sort | Take | View


def grown(body: Body, known: Mapping[str, Operand]) -> dict[str, Shape]:
    """For each part of a computed length, its shape: the greatest possible length of such axes, None for the others."""
    lengths: dict[Axis, int | None] = {}
    for view in parts_by_computed_ends(body):
        shape, x = (known[name].shape if name in known else () for name in (view.out, view.args[0]))
        for i, (n, entry) in enumerate(zip(shape, view.axes, strict=False)):
            if n is None and entry is not None and entry[0] < len(x) and any(isinstance(p, str) for p in entry[1]):
                lengths[view.out, i] = x[entry[0]]
    if not lengths or None in lengths.values():
        return {}
    most = max(n for n in lengths.values() if n is not None)  # one for all, since operations combine several of them
    return {
        name: tuple(most if (name, i) in lengths else None for i in range(len(known[name].shape)))
        for name in {name for name, _ in lengths}
    }


def joined_shapes(body: Body, known: Mapping[str, Operand]) -> dict[str, Joined]:
    """The shapes of arrays joined of such parts: as long as the arrays that they are combined with, or the state."""
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
    """All axes that are as long as the axes `starts`, whose lengths steps decide; None where kernels cannot do that.

    classes: the sets of axes that are equally long.
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
    fixed = {*body.outer, *_fixed(body)} - (body.cut_rows if body.reads_cut_rows else frozenset())
    fits = not names & fixed and _are_cut_alike(body, found, members)
    return frozenset(found) if fits and all(_fits(n, found) or _makes(n, names) for n in nodes) else None


def _are_cut_alike(body: Body, growing: Collection[Axis], members: Mapping[Axis, Sequence[Axis]]) -> bool:
    """Whether all axes of results whose lengths steps decide are those of one row for each step of the cut loop."""
    alike = {axis for name in body.cut_rows for axis in members.get((name, 0), ())}
    rows = {(k.value, 0) for k in body.loop.keeps} & alike if body.reads_cut_rows else set[Axis]()
    results = {k.value for k in body.loop.keeps}
    return all(axis in rows for axis in growing if axis[0] in results)


def _makes(node: Node, growing: Collection[str]) -> bool:
    """Whether a node is a loop that makes arrays of such lengths, and reads none."""
    return isinstance(node, Nested) and not {*growing} & {*node.args}


def never_empty(nodes: Iterable[Node], body: Body) -> Iterator[Axis]:
    """Yield the axes that must not be empty: those of arrays that are reduced other than by a sum or the like of a row.

    The nodes of branches are left out, unless the nodes given are those of one side.
    """
    for n in nodes:
        if isinstance(n, Nested):
            yield from never_empty(n.nodes, body)
        elif isinstance(n, Extreme) or (isinstance(n, Reduce) and not _is_sum_of_row(n, body)):
            yield from ((name, i) for name in (*n.args, n.out) for i in range(body.types[name].ndim))


def _is_sum_of_row(node: Reduce, body: Body) -> bool:
    return node.op in IDENTITY and not node.counted and body.types[node.args[0]].ndim == 1


def _cuts(body: Body) -> Iterator[tuple[View, int, int]]:
    """Yield the views that take a part of an axis, with the number of the axis in the view and in the array."""
    for node in walk(body.root.nodes):
        view = node.part if isinstance(node, SetItem) else node
        if isinstance(view, View):
            kept = [(i, x) for i, x in enumerate(view.axes) if x is not None]
            yield from ((view, i, x[0]) for i, x in kept if x[1] not in (WHOLE, REVERSED))


def _fixed(body: Body) -> Iterator[str]:
    """Yield the names whose lengths must be the same at all steps: rows read or kept, states, results of branches."""
    nodes = [*walk(body.root.nodes)]
    for loop in (body.loop, *(n.loop for n in nodes if isinstance(n, Nested))):
        yield from (name for r in loop.reads for name in (r.source, r.out))
        yield from (name for s in loop.states for name in (s.init, s.update, *(tap for _, tap in s.taps)))
        yield from (k.out for k in loop.keeps)
        yield from (k.value for k in loop.keeps if not body.whole or loop is not body.loop)
    forks = [n for n in nodes if isinstance(n, Fork)]
    yield from (name for n in forks for r in n.branch.results for name in (r.out, r.then, r.otherwise))


def _fits(node: Node, growing: Collection[Axis]) -> bool:
    """Whether a node can handle such axes."""
    if isinstance(node, SetItem):
        return node.args[0] not in {name for name, _ in growing} and _is_cut_well(node.part, growing)
    if isinstance(node, Fork):
        return True  # its results have fixed lengths, and the nodes of its sides are checked by themselves
    if isinstance(node, Call):
        return not node.whole
    if isinstance(node, Product):
        return not node.as_they_lie
    if isinstance(node, Join):
        axes = {i for name, i in growing if name in node.args}
        return not node.new and axes == {node.axis} and node.out not in {name for name, _ in growing}
    return _is_cut_well(node, growing) if isinstance(node, View) else isinstance(node, Reader)


def _is_cut_well(view: View, growing: Collection[Axis]) -> bool:
    """Whether a part of such an axis is longest where the axis is longest, and takes its elements one by one."""
    parts: list[tuple[Any, ...]] = [x[1] for x in view.axes if x is not None and (view.args[0], x[0]) in growing]
    for start, stop, step in (p for p in parts if p not in (WHOLE, REVERSED)):
        ends = [p for p in (start, stop) if isinstance(p, int)]
        if step == -1 and isinstance(start, str):
            continue
        if step not in (None, 1) or (len(ends) == 2 and ends[0] < 0 <= ends[1]):
            return False
    return True
