"""A pass on nodes: a concatenation of two arrays of which loops only read rows is not made; each step picks its row.

The step reads row t of the first array or, behind its end, of the second.  This is how the gradient of a loop reads
what later steps contribute to each row.  Other readers may only take the first or the last row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from scanopt.backends.kernels.ir import Expr, Lit, plus
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import WHOLE, HasRow, Join, Map, Nested, Node, RowAt, View
from scanopt.backends.kernels.stages import is_few
from scanopt.program.ir import Read

__all__ = ["is_first_row", "rows_read", "with_rows_of_joins"]


def with_rows_of_joins(nodes: Sequence[Node], wanted: Collection[str], w: Lowering) -> list[Node]:
    """Remove joins of two arrays, if loops read only rows of them, and others only the first or the last row."""
    joins = {n.out: n for n in nodes if isinstance(n, Join) and n.out not in wanted and _fits(n, w)}
    found = [_end(n, joins[n.args[0]]) if isinstance(n, View) and n.args[0] in joins else n for n in nodes]
    for join in joins.values():
        readers = [n for n in found if join.out in n.args]
        later = {n.out: start for n in readers if isinstance(n, View) and (start := _start(n)) is not None}
        others = [n for n in readers if n.outs[0] not in later]
        loops = [n for n in found if not {*later}.isdisjoint(n.args)]
        if not others and {*later}.isdisjoint(wanted) and all(_only_reads(n, {*later}) for n in loops):
            found = [_without(n, join, later, w) for n in found if n is not join and n.outs[0] not in later]
    return found


def rows_read(nodes: Sequence[Node], w: Lowering) -> list[Expr]:
    """For each node of a loop that reads such a row, the number of steps for which both arrays together have rows."""
    found = [n for n in nodes if isinstance(n, RowAt) and n.behind]
    return [plus(plus(w.axes(n.behind)[0], w.axes(n.args[0])[0]), Lit(-n.shift)) for n in found]


def _fits(join: Join, w: Lowering) -> bool:
    """Whether a join is of two arrays of its own dtype along the first axis, neither of which can be empty."""
    axes = w.axes(join.out)
    if join.axis or join.new or len(join.args) != 2 or len(axes) < 2 or is_few(axes[1:]):
        return False
    return all(w.dtype(a) == join.dtype and not w.grows(w.axes(a)[0]) for a in join.args)


def is_first_row(view: View) -> bool:
    """Whether a view is the first row of an array."""
    return view.at == ((0, 0),) and view.axes == tuple((i, WHOLE) for i in range(1, len(view.axes) + 1))


def _end(view: View, join: Join) -> View:
    """A view of the first or the last row of a join, rewritten as a view of the first or second array."""
    if view.at in (((0, 0),), ((0, -1),)):
        return replace(view, args=(join.args[view.at[0][1]],))
    return view


def _start(view: View) -> int | None:
    """For a view of all rows but some first ones, the number of rows left out; None for other views."""
    rest = tuple((i, WHOLE) for i in range(1, len(view.axes)))
    first = view.axes[0] if view.axes else None
    if view.at or first is None or view.axes[1:] != rest or first[0] or first[1][1:] != (None, None):
        return None
    return first[1][0] if isinstance(first[1][0], int) and first[1][0] >= 0 else None


def _only_reads(node: Node, names: Collection[str]) -> bool:
    """Whether a node is a loop that only reads rows of some arrays."""
    if not isinstance(node, Nested):
        return False
    loop, kept = node.loop, {*node.args} - {r.source for r in node.loop.reads}
    inside = {a for n in node.nodes for a in n.args} | {s.init for s in loop.states} | {loop.steps} | kept
    return inside.isdisjoint(names)


def _without(node: Node, join: Join, later: dict[str, int], w: Lowering) -> Node:
    """A loop that reads rows of the join, rewritten to read the two arrays; other nodes are unchanged."""
    if not isinstance(node, Nested) or {*later}.isdisjoint(node.args):
        return node
    reads = [r for r in node.loop.reads if r.source in later]
    made = [n for r in reads for n in _chosen(r, join, later[r.source], w)]
    loop = replace(node.loop, reads=tuple(r for r in node.loop.reads if r not in reads))
    args = (*join.args, *(a for a in node.args if a not in (*join.args, *later)))
    return Nested(loop, (*made, *node.nodes), args)


def _chosen(read: Read, join: Join, shift: int, w: Lowering) -> tuple[Node, ...]:
    """The nodes that pick the row of a step."""
    first, second = join.args
    here, there, has = (f"{read.out}@{what}" for what in ("here", "there", "has"))
    w.name_row(here, first)
    w.name_row(there, second)
    w.name_part(has, first, ())
    takes = ("bool", join.dtype, join.dtype)
    return (
        HasRow(has, (), first, shift),
        RowAt(here, (first,), shift, join.dtype),
        RowAt(there, (second,), shift, join.dtype, behind=first),
        Map(read.out, (has, here, there), "where", takes, join.dtype, read.out),
    )
