"""A pass on the statements of a grid kernel: fuses a product of matrices with the elementwise loop that reads it.

The thread that adds up an element of the product goes on with the operations on it, so the product is never stored,
and blocks wait for one another once less.  The loop must read the product only at its own row, and at its own column
of one group of columns or several, such as those of the gates of an LSTM; nothing else may access the product; and the
loop must not write to the factor that other blocks may still be reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np

from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Declare,
    Expr,
    For,
    If,
    Inner,
    Kernel,
    Let,
    Lit,
    Load,
    Point,
    Set,
    Steps,
    Stmt,
    Store,
    Var,
    plus,
    times,
)  # fmt: skip
from scanopt.backends.kernels.ring_rows import row_of_step
from scanopt.backends.kernels.walks import expressions, inside, loads, variables, with_loads, with_variables
from scanopt.records import dataclass

__all__ = ["FinishedProduct", "with_finished"]

GROUPS = (1, 2, 4)
"""The numbers of groups of columns into which a tile may be divided."""
MOST_EARLY = 16
"""The most numbers that a thread loads before, and holds while, a product is made."""


@dataclass(frozen=True)
class FinishedProduct(For):
    """A loop over the elements of a product, and the product itself.

    row, column: the variables of the loop; row is "" where the product has one row.  columns: the number in each group;
    starts: where the groups begin in a row of the product.  elements: the body of the loop, in which the variables
    `sums` are the elements of the groups; place: the statements that set the variables by which it reads memory. then:
    another loop over the elements of the groups, which reads the value that this one makes of each element of the
    product; then `elements` are the bodies of both, and every column must be in a group.
    """

    product: Inner
    row: str
    column: str
    columns: Expr
    starts: tuple[Expr, ...]
    sums: tuple[str, ...]
    place: tuple[Stmt, ...]
    elements: tuple[Stmt, ...]
    then: For | None = None

    def read_early(self) -> tuple[Load, ...]:
        """The loads that do not need the product and precede all writes: they may be done before it is computed."""
        lets = list(takewhile(lambda s: isinstance(s, Let), self.elements))
        made = {s.name for s in lets if isinstance(s, Let)}
        found = dict.fromkeys(a for s in lets for v in expressions(s) for a in loads(v))
        return tuple(a for a in found if made.isdisjoint(variables(a.index)))[:MOST_EARLY]


def with_finished(kernel: Kernel, is_tiled: Callable[[Inner], bool], known: Callable[[Expr], bool]) -> Kernel:
    """Fuse products in the steps of a kernel with the loops that read them, where possible.

    is_tiled: whether a call is a product that may be made of tiles; known: whether a number is known before the loop.
    """
    body = tuple(_Finder(kernel, x, is_tiled, known).steps() if isinstance(x, Steps) else x for x in kernel.body)
    return replace(kernel, body=body)


@dataclass(frozen=True)
class _Finder:
    kernel: Kernel
    loop: Steps
    is_tiled: Callable[[Inner], bool]
    known: Callable[[Expr], bool]

    def steps(self) -> Steps:
        """The loop, with its products fused."""
        body, at = list(self.loop.body), 0
        while at < len(body):
            x = body[at]
            end = next((i for i in range(at + 1, len(body)) if not isinstance(body[i], Point)), at)
            nest = body[end] if end < len(body) else None
            if isinstance(x, Inner) and isinstance(nest, For) and self.is_tiled(x):
                found = self._finished(x, nest)
                if found is not None:
                    body[at : end + 1] = [*body[at + 1 : end], found]
                    self._go_on(body, end - 1)
            at += 1
        return replace(self.loop, body=tuple(body))

    def _finished(self, x: Inner, nest: For) -> FinishedProduct | None:
        own = _places(x, nest)
        if own is None or not _is_packed(x) or not self.known(own.columns) or not _is_of_numbers(own.body):
            return None
        c = x.arrays[2]
        parts, read, starts = self._groups(c, own)
        if len(starts) not in GROUPS or not all(map(self.known, starts)):
            return None
        if not self._is_only_read_here(x, read, {*parts}) or not self._leaves_factor(x, own):
            return None
        sums = tuple(f"{c}_{i}" for i in range(len(starts)))

        def element(a: Load) -> Expr:
            return Var(sums[starts.index(parts[a.array])], a.dtype) if a.array in parts else a

        elements = tuple(with_loads(s, element) for s in own.body)
        names = own.row, own.column, own.columns
        return FinishedProduct(nest.var, nest.count, nest.body, x, *names, starts, sums, own.place, elements)

    def _groups(self, array: str, own: _Elements) -> tuple[dict[str, Expr], list[Load], tuple[Expr, ...]]:
        """The pointers to parts of an array, the loads of a loop from these, and where the groups of columns start.

        No groups where it reads elements at other places than its own.
        """
        parts = {p.name: p.index for p in self._points() if p.array == array} | {array: ZERO}
        read = [a for s in inside(own.body) for v in expressions(s) for a in loads(v) if a.array in parts]
        own_alone = all(a.index == own.read for a in read)
        return parts, read, tuple(dict.fromkeys(parts[a.array] for a in read)) if own_alone else ()

    def _go_on(self, body: list[Stmt], at: int) -> None:
        """Fuse the next loop, too, into the fused product at `at`, where possible."""
        end = next((i for i in range(at + 1, len(body)) if not isinstance(body[i], Point)), at)
        f, then = body[at], body[end]
        if isinstance(f, FinishedProduct) and isinstance(then, For) and end > at:
            both = self._both(f, then)
            if both is not None:
                body[at : end + 1] = [*body[at + 1 : end], both]

    def _both(self, f: FinishedProduct, then: For) -> FinishedProduct | None:
        own, stores = _places(f.product, then), [s for s in f.body if isinstance(s, Store)]
        simple = f.starts == (ZERO,) and f.place and all(isinstance(s, Let | Store) for s in f.body)
        if own is None or not simple or len(stores) != 1 or stores[0].index != Var(f.var) or own.place:
            return None
        (store,), x = stores, f.product
        parts, read, starts = self._groups(store.array, own)
        if len(starts) not in GROUPS[1:]:
            return None
        if not (self.known(own.columns) and all(map(self.known, starts)) and _is_of_numbers(own.body)):
            return None
        if self._reads({*parts}) != len(read) or not self._leaves_factor(x, own) or not self._is_apart(x, store):
            return None
        sums = tuple(f"{x.arrays[2]}_{i}" for i in range(len(starts)))
        row = times(Var(own.row), x.dims[3]) if own.row else ZERO
        places = {start: plus(row, plus(start, Var(own.column))) for start in starts}
        groups = {start: self._of_group(f, sum, places[start]) for start, sum in zip(starts, sums, strict=True)}

        def element(a: Load) -> Expr:
            return groups[parts[a.array]][-1] if a.array in parts else a

        made = (s for lets, _ in groups.values() for s in lets)
        onward = (with_loads(s, element) for s in own.body)
        kept = (Store(store.array, places[start], value) for start, (_, value) in groups.items())
        names = own.row, own.column, own.columns
        return FinishedProduct(f.var, f.count, f.body, x, *names, starts, sums, (), (*made, *onward, *kept), then)

    def _of_group(self, f: FinishedProduct, sum: str, place: Expr) -> tuple[list[Stmt], Expr]:
        """The statements of a fused loop for one element of the product, and the value that it stores."""
        new: dict[str, Expr] = {f.var: place, f.sums[0]: Var(sum, _dtype_read(f.product, self.kernel))}
        lets = list[Stmt]()
        for s in f.elements:
            if isinstance(s, Let):
                lets.append(Let(f"{s.name}_of_{sum}", with_variables(s.value, new), s.dtype))
                new[s.name] = Var(f"{s.name}_of_{sum}", s.dtype)
        (stored,) = (s for s in f.elements if isinstance(s, Store))
        return lets, with_variables(stored.value, new)

    def _reads(self, names: set[str]) -> int:
        """The number of loads of the kernel through some pointers; -1 where a call reads through them."""
        found = 0
        for s in inside(self.kernel.body):
            if not names.isdisjoint(getattr(s, "arrays", ())):
                return -1
            found += sum(a.array in names for v in expressions(s) for a in loads(v))
        return found

    def _is_apart(self, x: Inner, store: Store) -> bool:
        """Whether a loop stores in another array than the factor that other blocks may still be reading."""
        to, of = ({a for a, _ in self._point_to(p)} for p in (store.array, x.arrays[0]))
        pointers = {p.name for p in self._points()}
        return to.isdisjoint(of | pointers) and of.isdisjoint(pointers)

    def _points(self) -> Iterator[Point]:
        return (s for s in inside(self.kernel.body) if isinstance(s, Point))

    def _is_only_read_here(self, x: Inner, read: Sequence[Load], names: set[str]) -> bool:
        """Whether nothing else accesses the product, and it lies in scratch memory."""
        reads = 0
        for s in inside(self.kernel.body):
            reads += sum(a.array in names for v in expressions(s) for a in loads(v))
            arrays = s.arrays if hasattr(s, "arrays") and s != x else (s.array,) if isinstance(s, Store) else ()
            if not names.isdisjoint(arrays):
                return False
            if isinstance(s, Point) and s.array in names and (s.array != x.arrays[2] or s.name not in names):
                return False
        calls = sum(s == x for s in inside(self.kernel.body))
        scratch = {p.name for p in self.kernel.params if p.offset}
        return reads == len(read) > 0 and calls == 1 and x.arrays[2] in scratch

    def _leaves_factor(self, x: Inner, own: _Elements) -> bool:
        """Whether the loop writes nothing that overlaps the factor that other blocks may still be reading."""
        item = np.dtype(_dtype_read(x, self.kernel)).itemsize
        (_, m, k, _), (_, _, _, ar, ac, *_) = x.dims, x.strides
        whole = times(m, k) if ac == Lit(item) and (m == ONE or ar in (times(k, ac), times(ac, k))) else None
        for s in inside(own.body):
            if isinstance(s, Store):
                size = times(m, own.columns) if s.index == own.written else None
                pairs = [(p, q) for p in self._point_to(x.arrays[0]) for q in self._point_to(s.array)]
                if not all(self._apart(p, q, whole, size) for p, q in pairs):
                    return False
        return True

    def _point_to(self, pointer: str) -> list[tuple[str, Expr]]:
        """The arrays into which a pointer may point, with the index; an array points to its own start."""
        found = [(p.array, p.index) for p in self._points() if p.name == pointer]
        return found or [(pointer, ZERO)]

    def _apart(self, a: tuple[str, Expr], b: tuple[str, Expr], read: Expr | None, written: Expr | None) -> bool:
        """Whether two places are in different arrays, or in different rows of one array."""
        pointers = {p.name for p in self._points()}
        if a[0] in pointers or b[0] in pointers:
            return False
        if a[0] != b[0]:
            return True
        x, y = map(row_of_step, (a[1], b[1]))
        return x is not None and y is not None and x.differs(y) and x.size == read == written


@dataclass(frozen=True)
class _Elements:
    """A loop over the elements of a product, or of a group of its columns.

    row, column: variables for the place of an element; columns: their number; place: statements that set other
    variables.  read, written: the index of an element in the product, and in an array of only these columns.
    """

    row: str
    column: str
    columns: Expr
    body: tuple[Stmt, ...]
    place: tuple[Stmt, ...]
    read: Expr
    written: Expr


def _places(x: Inner, nest: For) -> _Elements | None:
    """Describe a loop as one over the elements of a product; None if it is none."""
    _, m, _, n = x.dims
    if m == ONE:
        return _Elements("", nest.var, nest.count, nest.body, (), Var(nest.var), Var(nest.var))
    if nest.count == times(m, n):
        row, column = f"{nest.var}_row", f"{nest.var}_column"
        place = Let(nest.var, plus(times(Var(row), n), Var(column)), INDEX)
        return _Elements(row, column, n, nest.body, (place,), Var(nest.var), Var(nest.var))
    inner = nest.body[0]
    if nest.count != m or not isinstance(inner, For) or len(nest.body) > 1:
        return None
    read, written = (plus(times(Var(nest.var), count), Var(inner.var)) for count in (n, inner.count))
    return _Elements(nest.var, inner.var, inner.count, inner.body, (), read, written)


def _is_packed(x: Inner) -> bool:
    (_, m, _, n), (row, column) = x.dims, x.strides[-2:]
    return isinstance(column, Lit) and (m == ONE or row in (times(n, column), times(column, n)))


def _is_of_numbers(body: Sequence[Stmt]) -> bool:
    """Whether one thread can run these statements by itself, on scalars only."""
    own = (Let, Store, If, Set)
    return all(isinstance(s, own) or (isinstance(s, Declare) and not s.elements) for s in inside(body))


def _dtype_read(x: Inner, kernel: Kernel) -> str:
    """The dtype of a product, which is that of its fixed factor, an array of the kernel."""
    return next(p.dtype for p in kernel.params if p.name == x.arrays[1])
