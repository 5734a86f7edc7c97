"""Where the rows lie that a loop keeps at all its steps.

Those of a state follow its initial rows in one array, so what the state was some steps back is a part of the same
array, and no step asks whether a row is an initial one.  Rows that are read from the last one to the first are written
that way: so they lie in the order in which they are read.  What is kept twice is kept once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scanopt.backends.kernels.ir import ZERO, Expr, Lit, Point, plus, product, times
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import WHOLE, Lookup, Map, Nested, Node, PartSet, Repeat, SumTo, View
from scanopt.backends.kernels.values import Array, packed

__all__ = ["Histories", "RowPlaces", "by_first_names", "histories_of", "read_first"]


@dataclass(frozen=True)
class RowPlaces:
    """RowPlaces of an array.  first: where that of step 0 lies; apart: how far on that of the next step lies."""

    pointer: str
    first: Expr
    apart: Expr

    def at(self, step: Expr) -> tuple[str, Expr]:
        """Where the row of a step lies."""
        return self.pointer, plus(self.first, times(step, self.apart))

    def back(self, steps: int) -> RowPlaces:
        """The same rows, each so many steps later."""
        return RowPlaces(self.pointer, plus(self.first, times(Lit(-steps), self.apart)), self.apart)


@dataclass
class Histories:
    """Places of what a loop keeps: by number of what is kept its pointer, and its rows where they are no result.

    states: by number of a state its rows, the initial ones before them.  stored: what of it nothing has to be done for.
    """

    outs: list[str] = field(default_factory=list[str])
    kept: dict[int, RowPlaces] = field(default_factory=dict[int, RowPlaces])
    states: dict[int, RowPlaces] = field(default_factory=dict[int, RowPlaces])
    stored: set[int] = field(default_factory=set[int])


def by_first_names(node: Nested, w: Lowering) -> Nested:
    """A loop that carries and keeps arrays by the names by which they are computed, not by those of the same array."""
    names = _first_names(node.nodes, w)
    if not names:
        return node
    states = tuple(replace(s, update=names.get(s.update, s.update)) for s in node.loop.states)
    keeps = tuple(replace(k, value=names.get(k.value, k.value)) for k in node.loop.keeps)
    wanted = {*(s.update for s in states), *(k.value for k in keeps)}
    return replace(node, loop=replace(node.loop, states=states, keeps=keeps), nodes=read_first(node.nodes, wanted, w))


def read_first(nodes: Sequence[Node], wanted: Collection[str], w: Lowering) -> tuple[Node, ...]:
    """The nodes, where operations on elements read arrays by the names by which they are computed.

    So sums over no axis do not stand between operations that run together.  wanted: names that are read afterwards.
    """
    names = _first_names(nodes, w)
    found = [_reading(n, names) for n in nodes]
    read = {*wanted}.union(*(n.args for n in found))
    return tuple(n for n in found if not isinstance(n, SumTo) or n.out in read or n.out not in names)


def _first_names(nodes: Sequence[Node], w: Lowering) -> dict[str, str]:
    """By other name of an array made by some nodes the one by which it is computed."""
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
    """An operation on elements that reads arrays by other names."""
    by_element = isinstance(node, Map) and not isinstance(node, Lookup | Repeat | PartSet)
    return replace(node, args=tuple(names.get(a, a) for a in node.args)) if by_element else node


def histories_of(node: Nested, w: Lowering) -> Histories:
    """The places of what a loop inside a kernel keeps, made in scratch memory where they are no result."""
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
                found.kept |= dict.fromkeys(alike, _rows(node, alike, 0, w))
                found.stored |= {*alike} - {i}
    for i, k in enumerate(loop.keeps):
        if i in found.kept:
            _name(k.out, found.kept[i], w)
        found.outs.append(found.kept[i].pointer if i in found.kept else w.place(k.out))
    return found


def _rows(node: Nested, kept: Mapping[int, int], before: int, w: Lowering) -> RowPlaces:
    """Room for what is kept, and for so many rows before those of the first step."""
    keeps = [node.loop.keeps[i] for i in kept]
    steps, *axes = w.axes(keeps[0].out)
    pointer = w.scratch(w.dtype(keeps[0].value), (plus(steps, Lit(before)), *axes))
    row = product(tuple(axes))
    if _only_backwards([k.out for k in keeps], w):
        return RowPlaces(pointer, times(plus(steps, Lit(-1)), row), times(Lit(-1), row))
    return RowPlaces(pointer, times(Lit(before), row), row)


def _only_backwards(names: Collection[str], w: Lowering) -> bool:
    """Whether all that read some arrays begin with their last rows."""
    return w.read_forwards.isdisjoint(names)


def _name(out: str, rows: RowPlaces, w: Lowering) -> None:
    """Give rows the name of an array."""
    axes, dtype = w.axes(out), w.dtype(out)
    pointer = rows.pointer
    if rows.first != ZERO:
        pointer = w.pointer(dtype)
        w.code.append(Point(pointer, *rows.at(ZERO), dtype))
    w.env[out] = Array(pointer, axes, (rows.apart, *packed(axes)[1:]), dtype)
