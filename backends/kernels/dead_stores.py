"""A pass on the statements of a kernel: removes stores to scratch arrays that nothing reads, and these arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from scanopt.backends.kernels.ir import ZERO, For, Helper, If, Inner, Let, Point, Steps, Stmt, Store
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.walks import expressions, inside, loads

__all__ = ["without_dead_stores"]


def without_dead_stores(code: Sequence[Stmt], w: Lowering) -> list[Stmt]:
    """Return the statements of a kernel without dead stores."""
    places = {f"g{i}": i for i, g in enumerate(w.given) if g.kind == "scratch"}
    found = [*code]
    while dead := _dead([*w.head, *found], {*places}):
        w.head[:], found = _left(w.head, dead), [*_left(found, dead)]
        for i in (places.pop(name) for name in dead if name in places):
            w.given[i] = replace(w.given[i], axes=(ZERO,))
    return found


def _dead(statements: Sequence[Stmt], scratch: Set[str]) -> frozenset[str]:
    """The scratch arrays, and the pointers into only these, that no statement reads or passes to a function."""
    every = [*inside(statements)]
    points = [(p.name, {p.array}) for p in every if isinstance(p, Point)]
    unread = {*scratch, *(name for name, _ in points)}
    for x in every:
        unread.difference_update(load.array for e in expressions(x) for load in loads(e))
        if isinstance(x, Inner | Helper):
            unread.difference_update(x.arrays)
    before = -1
    while before != len(unread):
        before = len(unread)
        for name, targets in points:
            if name not in unread or not targets <= unread:
                unread -= {name, *targets}
    written = {x.array for x in every if isinstance(x, Store)} | {name for name, _ in points}
    return frozenset(unread & written)


def _left(statements: Sequence[Stmt], dead: Set[str]) -> Iterator[Stmt]:
    """The statements without those that write to dead arrays or point to them."""
    for x in statements:
        match x:
            case Store(array=name) | Point(name=name) if name in dead:
                pass
            case For(body=body):
                body = tuple(_left(body, dead))
                if body == x.body or not all(isinstance(y, Let) for y in body):
                    yield replace(x, body=body)
            case Steps(body=body):
                yield replace(x, body=tuple(_left(body, dead)))
            case If(then=then, otherwise=otherwise):
                yield replace(x, then=tuple(_left(then, dead)), otherwise=tuple(_left(otherwise, dead)))
            case _:
                yield x
