"""Lowers the start of a nested loop: its number of steps, checks of lengths, and its results if it takes no step."""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.backends.kernels.ir import (
    INDEX,
    ZERO,
    Cast,
    Do,
    Expr,
    Fail,
    If,
    Let,
    Lit,
    Point,
    Set,
    Stmt,
    Var,
    plus,
    times,
)  # fmt: skip
from scanopt.backends.kernels.joined_rows import rows_read
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import Nested
from scanopt.backends.kernels.values import Array, Value, element_of
from scanopt.program.ir import Loop

__all__ = ["checked", "idle", "may_take_none"]


def may_take_none(nested: Nested) -> bool:
    """Whether a loop may take no step: all that it keeps has a start."""
    return all(k.start is not None for k in nested.loop.keeps)


def checked(w: Lowering, nested: Nested) -> Expr:
    """The number of steps of a nested loop; writes the checks that all lengths are those planned for."""
    loop = nested.loop
    name = w.fresh("k")
    w.code.append(Let(name, Cast(number_of(w.value(loop.steps)), INDEX), INDEX))
    steps = Var(name)
    wrong: list[Expr] = [] if may_take_none(nested) else [Do("less", (steps, Lit(1)), "bool", INDEX)]
    wrong += [Do("less", (w.axes(r.source)[0], steps), "bool", INDEX) for r in loop.reads]
    wrong += [Do("less", (n, steps), "bool", INDEX) for n in rows_read(nested.nodes, w)]
    wrong += [Do("not_equal", (w.axes(s.init)[0], Lit(s.depth)), "bool", INDEX) for s in loop.states]
    for k in loop.keeps:
        if k.start is not None:
            continue
        rows = w.axes(k.out)[0]
        least = Do("less", (steps, rows), "bool", INDEX)
        if loop.until is None or k.rows is not None:
            wrong.append(Do("not_equal", (rows, steps), "bool", INDEX) if k.rows is None else least)
    w.code += [If(x, (Fail(),)) for x in wrong]
    return steps


def idle(loop: Loop, outs: Sequence[str], w: Lowering) -> tuple[Stmt, ...]:
    """Statements that store what a loop keeps if it takes no step.  outs: the places to store to."""
    found: list[Stmt] = []
    for k, out in zip(loop.keeps, outs, strict=True):
        if k.start is None or (k.out in w.homes and w.homes[k.out] == (w.handed_on.get(k.start), ZERO)):
            continue  # it is there already
        rows, *axes = w.axes(k.start)
        value: Value = w.few[k.start][-1] if k.start in w.few and not axes else w.value(k.start)
        if isinstance(value, Array):
            last = w.pointer(value.dtype)
            found.append(Point(last, value.pointer, times(plus(rows, Lit(-1)), value.strides[0]), value.dtype))
            value = Array(last, tuple(axes), value.strides[1:], value.dtype)
        if k.out in w.few:
            element = Cast(element_of(value, [], ()), k.type.dtype)
            found += [Set(x.value.name, element) for x in w.few[k.out] if isinstance(x.value, Var)]
        found += w.copied(value, out, ZERO, tuple(axes), k.type.dtype)
    return tuple(found)
