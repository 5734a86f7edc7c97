"""A pass on the nodes of a program: removes arrays of which nothing reads the elements, only perhaps the shape.

Lengths are known when a kernel is planned, so an array is not needed for its shape.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from scanopt.backends.kernels.bodies import walk
from scanopt.backends.kernels.nodes import (
    REVERSED,
    WHOLE,
    Diagonal,
    Draw,
    Evenly,
    Length,
    Lookup,
    Map,
    Nested,
    Node,
    Repeat,
    Reshape,
    SumTo,
    View,
)  # fmt: skip

__all__ = ["without_unused"]


def without_unused(nodes: Sequence[Node], wanted: Collection[str], counts: Collection[str]) -> tuple[Node, ...]:
    """Remove such nodes.  wanted: names that are read after them; counts: numbers known when a kernel is planned."""
    known = _known(nodes, counts)
    rows: dict[str, str] = {}
    for n in nodes:
        if isinstance(n, Nested) and n.loop.until is None:
            rows |= {k.out: n.loop.steps for k in n.loop.keeps if k.rows is None}
        elif isinstance(n, View) and n.args[0] in rows and _has_all(n):
            rows[n.out] = rows[n.args[0]]
    found: list[Node] = []
    needed = {*wanted}
    for n in reversed(nodes):
        new: Node | None = n
        if isinstance(n, Nested) and n.loop.until is None:
            new = _reduced(n, needed, rows, known)
        elif _only_makes(n, known) and needed.isdisjoint(n.outs):
            new = None
        if new is not None:
            found.insert(0, new)
            needed |= set() if isinstance(new, Length) else {*new.args}
    return tuple(found)


def _has_all(view: View) -> bool:
    """Whether a view has all elements of an array, some axes perhaps reversed."""
    return not view.at and all(x is not None and x[1] in (WHOLE, REVERSED) for x in view.axes)


def _known(nodes: Sequence[Node], counts: Collection[str]) -> frozenset[str]:
    """The numbers that follow from `counts` and from lengths that no step decides."""
    found, open_lengths = {*counts}, set[str]()
    for n in walk(nodes):
        sizes = n.ends if isinstance(n, View) else n.args if isinstance(n, Diagonal | Draw | Evenly) else ()
        sizes = n.counts if isinstance(n, Repeat) else n.args[1:] if isinstance(n, Reshape | SumTo) else sizes
        if not found.issuperset(sizes) or not open_lengths.isdisjoint(n.args):
            open_lengths |= {*n.outs}
        elif isinstance(n, Length) or (isinstance(n, Map) and found.issuperset(n.args)):
            found.add(n.out)
    return frozenset(found)


def _only_makes(n: Node, known: Collection[str]) -> bool:
    """Whether a node does nothing but make a value: it has no check that may fail."""
    if isinstance(n, View):
        return not n.at and all(end in known for end in n.ends)
    return isinstance(n, Reshape | SumTo) or (isinstance(n, Map) and not isinstance(n, Lookup))


def _reduced(node: Nested, needed: Collection[str], rows: Mapping[str, str], known: Collection[str]) -> Nested:
    """A loop that keeps and reads only what is needed.  rows: for arrays with one row per step, the number of steps."""
    loop = node.loop
    keeps = tuple(k for k in loop.keeps if k.out in needed) or loop.keeps[:1]
    inside = {s.update for s in loop.states} | {k.value for k in keeps}
    nodes: list[Node] = []
    for n in reversed(node.nodes):
        if not _only_makes(n, known) or not inside.isdisjoint(n.outs):
            nodes.insert(0, n)
            inside |= set() if isinstance(n, Length) else {*n.args}
    reads = tuple(r for r in loop.reads if r.out in inside or rows.get(r.source) != loop.steps)
    inside |= {r.source for r in reads} | {s.init for s in loop.states} | {loop.steps}
    inside |= {k.rows for k in keeps if isinstance(k.rows, str)} | {k.start for k in keeps if k.start is not None}
    args = tuple(a for a in node.args if a in inside)
    return Nested(replace(loop, keeps=keeps, reads=reads), tuple(nodes), args)
