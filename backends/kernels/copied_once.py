"""A pass on the statements of a whole program: removes a copy by making the array where its copy would lie.

An example is the first table of a loop that fills it in place.  The pass is right if both arrays have the same size,
the first is scratch memory and the copy is scratch memory or a result, and nothing accesses the first after the copy,
nor the copy before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from scanopt.backends.kernels.ir import (
    ZERO,
    Expr,
    For,
    Helper,
    If,
    Inner,
    Load,
    Point,
    Steps,
    Stmt,
    Store,
    Var,
    product,
)
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.walks import changed, expressions, inside, loads, with_values

__all__ = ["without_first_arrays"]


def without_first_arrays(code: Sequence[Stmt], w: Lowering) -> list[Stmt]:
    """Return the statements of a program without arrays that are made only to be copied."""
    if not w.body.whole or w.device or w.part:
        return [*code]
    beside = _used([x for x in code if not _runs_once(x)])
    return [replace(x, body=tuple(_left(x.body, beside, w))) if _runs_once(x) else x for x in code]


def _runs_once(x: Stmt) -> TypeGuard[Steps]:
    """Whether a statement is the loop over the steps of the program, of which there is one."""
    return isinstance(x, Steps) and x.var == "t"


def _left(once: Sequence[Stmt], beside: set[str], w: Lowering) -> list[Stmt]:
    """Remove copies from statements each of which runs once.  beside: arrays that are used before or after them."""
    found, at = [*once], 0
    while at < len(found):
        pair = _copied(found, at, w)
        if pair and beside.isdisjoint(_pointing(pair[0], found)) and _is_alone(found, at, *pair, w):
            first, other = pair
            number = _number(first)
            found = [_renamed(x, first, other) for i, x in enumerate(found) if i != at]
            w.given[number] = replace(w.given[number], axes=(ZERO,))
        else:
            at += 1
    return found


def _copied(once: Sequence[Stmt], at: int, w: Lowering) -> tuple[str, str] | None:
    """The two arrays of a statement that copies all of one to the other; None for other statements."""
    match once[at]:
        case For(var, count, (Store(other, Var(i), Load(name, Var(j), dtype)),)) if i == j == var:
            first = _lies_in(name, once[:at])
            if first is None or first == other or _size(first, w) != count or _size(other, w) != count:
                return None
            here, there = w.given[_number(first)], w.given[_number(other)]
            return (first, other) if here.kind == "scratch" and here.dtype == there.dtype == dtype else None
    return None


def _number(array: str) -> int:
    """The number of an array of the kernel."""
    return int(array[1:])


def _lies_in(name: str, before: Sequence[Stmt]) -> str | None:
    """The array to whose start a pointer points; None where that is not certain."""
    points = [x for x in inside(before) if isinstance(x, Point) and x.name == name]
    if not points:
        return name
    point = points[-1]
    return _lies_in(point.array, before) if len(points) == 1 and point in before and point.index == ZERO else None


def _size(name: str, w: Lowering) -> Expr | None:
    """The number of elements of an array of the kernel, if it is scratch memory or a result."""
    g = w.given[_number(name)] if name[:1] == "g" and name[1:].isdigit() else None
    if g is None or g.kind not in ("scratch", "out") or g.rows != 1:
        return None
    return product(g.axes if g.kind == "scratch" else w.axes(w.body.loop.keeps[g.keep].value))


def _is_alone(once: Sequence[Stmt], at: int, first: str, other: str, w: Lowering) -> bool:
    """Whether nothing accesses the first array after the statement number `at`, nor the other one before it."""
    before, after = [*w.head, *once[:at]], once[at + 1 :]
    every = [*before, *after]
    return _used(after).isdisjoint(_pointing(first, every)) and _used(before).isdisjoint(_pointing(other, every))


def _pointing(array: str, statements: Sequence[Stmt]) -> set[str]:
    """An array, and the pointers that may point into it."""
    found = {array}
    points = [x for x in inside(statements) if isinstance(x, Point)]
    while new := {x.name for x in points if x.array in found} - found:
        found |= new
    return found


def _used(statements: Sequence[Stmt]) -> set[str]:
    """The arrays and pointers through which statements read or write, or from which they make pointers."""
    found: set[str] = set()
    for x in inside(statements):
        found.update(load.array for e in expressions(x) for load in loads(e))
        if isinstance(x, Store | Point):
            found.add(x.array)
        elif isinstance(x, Inner | Helper):
            found.update(x.arrays)
    return found


def _renamed(x: Stmt, old: str, new: str) -> Stmt:
    """Rename an array in a statement."""

    def read(load: Load) -> Load:
        return replace(load, array=new) if load.array == old else load

    def written(y: Stmt) -> Stmt:
        match y:
            case Store(array=array) | Point(array=array) if array == old:
                return replace(y, array=new)
            case Inner(arrays=arrays) | Helper(arrays=arrays):
                return replace(y, arrays=tuple(new if a == old else a for a in arrays))
            case For(body=body) | Steps(body=body):
                return replace(y, body=tuple(map(written, body)))
            case If(test=test, then=then, otherwise=otherwise):
                return If(test, tuple(map(written, then)), tuple(map(written, otherwise)))
            case _:
                return y

    return written(with_values(x, lambda e: changed(e, read)))
