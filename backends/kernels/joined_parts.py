"""Lowers elementwise operations on concatenated arrays without making the concatenation: a loop for each of its parts.

Where an operation reads several concatenations with parts of different lengths, as a row moved to the left and one
moved to the right, each pair of parts has a loop over the places that they have in common.  A part that is computed
only to be concatenated, as a stencil between the ends of a row, is computed in these loops and not stored either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import product as pairs

from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Cast, Do, Expr, Fail, For, If, Let, Stmt, Var, plus
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Join, Lookup, Map, PartSet, Repeat, Setting
from scanopt.backends.kernels.stages import Fused, Stage, is_few, made_by, read_by
from scanopt.backends.kernels.values import Axes, Scalar, element_of

__all__ = ["look_at_lengths", "with_parts_computed", "write_parts"]

_Stretch = tuple[Expr, Expr, dict[str, str]]
"""The begin and end of a stretch of places; for each joined array, the part that lies there."""
_Operations = Callable[[Expr, dict[str, Scalar]], tuple[Stmt, ...]]
"""Writes the operations at a place, given the elements of joined arrays there."""
_Making = Callable[[list[Map], Axes, Expr, dict[str, Scalar]], tuple[Stmt, ...]]
"""Writes the operations that compute a part at a place, and adds their results to the known elements."""


def with_parts_computed(stages: Sequence[Stage], wanted: Collection[str], w: Lowering) -> list[Stage]:
    """Move the computation of parts that only become joined into the stage that reads the joined array.

    wanted: names that are read afterwards.
    """
    found = [*stages]
    for target in [s for s in stages if isinstance(s, Fused) and s.joins and not w.device and not w.prefixes]:
        parts = [a for j in target.joins for a in j.args]
        for name in parts:
            maker = next((s for s in found if isinstance(s, Fused) and name in made_by(s)), target)
            if isinstance(maker, Fused) and maker is not target and _makes_parts(maker, target, found, wanted, w):
                target.parts += maker.nodes
                found.remove(maker)
    return found


def _makes_parts(maker: Fused, target: Fused, stages: Sequence[Stage], wanted: Collection[str], w: Lowering) -> bool:
    """Whether a stage makes only parts that `target` reads joined, and its parts share no operations."""
    if maker.joins or maker.filled or is_few(maker.axes) or ONE in maker.axes:
        return False
    if any(isinstance(n, Lookup | Repeat | PartSet) for n in maker.nodes):
        return False
    made, parts = made_by(maker), [a for j in target.joins for a in j.args]
    read = {a for s in stages if s is not maker and s is not target for a in read_by(s)}
    read |= {*wanted, *w.homes, *w.repeated} | {a for n in (*target.nodes, *target.parts) for a in n.args}
    mine = [a for a in parts if a in made]
    between = stages[stages.index(maker) : stages.index(target)]
    changed = any(isinstance(s, Setting) for s in between)  # it may change an operand
    return made.isdisjoint(read) and not changed and sum(len(_made(a, maker.nodes)) for a in mine) == len(maker.nodes)


def _made(part: str, nodes: Sequence[Map]) -> list[Map]:
    """The operations that compute a part."""
    found, need = list[Map](), {part}
    for n in reversed(nodes):
        if n.out in need:
            found.insert(0, n)
            need |= {*n.args}
    return found


def write_parts(stage: Fused, w: Lowering, body: _Operations, making: _Making) -> None:
    """Write the loops of a stage that reads joined arrays."""
    for join in stage.joins:
        look_at_lengths(join, w)
    groups: dict[tuple[Expr, ...], list[Join]] = {}
    for join in stage.joins:
        groups.setdefault(tuple(w.axes(a)[0] for a in join.args), []).append(join)
    for parts in pairs(*(_parts(joins, lengths) for lengths, joins in groups.items())):
        _write(parts, stage, w, body, making)


def look_at_lengths(join: Join, w: Lowering) -> None:
    """Write the check that parts, if steps decide their lengths, are together as long as the joined array."""
    lengths = [w.axes(a)[join.axis] for a in join.args if not join.new]
    if any(map(w.grows, lengths)):
        total: Expr = ZERO
        for length in lengths:
            total = plus(total, length)
        w.code.append(If(Do("not_equal", (total, w.axes(join.out)[join.axis]), "bool", INDEX), (Fail(),)))


def _parts(joins: list[Join], lengths: tuple[Expr, ...]) -> list[_Stretch]:
    """The stretches of arrays that are joined of parts of the same lengths."""
    found: list[_Stretch] = []
    start: Expr = ZERO
    for i, length in enumerate(lengths):
        stop = plus(start, length)
        found.append((start, stop, {j.out: j.args[i] for j in joins}))
        start = stop
    return found


def _write(parts: tuple[_Stretch, ...], stage: Fused, w: Lowering, body: _Operations, making: _Making) -> None:
    """Write the loop over the places that some parts have in common."""
    start = _extreme("maximum", [first for first, _, _ in parts], w)
    stop = _extreme("minimum", [end for _, end, _ in parts], w)
    if stage.axes in w.prefixes:
        stop = Do("minimum", (stop, w.prefixes[stage.axes]), INDEX, INDEX)
    name = w.fresh("i")
    place = plus(start, Var(name))
    types = {j.out: j.dtype for j in stage.joins}
    mine, before = dict[str, Scalar](), list[Stmt]()
    for first, _, sources in parts:
        own = Var(name) if first == start else plus(place, _negative(first))
        for out, source in sources.items():
            known = dict[str, Scalar]()
            if made := _made(source, stage.parts):
                before += making(made, w.axes(source), own, known)
            value = known[source] if made else w.value(source)
            element = element_of(value, [own], w.axes(source))
            mine[out] = Scalar(element if value.dtype == types[out] else Cast(element, types[out]), types[out])
    count = stop if start == ZERO else Do("subtract", (stop, start), INDEX, INDEX)
    w.code.append(For(name, count, (*before, *body(place, mine))))


def _extreme(op: str, places: list[Expr], w: Lowering) -> Expr:
    found, *rest = dict.fromkeys(places)
    for x in rest:
        found = Do(op, (found, x), INDEX, INDEX)
    if rest:
        name = w.fresh("k")
        w.code.append(Let(name, found, INDEX))
        found = Var(name)
    return found


def _negative(x: Expr) -> Expr:
    return Do("negative", (x,), INDEX, INDEX)
