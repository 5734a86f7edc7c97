"""Prefetching on a device: threads copy rows of sequences into shared memory some steps before they read them.

It finds the rows that may be prefetched, in the statements of a kernel.  A thread copies only elements that it reads
itself, so no barrier is needed.  While the copies are on their way, it goes on: so even few lanes keep as many bytes in
flight as a device needs to reach its bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from scanopt.backends.kernels.ir import ONE, Do, Expr, Helper, Inner, Kernel, Lit, Point, Steps, Stmt, Var
from scanopt.backends.kernels.recipe import Given
from scanopt.backends.kernels.walks import expressions, inside, loads
from scanopt.records import dataclass

__all__ = ["AHEAD", "FETCHING", "Fetched", "fetched_rows", "rows_read"]

MOST_BYTES, DEEPEST = 64, 8
"""The most bytes of shared memory of a thread, and the most steps that a row is fetched ahead."""

FETCHING = """\
#ifndef FETCH
#if __CUDA_ARCH__ >= 800
template <class T> INLINE void fetch(T *to, const T *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                 "l"(__cvta_generic_to_global(from)), "n"((int)sizeof(T)) : "memory");
}
#define FETCH fetch
#define FETCH_END asm volatile("cp.async.commit_group;" ::: "memory")
#define FETCHED(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#else
#define FETCH(to, from) (*(to) = *(from))
#define FETCH_END
#define FETCHED(n)
#endif
#endif
"""
"""FETCH starts a copy, FETCH_END ends a group of copies, and FETCHED waits until at most n groups are unfinished."""


AHEAD = """\
#ifndef AHEAD
#define AHEAD(x, n) for (int64 i = me * (128 / (int)sizeof(*(x))); i < ((n) < 0 ? -(n) : (n)); \\
                         i += per * (128 / (int)sizeof(*(x)))) \\
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global((x) + i)))
#endif
"""
"""AHEAD lets the threads of a row prefetch n elements into the device's cache; n < 0: rows are read backwards."""


@dataclass(frozen=True)
class Fetched:
    """The sequences of a loop whose rows are prefetched.

    steps: the loop.  points: the statements that set a pointer to a row; strides: the rows from one step to the next;
    depth: the number of slots.
    """

    steps: Steps
    points: tuple[Point, ...]
    strides: tuple[Expr, ...]
    depth: int


def rows_read(
    kernel: Kernel, given: Sequence[Given], parts: bool = False
) -> tuple[Steps, list[tuple[Point, Expr]]] | None:
    """The loop of a kernel, and the statements that point to rows of sequences, each with its stride in rows per step.

    These point to row t of an argument, which only step t reads.  None where the kernel has no single loop.  parts:
    whether there may be pointers to parts of a row.
    """
    loops = [x for x in kernel.body if isinstance(x, Steps)]
    if len(loops) != 1:
        return None
    (loop,), statements = loops, list(inside(kernel.body))
    arrays = {p.name for p, g in zip(kernel.params, given, strict=True) if g.kind not in ("out", "scratch")}
    points = [x for x in statements if isinstance(x, Point)]
    others = set(_read(kernel.body[kernel.body.index(loop) + 1 :])) | (set() if parts else {x.array for x in points})
    names = [x.name for x in points]
    found: list[tuple[Point, Expr]] = []
    for x in loop.body:
        if isinstance(x, Point) and x.array in arrays and x.name not in others and names.count(x.name) == 1:
            stride = _stride(x.index, loop.var)
            found += [(x, stride)] if stride is not None else []
    return loop, found


def fetched_rows(kernel: Kernel, given: Sequence[Given]) -> Fetched | None:
    """The sequences that the loop of a kernel of scalars can prefetch; None if there are none."""
    read = rows_read(kernel, given)
    chosen: list[tuple[Point, Expr]] = []
    taken = 0
    for x, stride in read[1] if read else ():
        item = np.dtype(x.dtype).itemsize
        if item in (4, 8) and 2 * (taken + item) <= MOST_BYTES:
            taken += item
            chosen.append((x, stride))
    if read is None or not chosen:
        return None
    depth = DEEPEST
    while depth * taken > MOST_BYTES:
        depth //= 2
    return Fetched(read[0], tuple(x for x, _ in chosen), tuple(s for _, s in chosen), depth)


def _stride(index: Expr, step: str) -> Expr | None:
    """The rows from one step to the next; None if the index of a row is not the step times a number."""
    match index:
        case Var(name=name) if name == step:
            return ONE
        case Do(op="multiply", args=(Var(name=name), Lit() | Var() as stride)) if name == step:
            return stride
        case _:
            return None


def _read(statements: Sequence[Stmt]) -> Iterator[str]:
    """Yield the pointers that statements read."""
    for x in inside(statements):
        yield from (a.array for v in expressions(x) for a in loads(v))
        if isinstance(x, Inner | Helper):
            yield from x.arrays
        elif isinstance(x, Point):
            yield x.array
