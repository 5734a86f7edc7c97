"""Loop fusion: groups the nodes of a step into stages.  Elementwise operations over one shape become one loop.

A fused operation computes each element as before, so only the order of loops changes, never a bit.  An operation moves
to its only reader if that saves storing an array, and if nothing in between may change its operands in place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from math import prod
from typing import Protocol

from scanopt.backends.kernels.ir import Expr, Lit
from scanopt.backends.kernels.nodes import Call, Join, Length, Lookup, Map, Node, Reshape, SetItem, Setting, Take, View
from scanopt.records import dataclass

__all__ = [
    "CallsTogether",
    "Fused",
    "Stage",
    "is_element",
    "is_few",
    "made_by",
    "read_by",
    "stages_of",
    "stored",
    "without_joins",
]

FEW = 9
"""The most elements of an array that are held in variables."""
MOST_LOOPS = 9
"""The most loops into which a loop that reads concatenated arrays is divided."""

Axes = tuple[Expr, ...]


@dataclass
class Fused:
    """A stage of elementwise operations over one shape, in order.

    joins: concatenations that only they read, of which they read the parts directly.
    parts: elementwise operations that compute such parts.
    filled: settings of parts of other arrays to results of theirs, which nothing else reads.
    """

    axes: Axes
    nodes: list[Map] = field(default_factory=list[Map])
    joins: list[Join] = field(default_factory=list[Join])
    parts: list[Map] = field(default_factory=list[Map])
    filled: list[SetItem] = field(default_factory=list[SetItem])


@dataclass(frozen=True)
class CallsTogether:
    """A stage of calls of one inner loop that are independent of each other."""

    nodes: tuple[Call, ...]

    @property
    def outs(self) -> tuple[str, ...]:
        """The names that they make."""
        return tuple(n.out for n in self.nodes)

    @property
    def args(self) -> tuple[str, ...]:
        """The names that they read."""
        return tuple(a for n in self.nodes for a in n.args)


Stage = Fused | CallsTogether | Node


class Reading(Protocol):
    """A node, or a stage that passes make of several nodes."""

    @property
    def args(self) -> tuple[str, ...]:
        """The names that it reads."""
        ...

    @property
    def outs(self) -> tuple[str, ...]:
        """The names that it makes."""
        ...


def stages_of(nodes: Sequence[Node], axes: Mapping[str, Axes], wanted: Collection[str] = ()) -> list[Stage]:
    """Group nodes into stages, in an order in which they can run, with operations over one shape fused if possible.

    wanted: names that are read afterwards.
    """
    stages: list[Stage] = []
    made: dict[str, int] = {}
    for node in _views_first(nodes):
        shape = axes[node.out] if isinstance(node, Map) else ()
        if not isinstance(node, Map) or not shape:
            made |= dict.fromkeys(node.outs, len(stages))
            stages.append(node)
            continue
        first = 0
        for i, a in enumerate(node.args):
            if a in made:
                stage = stages[made[a]]
                by_element = axes[a] == shape and not (isinstance(node, Lookup) and not i)
                together = isinstance(stage, Fused) and stage.axes == shape and by_element
                first = max(first, made[a] + (not together))
        found = (i for i in range(first, len(stages)) if _takes(stages[i], shape))
        place = next(found, None)
        if place is None:
            place = len(stages)
            stages.append(Fused(shape))
        stage = stages[place]
        assert isinstance(stage, Fused)
        stage.nodes.append(node)
        made[node.out] = place
    _sink(stages, wanted)
    return [s for s in stages if not isinstance(s, Fused) or s.nodes]


def _views_first(nodes: Sequence[Node]) -> list[Node]:
    """Move views directly behind the nodes that make their arrays, so that they do not divide stages."""
    places: dict[str, int] = {}
    found: list[tuple[int, Node]] = []
    for i, node in enumerate(nodes):
        made = (places[a] for a in node.args if a in places)
        place = max(made, default=-1) if isinstance(node, Length | Reshape | Take | View) else i
        places |= dict.fromkeys(node.outs, place)
        found.append((place, node))
    return [node for _, node in sorted(found, key=lambda x: x[0])]


def _sink(stages: list[Stage], wanted: Collection[str]) -> None:
    """Move operations into the only later stage that reads them, if that saves storing an array.

    Operations whose results only they read move with them.
    """
    readers: dict[str, set[int]] = {}
    for i, stage in enumerate(stages):
        for n in stage.nodes if isinstance(stage, Fused) else (stage,):
            for a in n.args:
                readers.setdefault(a, set()).add(i)
    for i, stage in reversed(list(enumerate(stages))):
        if not isinstance(stage, Fused):
            continue
        for node in reversed(stage.nodes[:]):
            j = next(iter(readers.get(node.out, ())), i)
            later = stages[j]
            if j <= i or len(readers[node.out]) > 1 or not isinstance(later, Fused) or later.axes != stage.axes:
                continue
            changed = any(isinstance(s, Setting) for s in stages[i:j])  # it may change an operand
            stays = changed or node not in stage.nodes or _is_table(node, later)
            moved = [] if stays else _alone(node, stage, wanted, readers)
            stage.nodes[:] = [n for n in stage.nodes if n not in moved]
            later.nodes[:0] = moved
            left = {a for n in stage.nodes for a in n.args}
            for a in {a for n in moved for a in n.args}:
                readers[a] = (readers[a] if a in left else readers[a] - {i}) | {j}


def _alone(node: Map, stage: Fused, wanted: Collection[str], readers: Mapping[str, Collection[int]]) -> list[Map]:
    """An operation with those whose results only it reads; [] if moving them would need other results to be stored."""
    at = stage.nodes.index(node)
    found = [node]
    for n in reversed(stage.nodes[:at]):
        mine = [m for m in stage.nodes if n.out in m.args]
        inside = n.out not in wanted and len(readers.get(n.out, ())) == 1
        if mine and inside and all(m in found for m in mine):
            found.insert(0, n)
    own = {n.out for n in stage.nodes} - {n.out for n in found}
    kept = [a for n in found for a in n.args if a in own and a not in wanted and len(readers[a]) == 1]
    return [] if kept else found


def _takes(stage: Stage, axes: Axes) -> bool:
    return isinstance(stage, Fused) and stage.axes == axes


def _is_table(node: Map, stage: Fused) -> bool:
    """Whether a stage looks elements up in the result of a node."""
    return any(isinstance(n, Lookup) and n.args[0] == node.out for n in stage.nodes)


def stored(
    stages: Sequence[Stage], wanted: Collection[str], axes: Mapping[str, Axes], written_out: Collection[str]
) -> set[str]:
    """The names of results that need a place in memory, among fused nodes, joined numbers and written-out nodes.

    The elements of a small array are variables for operations over such arrays, for single elements taken of it, for
    products and reductions that are written out, and for joined calls.  wanted: names needed after the step.
    written_out: the results of written-out nodes and joined calls.
    """
    found = set(wanted)
    for stage in stages:
        if isinstance(stage, Fused):
            given = read_by(stage) - made_by(stage)
            found |= {a for a in given if not is_few(stage.axes) or axes[a] != stage.axes}
        elif stage.outs and {*stage.outs} <= {*written_out}:
            found |= {a for a in stage.args if not is_few(axes[a])}
            found |= {*stage.args[:1]} if isinstance(stage, Take) else set()  # elements at computed places
        elif not (isinstance(stage, View) and is_element(stage) and is_few(axes[stage.args[0]])):
            found |= set(stage.args)
    joined = {s.out for s in stages if isinstance(s, Join) and s.new and is_few(axes[s.out])}
    return found & ({n.out for s in stages if isinstance(s, Fused) for n in s.nodes} | joined | {*written_out})


def without_joins(stages: Sequence[Stage], axes: Mapping[str, Axes], wanted: Collection[str]) -> list[Stage]:
    """Remove concatenations that only one stage of elementwise operations reads; it reads their parts instead."""
    found = [*stages]
    for i, join in enumerate(stages):
        if not isinstance(join, Join) or join.new or join.out in wanted or len(axes[join.out]) != 1:
            continue
        readers = [s for s in stages if join.out in read_by(s)]
        if len(readers) != 1 or not isinstance(readers[0], Fused) or is_few(readers[0].axes):
            continue
        target = readers[0]
        if any(isinstance(n, Lookup) for n in target.nodes):
            continue
        parts = {tuple(axes[a] for a in j.args) for j in (*target.joins, join)}
        alike = prod(map(len, parts)) <= MOST_LOOPS
        changed = any(isinstance(s, Setting) for s in stages[i : stages.index(target)])  # it may change an operand
        if target.axes == axes[join.out] and alike and not changed:
            target.joins.append(join)
            found.remove(join)
    return found


def read_by(stage: Fused | Reading) -> set[str]:
    """The names that a stage reads."""
    nodes: Sequence[Reading] = (*stage.joins, *stage.parts, *stage.nodes) if isinstance(stage, Fused) else (stage,)
    return {a for n in nodes for a in n.args}


def made_by(stage: Fused | Reading) -> set[str]:
    """The names that a stage makes."""
    return {n.out for n in (*stage.parts, *stage.nodes)} if isinstance(stage, Fused) else {*stage.outs}


def is_few(axes: Axes) -> bool:
    """Whether an array of these axes has few enough elements to hold them in variables."""
    sizes = [int(n.value) for n in axes if isinstance(n, Lit)]
    return bool(axes) and len(sizes) == len(axes) and 1 < prod(sizes) <= FEW


def is_element(view: View) -> bool:
    """Whether a view is one element, at known places."""
    return not view.axes and all(isinstance(i, int) for _, i in view.at)
