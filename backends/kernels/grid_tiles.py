"""Products that all blocks of a grid compute together, as CUDA text: each block makes tiles of the result.

Where one factor is the same at all steps, a block holds the columns of its tiles in shared memory, for all steps.  In
each step it copies rows of the other factor there, a chunk of columns at a time.  Its threads, or its warps where
tensor cores multiply, take parts of the tile and slices of the sums, which are then added up in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from scanopt.backends.kernels.ir import Expr
from scanopt.backends.kernels.recipe import evaluated
from scanopt.backends.kernels.tensor_cores import TENSOR_TILES
from scanopt.records import dataclass

__all__ = ["CHUNK", "GRID_THREADS", "PARTS", "TILED", "TILES", "GridFactor", "Tile", "most_tiles", "tiles_of"]

GRID_THREADS = 256
SUMS = 16
"""The number of elements of a tile that a thread adds up."""
PARTS = GRID_THREADS * SUMS * 8
"""Bytes of shared memory in which the slices of sums of a product without tiles are added up."""
GAP = 8
"""Unused elements between the rows of such slices, so that two rows begin in different banks of shared memory."""
ROUNDS = 3
"""The number of rounds that a thread prefetches its operands ahead, 32 bytes for each."""
CHUNK = 512
"""Columns of the other factor that are copied into shared memory at a time."""
DEEP = 16
"""The rows of a factor are padded with zeros to a multiple of this number."""

TILES = f"""\
#define CHUNK {CHUNK}
#define GAP {GAP}
#define FETCHED_ROUNDS {ROUNDS}
template <class T>
INLINE void grid_products(const char *a, const char *b, char *c, T *part, int64 m, int64 k, int64 n, int64 ar, int64 ac,
                          int64 br, int64 bc, int64 cr, int64 cc) {{
    const int64 rows = m > 32 ? 64 : m > 16 ? 32 : m > 8 ? 16 : m > 4 ? 8 : 4, slices = blockDim.x / rows;
    const int64 column = threadIdx.x % 4 * 4, slice = threadIdx.x / 4 % slices, high = threadIdx.x / 4 / slices * 4;
    for (int64 g = blockIdx.x; g * 16 < n; g += gridDim.x)
        for (int64 row = 0; row < m; row += rows) {{
            T sum[4][4] = {{}};
            for (int64 i = slice; i < k; i += slices) {{
                T x[4], y[4];
                for (int q = 0; q < 4; q++) {{
                    const int64 r = row + high + q, j = g * 16 + column + q;
                    x[q] = r < m ? *(const T *)(a + r * ar + i * ac) : (T)0;
                    y[q] = j < n ? *(const T *)(b + i * br + j * bc) : (T)0;
                }}
                for (int r = 0; r < 4; r++) for (int q = 0; q < 4; q++) sum[r][q] += x[r] * y[q];
            }}
            BLOCK_BARRIER;
            for (int r = 0; r < 4; r++)
                for (int q = 0; q < 4; q++) part[(slice * rows + high + r) * 16 + column + q] = sum[r][q];
            BLOCK_BARRIER;
            for (int64 o = threadIdx.x; o < rows * 16; o += blockDim.x) {{
                const int64 r = row + o / 16, j = g * 16 + o % 16;
                T total = 0;
                for (int64 s = 0; s < slices; s++) total += part[s * rows * 16 + o];
                if (r < m && j < n) *(T *)(c + r * cr + j * cc) = total;
            }}
        }}
}}
template <class T> struct alignas(16) Quad {{ T of[4]; }};
INLINE int deep_of(int64 k) {{ return (int)((k + {DEEP - 1}) / {DEEP} * {DEEP}); }}
INLINE int turned_row(int place) {{ return place / 16 * 16 + place % 4 * 4 + place % 16 / 4; }}
INLINE bool are_all(const int64 *starts, int groups, int64 columns, int64 n) {{
    bool all = columns * groups == n;
    for (int i = 0; i < groups; i++) {{
        all &= starts[i] >= 0 && starts[i] < n && starts[i] % columns == 0;
        for (int j = 0; j < i; j++) all &= starts[i] != starts[j];
    }}
    return all;
}}
struct Tiles {{
    int64 bands, all, at, nth;
    int high, share;
    INLINE Tiles(int64 m, int64 n, int high, int share)
        : bands((m + high - 1) / high), all(bands * ((n + share - 1) / share)), at(blockIdx.x), nth(0), high(high),
          share(share) {{}}
    INLINE bool more() const {{ return at < all; }}
    INLINE void next() {{ at += gridDim.x; nth++; }}
    INLINE int64 row() const {{ return at % bands * high; }}
    INLINE int64 column() const {{ return at / bands * share; }}
}};
template <class T, int groups>
INLINE void hold_tiles(T *to, const char *b, int64 m, int64 k, int64 n, int64 br, int64 bc, int high, int wide,
                       int next, const int64 (&starts)[groups]) {{
    const int deep = deep_of(k), share = wide / groups;
    const bool turned = sizeof(T) == 4 && next > wide;
    for (Tiles tile(m, n, high, share); tile.more(); tile.next(), to += deep * next)
        for (int i = threadIdx.x; i < deep * wide; i += blockDim.x) {{
            const int64 row = turned ? turned_row(i / wide) : i / wide, j = tile.column() + i % wide % share;
            const int64 column = starts[i % wide / share] + j;
            to[i / wide * next + i % wide] = row < k && j < n ? *(const T *)(b + row * br + column * bc) : (T)0;
        }}
    BLOCK_BARRIER;
}}
template <class T> INLINE void stage_rows(T *stage, const char *a, int64 rows, int64 left, int64 ar, int64 ac,
                                          int high, int here, int apart) {{
    const int once = 32 / (int)sizeof(T);
    if (ac == sizeof(T) && (ar | (int64)a) % 16 == 0 && left % 4 == 0) {{
        const int across = here / 4, down = blockDim.x / across, over = blockDim.x % across;
        int r = threadIdx.x / across, q = threadIdx.x % across;
        while (r < high) {{
            Quad<T> x[once];
            T *to[once];
#pragma unroll
            for (int u = 0; u < once; u++) {{
                to[u] = r < high ? stage + r * apart + 4 * q : 0;
                if (r < high && r < rows && 4 * q < left) x[u] = *(const Quad<T> *)(a + r * ar + 4 * q * ac);
                else x[u] = Quad<T>{{}};
                r += down;
                q += over;
                if (q >= across) {{ q -= across; r++; }}
            }}
#pragma unroll
            for (int u = 0; u < once; u++) if (to[u]) *(Quad<T> *)to[u] = x[u];
        }}
    }} else
        for (int i = threadIdx.x; i < high * here; i += blockDim.x) {{
            const int r = i / here, q = i % here;
            stage[r * apart + q] = r < rows && q < left ? *(const T *)(a + r * ar + q * ac) : (T)0;
        }}
}}
template <class T> struct Threads {{
    enum {{ threads = 1, high = 4, wide = 4, deep = 4 }};
    T sum[4][4] = {{}};
    INLINE void add(const T *x, int apart, const T *y, int next, int, bool in) {{
        if (!in) return;
        Quad<T> a[4], b[4];
        for (int q = 0; q < 4; q++) a[q] = *(const Quad<T> *)(x + q * apart);
        for (int q = 0; q < 4; q++) b[q] = *(const Quad<T> *)(y + q * next);
        for (int p = 0; p < 4; p++)
            for (int r = 0; r < 4; r++) for (int q = 0; q < 4; q++) sum[r][q] += a[r].of[p] * b[p].of[q];
    }}
    INLINE void put(T *part, int next, int) {{
        for (int r = 0; r < 4; r++) for (int q = 0; q < 4; q++) part[r * next + q] = sum[r][q];
    }}
}};
{TENSOR_TILES}\
template <class T, class Unit>
INLINE int tile_sums(const char *a, int64 rows, int64 k, int64 ar, int64 ac, const T *held, T *stage, int high,
                     int wide, int next) {{
    const int across = wide / Unit::wide, units = across * (high / Unit::high), lane = threadIdx.x % Unit::threads;
    const int slices = (int)blockDim.x / Unit::threads / units, unit = threadIdx.x / Unit::threads % units;
    const int slice = threadIdx.x / Unit::threads / units;
    const int line = unit / across * Unit::high, column = unit % across * Unit::wide;
    const int deep = deep_of(k), apart = (deep < CHUNK ? deep : CHUNK) + 4;
    Unit sums;
    for (int start = 0; start < deep; start += CHUNK) {{
        const int here = deep - start < CHUNK ? deep - start : CHUNK;
        BLOCK_BARRIER;
        stage_rows<T>(stage, a + start * ac, rows, k - start, ar, ac, high, here, apart);
        BLOCK_BARRIER;
        for (int i = 0; i < here; i += Unit::deep * slices) {{
            const int at = i + Unit::deep * slice;
            sums.add(stage + line * apart + at, apart, held + (start + at) * next + column, next, lane, at < here);
        }}
    }}
    BLOCK_BARRIER;
    sums.put(stage + (slice * high + line) * (wide + GAP) + column, wide + GAP, lane);
    BLOCK_BARRIER;
    return slices;
}}
template <class T, int groups>
INLINE void tile_sum(T (&sum)[groups], const T *part, int row, int column, int high, int wide, int slices) {{
    const int share = wide / groups, far = high * (wide + GAP);
    part += row * (wide + GAP) + column;
#pragma unroll
    for (int q = 0; q < groups; q++) sum[q] = part[q * share];
    if (slices == 8) {{
#pragma unroll
        for (int s = 1; s < 8; s++) for (int q = 0; q < groups; q++) sum[q] += part[s * far + q * share];
    }} else
        for (int s = 1; s < slices; s++) for (int q = 0; q < groups; q++) sum[q] += part[s * far + q * share];
}}
template <int groups>
INLINE void whole_sum(float32 (&sum)[groups], const char *a, int64 ac, const float32 *y, int next, int share,
                      int64 k) {{
    bool again = false;
#pragma unroll
    for (int q = 0; q < groups; q++) again |= sum[q] != sum[q];
    if (again) for (int q = 0; q < groups; q++) sum[q] = sum_of(a, ac, y + q * share, next, k);
}}
"""
"""`tile_sums` multiplies by columns that `hold_tiles` put into shared memory, `grid_products` by any other factor.

`tile_sums` leaves the sums of its slices at `stage`, and returns the number of slices; `tile_sum` adds up those of one
element of each group; `whole_sum` computes a sum again if dividing numbers into parts gave NaN.  A tile has `groups`
times `share` columns: `share` of each group of columns, starting at the same place in each.
"""


@dataclass(frozen=True)
class GridFactor:
    """A fixed factor of k rows in a product of m rows, with n columns in each of its groups of columns.

    name: of the number that says where it is held in shared memory (-1: it is not).  exact: without tensor cores.
    """

    name: str
    m: Expr
    k: Expr
    n: Expr
    dtype: str
    exact: bool
    groups: int = 1


@dataclass(frozen=True)
class Tile:
    """The tile of a product: `high` rows by `wide` columns.

    next: elements from one row of the held columns to the next, more than the columns where tensor cores multiply.
    held: bytes of these columns; stage: bytes for the rows that a block copies, and then for the slices of sums.
    """

    high: int = 0
    wide: int = 0
    next: int = 0
    held: int = 0
    stage: int = 0


@dataclass(frozen=True)
class _Unit:
    """The unit that multiplies: a thread or a warp.  high, wide: elements of the result; pad: `next` less the columns.

    done: the approximate number of products of elements per clock of a multiprocessor.
    """

    threads: int
    high: int
    wide: int
    pad: int
    done: float


_THREADS = {"float32": _Unit(1, 4, 4, 0, 64.0), "float64": _Unit(1, 4, 4, 0, 32.0)}
TILED = tuple(_THREADS)
"""The dtypes of products that may be made of tiles."""
_WARPS = {"float32": _Unit(32, 16, 64, 8, 170.0), "float64": _Unit(32, 8, 16, 4, 64.0)}
"""A warp takes fewer columns where a tile has fewer."""


def most_tiles(f: GridFactor, sizes: Mapping[str, int]) -> int:
    """The number of tiles if they are as small as possible."""
    return -(-evaluated(f.m, sizes) // 4) * -(-evaluated(f.n, sizes) * f.groups // 16)


def tiles_of(factors: Sequence[GridFactor], sizes: Mapping[str, int], blocks: int, free: int) -> list[Tile]:
    """Choose the tile of each product; a product that does not fit into shared memory gets a tile without rows.

    sizes: of lengths; free: bytes of shared memory.
    """
    found: list[Tile] = []
    taken, stage = 0, PARTS if len(factors) > 1 else 0
    for f in factors:
        m, k, n = (evaluated(x, sizes) for x in (f.m, f.k, f.n))
        possible = sorted(_possible(m, k, n, f, blocks), key=lambda x: x[0])
        fits = (t for _, t in possible if taken + t.held + max(stage, t.stage) <= free)
        tile = next(fits, Tile(stage=PARTS))
        taken, stage = taken + tile.held, max(stage, tile.stage)
        found.append(tile)
    return found


def _possible(m: int, k: int, n: int, f: GridFactor, blocks: int) -> Iterator[tuple[float, Tile]]:
    """Yield possible tiles, each with the approximate clocks of a multiprocessor for the product."""
    for unit in (_THREADS[f.dtype], *([] if f.exact else [_WARPS[f.dtype]])):
        for rows, columns in product((4, 8, 16, 32, 64), (16, 32, 64, 128)):
            unit_of = replace(unit, wide=min(unit.wide, columns))
            units = rows // unit.high * (columns // unit_of.wide)
            if 1 <= units <= GRID_THREADS // unit.threads:
                yield _tile(m, k, n, rows, columns, f, unit_of, GRID_THREADS // unit.threads // units, blocks)


def _tile(
    m: int, k: int, n: int, rows: int, columns: int, f: GridFactor, unit: _Unit, slices: int, blocks: int
) -> tuple[float, Tile]:
    item, deep, across = np.dtype(f.dtype).itemsize, -(-k // DEEP) * DEEP, columns + unit.pad
    mine = -(-(-(-m // rows) * -(-n // (columns // f.groups))) // blocks)
    clocks = rows * deep * (columns / unit.done + item / 32) + rows * columns * slices * item / 64
    if item == 8:  # without tensor cores, threads do the work of the warps
        slices = max(slices, GRID_THREADS // (rows // 4 * (columns // 4)))
    held, parts = mine * deep * across * item, slices * rows * (columns + GAP) * item
    stage = 32 * ROUNDS * GRID_THREADS if unit.threads > 1 and item == 4 else rows * (min(deep, CHUNK) + 4) * item
    return mine * clocks, Tile(rows, columns, across, *(-(-x // 16) * 16 for x in (held, max(stage, parts))))
