"""Lowers setting a part of an array: decides whether it is done in place, and writes operations' results into the part.

Where the array is only made to be changed, the change is in place.  Otherwise a new array is made: operations that only
compute the part write into it directly, and only the elements around the part are copied.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from scanopt.backends.kernels.bodies import walk
from scanopt.backends.kernels.columns import Columns
from scanopt.backends.kernels.folds import Folded
from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Do, Expr, If, Lit, Point, Store, plus
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import (
    Fork,
    Length,
    Lookup,
    Map,
    Nested,
    Node,
    Nonempty,
    RowAt,
    SetItem,
    Setting,
    View,
)
from scanopt.backends.kernels.places import part_of
from scanopt.backends.kernels.rows import ReducedRows
from scanopt.backends.kernels.stages import Fused, Stage, is_few, made_by, read_by
from scanopt.backends.kernels.values import Array, Axes, Scalar, element_of, index, nest
from scanopt.program.ir import CarriedState

__all__ = ["keeps_around", "part_to_set", "with_parts_noted", "with_parts_set"]

AnyStage = Stage | Columns | Folded | ReducedRows


def with_parts_noted(
    nodes: Sequence[Node], wanted: Collection[str], computed: tuple[type[Node], ...], w: Lowering
) -> Sequence[Node]:
    """Decide which arrays with parts set are changed in place, and which constant arrays need not be made.

    Returns the nodes, some of them rewritten.  computed: types of nodes whose results can be written to a given place.
    """
    if not w.device:
        _set_one_after_another(nodes, wanted, w)
        nodes = _with_sums_apart(nodes, w)
    w.repeated |= _repeated_numbers(nodes, wanted, w)
    _made_to_be_changed(nodes, wanted, [n.outs[0] for n in nodes if isinstance(n, computed)], w)
    return nodes


def _set_one_after_another(nodes: Sequence[Node], wanted: Collection[str], w: Lowering) -> None:
    """Let an array be changed in place if it is itself made by setting a part of another, and nothing else reads it."""
    made = {n.out for n in nodes if isinstance(n, SetItem) and not is_few(w.axes(n.out))}
    for n in reversed(nodes):
        if isinstance(n, SetItem) and n.out in made - w.in_place and w.dtype(n.args[0]) == n.dtype:
            _change_only_copy(n, nodes, made, wanted, w)


def _change_only_copy(
    n: Setting, nodes: Sequence[Node], made: Collection[str], wanted: Collection[str], w: Lowering
) -> None:
    """Let a node change its first argument in place, if that is one of `made` and nothing else reads it."""
    x = n.args[0]
    others = [m for m in nodes if x in m.args and m is not n]
    if x in made and x not in (*wanted, *w.repeated, *w.homes, *n.args[1:]) and not others:
        w.in_place.add(n.out)
        if n.out in w.homes:
            w.homes[x] = w.homes[n.out]


def _with_sums_apart(nodes: Sequence[Node], w: Lowering) -> list[Node]:
    """Replace an addition to a part of an array by a sum and a setting of the part.

    Then the sum is fused with the computation of its terms, and only the elements around the part are copied.  Arrays
    changed in place are left.
    """
    found: list[Node] = []
    for n in nodes:
        axes = w.axes(n.part.out) if isinstance(n, SetItem) and n.added and n.out not in w.in_place else ()
        if not isinstance(n, SetItem) or not axes or is_few(axes) or {w.dtype(a) for a in n.args[:2]} != {n.dtype}:
            found.append(n)
            continue
        old, new = f"{n.out}#old", f"{n.out}#new"
        for name in (old, new):
            w.name_part(name, n.args[0], axes)
        found.append(replace(n.part, out=old))
        found.append(Map(new, (old, n.args[1]), "add", (n.dtype, n.dtype), n.dtype, n.part.out))
        found.append(replace(n, args=(n.args[0], new, *n.args[2:]), added=False))
    return found


def with_parts_set(
    stages: Sequence[AnyStage], axes: Mapping[str, Axes], wanted: Collection[str], in_place: Collection[str]
) -> list[AnyStage]:
    """Let stages whose result only becomes a part of an array write it there.

    in_place: the arrays that are changed, not copied.
    """
    found = [*stages]
    for node in stages:
        if not isinstance(node, SetItem) or node.added or node.out in in_place:
            continue
        x, y, *places = node.args
        maker = next((s for s in stages if isinstance(s, Fused) and y in made_by(s)), None)
        if maker is None or maker.joins or is_few(maker.axes) or maker.axes != axes[node.part.out] or y in wanted:
            continue
        if next(n.dtype for n in maker.nodes if n.out == y) != node.dtype:
            continue
        late = {name for s in stages[stages.index(maker) :] for name in made_by(s)}
        if not late & {x, *places} and [s for s in stages if y in read_by(s) and s is not maker] == [node]:
            maker.filled.append(node)
            found.remove(node)
    return found


def _repeated_numbers(nodes: Sequence[Node], wanted: Collection[str], w: Lowering) -> set[str]:
    """The arrays that repeat one number, and views of them, that need not be made.

    Only elementwise operations may read them, or nodes that copy them, or their rows, and set a part of the copy: those
    write the number themselves.
    """
    found: set[str] = set()
    for n in nodes:
        copied = isinstance(n, Map) and n.op == "copy" and w.axes(n.out)
        if (copied and (not w.axes(n.args[0]) or n.args[0] in found)) or (isinstance(n, View) and n.args[0] in found):
            found.update(n.outs)
    copies = [n for n in nodes if not found.isdisjoint(n.outs)]
    for n in walk(nodes):
        if isinstance(n, Nested):
            rows = [r for r in n.loop.reads if w.device or w.axes(r.out)]
            found -= {r.source for r in rows if not _is_only_set(r.out, n, w)}
            found -= {n.loop.steps, *(s.init for s in n.loop.states if w.device)}
            found -= {*(s.update for s in n.loop.states), *(k.value for k in n.loop.keeps)}
        elif isinstance(n, Fork):
            found -= {name for _, values in n.branch.sides for name in values}
        elif n not in copies and not isinstance(n, Length | Nonempty | RowAt) and not _is_by_element(n):
            found -= {*(n.args[1:] if isinstance(n, Setting) and n.dtype == w.dtype(n.args[0]) else n.args)}
    found -= {*wanted}
    for n in copies:
        if w.axes(n.args[0]) and n.args[0] not in found:
            found -= {*n.outs}
    return found


def _is_by_element(n: Node) -> bool:
    return isinstance(n, Map) and not isinstance(n, Lookup)


def _made_to_be_changed(nodes: Sequence[Node], wanted: Collection[str], made: Collection[str], w: Lowering) -> None:
    """Let arrays that are only made to have parts at indices, or rows, set be changed in place.

    made: the names that nodes can write to a given place.
    """
    for n in reversed(nodes):
        if not w.device and isinstance(n, Setting) and n.out not in w.in_place and _is_small(n, w):
            _change_only_copy(n, nodes, made, wanted, w)


def _is_small(n: Setting, w: Lowering) -> bool:
    """Whether a node sets parts at indices, an element, or a row; for larger parts, copying the rest is better."""
    if not isinstance(n, SetItem):
        return True
    axes = w.axes(n.out)
    return len(w.axes(n.part.out)) < len(axes) and not is_few(axes) and w.dtype(n.args[0]) == n.dtype


def _is_only_set(row: str, loop: Nested, w: Lowering) -> bool:
    """Whether a loop only sets parts of copies of a row."""
    others = {s.update for s in loop.loop.states} | {k.value for k in loop.loop.keeps} | {loop.loop.until}
    nodes = [n for n in loop.nodes if row in n.args]
    sets = all(isinstance(n, SetItem) and n.args[0] == row and row not in n.args[1:] for n in nodes)
    return row not in others and sets and all(n.dtype == w.dtype(row) for n in nodes if isinstance(n, SetItem))


def part_to_set(node: SetItem, w: Lowering) -> tuple[Array, Expr]:
    """The part of the result that a node sets, as an array, and the index where it starts.

    The elements around it are copied first, unless they are there already.
    """
    x, axes = w.value(node.args[0]), w.axes(node.out)
    if node.out in w.in_place:
        assert isinstance(x, Array)
        w.env[node.out] = x
    elif node.out not in w.joined:
        w.place(node.out)
    whole = w.env[node.out]
    assert isinstance(whole, Array)
    starts, strides = part_of(node.part, whole, w)
    pointer = w.pointer(node.dtype)
    if node.out not in w.in_place:
        filled = isinstance(x, Scalar) and node.out not in w.joined  # in a joined array, the part is there already
        few = w.few.get(node.args[0], []) if is_few(axes) and whole.packed and node.out not in w.around else []
        if few and not w.device and {e.dtype for e in few} == {node.dtype}:
            w.code += [Store(whole.pointer, Lit(i), e.value) for i, e in enumerate(few)]
            w.code.append(Point(pointer, whole.pointer, index(ZERO, starts, whole.strides), node.dtype))
            return Array(pointer, w.axes(node.part.out), strides, node.dtype), index(ZERO, starts, whole.strides)
        if node.added or filled or any(i and i[1][2] not in (None, 1) for i in node.part.axes):
            w.code += w.copied(x, whole.pointer, ZERO, axes, strides=() if whole.packed else whole.strides)
        else:
            with w.into([]) as around:
                _copied_around(node, x, whole, starts, w)
            w.code += [If(w.around[node.out], tuple(around))] if node.out in w.around else around
    place = index(ZERO, starts, whole.strides)
    w.code.append(Point(pointer, whole.pointer, place, node.dtype))
    return Array(pointer, w.axes(node.part.out), strides, node.dtype), place


def keeps_around(s: CarriedState, nodes: Sequence[Node]) -> bool:
    """Whether each step sets the same part of a state: then the elements around it in a row never change."""
    n = next((n for n in nodes if isinstance(n, SetItem) and n.out == s.update), None)
    fixed = n is not None and not n.part.ends and all(isinstance(at, int) for _, at in n.part.at)
    return n is not None and fixed and (1, n.args[0]) in s.taps


def _copied_around(node: SetItem, x: Array | Scalar, whole: Array, starts: Axes, w: Lowering) -> None:
    """Copy the elements before and behind the part along each axis, within the part along the axes before."""
    part = dict(zip((i and i[0] for i in node.part.axes), w.axes(node.part.out), strict=True))
    for axis, (start, length) in enumerate(zip(starts, whole.axes, strict=True)):
        size = part.get(axis, ONE)
        if size == length:
            continue
        stop = plus(start, size)
        for begin, count in ((ZERO, start), (stop, Do("subtract", (length, stop), INDEX, INDEX))):
            if count == ZERO:
                continue
            sides = [*(part.get(i, ONE) for i in range(axis)), count, *whole.axes[axis + 1 :]]
            first = [*starts[:axis], begin, *(ZERO for _ in whole.axes[axis + 1 :])]
            names, places = w.places(tuple(sides))
            here = [plus(a, b) for a, b in zip(first, places, strict=True)]
            store = Store(whole.pointer, index(ZERO, here, whole.strides), element_of(x, here, whole.axes))
            w.code += nest(tuple(sides), names, (store,))
