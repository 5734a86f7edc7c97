"""A pass on the statements of a grid kernel: moves cheap elementwise computations into the one loop that reads them.

The gates of an LSTM's gradient are an example: they are concatenated and then multiplied.  Each is computed where the
concatenation is written, so that it is never stored and needs no barrier.  The pass is right if no other statement uses
the array, and nothing in between changes an operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scanopt.backends.kernels.ir import (
    Cast,
    Do,
    Expr,
    For,
    Kernel,
    Let,
    Lit,
    Load,
    Point,
    Steps,
    Stmt,
    Store,
    Var,
)  # fmt: skip
from scanopt.backends.kernels.ring_rows import PointedAt, places_of_pointers
from scanopt.backends.kernels.walks import expressions, inside, loads, variables, with_loads, with_variables
from scanopt.records import dataclass

__all__ = ["with_parts_computed"]

CHEAP = frozenset({"add", "subtract", "multiply", "negative", "square", "maximum", "minimum", "absolute"})
"""Operations that take no longer than loading their result."""
MOST_READ = 8
"""The most elements that are loaded in place of one."""


def with_parts_computed(kernel: Kernel) -> Kernel:
    """Move such computations in the steps of a kernel to where their results are read."""
    places = places_of_pointers(kernel.body)
    body = tuple(_Finder(kernel, x, places).steps() if isinstance(x, Steps) else x for x in kernel.body)
    return replace(kernel, body=body)


@dataclass(frozen=True)
class _Finder:
    """Rewrites one loop in steps.  places: of the pointers of the kernel."""

    kernel: Kernel
    loop: Steps
    places: Mapping[str, set[PointedAt]]

    def steps(self) -> Steps:
        """Return the loop, with such computations moved."""
        body = list(self.loop.body)
        for at, x in enumerate(body):
            if isinstance(x, For):
                for store in [s for s in x.body if isinstance(s, Store) and s.index == Var(x.var)]:
                    body = self._moved(body, at, store) or body
        return replace(self.loop, body=tuple(x for x in body if not isinstance(x, For) or x.body))

    def _moved(self, body: list[Stmt], at: int, store: Store) -> list[Stmt] | None:
        """The body in which the reader computes the stored value itself; None where that is not possible."""
        maker, array = body[at], store.array
        assert isinstance(maker, For)
        value = _of_element(maker, store.value)
        to = self._reader(array, body, at)
        if value is None or to is None or not self._stays(value, body[at : to + 1]):
            return None
        new = [*body]
        new[at] = _without(maker, store)
        new[to] = _computing(body[to], array, maker.var, value)
        return new

    def _reader(self, array: str, body: Sequence[Stmt], at: int) -> int | None:
        """The index of the only statement that reads an array, once, behind the one that makes it; else None."""
        uses = [i for i, s in enumerate(body) for x in inside([s]) for _ in _uses(x, array)]
        everywhere = sum(1 for x in inside(self.kernel.body) for _ in _uses(x, array))
        memory = any(p.name == array and p.offset for p in self.kernel.params)
        if not memory or len(uses) != everywhere or len(uses) != 2 or uses[0] != at or uses[1] <= at:
            return None
        of_numbers = all(isinstance(s, For | Let | Store) for s in inside([body[uses[1]]]))
        return uses[1] if isinstance(body[uses[1]], For) and of_numbers else None

    def _stays(self, value: Expr, between: Sequence[Stmt]) -> bool:
        """Whether no statement changes what a value reads."""
        read = {p for a in loads(value) for p in self._of(a.array)}
        for s in inside(between):
            arrays = [s.array] if isinstance(s, Store) else [*getattr(s, "arrays", ())]
            if isinstance(s, Point) and s.name in {a.array for a in loads(value)}:
                return False
            if any(p.meets(q) for a in arrays for p in self._of(a) for q in read):
                return False
        return True

    def _of(self, array: str) -> set[PointedAt]:
        return self.places.get(array, {PointedAt(array)})


def _uses(x: Stmt, array: str) -> Iterator[None]:
    """Yield once for each use of an array by a statement itself."""
    yield from (None for v in expressions(x) for a in loads(v) if a.array == array)
    if isinstance(x, Store | Point):
        yield from [None] * (x.array == array)
    yield from [None] * (array in getattr(x, "arrays", ()))


def _of_element(maker: For, value: Expr) -> Expr | None:
    """A value as an expression of loads of the element only; None where it is not cheap."""
    if not all(isinstance(s, Let | Store) for s in maker.body):
        return None
    made: dict[str, Expr] = {}
    for s in maker.body:
        made |= {s.name: with_variables(s.value, made)} if isinstance(s, Let) else {}
    found = with_variables(value, made)
    if not _is_cheap(found) or len({*loads(found)}) > MOST_READ:
        return None
    return found if all(a.index == Var(maker.var) for a in loads(found)) else None


def _is_cheap(x: Expr) -> bool:
    match x:
        case Do(op=op, args=args):
            return op in CHEAP and all(map(_is_cheap, args))
        case Cast(arg=arg):
            return _is_cheap(arg)
        case _:
            return isinstance(x, Load | Lit)


def _without(maker: For, store: Store) -> For:
    """A loop without a store, and without variables that only the store reads."""
    kept: list[Stmt] = []
    needed: set[str] = set()
    for s in reversed(maker.body):
        if s != store and (not isinstance(s, Let) or s.name in needed):
            kept.insert(0, s)
            needed |= {name for v in expressions(s) for name in variables(v)}
    return replace(maker, body=tuple(kept))


def _computing(reader: Stmt, array: str, var: str, value: Expr) -> Stmt:
    """A loop that computes an element of an array where it loaded it.  value: of the element `var`."""

    def element(a: Load) -> Expr:
        return with_variables(value, {var: a.index}) if a.array == array else a

    if isinstance(reader, For):
        return replace(reader, body=tuple(_computing(s, array, var, value) for s in reader.body))
    return with_loads(reader, element)
