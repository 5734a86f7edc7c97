"""Decides where the rows lie that a nested loop keeps at all its steps, in the scratch memory of a kernel.

All rows of a state follow its initial rows in one array, so the state of some steps back is a part of the same array,
and no step tests whether a row is an initial one.  Rows that are only read from the last to the first are stored in
that order.  Values that a loop keeps twice are stored once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace

from scanopt.backends.kernels.ir import INDEX, ZERO, Do, Expr, Lit, Point, Var, plus, product, times
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import WHOLE, Lookup, Map, Nested, Node, PartSet, Repeat, SumTo, View
from scanopt.backends.kernels.summed_rows import Added, begin_sums
from scanopt.backends.kernels.values import Array, packed
from scanopt.records import dataclass

__all__ = ["Histories", "RowPlaces", "by_first_names", "histories_of", "read_first"]


@dataclass(frozen=True)
class RowPlaces:
    """The places of the rows of an array.  first: of the row of step 0; apart: the stride from one step to the next.

    mask: the variable for the bits of a step's number that count, if there is room for the rows of a few steps only.
    """

    pointer: str
    first: Expr
    apart: Expr
    mask: str = ""

    def at(self, step: Expr) -> tuple[str, Expr]:
        """The place of the row of a step."""
        step = Do("bitwise_and", (step, Var(self.mask)), INDEX, INDEX) if self.mask else step
        return self.pointer, plus(self.first, times(step, self.apart))

    def back(self, steps: int) -> RowPlaces:
        """The same rows, seen `steps` steps later: row t is that of step t - steps."""
        return RowPlaces(self.pointer, plus(self.first, times(Lit(-steps), self.apart)), self.apart)


@dataclass
class Histories:
    """Where a loop keeps its results: outs: the pointer of each; kept: the row places of those stored here.

    states: by the number of a state, its row places, after its initial rows.  stored: the numbers of results for which
    no statement is needed, because they share memory with others.  added: functions that write the statements that add
    up the rows of a step.
    """

    outs: list[str] = field(default_factory=list[str])
    kept: dict[int, RowPlaces] = field(default_factory=dict[int, RowPlaces])
    states: dict[int, RowPlaces] = field(default_factory=dict[int, RowPlaces])
    stored: set[int] = field(default_factory=set[int])
    added: list[Added] = field(default_factory=list[Added])


def by_first_names(node: Nested, w: Lowering) -> Nested:
    """Rename the states and results of a loop: an array that is just a copy or whole view of another gets that name."""
    names = _first_names(node.nodes, w)
    if not names:
        return node
    states = tuple(replace(s, update=names.get(s.update, s.update)) for s in node.loop.states)
    keeps = tuple(replace(k, value=names.get(k.value, k.value)) for k in node.loop.keeps)
    wanted = {*(s.update for s in states), *(k.value for k in keeps)}
    return replace(node, loop=replace(node.loop, states=states, keeps=keeps), nodes=read_first(node.nodes, wanted, w))


def read_first(nodes: Sequence[Node], wanted: Collection[str], w: Lowering) -> tuple[Node, ...]:
    """Rename what elementwise operations read: in place of copies and whole views, the array that is computed.

    So sums over no axis do not keep operations from being fused.  wanted: names that are read afterwards.
    """
    names = _first_names(nodes, w)
    found = [_reading(n, names) for n in nodes]
    read = {*wanted}.union(*(n.args for n in found))
    return tuple(n for n in found if not isinstance(n, SumTo) or n.out in read or n.out not in names)


def _first_names(nodes: Sequence[Node], w: Lowering) -> dict[str, str]:
    """For each copy or whole view of an array that some nodes make, the name of that array."""
    names: dict[str, str] = {}
    for n in nodes:
        whole = isinstance(n, View) and not n.at and n.axes == tuple((i, WHOLE) for i in range(len(n.axes)))
        same = isinstance(n, Map) and n.op == "copy" and len(n.args) == 1 and not isinstance(n, Repeat)
        if not (whole or same or isinstance(n, SumTo)):
            continue
        (out, *_), (x, *_) = n.outs, n.args
        if w.dtype(out) == w.dtype(x) and w.axes(out) == w.axes(x) != ():  # another dtype in between rounds
            names[out] = names.get(x, x)
    made = {out for n in nodes for out in n.outs}
    return {out: name for out, name in names.items() if name in made}


def _reading(node: Node, names: Mapping[str, str]) -> Node:
    """An elementwise operation with its arguments renamed; other nodes are unchanged."""
    by_element = isinstance(node, Map) and not isinstance(node, Lookup | Repeat | PartSet)
    return replace(node, args=tuple(names.get(a, a) for a in node.args)) if by_element else node


def histories_of(node: Nested, w: Lowering) -> Histories:
    """Decide where a nested loop keeps its results; those that have no place yet get scratch memory."""
    loop, found = node.loop, Histories()
    if loop.until is None and not w.device:
        all_rows = {i: k.value for i, k in enumerate(loop.keeps) if k.rows is None and w.axes(k.value)}
        free = {i: value for i, value in all_rows.items() if loop.keeps[i].out not in w.homes}
        for j, s in enumerate(loop.states):
            back = {tap: k for k, tap in s.taps} | {s.update: 0}
            mine = {i: back[value] for i, value in free.items() if value in back and i not in found.kept}
            if mine and s.taps:
                found.states[j] = rows = _rows(node, mine, s.depth, w)
                found.kept |= {i: rows.back(k) for i, k in mine.items()}
        found.stored |= {*found.kept}
        for i, value in free.items():
            if i not in found.kept:
                alike = {j: 0 for j, other in free.items() if other == value}
                found.kept |= dict.fromkeys(alike, _summed(node, alike, found, w) or _rows(node, alike, 0, w))
                found.stored |= {*alike} - {i}
    for i, k in enumerate(loop.keeps):
        if i in found.kept:
            _name(k.out, found.kept[i], w)
        found.outs.append(found.kept[i].pointer if i in found.kept else w.place(k.out))
    return found


def _rows(node: Nested, kept: Mapping[int, int], before: int, w: Lowering) -> RowPlaces:
    """Allocate the kept rows, with `before` extra rows ahead of the first step's."""
    keeps = [node.loop.keeps[i] for i in kept]
    steps, *axes = w.axes(keeps[0].out)
    pointer = w.scratch(w.dtype(keeps[0].value), (plus(steps, Lit(before)), *axes))
    row = product(tuple(axes))
    if _only_backwards([k.out for k in keeps], w):
        return RowPlaces(pointer, times(plus(steps, Lit(-1)), row), times(Lit(-1), row))
    return RowPlaces(pointer, times(Lit(before), row), row)


def _summed(node: Nested, kept: Collection[int], found: Histories, w: Lowering) -> RowPlaces | None:
    """Room for the rows of a few steps, if they are added up."""
    outs = [node.loop.keeps[i].out for i in kept]
    begun = begin_sums(outs, w)
    if begun is None:
        return None
    pointer, mask, added = begun
    found.added.append(added)
    return RowPlaces(pointer, ZERO, product(w.axes(outs[0])[1:]), mask)


def _only_backwards(names: Collection[str], w: Lowering) -> bool:
    """Whether all readers of some arrays go through them from the last row to the first."""
    return w.read_forwards.isdisjoint(names)


def _name(out: str, rows: RowPlaces, w: Lowering) -> None:
    """Define the name of an array as these rows."""
    axes, dtype = w.axes(out), w.dtype(out)
    pointer = rows.pointer
    if rows.first != ZERO:
        pointer = w.pointer(dtype)
        w.code.append(Point(pointer, *rows.at(ZERO), dtype))
    w.env[out] = Array(pointer, axes, (rows.apart, *packed(axes)[1:]), dtype)
