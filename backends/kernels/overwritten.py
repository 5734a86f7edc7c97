"""Decides which states of a loop are updated in place: the new value overwrites the old one.

This is right if no element of the new value needs other elements of the old one after these are overwritten: the loop
that computes the new value reads the old one element by element, at the same place, or not at all, and every other
reader of the old value is needed for the new one, and so runs before.  Or only parts of the old value are set, and
nothing reads the old value afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from scanopt.backends.kernels.bodies import walk
from scanopt.backends.kernels.homes import views_of_all
from scanopt.backends.kernels.ir import ZERO, Do, Expr
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import (
    WHOLE,
    Call,
    Extreme,
    Fork,
    Length,
    Lookup,
    Map,
    Nested,
    Node,
    Product,
    Products,
    Reduce,
    Repeat,
    Running,
    Search,
    SetItem,
    Setting,
    Sort,
    Take,
    View,
)  # fmt: skip
from scanopt.backends.kernels.stages import Fused, is_few
from scanopt.program.ir import CarriedState
from scanopt.records import dataclass

__all__ = [
    "changed_in_place", "chosen_over", "factors", "idle_test", "note_links", "note_overwritten", "overwritten",
    "with_settings_late",
]  # fmt: skip


def overwritten(nested: Nested, views: Mapping[str, str], w: Lowering) -> dict[int, tuple[str, ...]]:
    """The states, by number, whose update may overwrite them, with their names while parts are set before that.

    views: for each name that is only a view of an array, that array, which is then computed in the view's place.
    """
    found = {i: _set_first(s, nested, w) for i, s in enumerate(nested.loop.states)}
    return {i: names for i, names in found.items() if _is_overwritten(nested.loop.states[i], names, nested, views, w)}


def _set_first(s: CarriedState, nested: Nested, w: Lowering) -> tuple[str, ...]:
    """The names of a state while parts of it are set, before all of it is overwritten; () if not in place."""
    if s.depth != 1 or len(s.taps) != 1 or not s.type.ndim:
        return ()
    made = {n.args[0]: n for n in nested.nodes if isinstance(n, Setting)}
    names = [s.taps[0][1]]
    while names[-1] in made:
        names.append(made[names[-1]].out)
    loop = nested.loop
    later = {*(x.update for x in loop.states), *(k.value for k in loop.keeps), loop.until}
    alone = later.isdisjoint(names) and all(_is_last(x, made[x], nested, w) for x in names[:-1])
    return tuple(names[1:]) if alone else ()


def _is_overwritten(
    s: CarriedState, names: tuple[str, ...], nested: Nested, views: Mapping[str, str], w: Lowering
) -> bool:
    loop = nested.loop
    if w.device or s.depth != 1 or len(s.taps) != 1 or not s.type.ndim:
        return False
    tap = names[-1] if names else s.taps[0][1]
    others = [x.update for x in loop.states if x is not s]
    made = {out: n for n in nested.nodes for out in n.outs}
    kept_all = {k.value for k in loop.keeps if k.rows != 1}
    if s.update not in made or s.update in (*others, *kept_all) or tap in (*others, *(k.value for k in loop.keeps)):
        return False
    needed = _needed(s.update, made)
    readers = [n for n in nested.nodes if tap in n.args]
    if w.axes(s.update) != w.axes(tap) or not needed.issuperset(n.outs[0] for n in readers):
        return False
    row = views.get(s.update, s.update)
    maker = made[row]
    if isinstance(maker, Nested):
        on = all(_is_handed_on(n, maker, nested, row) or _is_smaller_part(n, tap, w) for n in readers)
        return on and not names
    if is_few(w.axes(s.update)) and not names:
        return False  # its elements are variables
    read_before = [n for n in readers if n is not maker and isinstance(n, _READING)]
    return isinstance(maker, Map | Call | Product) and all(
        n in read_before or _by_element(n, tap, w) or _is_smaller_part(n, tap, w) for n in readers
    )


_DONE = (Reduce, Extreme, Running, Search, Sort)
_READING = (Call, Product, Products, *_DONE)
"""The nodes that have read their arguments, and keep no pointer to them, once they are done."""


def _is_smaller_part(n: Node, tap: str, w: Lowering) -> bool:
    """Whether a node is a view with fewer axes, such as an element or a row, of which a copy can be made."""
    return isinstance(n, View) and tap not in n.args[1:] and len(w.axes(n.out)) < len(w.axes(tap))


def _is_handed_on(n: Node, maker: Nested, nested: Nested, row: str) -> bool:
    """Whether a node is only the start of a nested loop whose last row is the new state."""
    if not isinstance(n, View) or n.at or n.axes != (None, *((i, WHOLE) for i in range(len(n.axes) - 1))):
        return False
    kept = {k.value for k in maker.loop.keeps if k.out == row and k.rows == 1}
    starts = [s for s in maker.loop.states if s.init == n.out]
    others = [m for m in nested.nodes if n.out in m.args and m is not maker]
    inside = [*(r.source for r in maker.loop.reads), *(a for m in walk(maker.nodes) for a in m.args)]
    wanted = [*(s.update for s in nested.loop.states), *(k.value for k in nested.loop.keeps)]
    mine = len(starts) == 1 and starts[0].update in kept
    return mine and not others and n.out not in (*inside, *wanted)


def note_overwritten(update: str, tap: str, pointer: str, nodes: Sequence[Node], w: Lowering) -> None:
    """Note that a state is overwritten, which parts of it must be copied before, and which a nested loop starts from.

    tap: its name before that.  pointer: of its memory.
    """
    w.over[update] = tap
    parts = [n.out for n in nodes if isinstance(n, View) and n.args[0] == tap and w.axes(n.out)]
    w.apart.update(x for x in parts if len(w.axes(x)) < len(w.axes(tap)))
    w.handed_on |= {x: pointer for x in parts if len(w.axes(x)) > len(w.axes(tap))}


def idle_test(stage: Fused, w: Lowering) -> Expr | None:
    """The test under which a stage changes a state that it overwrites; None if it may always change it."""
    made = {n.out: n for n in stage.nodes}
    node = chosen_over(stage, w)
    if node is None:
        return None
    tap = w.over[node.out]
    test = next((x for x in factors(node.args[0], made) if x not in made and not w.axes(x)), None)
    if test is None or (node.args[2] != tap and test != node.args[0]):
        return None
    value = number_of(w.value(test))
    return value if node.args[2] == tap else Do("logical_not", (value,), "bool", "bool")


def chosen_over(stage: Fused, w: Lowering) -> Map | None:
    """The choice between the old state and a new value, if a stage computes only this, over the old state."""
    made = {n.out: n for n in stage.nodes}
    stored = [name for name in made if name in w.stored]
    if len(stored) != 1 or stored[0] not in w.over or stage.filled or any(isinstance(n, Lookup) for n in stage.nodes):
        return None
    node = made[stored[0]]
    return node if node.op == "where" and w.over[node.out] in node.args[1:] else None


def factors(name: str, made: Mapping[str, Map]) -> Iterator[str]:
    """Yield the tests that must all hold for a test to hold."""
    n = made.get(name)
    if n is not None and n.dtype == "bool" and n.op in ("bitwise_and", "logical_and") and {*n.takes} == {"bool"}:
        yield from (x for a in n.args for x in factors(a, made))
    else:
        yield name


def _by_element(n: Node, tap: str, w: Lowering) -> bool:
    return isinstance(n, Map) and not isinstance(n, Lookup | Repeat) and w.axes(n.out) == w.axes(tap)


def _needed(name: str, made: dict[str, Node]) -> set[str]:
    """The names on which a value depends, itself included."""
    found, todo = {name}, [name]
    while todo:
        n = made.get(todo.pop())
        new = {*n.args} - found if n else set[str]()
        found |= new
        todo += new
    return found


_STANDING = (Map, Call, View, Take, Setting, Product, Nested, *_DONE)
"""The nodes that read their arguments when they run, not later through a view."""


def changed_in_place(nested: Nested, kept_all: Collection[str], w: Lowering) -> dict[int, tuple[str, ...]]:
    """For each state of which steps only set parts, by number, its names while they do, the last one being its update.

    Nothing may read the state after it was changed; parts that are read later are copied.  kept_all: names of which all
    rows are kept.
    """
    found = {i: _changes(s, nested, kept_all, w) for i, s in enumerate(nested.loop.states)}
    return {i: names for i, names in found.items() if names}


def _changes(s: CarriedState, nested: Nested, kept_all: Collection[str], w: Lowering) -> tuple[str, ...]:
    if s.depth != 1 or len(s.taps) != 1 or not s.type.ndim or s.update in kept_all:
        return ()
    made = {n.out: n for n in nested.nodes if isinstance(n, Setting)}
    links, names = _links(nested, w), [s.update]
    while names[0] in made or names[0] in links:
        names.insert(0, made[names[0]].args[0] if names[0] in made else links[names[0]].before)
    if made.keys().isdisjoint(names) and len(names) < 3:
        return ()  # a nested loop computes all of it in place
    loop, tap = nested.loop, s.taps[0][1]
    others = [*(x.update for x in loop.states if x is not s), loop.until]
    seen = {tap, *names[1:-1]} & {*others, *(k.value for k in loop.keeps)}
    fits = names[0] == tap and len(names) > 1 and not seen and s.update not in others
    if not fits:
        return ()
    late = [
        _read_late(x, links[y].maker, nested, w, links[y].first) if y in links else _read_late(x, made[y], nested, w)
        for x, y in pairwise(names)
    ]
    if None in late:
        return ()
    w.apart.update(x for found in late for x in found or ())
    return tuple(names[1:])


@dataclass(frozen=True)
class _Link:
    """A nested loop that changes an array in place.

    before, first: the array's name before, and as the loop's initial rows; row: the last row that the loop keeps.
    """

    maker: Nested
    before: str
    first: str
    row: str


def _links(nested: Nested, w: Lowering) -> dict[str, _Link]:
    """For each array that a nested loop computes from another one, as its last row, how it does so."""
    makers = {n.outs[i]: n for n in nested.nodes if isinstance(n, Nested) for i in range(len(n.outs))}
    views = {n.out: n for n in nested.nodes if isinstance(n, View)}
    found: dict[str, _Link] = {}
    for out, row in views_of_all(nested.nodes, w).items() if makers else ():
        maker = makers.get(row)
        updates = {k.value for k in maker.loop.keeps if k.out == row} if maker is not None else set[str]()
        firsts = [s.init for s in maker.loop.states if s.update in updates] if maker is not None else []
        if maker is not None and len(firsts) == 1 and firsts[0] in views:
            view = views[firsts[0]]
            alone = sum(row in n.args for n in nested.nodes) == 1
            if alone and _is_handed_on(view, maker, nested, row) and w.axes(view.args[0]) == w.axes(out):
                found[out] = _Link(maker, view.args[0], view.out, row)
    return found


def note_links(names: Collection[str], pointer: str, nested: Nested, w: Lowering) -> None:
    """Note that nested loops change a state in place.  names: of the state meanwhile; pointer: of its memory."""
    for out, link in _links(nested, w).items():
        if out in names:
            w.homes[link.row], w.handed_on[link.first] = (pointer, ZERO), pointer


def _is_last(name: str, last: Setting, nested: Nested, w: Lowering) -> bool:
    """Whether a node is the last one that reads a value or its views, and no view is needed after the step."""
    return _read_late(name, last, nested, w) == set()


def _read_late(name: str, last: Setting | Nested, nested: Nested, w: Lowering, first: str = "") -> set[str] | None:
    """The views of a value that are read when a part of it is set, or later, and so must be copied before.

    None where copies do not suffice: something else reads the value then, or a view is needed after the step.  first:
    the view from which the last reader, a nested loop, starts, and which it changes in place.
    """
    at, views, late = nested.nodes.index(last), dict[str, View | Take](), set[str]()
    small = not isinstance(last, SetItem) or bool(last.part.at)  # else every view of the value is copied before
    for i, n in enumerate(nested.nodes):
        args = n.args[1:] if i == at and not isinstance(n, Nested) else n.args
        reads = {a for a in args if a == name or a in views}
        if not reads or first in n.outs or isinstance(n, Length):  # a length reads no element
            continue
        too_late = i >= at or not (isinstance(n, _STANDING) or _gives_numbers(n))
        if too_late and name in reads:
            return None
        if too_late:
            late |= {views[a].out for a in reads if a in views}
        elif isinstance(n, View | Take) and w.axes(n.out):
            views[n.out] = n if name in reads else views[next(iter(reads))]
            late |= set() if small else {views[n.out].out}
    loop = nested.loop
    later = {*(s.update for s in loop.states), *(k.value for k in loop.keeps), loop.until}
    fewer = all(isinstance(views[x], View) and len(w.axes(x)) < len(w.axes(name)) for x in late)
    return late if fewer and not (late and w.device) and views.keys().isdisjoint(later) else None


def _gives_numbers(node: Node) -> bool:
    """Whether a node is a branch whose results are all numbers, so none is a view."""
    return isinstance(node, Fork) and not any(r.type.ndim for r in node.branch.results)


def with_settings_late(nested: Nested, w: Lowering) -> Nested:
    """Move the nodes that set parts of states behind all readers of these states, so that they can work in place.

    Elements of states are read before loops that may change the states in place.
    """
    if w.device:
        return nested
    nodes = _elements_read_first(nested, w)
    for s in nested.loop.states:
        made = {n.args[0]: n for n in nodes if isinstance(n, Setting)}
        settings: list[Setting] = []
        name = s.taps[0][1] if s.depth == 1 and len(s.taps) == 1 and s.type.ndim else ""
        while name in made:
            settings.append(made[name])
            name = made[name].out
        for n in reversed(settings):
            at = nodes.index(n)
            first = next((i for i, m in enumerate(nodes) if n.out in m.args), len(nodes))
            nodes[at:first] = [*nodes[at + 1 : first], n]
    return replace(nested, nodes=tuple(nodes))


def _elements_read_first(nested: Nested, w: Lowering) -> list[Node]:
    """The nodes, those that read an element of a state before the first loop that stands after their places."""
    states = {name for s in nested.loop.states for _, name in s.taps}
    nodes = [*nested.nodes]
    for n in nested.nodes:
        if isinstance(n, View) and n.args[0] in states and not w.axes(n.out):
            at = nodes.index(n)
            known = max((i + 1 for i, m in enumerate(nodes[:at]) if not set(m.outs).isdisjoint(n.args)), default=0)
            first = next((i for i in range(known, at) if isinstance(nodes[i], Nested)), at)
            nodes.insert(first, nodes.pop(at))
    return nodes
