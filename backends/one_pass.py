"""Linear recurrences of few lanes on a device in one launch: every element is read once and written once.

A block takes a tile of steps and lanes.  Its maps compose to one, which it publishes at once; where its steps start is
found from the maps of the tiles before it in its group and from the state that the group starts with, which is known
once the group before is done.  So blocks wait for one another, but only for those that began earlier.  Maps are always
composed in the same order: results are the same bits at each run.

[Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back, 2016]
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from scanopt.array.numerics.chunked import CLOSE
from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.cuda_operations import HEAD
from scanopt.backends.kernels.device_plans import Launcher
from scanopt.backends.kernels.print_c import NAME

__all__ = ["Tiles", "one_pass", "text"]

Array = Any
STEPS = 16
"""Steps that one thread runs."""
WIDEST = 8
"""Lanes side by side in a tile, at most: what is moved from memory at a time, in float32."""
SHARED = 1 << 15
"""Bytes of the elements of a tile, which lie in shared memory."""

_TEXT = """
#define STEPS {steps}
#define THREADS {threads}
#define AT(k) ((k) + (k) / 16)
#define WAIT(flag) while ((flag) == 0) __nanosleep(20)
extern "C" __global__ void __launch_bounds__(THREADS) {name}(const {T} *a, int64 ar, int64 al, const {T} *x, int64 xr,
    int64 xl, const {T} *init, {T} *out, volatile {T} *values, volatile int64 *flags, int64 n, int64 lanes, int64 wide,
    int64 tiles)
{{
    __shared__ {T} fa[THREADS * STEPS / 16 * 17], fx[THREADS * STEPS / 16 * 17], F[THREADS], R[THREADS], S[{widest}];
    __shared__ int64 ticket;
    const int64 me = threadIdx.x, w = me % wide, c = me / wide, chunks = THREADS / wide;
    const int64 bands = (lanes + wide - 1) / wide, all = tiles * lanes;
    if (me == 0) ticket = (int64)atomicAdd((uint64 *)flags, 1ULL);
    BARRIER;
    const int64 tile = ticket / bands, band = ticket % bands, lane = band * wide + w, row = tile * chunks * STEPS;
    const int64 group = tile / chunks, place = tile % chunks, one = tile * lanes + lane;
    const bool there = lane < lanes, closes = place == chunks - 1 && tile + 1 < tiles;
    volatile int64 *composed = flags + 2 + band, *ended = composed + tiles * bands, *known = ended + tiles * bands;
    for (int64 i = me; i < THREADS * STEPS; i += THREADS) {{
        const int64 t = row + i / wide, l = band * wide + i % wide;
        const bool in = t < n && l < lanes;
        fa[AT(i)] = in ? a[t * ar + l * al] : ({T})1;
        fx[AT(i)] = in ? x[t * xr + l * xl] : ({T})0;
    }}
    BARRIER;
    {T} f = 1, r = 0;
    for (int64 j = 0; j < STEPS; j++) {{
        const int64 k = AT((c * STEPS + j) * wide + w);
        f = f * fa[k];
        r = r * fa[k] + fx[k];
    }}
    F[me] = f;
    R[me] = r;
    for (int64 d = 1; d < chunks; d *= 2) {{
        BARRIER;
        const {T} pf = c >= d ? F[me - d * wide] : ({T})1, pr = c >= d ? R[me - d * wide] : ({T})0;
        BARRIER;
        if (c >= d) {{
            r = pr * f + r;
            f = pf * f;
            F[me] = f;
            R[me] = r;
        }}
    }}
    BARRIER;
    const {T} ef = c ? F[me - wide] : ({T})1, er = c ? R[me - wide] : ({T})0;
    const {T} tf = F[(chunks - 1) * wide + w], tr = R[(chunks - 1) * wide + w];
    if (c == 0 && there) {{
        values[one] = tf;
        values[all + one] = tr;
    }}
    __threadfence();
    BARRIER;
    if (me == 0) composed[tile * bands] = 1;
    F[me] = 1;
    R[me] = 0;
    if (c < place) {{
        const int64 other = group * chunks + c;
        WAIT(composed[other * bands]);
        __threadfence();
        if (there) {{
            F[me] = values[other * lanes + lane];
            R[me] = values[all + other * lanes + lane];
        }}
    }}
    BARRIER;
    for (int64 d = 1; d < chunks; d *= 2) {{
        if (c % (2 * d) == 0 && c + d < chunks) {{
            R[me] = R[me] * F[me + d * wide] + R[me + d * wide];
            F[me] = F[me] * F[me + d * wide];
        }}
        BARRIER;
    }}
    if (c == 0) {{
        {T} s = there ? init[lane] : ({T})0;
        if (group) {{
            WAIT(known[group * bands]);
            __threadfence();
            if (there) s = values[4 * all + group * lanes + lane];
        }}
        if (place) s = s * F[me] + R[me];
        S[w] = s;
        if (closes && there) values[4 * all + (group + 1) * lanes + lane] = s * tf + tr;
    }}
    __threadfence();
    BARRIER;
    if (me == 0 && closes) known[(group + 1) * bands] = 1;
    const {T} start = c ? S[w] * ef + er : S[w];
    {T} s = start, most = 0;
    for (int64 j = 0; j < STEPS; j++) {{
        const int64 k = AT((c * STEPS + j) * wide + w);
        s = s * fa[k] + fx[k];
        fx[k] = s;
        most = most > s ? most : s;
        most = most > -s ? most : -s;
    }}
    F[me] = start;
    if (c == chunks - 1 && there) {{
        values[2 * all + one] = s;
        values[3 * all + one] = most;
    }}
    __threadfence();
    BARRIER;
    if (me == 0) ended[tile * bands] = 1;
    for (int64 i = me; i < THREADS * STEPS; i += THREADS) {{
        const int64 t = row + i / wide, l = band * wide + i % wide;
        if (t < n && l < lanes) out[t * lanes + l] = fx[AT(i)];
    }}
    if (CLOSE < 0 || !there) return;
    if (c + 1 < chunks && row + (c + 1) * STEPS < n) {{
        const {T} next = F[me + wide], apart = s < next ? next - s : s - next;
        if (!(apart <= ({T})CLOSE * most)) flags[1] = 1;
    }}
    if (c == 0 && tile) {{
        WAIT(ended[(tile - 1) * bands]);
        __threadfence();
        const {T} last = values[2 * all + one - lanes], size = values[3 * all + one - lanes];
        const {T} apart = last < start ? start - last : last - start;
        if (!(apart <= ({T})CLOSE * size)) flags[1] = 1;
    }}
}}
"""


def _threads(dtype: str) -> int:
    return SHARED // (2 * STEPS * np.dtype(dtype).itemsize)


@cache
def text(dtype: str) -> str:
    """The CUDA text of a dtype."""
    close = f"{CLOSE * float(np.finfo(dtype).eps)!r}" if dtype.startswith("float") else "-1"
    body = _TEXT.format(T=TYPES[dtype], steps=STEPS, threads=_threads(dtype), name=NAME, widest=WIDEST)
    return f"{HEAD}#define CLOSE {close}\n{body}"


class Tiles:
    """How steps and lanes are cut.  wide: lanes of a tile; rows: its steps; bands: tiles beside one another."""

    def __init__(self, n: int, lanes: int, dtype: str) -> None:
        self.threads = _threads(dtype)
        self.wide = min(WIDEST, 1 << (lanes - 1).bit_length())
        self.rows = self.threads // self.wide * STEPS
        self.tiles, self.bands = -(-n // self.rows), -(-lanes // self.wide)
        self.blocks = self.tiles * self.bands
        self.groups = -(-self.tiles // (self.threads // self.wide))


def one_pass(
    launcher: Launcher, function: Any, given: tuple[Any, ...], start: Array, out: Array, n: int, lanes: int
) -> Array:
    """Write all rows; return whether two chunks disagreed where they meet, as an array of one number.

    given: factors and terms, each with the elements from row to row and from lane to lane.
    """
    xp, cut = launcher.xp, Tiles(n, lanes, out.dtype.name)
    values = xp.empty((4 * cut.tiles + cut.groups) * lanes, out.dtype)
    flags = xp.zeros(2 + (2 * cut.tiles + cut.groups) * cut.bands, "int64")
    numbers = [np.int64(x) if isinstance(x, int) else x for x in (*given, start, out, values, flags)]
    sizes = [np.int64(x) for x in (n, lanes, cut.wide, cut.tiles)]
    launcher.launch(function, cut.blocks, cut.threads, [*numbers, *sizes])
    return flags[1:2]
