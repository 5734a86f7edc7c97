"""C functions that multiply small matrices faster than BLAS, and the trials that decide where they have NumPy's bits.

BLAS is made for large matrices, while a loop multiplies small ones by the same weights at every step.  Here the right
matrix is laid out once as panels, of as many columns as some vector registers hold; tiles of rows by such a panel are
added up in registers.  An element is the sum of its products one after the other, each rounded once with its addition.

NumPy's loop calls BLAS, which for most small matrices adds in just this order.  Where it keeps several sums for one
element, as for vectors, `tile_text.py` and `vector_text.py` do the same as far as that is known.  The order depends on
the processor, on lengths and on strides, never on values: so a trial for each product of a plan finds out whether the
bits are the same, and which way takes less time (`better`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from scanopt.backends.kernels import tile_sums
from scanopt.backends.kernels.build import Build
from scanopt.backends.kernels.ir import NAME
from scanopt.backends.kernels.processor import has
from scanopt.backends.kernels.tile_text import HEAD, PRODUCTS, SPACE, TYPES, VECTOR_TYPES
from scanopt.backends.kernels.trials import PlainProduct, call_of, least_seconds, same_bits, values_of
from scanopt.backends.kernels.vector_text import ROWS, VECTORS
from scanopt.records import dataclass

__all__ = [
    "DTYPES",
    "FUNCTIONS",
    "MOST",
    "SPACE",
    "ProductTrial",
    "TiledProduct",
    "address",
    "agree",
    "better",
    "faster",
    "haswell_orders",
    "library",
    "ready",
    "rows_apart",
    "trouble",
]

FUNCTIONS = ("product", "panels", "row", "column", "dot", "across", "dots", "adding", "few")
"""The names of the functions among the inner loops of a kernel."""

MOST = 1 << 20
"""The most bytes of panels: larger matrices are left to BLAS, which divides them into blocks for the caches."""
_LONGEST = 1 << 24
"""The most multiplications of a product that is tried."""
_SEEDS = 16
_GAIN = 0.95
"""Tiles must take at most this fraction of the time of NumPy's loop, since their panels take memory."""
_LONG = 2048
"""The length of vectors beyond which the time of a call of BLAS is negligible."""
_SHORT = 1 << 15
"""The bytes of a matrix that is multiplied by a vector in less time than a call of BLAS takes."""

DTYPES = ("float32", "float64")
_BODY = VECTOR_TYPES + TYPES + ROWS + PRODUCTS + VECTORS + tile_sums.TEXT


@dataclass(frozen=True)
class TiledProduct:
    """A product of matrices that may be made of tiles, or a product of vectors.

    dims: m, k and n.  left, right: strides in bytes.  once: whether panels are laid out before the loop.  apart:
    whether both factors are certainly different arrays.  each: elements of a step that reads
    several rows of it, else 0.  as_it_lies: whether the right matrix, whose rows are packed, is read without panels.
    """

    dtype: str
    dims: tuple[int, int, int]
    left: tuple[int, int]
    right: tuple[int, int]
    once: bool
    apart: bool = False
    each: int = 0
    as_it_lies: bool = False


@cache
def library(dtype: str) -> Build:
    """The build of the functions of this file for a dtype, which are the same for all kernels and are compiled once."""
    filled = "\n".join(f"    F[{i}] = {name}_{dtype};" for i, name in enumerate(FUNCTIONS))
    kernel = f"int64 {NAME}(char **G, const int64 *N, void **F)\n{{\n{filled}\n    return {len(FUNCTIONS)};\n}}\n"
    return Build(f"{HEAD}{_BODY.replace('TYPE', dtype)}\n{kernel}")


def ready(dtypes: Iterable[str] = DTYPES, seconds: float = 0.0) -> bool:
    """Whether the functions for these dtypes are compiled; if not, this begins.  seconds: how long to wait for each."""
    builds = [library(dtype) for dtype in dtypes]
    found = [build.poll() for build in builds]  # all of them begin before one is waited for
    return all(found) or all(build.poll(seconds) for build in builds)


def trouble(dtypes: Iterable[str] = DTYPES) -> str:
    """What the compiler said if it cannot compile the functions for one of these dtypes, else ""."""
    return next((x for x in (library(dtype).trouble for dtype in dtypes) if x), "")


def haswell_orders() -> bool:
    """Whether BLAS adds in the orders of its functions for Haswell and Zen: then the order is known for a row, too."""
    return has("FMA3", "AVX2") and not has("AVX512F")


def rows_apart(dtype: str) -> int:
    """The number of which parts of a product must have a multiple of rows, so that tiles add as in the whole product.

    The last part may have more rows.  Only processors of one kind add differently from row to row (`tile_text.py`).
    """
    return {"float32": 12, "float64": 4}[dtype] if haswell_orders() else 8


@cache
def _functions(dtype: str) -> dict[str, int]:
    """The addresses of the functions of a compiled library, by name."""
    return dict(zip(FUNCTIONS, library(dtype).addresses(len(FUNCTIONS)), strict=True))


def address(what: str, dtype: str) -> int:
    """The address of one of `FUNCTIONS` for a dtype.  Its library must be compiled."""
    return _functions(dtype)[what]


def better(tiles: TiledProduct) -> bool:
    """Whether tiles have NumPy's bits and take less time.  The library must be compiled."""
    m, k, n = tiles.dims
    if m == n == 1:
        return k <= _LONG and agree(tiles)
    size = m * k * n * np.dtype(tiles.dtype).itemsize
    return agree(tiles) and ((1 in (m, n) and size <= _SHORT) or faster(tiles))


@lru_cache(maxsize=1_000)
def agree(tiles: TiledProduct) -> bool:
    """Whether a trial finds that a product made of tiles has the bits of NumPy's loop, for elements of all kinds."""
    m, k, n = tiles.dims
    item = np.dtype(tiles.dtype).itemsize
    panels = 0 if 1 in (m, n) or tiles.as_it_lies else k * (n * item + SPACE)
    large = m * k * n > _LONGEST or panels > MOST
    rows, column = m == 1 < n or tiles.as_it_lies, n == 1 < m
    if (rows and tiles.right[1] != item) or (column and (tiles.left[1], tiles.right[0]) != (item, item)):
        return False
    symmetric = tiles.left == tiles.right[::-1]  # it may be x @ x.T, of which NumPy computes one half
    if large or symmetric or min(m, k, n) < 1 or min(*tiles.left, *tiles.right) < 1:
        return False
    trial = ProductTrial(tiles)
    seeds = range(_SEEDS if m * n == 1 else 1)  # a single sum in another order has the same bits in half of all cases
    return all(trial.agree(*values) for seed in seeds for values in values_of(tiles.dtype, tiles.dims, seed))


@lru_cache(maxsize=1_000)
def faster(tiles: TiledProduct) -> bool:
    """Whether a trial finds that a product made of tiles takes clearly less time than NumPy's loop."""
    trial = ProductTrial(tiles)
    return trial.seconds(trial.tiled) < _GAIN * trial.seconds(trial.plain)


class ProductTrial(PlainProduct):
    """A trial: memory for two matrices and two results, and both ways to compute them."""

    def __init__(self, tiles: TiledProduct) -> None:
        (m, k, n), dtype = tiles.dims, tiles.dtype
        super().__init__(dtype, tiles.dims, tiles.left, tiles.right)
        self.tiles = tiles
        self.other = np.empty((m, n), dtype)
        arrays = self.a, self.b, self.other
        self.laid: Callable[[], None] = lambda: None
        if m == n == 1:
            self.multiplied = call_of(address("dot", dtype), arrays, (k,), ())
            return
        if m == 1:
            self.multiplied = call_of(address("row", dtype), arrays, (k, n), tiles.right[:1])
            return
        if n == 1:
            self.multiplied = call_of(address("column", dtype), arrays, (m, k), tiles.left[:1])
            return
        if tiles.as_it_lies:
            self.multiplied = call_of(address("few", dtype), arrays, (m, k, n), (*tiles.left, tiles.right[0]))
            return
        self.panels = np.empty(k * (n + SPACE // np.dtype(dtype).itemsize), dtype)
        self.laid = call_of(address("panels", dtype), (self.b, self.panels), (k, n), tiles.right)
        self.multiplied = call_of(address("product", dtype), (self.a, self.panels, self.other), (m, k, n), tiles.left)

    def tiled(self) -> None:
        """Compute the product by tiles, including the layout of panels if each step does that."""
        if not self.tiles.once:
            self.laid()
        self.multiplied()

    def agree(self, a: Any, b: Any) -> bool:
        """Whether both give the same bits; NaNs count as equal."""
        self.put(a, b)
        self.laid()
        self.multiplied()
        self.plain()
        return same_bits(self.out, self.other)

    def seconds(self, way: Callable[[], None]) -> float:
        """The least seconds that a way takes in some runs."""
        self.laid()
        return least_seconds(way)
