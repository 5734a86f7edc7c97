"""Lowers elementwise operations on elements that are looked up at places of a row.

If the places are consecutive except for a few gaps, as in arrays that are rolled or extended at their edges, a row is
gone through run by run of consecutive places, in loops that compilers vectorize.  Whether runs are long is tested when
the kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Do,
    Expr,
    If,
    Let,
    Lit,
    Load,
    Point,
    Set,
    Steps,
    Stmt,
    Var,
    plus,
    times,
)
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.values import Array, Axes, Pick, Value, index

__all__ = ["row_of_lookups"]

LONG = 8
"""The least average number of elements in runs that are worth separate loops."""
Part = Callable[[Expr, Expr], tuple[Stmt, ...]]
"""Writes operations on elements of a row, given the first place and the count."""


def row_of_lookups(
    values: Mapping[str, Value], axes: Axes, places: Sequence[Expr], w: Lowering, part: Part
) -> tuple[Stmt, ...]:
    """Write operations along the last axis.  values: their operands, by name; places: along the axes before."""
    before = dict(w.env)
    code: list[Stmt] = []
    picks: dict[str, Pick] = {}
    for name, x in values.items():
        if isinstance(x, Array) and x.picks:
            w.env[name] = row = _row(x, axes, places, w, code)
            picks |= {p.pointer: p for p in row.picks}
    plain = part(ZERO, axes[-1])
    if picks and all(p.ends for p in picks.values()):
        code.append(If(_long(picks, axes[-1]), _runs(picks, values, axes[-1], w, part), plain))
    else:
        code += plain
    w.env = before
    return tuple(code)


def _row(x: Array, axes: Axes, places: Sequence[Expr], w: Lowering, code: list[Stmt]) -> Array:
    """The row of an array at some places, as an array over all axes.  code: gets the statement that points to it."""
    mine = [*places, ZERO][len(axes) - len(x.axes) :]
    last = tuple(p for p in x.picks if p.first + len(p.axes) == len(x.axes) and p.axes[-1] != ONE)
    start = index(ZERO, mine, x.within(x.axes))
    for p in x.picks:
        start = start if p in last else plus(start, p.at(mine))
    pointer = w.pointer(x.dtype)
    code.append(Point(pointer, x.pointer, start, x.dtype))
    return Array(pointer, x.axes, (*(ZERO for _ in x.axes[:-1]), x.strides[-1]), x.dtype, last)


def _runs(
    picks: Mapping[str, Pick], values: Mapping[str, Value], count: Expr, w: Lowering, part: Part
) -> tuple[Stmt, ...]:
    """The operations, run by run."""
    start, stop, run = w.variable(INDEX), w.fresh("k"), w.fresh("i")
    moved = {pointer: w.fresh("k") for pointer in picks}
    end: Expr = count
    for p in picks.values():
        end = Do("minimum", (end, Load(p.ends, Var(start), INDEX)), INDEX, INDEX)
    body: list[Stmt] = [Let(stop, end, INDEX)]
    for pointer, name in moved.items():
        place = Load(pointer, Var(start), INDEX)
        body.append(Let(name, Do("subtract", (place, Var(start)), INDEX, INDEX), INDEX))
    for name in values:
        x = w.env.get(name)
        if isinstance(x, Array) and x.picks:
            w.env[name] = replace(x, picks=tuple(replace(p, moved=Var(moved[p.pointer])) for p in x.picks))
    body += part(Var(start), Do("subtract", (Var(stop), Var(start)), INDEX, INDEX))
    body.append(Set(start, Var(stop)))
    over = Do("greater_equal", (Var(start), count), "bool", INDEX)
    return Set(start, ZERO), Steps(run, count, tuple(body), over)


def _long(picks: Mapping[str, Pick], count: Expr) -> Expr:
    """The test whether runs are long."""
    found: Expr = Lit(True, "bool")
    for p in picks.values():
        long = Do("less_equal", (times(Var(p.runs), Lit(LONG)), count), "bool", INDEX)
        found = long if found == Lit(True, "bool") else Do("logical_and", (found, long), "bool", "bool")
    return found
