"""C functions that multiply small matrices faster than BLAS, and the trials that decide where they have NumPy's bits.

BLAS is made for large matrices, while a loop multiplies small ones by the same weights at every step.  Here the right
matrix is laid out once as panels, of as many columns as some vector registers hold; tiles of rows by such a panel are
added up in registers.  An element is the sum of its products one after the other, each rounded once with its addition.

NumPy's loop calls BLAS, which for most small matrices adds in just this order, but not for vectors, and not where it
keeps several sums for one element.  The order depends on lengths and strides, never on values: so a trial for each
product of a plan finds out whether the bits are the same, and which way takes less time (`better`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from scanopt.backends.kernels import tile_sums
from scanopt.backends.kernels.build import Build
from scanopt.backends.kernels.print_c import NAME
from scanopt.backends.kernels.trials import PlainProduct, call_of, least_seconds, same_bits, values_of

__all__ = [
    "FUNCTIONS",
    "MOST",
    "SPACE",
    "ProductTrial",
    "TiledProduct",
    "address",
    "agree",
    "better",
    "faster",
    "library",
]

FUNCTIONS = ("product", "panels", "dot", "across", "dots", "adding")
"""The names of the functions among the inner loops of a kernel."""

MOST = 1 << 20
"""The most bytes of panels: larger matrices are left to BLAS, which divides them into blocks for the caches."""
SPACE = 64
"""The bytes by which a row of the last panel may be longer than the remaining columns."""
_LONGEST = 1 << 24
"""The most multiplications of a product that is tried."""
_SEEDS = 16
_GAIN = 0.95
"""Tiles must take at most this fraction of the time of NumPy's loop, since their panels take memory."""
_LONG = 2048
"""The length of vectors beyond which the time of a call of BLAS is negligible."""

_HEAD = f"""\
typedef long long int64; typedef float float32; typedef double float64;
#if defined(__AVX512F__)
#define VECTOR 64
#define HALF 32
#define ROWS 8
#elif defined(__AVX__)
#define VECTOR 32
#define HALF 32
#define ROWS 4
#else
#define VECTOR 16
#define HALF 16
#define ROWS 4
#endif
#define WIDE 3
#define added_float32(x, y, sum) ((float64)((x) * (y)) + (sum))
#define added_float64 __builtin_fma
#if defined(__clang__)
#define FUSED
#define FUSING _Pragma("clang fp contract(fast)")
#else
#define FUSED __attribute__((optimize("fp-contract=fast")))
#define FUSING
#endif
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define FUSES 1
#else
#define FUSES 0
#endif
#define INLINE static inline __attribute__((always_inline))
_Static_assert(VECTOR <= {SPACE}, "");
#define SQUARE_float32 0
#define FIRST_float32(a, b) (a)
#define LAST_float32(a, b) (b)
#ifdef __has_builtin
#if VECTOR == 64 && __has_builtin(__builtin_shufflevector)
#define SQUARE_float64 1
#define FIRST_float64(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define LAST_float64(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#endif
#endif
#ifndef SQUARE_float64
#define SQUARE_float64 0
#define FIRST_float64 FIRST_float32
#define LAST_float64 LAST_float32
#endif
"""
_BODY = """\
typedef TYPE vector_TYPE __attribute__((vector_size(VECTOR), aligned(sizeof(TYPE)), may_alias));
typedef TYPE half_TYPE __attribute__((vector_size(HALF), aligned(sizeof(TYPE)), may_alias));
enum { LANES_TYPE = VECTOR / sizeof(TYPE), HALF_TYPE = HALF / sizeof(TYPE) };

/* How many registers hold a row of the next panel, where so many columns are left. */
INLINE int64 wide_TYPE(int64 columns)
{
    return columns >= WIDE * LANES_TYPE ? WIDE : (columns + LANES_TYPE - 1) / LANES_TYPE;
}

/* A square of sums turned: each round puts the numbers of two vectors one by one in turns. */
INLINE void turn_TYPE(vector_TYPE (*sums)[WIDE], int j)
{
    for (int round = 1; round < LANES_TYPE; round *= 2) {
        vector_TYPE found[LANES_TYPE];
        for (int i = 0; i < LANES_TYPE / 2; i++) {
            found[2 * i] = FIRST_TYPE(sums[i][j], sums[i + LANES_TYPE / 2][j]);
            found[2 * i + 1] = LAST_TYPE(sums[i][j], sums[i + LANES_TYPE / 2][j]);
        }
        for (int i = 0; i < LANES_TYPE; i++) sums[i][j] = found[i];
    }
}

/* Some rows of the result, within a panel; `down` and `along`: strides of the left matrix, in bytes.
   The result lies turned where `across`: n numbers lie between two of a row. */
FUSED INLINE void tile_TYPE(const char *a, int64 down, int64 along, const TYPE *b, TYPE *out, int64 n, int64 k,
                            int64 columns, const int rows, const int wide, const int across)
{
    FUSING
    vector_TYPE sums[ROWS][WIDE];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < wide; j++) sums[i][j] = (vector_TYPE){0};
    for (int64 p = 0; p < k; p++, a += along, b += wide * LANES_TYPE)
        for (int i = 0; i < rows; i++) {
            const TYPE x = *(const TYPE *)(a + i * down);
            for (int j = 0; j < wide; j++) sums[i][j] = x * ((const vector_TYPE *)b)[j] + sums[i][j];
        }
    for (int j = 0; across && j < wide; j++) {
        const int square = SQUARE_TYPE && rows == LANES_TYPE;
        if (square) turn_TYPE(sums, j);
        for (int64 l = 0; l < LANES_TYPE && j * LANES_TYPE + l < columns; l++, out += n)
            if (square) *(vector_TYPE *)out = sums[l][j];
            else for (int i = 0; i < rows; i++) out[i] = sums[i][j][l];
    }
    for (int i = 0; !across && i < rows; i++, out += n)
        for (int j = 0; j < wide; j++)
            if (columns >= (j + 1) * LANES_TYPE) *(vector_TYPE *)(out + j * LANES_TYPE) = sums[i][j];
            else for (int64 l = j * LANES_TYPE; l < columns; l++) out[l] = sums[i][j][l - j * LANES_TYPE];
}

FUSED INLINE void rows_TYPE(const char *a, int64 down, int64 along, const TYPE *b, TYPE *out, int64 n, int64 m, int64 k,
                            int64 columns, const int wide, const int across)
{
    const int64 next = across ? 1 : n;
    int64 i = 0;
#define TILES_TYPE(rows) \\
    for (; i + rows <= m; i += rows) \\
        tile_TYPE(a + i * down, down, along, b, out + i * next, n, k, columns, rows, wide, across)
    TILES_TYPE(ROWS);
    if (ROWS > 4) TILES_TYPE(4);
    TILES_TYPE(1);
}

/* Rows of a matrix by panels, of so many columns together; n: see tile. */
FUSED INLINE void multiply_TYPE(char **G, int64 m, int64 k, int64 n, int64 columns, const int64 *strides,
                                const int across)
{
    const TYPE *b = (const TYPE *)G[1];
    TYPE *out = (TYPE *)G[2];
    for (int64 j = 0; j < columns;) {
        const int64 wide = wide_TYPE(columns - j), left = columns - j;
        TYPE *here = out + (across ? j * n : j);
        if (wide == 1) rows_TYPE(G[0], strides[0], strides[1], b, here, n, m, k, left, 1, across);
        else if (wide == 2) rows_TYPE(G[0], strides[0], strides[1], b, here, n, m, k, left, 2, across);
        else rows_TYPE(G[0], strides[0], strides[1], b, here, n, m, k, left, WIDE, across);
        b += k * wide * LANES_TYPE;
        j += wide * LANES_TYPE;
    }
}

FUSED static void product_TYPE(char **G, const int64 *dims, const int64 *strides, void *data)
{
    multiply_TYPE(G, dims[0], dims[1], dims[2], dims[2], strides, 0);
}

static void panels_TYPE(char **G, const int64 *dims, const int64 *strides, void *data)
{
    const int64 k = dims[0], n = dims[1], down = strides[0], along = strides[1];
    TYPE *out = (TYPE *)G[1];
    for (int64 j = 0; j < n;) {
        const int64 columns = wide_TYPE(n - j) * LANES_TYPE, filled = columns < n - j ? columns : n - j;
        for (int64 p = 0; p < k; p++, out += columns) {
            const char *row = G[0] + p * down + j * along;
            for (int64 l = 0; l < filled; l++) out[l] = *(const TYPE *)(row + l * along);
            for (int64 l = filled; l < columns; l++) out[l] = 0;
        }
        j += columns;
    }
}

/* The columns of the right matrix by panels of the rows of the left one, G[3], which are laid out: the same, turned.
   strides: of the right matrix, then of the left one, each turned. */
FUSED static void across_TYPE(char **G, const int64 *dims, const int64 *strides, void *data)
{
    char *from[] = {G[3], G[1]};
    panels_TYPE(from, (const int64[]){dims[1], dims[0]}, strides + 2, data);
    multiply_TYPE(G, dims[2], dims[1], dims[2], dims[0], strides, 1);
}

/* A product of vectors: four sums in registers, wide ones first; what is left one by one. */
FUSED static void dot_TYPE(char **G, const int64 *dims, const int64 *strides, void *data)
{
    FUSING
    const TYPE *x = (const TYPE *)G[0], *y = (const TYPE *)G[1];
    const int64 n = dims[0];
    int64 i = 0;
    half_TYPE sums[4] = {{0}, {0}, {0}, {0}};
    if (VECTOR > HALF) {
        vector_TYPE wide[4] = {{0}, {0}, {0}, {0}};
        for (; i + 4 * LANES_TYPE <= n; i += 4 * LANES_TYPE) {
            const vector_TYPE *a = (const vector_TYPE *)(x + i), *b = (const vector_TYPE *)(y + i);
            for (int k = 0; k < 4; k++) wide[k] = a[k] * b[k] + wide[k];
        }
        for (int k = 0; k < 4; k++)
            sums[k] = *(const half_TYPE *)&wide[k] + *(const half_TYPE *)((const char *)&wide[k] + VECTOR - HALF);
    }
    for (; i + 4 * HALF_TYPE <= n; i += 4 * HALF_TYPE) {
        const half_TYPE *a = (const half_TYPE *)(x + i), *b = (const half_TYPE *)(y + i);
        for (int k = 0; k < 4; k++) sums[k] = a[k] * b[k] + sums[k];
    }
    const half_TYPE all = ((sums[0] + sums[1]) + sums[2]) + sums[3];
    TYPE parts[HALF_TYPE / 2];
    for (int k = 0; k < HALF_TYPE / 2; k++) parts[k] = all[k] + all[k + HALF_TYPE / 2];
    for (int left = HALF_TYPE / 2; left > 1; left /= 2)
        for (int k = 0; k < left / 2; k++) parts[k] = parts[2 * k] + parts[2 * k + 1];
    float64 dot = parts[0];
    for (; i < n; i++) dot = added_TYPE(x[i], y[i], dot); /* of products side by side gcc would round each */
    *(TYPE *)G[2] = 0 + (TYPE)dot;
}

/* The same of a vector and what begins at each of some places, which follow each other: in vectors of places. */
#define MORE_TYPE(i, sum) (*(const vector_TYPE *)(x + (i)) * y[i] + (sum))
FUSED static void dots_TYPE(char **G, const int64 *dims, const int64 *strides, void *data)
{
    FUSING
    const TYPE *x = (const TYPE *)G[0], *y = (const TYPE *)G[1];
    TYPE *out = (TYPE *)G[2];
    const int64 n = dims[0], count = dims[1], wide = VECTOR > HALF ? n - n % (4 * LANES_TYPE) : 0;
    const int64 whole = n - (n - wide) % (4 * HALF_TYPE), vectors = sizeof(TYPE) == 8 ? count / LANES_TYPE : 0;
    for (int64 v = 0; v < vectors; v++, x += LANES_TYPE, out += LANES_TYPE) {
        vector_TYPE sums[4][HALF_TYPE] = {{{0}}}, all[HALF_TYPE];
        for (int h = 0; wide && h < LANES_TYPE; h += HALF_TYPE) {
            vector_TYPE some[4][HALF_TYPE] = {{{0}}};
            for (int64 i = h; i < wide; i += 4 * LANES_TYPE)
                for (int k = 0; k < 4; k++)
                    for (int l = 0; l < HALF_TYPE; l++) some[k][l] = MORE_TYPE(i + k * LANES_TYPE + l, some[k][l]);
            for (int k = 0; k < 4; k++)
                for (int l = 0; l < HALF_TYPE; l++)
                    if (h) sums[k][l] = sums[k][l] + some[k][l];
                    else sums[k][l] = some[k][l];
        }
        for (int64 i = wide; i < whole; i += 4 * HALF_TYPE)
            for (int k = 0; k < 4; k++)
                for (int l = 0; l < HALF_TYPE; l++) sums[k][l] = MORE_TYPE(i + k * HALF_TYPE + l, sums[k][l]);
        for (int l = 0; l < HALF_TYPE; l++) all[l] = ((sums[0][l] + sums[1][l]) + sums[2][l]) + sums[3][l];
        for (int k = 0; k < HALF_TYPE / 2; k++) all[k] = all[k] + all[k + HALF_TYPE / 2];
        for (int left = HALF_TYPE / 2; left > 1; left /= 2)
            for (int k = 0; k < left / 2; k++) all[k] = all[2 * k] + all[2 * k + 1];
        for (int64 i = whole; i < n; i++)
            if (FUSES) all[0] = MORE_TYPE(i, all[0]);
            else for (int l = 0; l < LANES_TYPE; l++) all[0][l] = added_TYPE(x[i + l], y[i], all[0][l]);
        *(vector_TYPE *)out = 0 + all[0];
    }
    for (int64 i = vectors * LANES_TYPE; i < count; i++, x++, out++)
        dot_TYPE((char *[]){(char *)x, (char *)y, (char *)out}, dims, strides, data);
}
"""
_DTYPES = ("float32", "float64")
_TEXT = f"""\
{_HEAD}{"".join((_BODY + tile_sums.TEXT).replace("TYPE", dtype) for dtype in _DTYPES)}
int64 {NAME}(char **G, const int64 *N, void **F)
{{
    F[0] = product_float32; F[1] = panels_float32; F[2] = dot_float32; F[3] = across_float32;
    F[4] = dots_float32; F[5] = adding_float32;
    F[6] = product_float64; F[7] = panels_float64; F[8] = dot_float64; F[9] = across_float64;
    F[10] = dots_float64; F[11] = adding_float64;
    return 12;
}}
"""


@dataclass(frozen=True)
class TiledProduct:
    """A product of matrices that may be made of tiles, or a product of vectors.

    dims: m, k and n.  left, right: strides in bytes.  once: whether panels are laid out before the loop.  apart:
    whether both factors are certainly different arrays.  each: elements of a step that reads
    several rows of it, else 0.
    """

    dtype: str
    dims: tuple[int, int, int]
    left: tuple[int, int]
    right: tuple[int, int]
    once: bool
    apart: bool = False
    each: int = 0


@cache
def library() -> Build:
    """The build of the functions of this file, which are the same for all kernels and are compiled once."""
    return Build(_TEXT)


@cache
def _functions() -> dict[tuple[str, str], int]:
    """The addresses of the functions of the compiled library, by name and dtype."""
    found = (ctypes.c_void_p * 12)()
    library().function(None, None, found)
    names = [(what, dtype) for dtype in _DTYPES for what in FUNCTIONS]
    return dict(zip(names, (p or 0 for p in found), strict=True))


def address(what: str, dtype: str) -> int:
    """The address of one of `FUNCTIONS` for a dtype.  The library must be compiled."""
    return _functions()[what, dtype]


def better(tiles: TiledProduct) -> bool:
    """Whether tiles have NumPy's bits and take less time.  The library must be compiled."""
    vectors = tiles.dims[0] == tiles.dims[2] == 1
    return agree(tiles) and (tiles.dims[1] <= _LONG if vectors else faster(tiles))


@lru_cache(maxsize=1_000)
def agree(tiles: TiledProduct) -> bool:
    """Whether a trial finds that a product made of tiles has the bits of NumPy's loop, for elements of all kinds."""
    m, k, n = tiles.dims
    item = np.dtype(tiles.dtype).itemsize
    large = m * k * n > _LONGEST or k * (n * item + SPACE) > MOST
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
        self.panels = np.empty(k * (n + SPACE // np.dtype(dtype).itemsize), dtype)
        self.other = np.empty((m, n), dtype)
        self.multiplied = call_of(address("dot", dtype), (self.a, self.b, self.other), (k,), ())
        self.laid: Callable[[], None] = self.multiplied
        if m == n == 1:
            return
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
