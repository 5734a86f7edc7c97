"""Decides where the threads of a block need a barrier, by the memory accesses since the last barrier.

It is used when a kernel in the language of `ir.py` is printed as CUDA.  If a statement is shared out among threads,
thread i (modulo their number) accesses element i.  A chain of elementwise operators needs no barrier, since each thread
reads only elements that it wrote itself.  All other pairs of accesses to one place, of which at least one writes, need
a barrier between them: a thread reads what another thread wrote, or overwrites what another thread read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from scanopt.backends.kernels.ir import (
    ONE,
    ZERO,
    Expr,
    For,
    Helper,
    Inner,
    Lit,
    Point,
    Stmt,
    Store,
    Var,
    plus,
    product,
    times,
)  # fmt: skip
from scanopt.backends.kernels.ring_rows import PointedAt, places_of_pointers
from scanopt.backends.kernels.walks import expressions, inside, loads
from scanopt.records import dataclass

__all__ = ["Access", "Waiting", "places_of"]

ANYWHERE = "*"


@dataclass(frozen=True)
class Access:
    """An access of a statement to an array, through a pointer.

    own: only thread i, modulo the number of threads, accesses element i; first: only the first thread accesses it.
    """

    pointer: str
    write: bool
    own: bool = False
    first: bool = False


def places_of(nest: Sequence[For]) -> Expr:
    """The iteration of a nest of loops that a thread runs, as an index of a packed array."""
    found: Expr = ZERO
    for i, n in enumerate(nest):
        found = plus(found, times(Var(n.var), product(tuple(m.count for m in nest[i + 1 :]))))
    return found


class Waiting:
    """The accesses since the last barrier, as statements are printed one after the other."""

    def __init__(self, body: Sequence[Stmt]) -> None:
        self.places = places_of_pointers(body)
        self.since: list[tuple[Access, int]] = []
        self.versions: dict[str, int] = {}

    def moved(self, pointer: str) -> None:
        """Record that a pointer points elsewhere from now on."""
        self.versions[pointer] = self.versions.get(pointer, 0) + 1

    def met(self) -> None:
        """Record a barrier."""
        self.since = []

    def lost(self) -> None:
        """Record that anything may have been accessed."""
        self.since = [(Access(ANYWHERE, True), 0)]

    def note(self, accesses: Iterable[Access]) -> None:
        """Record the accesses of a statement."""
        for a in accesses:
            now = (a, self.versions.get(a.pointer, 0))
            if now not in self.since:
                self.since.append(now)

    def needed(self, accesses: Iterable[Access]) -> bool:
        """Whether a statement with these accesses needs a barrier before it."""
        return any(self._collide(a, *before) for a in accesses for before in self.since)

    def _collide(self, now: Access, before: Access, version: int) -> bool:
        if not (now.write or before.write) or (now.first and before.first):
            return False
        if now.own and before.own and now.pointer == before.pointer:
            return version != self.versions.get(now.pointer, 0)
        if ANYWHERE in (now.pointer, before.pointer):
            return True
        moved = version != self.versions.get(before.pointer, 0)
        return any(p.meets(PointedAt(q.array) if moved else q) for p in self._of(now) for q in self._of(before))

    def _of(self, access: Access) -> set[PointedAt]:
        return self.places.get(access.pointer, {PointedAt(access.pointer)})

    # The accesses of a statement

    def read(self, *values: Expr) -> list[Access]:
        """The accesses of a value that all threads read."""
        return [Access(x.array, False) for v in values for x in loads(v)]

    def of(self, x: Stmt, loops: Sequence[tuple[str, tuple[str, ...]]]) -> list[Access]:
        """The accesses of a statement that is shared out among threads."""
        match x:
            case Store(array=array, index=index, value=value):  # the first thread alone stores
                found = [Access(a.array, False, a.index == ZERO, True) for v in (index, value) for a in loads(v)]
                return [*found, Access(array, True, index == ZERO, True)]
            case Inner():
                return self._of_inner(x, loops)
            case Helper(arrays=arrays):
                return [*(Access(a, True, True) for a in arrays[:-1]), Access(arrays[-1], False)]
            case For():
                return list(self._of_nest(x))
            case _:
                return self.read(*expressions(x))

    def _of_inner(self, x: Inner, loops: Sequence[tuple[str, tuple[str, ...]]]) -> list[Access]:
        name, dtypes = loops[x.slot]
        items = [np.dtype(d).itemsize for d in dtypes]
        found = self.read(*x.dims, *x.strides)
        if name == "matmul":
            (_, m, _, n), (row, column) = x.dims, x.strides[-2:]
            packed = column == Lit(items[-1]) and (m == ONE or row == times(n, column) or row == times(column, n))
            return [*found, *(Access(a, False) for a in x.arrays[:-1]), Access(x.arrays[-1], True, packed)]
        own = [s == Lit(i) for s, i in zip(x.strides, items, strict=True)]
        if x.arrays[0] == x.arrays[-1] and x.strides[0] == ZERO:
            return [*found, Access(x.arrays[1], False, own[1]), Access(x.arrays[0], True, True)]
        given = [Access(a, False, o) for a, o in zip(x.arrays[:-1], own[:-1], strict=True)]
        return [*found, *given, Access(x.arrays[-1], True, own[-1])]

    def _of_nest(self, x: For) -> Iterator[Access]:
        nest = [x]
        while len(nest[-1].body) == 1 and isinstance(nest[-1].body[0], For):
            nest.append(nest[-1].body[0])
        yield from self.read(*(n.count for n in nest))
        place = places_of(nest)
        within = list(inside(nest[-1].body))
        moved = {s.name for s in within if isinstance(s, Point)}
        for s in within:
            for v in expressions(s):
                for a in loads(v):
                    yield Access(a.array, False, a.index == place and a.array not in moved)
            if isinstance(s, Store):
                yield Access(s.array, True, s.index == place and s.array not in moved)
            elif isinstance(s, Inner | Helper):
                yield from (Access(a, True) for a in s.arrays)
