"""Runs linear recurrences of few lanes on a device in one launch: every element is read once and written once.

A block takes a tile of steps and lanes, and each of its threads a chunk of steps.  The maps of the chunks compose to
one map of the tile, which the block publishes immediately.  The state before a tile follows from the maps of the tiles
before it in its group and from the state before the group, which is known once the group before is done.  So blocks
wait for one another, but only for blocks that began earlier.  Maps are always composed in the same order: each run
gives the same bits.

Blocks publish words of 8 bytes, each written in one store: 32 bits of a number, and a flag that they are there.

[Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back, 2016]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np

from scanopt.array.numerics.chunked import CLOSE
from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.cuda_operations import HEAD
from scanopt.backends.kernels.device_plans import Launcher
from scanopt.backends.kernels.fetched_rows import FETCHING
from scanopt.backends.kernels.ir import NAME
from scanopt.records import dataclass

__all__ = ["Shape", "Tiles", "one_pass", "shape_of", "text"]

Array = Any
STEPS = 16
"""The number of steps that a thread composes, and then runs."""

_MAPS = """
#define CHUNKS (THREADS / WIDE)
#define TILE (CHUNKS * STEPS)
#define GROUP (CHUNKS * LOOK)
#define WORDS ((int)sizeof(T) / 4)
#define SPAN (STEPS * WIDE < 32 / WORDS ? 32 / WORDS : STEPS * WIDE)
#define AT(k) ((k) + (k) / SPAN * WIDE) /* chunks begin at different banks of shared memory */
#define ALL _Pragma("unroll")
#define UNIT Map{1, 0}
struct Map { T f, r; };
INLINE T apply(Map m, T s) { return s * m.f + m.r; }
INLINE Map then(Map m, Map next) { return Map{m.f * next.f, apply(next, m.r)}; }
INLINE Map shuffled_up(Map m, int d) { return Map{__shfl_up_sync(~0u, m.f, d), __shfl_up_sync(~0u, m.r, d)}; }
INLINE Map scan(Map own, Map *ends_of_warps, Map &warp_end, Map &all) {
    const int me = threadIdx.x, warp = me / 32, place = me % 32;
    ALL for (int d = WIDE; d < 32; d *= 2) {
        const Map other = shuffled_up(own, d);
        if (place >= d) own = then(other, own);
    }
    if (place >= 32 - WIDE) ends_of_warps[warp * WIDE + me % WIDE] = own;
    Map in_warp = UNIT, before = UNIT;
    if (WIDE < 32) {
        const Map other = shuffled_up(own, WIDE);
        if (place >= WIDE) in_warp = other;
    }
    BARRIER;
    all = UNIT;
    ALL for (int v = 0; v < THREADS / 32; v++) {
        if (v == warp) before = all;
        all = then(all, ends_of_warps[v * WIDE + me % WIDE]);
        if (v == warp) warp_end = all;
    }
    return then(before, in_warp);
}
"""
"""A step, a chunk or a tile is a map of states: s becomes s * f + r.

`scan` composes the maps of all chunks before that of a thread, those up to the end of its warp, and all of them.
"""
_PUBLISHED = """
template <class X> INLINE void publish(volatile uint64 *to, X x) {
    uint32 half[sizeof(X) / 4];
    memcpy(half, &x, sizeof(X));
    ALL for (int k = 0; k < (int)sizeof(X) / 4; k++) to[k] = (uint64)half[k] << 32 | 1;
}
template <int N, class X> INLINE void wait_for(const volatile uint64 *from, int64 stride, int count, X *x) {
    const int words = sizeof(X) / 4;
    uint32 half[N * words];
    for (bool all = false; !all;) {
        all = true;
        ALL for (int k = 0; k < N * words; k++)
            if (k / words < count) {
                const uint64 word = from[k / words * stride + k % words];
                half[k] = word >> 32;
                all = all && (word & 1);
            }
        if (!all) __nanosleep(20);
    }
    ALL for (int k = 0; k < N; k++)
        if (k < count) memcpy(x + k, half + k * words, sizeof(X));
}
INLINE void look_back(volatile uint64 *maps, volatile uint64 *known, const T *init, int64 lanes, int64 tile, bool there,
                      Map all, Map *ends_of_warps, T *starts, T *ends) {
    const int64 group = tile / GROUP, stride = 2 * WORDS * lanes;
    const int w = threadIdx.x % WIDE, c = threadIdx.x / WIDE, place = tile % GROUP;
    const int count = there ? place - c * LOOK : 0;
    if (c == 0 && there) publish(maps + tile * stride, all);
    Map others[LOOK], before_own = UNIT, read = UNIT, p, q;
    wait_for<LOOK>(maps + (tile - place + c * LOOK) * stride, stride, count, others);
    ALL for (int k = 0; k < LOOK; k++) {
        if (k < count) read = then(read, others[k]);
        if (c * LOOK + k == place) {
            before_own = read;
            read = then(read, all);
        }
    }
    const Map before = scan(read, ends_of_warps, p, q);
    const int next = (place + 1) / LOOK;
    const bool starting = c == place / LOOK, ending = c == (next < CHUNKS ? next : CHUNKS - 1);
    if (!there || !(starting || ending)) return;
    T s = *init;
    if (group) wait_for<1>(known + group * lanes * WORDS, 0, 1, &s);
    if (starting) starts[w] = place ? apply(then(before, before_own), s) : s;
    if (ending) ends[w] = apply(then(before, read), s);
    if (ending && place == GROUP - 1) publish(known + (group + 1) * lanes * WORDS, ends[w]);
}
"""
"""`look_back` publishes the map of a tile, and finds each lane's state at the start of this tile and of the next one.

The latter is computed as the next tile does it, to the last bit: else maps that overflow there would not be noticed.
"""
_KERNEL = (
    f"""
extern "C" __global__ void __launch_bounds__(THREADS, TOGETHER) {NAME}("""
    + """
    const T *__restrict__ a, int64 ar, int64 al, const T *__restrict__ x, int64 xr, int64 xl,
    const T *__restrict__ init, T *__restrict__ out, volatile uint64 *published,
    int64 n, int64 lanes, int64 bands, int64 tiles)
{
    __shared__ T fa[AT(THREADS * STEPS)], fx[AT(THREADS * STEPS)], starts[WIDE], ends[WIDE];
    __shared__ Map ends_of_warps[2][THREADS / 32 * WIDE];
    __shared__ int64 ticket;
    const int me = threadIdx.x, w = me % WIDE, c = me / WIDE;
    if (me == 0) ticket = (int64)atomicAdd((uint64 *)published, 1ULL);
    BARRIER;
    const int64 tile = ticket / bands, lane = ticket % bands * WIDE + w, row = tile * TILE;
    const int left = lane >= lanes ? 0 : n - row > TILE ? TILE + 1 : (int)(n - row); /* int: fewer registers */
    ALL for (int j = 0; j < STEPS; j++) {
        const int k = AT(me + j * THREADS);
        const int t = c + j * CHUNKS;
        if (t < left) {
            FETCH(fa + k, a + (row + t) * ar + lane * al);
            FETCH(fx + k, x + (row + t) * xr + lane * xl);
        } else {
            fa[k] = 1;
            fx[k] = 0;
        }
    }
    FETCH_END;
    FETCHED(0);
    BARRIER;
    Map chunk = UNIT, warp_end, all;
    ALL for (int j = 0; j < STEPS; j++) {
        const int k = AT((c * STEPS + j) * WIDE + w);
        chunk = then(chunk, Map{fa[k], fx[k]});
    }
    const Map before = scan(chunk, ends_of_warps[0], warp_end, all);
    volatile uint64 *maps = published + 2 + lane * 2 * WORDS;
    volatile uint64 *known = published + 2 + (tiles * 2 * lanes + lane) * WORDS;
    look_back(maps, known, init + lane, lanes, tile, left > 0, all, ends_of_warps[1], starts, ends);
    BARRIER;
    const T start = c ? apply(before, starts[w]) : starts[w];
    T s = start, most = 0;
    ALL for (int j = 0; j < STEPS; j++) {
        const int k = AT((c * STEPS + j) * WIDE + w);
        fx[k] = s = s * fa[k] + fx[k];
        most = most > s ? most : s;
        most = most > -s ? most : -s;
    }
    BARRIER;
    ALL for (int j = 0; j < STEPS; j++) {
        const int t = c + j * CHUNKS;
        if (t < left) out[(row + t) * lanes + lane] = fx[AT(me + j * THREADS)];
    }
    if (CLOSE < 0) return;
    T next = apply(warp_end, starts[w]);
    if (WIDE < 32) {
        const T beside = __shfl_down_sync(~0u, start, WIDE);
        if (me % 32 + WIDE < 32) next = beside;
    }
    if (c == CHUNKS - 1) next = ends[w];
    const T apart = s < next ? next - s : s - next;
    if ((c + 1) * STEPS < left && !(apart <= (T)CLOSE * most)) published[1] = 1;
}
"""
)


@dataclass(frozen=True)
class Shape:
    """The shape of a block.  wide: lanes side by side; look: how many maps of earlier tiles a thread reads.

    together: the least number of blocks that a multiprocessor holds.
    """

    threads: int
    wide: int
    look: int
    together: int


def shape_of(dtype: str, lanes: int) -> Shape:
    """The shape for a dtype and a number of lanes: the fastest of those measured on an H200."""
    wide = 1 << (lanes - 1).bit_length()
    if np.dtype(dtype).itemsize == 4:
        return Shape(256, min(wide, 32), 2 if wide > 1 else 1, 4)
    return Shape(128, min(wide, 16), 4 if wide > 1 else 2, 5)


class Tiles:
    """How steps and lanes are cut into tiles.  rows: steps of a tile; bands: tiles side by side; groups: how many."""

    def __init__(self, n: int, lanes: int, shape: Shape) -> None:
        chunks = shape.threads // shape.wide
        self.rows = chunks * STEPS
        self.tiles, self.bands = -(-n // self.rows), -(-lanes // shape.wide)
        self.groups = -(-self.tiles // (chunks * shape.look))
        self.blocks = self.tiles * self.bands


@cache
def text(dtype: str, shape: Shape) -> str:
    """Return the CUDA text for a dtype and a shape of blocks."""
    close = f"{CLOSE * float(np.finfo(dtype).eps)!r}" if dtype.startswith("float") else "-1"
    named = {"CLOSE": close, "STEPS": STEPS, **{name.upper(): value for name, value in asdict(shape).items()}}
    defined = "".join(f"#define {name} {value}\n" for name, value in named.items())
    return f"{HEAD}{FETCHING}{defined}typedef {TYPES[dtype]} T;{_MAPS}{_PUBLISHED}{_KERNEL}"


def one_pass(
    launcher: Launcher, function: Any, shape: Shape, given: Sequence[Any], out: Array, n: int, lanes: int
) -> Array:
    """Compute all rows; return the words that blocks published: word 1 is set if two chunks disagreed where they meet.

    given: factors and terms, each followed by its strides, in elements, over rows and lanes; then the first state.
    """
    cut = Tiles(n, lanes, shape)
    words = out.dtype.itemsize // 4
    published = launcher.xp.zeros(2 + (2 * cut.tiles + cut.groups + 1) * lanes * words, "uint64")
    sizes = map(np.int64, (n, lanes, cut.bands, cut.tiles))
    launcher.launch(function, cut.blocks, shape.threads, [*given, out, published, *sizes])
    return published
