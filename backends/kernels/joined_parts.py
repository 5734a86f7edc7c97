"""Operations on elements of arrays made of others one after the other: a loop for each stretch of the same parts.

No joined array is made.  Where several have parts of other lengths, as a row moved to the left and one moved to the
right, each pair of parts has a loop over what they have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product as pairs

from scanopt.backends.kernels.ir import INDEX, ZERO, Cast, Do, Expr, Fail, For, If, Let, Stmt, Var, plus
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Join
from scanopt.backends.kernels.stages import Fused
from scanopt.backends.kernels.values import Scalar, element_of

__all__ = ["look_at_lengths", "write_parts"]

_Stretch = tuple[Expr, Expr, dict[str, str]]
"""Where parts begin and end; by name of a joined array its part."""
_Operations = Callable[[Expr, dict[str, Scalar]], tuple[Stmt, ...]]
"""The operations at a place; of joined arrays the elements are given."""


def write_parts(stage: Fused, w: Lowering, body: _Operations) -> None:
    """Write the loops of a stage that reads joined arrays."""
    for join in stage.joins:
        look_at_lengths(join, w)
    groups: dict[tuple[Expr, ...], list[Join]] = {}
    for join in stage.joins:
        groups.setdefault(tuple(w.axes(a)[0] for a in join.args), []).append(join)
    for parts in pairs(*(_parts(joins, lengths) for lengths, joins in groups.items())):
        _write(parts, stage, w, body)


def look_at_lengths(join: Join, w: Lowering) -> None:
    """See that parts whose lengths steps decide are together as long as the array that they are joined to."""
    lengths = [w.axes(a)[join.axis] for a in join.args if not join.new]
    if any(map(w.grows, lengths)):
        total: Expr = ZERO
        for length in lengths:
            total = plus(total, length)
        w.code.append(If(Do("not_equal", (total, w.axes(join.out)[join.axis]), "bool", INDEX), (Fail(),)))


def _parts(joins: list[Join], lengths: tuple[Expr, ...]) -> list[_Stretch]:
    """The parts of arrays that are joined of parts of the same lengths."""
    found: list[_Stretch] = []
    start: Expr = ZERO
    for i, length in enumerate(lengths):
        stop = plus(start, length)
        found.append((start, stop, {j.out: j.args[i] for j in joins}))
        start = stop
    return found


def _write(parts: tuple[_Stretch, ...], stage: Fused, w: Lowering, body: _Operations) -> None:
    """Write the loop over what some parts have in common."""
    start = _extreme("maximum", [first for first, _, _ in parts], w)
    stop = _extreme("minimum", [end for _, end, _ in parts], w)
    if stage.axes in w.prefixes:
        stop = Do("minimum", (stop, w.prefixes[stage.axes]), INDEX, INDEX)
    name = w.fresh("i")
    place = plus(start, Var(name))
    types = {j.out: j.dtype for j in stage.joins}
    mine: dict[str, Scalar] = {}
    for first, _, sources in parts:
        own = Var(name) if first == start else plus(place, _negative(first))
        for out, source in sources.items():
            value = w.value(source)
            element = element_of(value, [own], w.axes(source))
            mine[out] = Scalar(element if value.dtype == types[out] else Cast(element, types[out]), types[out])
    count = stop if start == ZERO else Do("subtract", (stop, start), INDEX, INDEX)
    w.code.append(For(name, count, body(place, mine)))


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
