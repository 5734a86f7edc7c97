"""Lowers a product of matrices whose rows a loop reads in order: the loop computes a few rows at a time, just ahead.

So memory is needed for these rows only.  The bits are those of the whole product if BLAS adds up both in the same
order, which depends on lengths and never on values: a trial finds out.  If they are not, all rows are made before the
loop.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Do,
    Expr,
    If,
    Inner,
    Let,
    Lit,
    Point,
    Stmt,
    Var,
    times,
)  # fmt: skip
from scanopt.backends.kernels.ir import product as product_of
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Length, Nested, Product, Reshape, Setting
from scanopt.backends.kernels.numpy_loops import inner_loop
from scanopt.backends.kernels.prefixes import prefix_of
from scanopt.backends.kernels.product_ways import few_by_matrix
from scanopt.backends.kernels.stages import Reading, Stage, is_few, read_by
from scanopt.backends.kernels.tiles import TiledProduct
from scanopt.backends.kernels.trials import PlainProduct, same_bits, values_of
from scanopt.backends.kernels.values import Ahead, Array, item_size, packed

__all__ = ["can_be_ahead", "read_ahead", "read_in_order", "rows_alike"]

ROWS = 4
"""The number of rows that are made together, a power of two: with more of them BLAS is hardly faster per row."""
_LONGEST = 1 << 27
"""The most multiplications of a product that is tried."""
_TRIALS, _SUMS = 2, 256
"""The least numbers of pairs of matrices that are tried, and of elements of their products."""


def read_in_order(
    stages: Sequence[Stage | Reading], wanted: Collection[str], w: Lowering
) -> dict[str, tuple[str, Expr]]:
    """For each product of which only one loop reads rows, in order, the name that it reads, and the elements of a step
    that reads several rows of the product, else 0.

    wanted: names that are read afterwards.
    """
    found: dict[str, tuple[str, Expr]] = {}
    for i, stage in enumerate(stages if w.body.whole and not w.device and not w.part else ()):
        if not isinstance(stage, Product) or stage.out in wanted:
            continue
        each: Expr = ZERO
        name, readers = stage.out, _readers(stage.out, stages)
        if len(readers) == 1 and isinstance(blocks := stages[readers[0]], Reshape) and len(w.axes(blocks.out)) > 2:
            name, each = blocks.out, product_of(w.axes(blocks.out)[1:])
            readers = _readers(name, stages)
        alone = len(readers) == 1 and name not in wanted and _only_reads(stages[readers[0]], name, w)
        if alone and not any(isinstance(s, Setting) for s in stages[i : readers[0]]):
            found[stage.out] = name, each
    return found


def _readers(name: str, stages: Sequence[Stage | Reading]) -> list[int]:
    return [j for j, s in enumerate(stages) if name in read_by(s) and not isinstance(s, Length)]


def _only_reads(loop: Stage | Reading, name: str, w: Lowering) -> bool:
    """Whether a loop reads only one row of an array per step."""
    if not isinstance(loop, Nested) or prefix_of(loop, w) or sum(r.source == name for r in loop.loop.reads) != 1:
        return False
    inside = {a for n in loop.nodes for a in n.args} | {s.init for s in loop.loop.states} | {loop.loop.steps}
    return name not in inside


def can_be_ahead(node: Product, w: Lowering) -> bool:
    """Whether a product has packed factors and rows that are long enough to be made ahead."""
    axes = [w.axes(x) for x in (*node.args, node.out)]
    if node.out in w.homes:  # it must be stored at a given place
        return False
    if any(len(x) != 2 or ONE in x or any(map(w.grows, x)) for x in axes) or is_few(axes[2][1:]):
        return False
    return node.dtype in ("float32", "float64") and all(_is_packed(x, node.dtype, w) for x in node.args)


def _is_packed(name: str, dtype: str, w: Lowering) -> bool:
    if name in w.few or w.dtype(name) != dtype:
        return False
    value = None if name in w.body.outer and name not in w.env else w.value(name)
    return value is None or (isinstance(value, Array) and value.packed)


def read_ahead(made: Ahead, out: str, t: Expr, w: Lowering) -> Stmt:
    """Define the row that step t reads; return the statement that computes or finds it."""
    m, k, n = made.dims
    if made.each != ZERO:
        return _block_ahead(made, out, t, w)
    last = Do("subtract", (m, Lit(ROWS)), INDEX, INDEX)  # of the last rows some may be made twice
    at = Do("bitwise_and", (t, Lit(ROWS - 1)), INDEX, INDEX)
    first, row, left = Var(w.fresh("b"), INDEX), w.pointer(made.dtype), w.pointer(made.dtype)
    begin = Do("minimum", (Do("subtract", (t, at), INDEX, INDEX), last), INDEX, INDEX)
    product = _few_rows(made, left, Lit(ROWS), w)
    ahead = (
        Let(first.name, begin, INDEX),
        If(Do("equal", (at, ZERO), "bool", INDEX), (Point(left, made.left, times(first, k), made.dtype), product)),
        Point(row, made.ring, times(Do("subtract", (t, first), INDEX, INDEX), n), made.dtype),
    )
    w.env[out] = Array(row, (n,), (ONE,), made.dtype)
    return If(made.test, ahead, (Point(row, made.rows, times(t, n), made.dtype),))


def _block_ahead(made: Ahead, out: str, t: Expr, w: Lowering) -> Stmt:
    """The same for a step that reads several rows of the product: it makes these."""
    (_, k, n), each, axes = made.dims, made.each, w.axes(out)
    rows, left = w.pointer(made.dtype), w.pointer(made.dtype)
    count = Do("floor_divide", (each, n), INDEX, INDEX)
    ahead = (
        Point(left, made.left, times(times(t, count), k), made.dtype),
        _few_rows(made, left, count, w),
        Point(rows, made.ring, ZERO, made.dtype),
    )
    w.env[out] = Array(rows, axes, packed(axes), made.dtype)
    return If(made.test, ahead, (Point(rows, made.rows, times(t, each), made.dtype),))


def _few_rows(made: Ahead, left: str, count: Expr, w: Lowering) -> Stmt:
    """The product of so many rows, from `left` on."""
    (_, k, n), item = made.dims, item_size(made.dtype)
    strides = (ZERO, ZERO, ZERO, times(k, item), item, times(n, item), item, times(n, item), item)
    arrays = left, made.right, made.ring
    plain = Inner(w.slot("matmul", (made.dtype,) * 3), arrays, (ONE, count, k, n), strides)
    return plain if not w.tiles else few_by_matrix(made.dtype, arrays, (count, k, n), plain, w)


@lru_cache(maxsize=1_000)
def rows_alike(product: TiledProduct) -> bool:
    """Whether a trial finds that products of few rows have the bits of the whole product."""
    (m, k, n), rows = product.dims, _rows(product)
    if (
        m < 2 * rows
        or rows < ROWS
        or m % rows * product.each
        or product.each % n
        or m * k * n > _LONGEST
        or min(k, n) < 2
    ):
        return False
    trial = _Trial(product)
    some = islice(values_of(product.dtype, product.dims), max(_TRIALS, _SUMS // (m * n)))
    return all(trial.agrees(a, b) for a, b in some)


def _rows(product: TiledProduct) -> int:
    """How many rows are made together."""
    return product.each // product.dims[2] if product.each else ROWS


class _Trial(PlainProduct):
    """A trial: a product computed as a whole, and a few rows at a time."""

    def __init__(self, product: TiledProduct) -> None:
        super().__init__(product.dtype, product.dims, product.left, product.right)
        (m, k, n), item = product.dims, self.out.itemsize
        self.other = np.empty_like(self.out)
        matmul, self.data = inner_loop("matmul", (product.dtype,) * 3) or (0, 0)
        self.made = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(matmul)
        rows = _rows(product)
        self.counts = array("q", (1, rows, k, n))
        self.strides = array("q", (0, 0, 0, *product.left, *product.right, n * item, item))
        self.starts = [min(i, m - rows) for i in range(0, m, rows)]

    def by_few_rows(self) -> None:
        """Compute the product a few rows at a time."""
        left, right, out = (x.ctypes.data for x in (self.a, self.b, self.other))
        counts, strides = self.counts.buffer_info()[0], self.strides.buffer_info()[0]
        for i in self.starts:
            rows = array("Q", (left + i * self.a.strides[0], right, out + i * self.other.strides[0]))
            self.made(rows.buffer_info()[0], counts, strides, self.data)

    def agrees(self, a: Any, b: Any) -> bool:
        """Whether both give the same bits."""
        self.put(a, b)
        self.plain()
        self.by_few_rows()
        return same_bits(self.out, self.other)
