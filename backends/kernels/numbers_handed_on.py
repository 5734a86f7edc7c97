"""A pass on stages: a step that reads a number of an array and the one before it hands the number on to the next step.

Laws replace a state that is the number of a sequence one step ago by a sequence: that of all of its numbers behind the
first state.  For array steps this is best, but a kernel would copy the sequence for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from scanopt.backends.kernels.columns import Columns
from scanopt.backends.kernels.folds import Folded
from scanopt.backends.kernels.ir import ONE
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Join, Length, Map, Nested, View
from scanopt.backends.kernels.stages import Stage, read_by
from scanopt.backends.kernels.steps_unrolled import IN_ANY_ORDER
from scanopt.program.ir import CarriedState, Read

__all__ = ["with_numbers_handed_on"]

AnyStage = Stage | Columns | Folded


def with_numbers_handed_on(stages: Sequence[AnyStage], wanted: Collection[str], w: Lowering) -> list[AnyStage]:
    """Let loops that carry states carry such numbers, too.  wanted: names that are read after the stages."""
    joins = {s.out: s for s in stages if isinstance(s, Join) and _is_behind_first(s, w)}
    views = {s.out: s for s in stages if isinstance(s, View) and s.args[0] in joins and _from_the_first(s)}
    found = [_carrying(s, joins, views, w) if isinstance(s, Nested) and joins else s for s in stages]
    for made in (views, joins):
        read = {a for s in found if not isinstance(s, Length) for a in read_by(s)} | {*wanted}
        found = [s for s in found if not isinstance(s, View | Join) or s.out not in made or s.out in read]
    return found


def _is_behind_first(join: Join, w: Lowering) -> bool:
    """Whether a join is of one number and the numbers of an array, of its own dtype."""
    if join.axis or join.new or len(join.args) != 2 or len(w.axes(join.out)) != 1:
        return False
    return w.axes(join.args[0]) == (ONE,) and all(w.dtype(a) == join.dtype for a in join.args)


def _from_the_first(view: View) -> bool:
    """Whether a view is of the first elements of an array."""
    if view.at or len(view.axes) != 1 or view.axes[0] is None:
        return False
    start, _, step = view.axes[0][1]
    return start in (None, 0) and step in (None, 1)


def _goes_in_order(node: Nested) -> bool:
    """Whether the steps of a loop wait for one another: a compiler would not do many of them at once."""
    return node.loop.until is not None or not all(_reduces(s, node) for s in node.loop.states)


def _reduces(state: CarriedState, node: Nested) -> bool:
    """Whether a state is a reduction that compilers do in any order: of integers, and read by itself only."""
    taps = {name for _, name in state.taps}
    readers = [n for n in node.nodes if not taps.isdisjoint(n.args)]
    if state.type.dtype.startswith("float") or not taps.isdisjoint(k.value for k in node.loop.keeps):
        return False
    return all(isinstance(n, Map) and n.out == state.update and n.op in IN_ANY_ORDER for n in readers)


def _carrying(node: Nested, joins: Mapping[str, Join], views: Mapping[str, View], w: Lowering) -> Nested:
    """A loop with such reads as states."""
    loop, rows = node.loop, {r.source: r for r in node.loop.reads}
    new: dict[Read, CarriedState] = {}
    for r in loop.reads if _goes_in_order(node) else ():
        join = joins.get(views[r.source].args[0] if r.source in views else r.source)
        row = rows.get(join.args[1]) if join else None
        if join and row and w.axes(r.source) == w.axes(row.source) and r.type == row.type:
            new[r] = CarriedState(join.args[0], 1, ((1, r.out),), row.out, r.type)
    if not new:
        return node
    loop = replace(loop, reads=tuple(r for r in loop.reads if r not in new), states=(*loop.states, *new.values()))
    gone = {r.source for r in new} - {r.source for r in loop.reads}
    args = [*(a for a in node.args if a not in gone), *(s.init for s in new.values())]
    return replace(node, loop=loop, args=tuple(dict.fromkeys(args)))
