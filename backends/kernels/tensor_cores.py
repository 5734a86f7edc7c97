"""Products by tensor cores, as CUDA text: they round as other instructions do, but add in another order.

float64: a warp multiplies 8 rows of 4 elements by 4 rows of 8 (`mma.m8n8k4`).  float32: 16 rows of 8 by 8 rows of 8
(`mma.m16n8k8`), where tensor cores read only the upper 11 bits of each number.  So each number is split into two parts
of 11 and 12 bits, and three of the four products of parts are added; the fourth is below the precision of float32.
A number that is infinite or NaN, or becomes infinite when it is rounded, cannot be split: then a sum is NaN and is
computed again without tensor cores.  Both need compute capability 8.0.

All warps of a block run the same number of these instructions; warps without elements multiply zeros.

[Ootomo and Yokota, Recovering single precision accuracy from Tensor Cores, 2022]
"""

from __future__ import annotations

__all__ = ["SHORT_PRODUCTS", "TENSOR_ROWS", "TENSOR_TILES"]

SHORT_PRODUCTS = "SHORT_PRODUCTS"
"""The macro that lets products of float32 drop the lower parts: see `Program.matmul_precision`."""

TENSOR = """\
#if __CUDA_ARCH__ >= 800
#ifndef MMA
#define MMA(c, a, b) asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" \\
    : "+d"((c)[0]), "+d"((c)[1]) : "d"(a), "d"(b))
#endif
"""
"""MMA computes c += a b.  The thread with number t in its warp has the elements (t / 4, t % 4) of a, (t % 4, t / 4) of
b, and (t / 4, 2 (t % 4)) and the next one of c."""

TENSOR_ROWS = f"""{TENSOR}\
INLINE void tensor_rows(const float64 *stage, const char *w, int64 wk, int64 wn, char *const *to, int64 ys, int64 k,
                        int64 n, int64 here) {{
    const int64 high = threadIdx.x % 32 / 4, low = threadIdx.x % 4;
    for (int64 start = 0; start < n; start += blockDim.x / 4) {{
        const int64 first = start + threadIdx.x / 32 * 8, j = first + high;
        float64 sum[2] = {{}};
        for (int64 i = low; i - low < k; i += 4) {{
            const float64 a = i < k ? stage[i * 8 + high] : 0.0;
            const float64 b = i < k && j < n ? *(const float64 *)(w + i * wk + j * wn) : 0.0;
            MMA(sum, a, b);
        }}
        for (int64 q = 0; q < 2; q++)
            if (high < here && first + 2 * low + q < n) *(float64 *)(to[high] + (first + 2 * low + q) * ys) = sum[q];
    }}
}}
#else
#define tensor_rows rows_product<float64>
#endif
"""
"""`tensor_rows`: like `rows_product`, for 8 rows."""

TENSOR_TILES = f"""\
INLINE float32 sum_of(const char *a, int64 ac, const float32 *y, int next, int64 k) {{
    float32 sum = 0;
    for (int64 i = 0; i < deep_of(k); i++)
        if (turned_row(i) < k) sum += *(const float32 *)(a + turned_row(i) * ac) * y[i * next];
    return sum;
}}
{TENSOR}\
#ifndef MMA32
#define MMA32(c, a, b) asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{%0, %1, %2, %3}}, " \\
    "{{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};" : "+f"((c)[0]), "+f"((c)[1]), "+f"((c)[2]), "+f"((c)[3]) \\
    : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]))
#endif
struct Parts {{
    uint32 upper, lower;
    INLINE Parts(float32 x) {{
        upper = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
        lower = __float_as_uint(x - __uint_as_float(upper));
    }}
}};
template <class T> struct Warps;
template <> struct Warps<float64> {{
    enum {{ threads = 32, high = 8, wide = 16, deep = 4 }};
    float64 sum[2][2] = {{}};
    INLINE void add(const float64 *x, int apart, const float64 *y, int next, int lane, bool in) {{
        const float64 a = in ? x[lane / 4 * apart + lane % 4] : 0.0;
        for (int q = 0; q < 2; q++) {{
            const float64 b = in ? y[lane % 4 * next + 8 * q + lane / 4] : 0.0;
            MMA(sum[q], a, b);
        }}
    }}
    INLINE void put(float64 *part, int next, int lane) {{
        for (int q = 0; q < 4; q++) part[lane / 4 * next + q / 2 * 8 + lane % 4 * 2 + q % 2] = sum[q / 2][q % 2];
    }}
}};
template <int wide> struct Strips {{
    float32 sum[wide / 8][4] = {{}};
    INLINE void add(const Quad<float32> *x, const float32 *y, int next, int lane) {{
#pragma unroll
        for (int c = 0; c < 4; c += 2) {{
            uint32 upper[4], lower[4], above[wide / 8][2], below[wide / 8][2];
#pragma unroll
            for (int q = 0; q < 4; q++) {{
                const Parts a(x[q % 2].of[c + q / 2]);
                upper[q] = a.upper;
                lower[q] = a.lower;
            }}
#pragma unroll
            for (int n = 0; n < wide / 8; n++)
                for (int i = 0; i < 2; i++) {{
                    const Parts b(y[((c + i) * 4 + lane % 4) * next + 8 * n + lane / 4]);
                    above[n][i] = b.upper;
                    below[n][i] = b.lower;
                }}
#ifndef {SHORT_PRODUCTS}
#pragma unroll
            for (int n = 0; n < wide / 8; n++) MMA32(sum[n], lower, above[n]);
#pragma unroll
            for (int n = 0; n < wide / 8; n++) MMA32(sum[n], upper, below[n]);
#endif
#pragma unroll
            for (int n = 0; n < wide / 8; n++) MMA32(sum[n], upper, above[n]);
        }}
    }}
    INLINE void put(float32 *part, int next, int lane) {{
        for (int n = 0; n < wide / 8; n++)
            for (int i = 0; i < 4; i += 2) {{
                float32 *const to = part + (lane / 4 + i / 2 * 8) * next + 8 * n + lane % 4 * 2;
                to[0] = sum[n][i];
                to[1] = sum[n][i + 1];
            }}
    }}
}};
INLINE void fetch_quad(Quad<float32> *to, const char *a, int64 row, int64 rows, int64 at, int64 k, int64 ar, int64 ac,
                       bool packed) {{
    if (row < rows && packed && at < k) {{
        FETCH(to, (const Quad<float32> *)(a + row * ar + at * 4));
        return;
    }}
    Quad<float32> found = {{}};
    for (int q = 0; q < 4; q++)
        if (row < rows && at + q < k) found.of[q] = *(const float32 *)(a + row * ar + (at + q) * ac);
    *to = found;
}}
template <int strip>
INLINE int strip_sums(const char *a, int64 rows, int64 k, int64 ar, int64 ac, const float32 *held, float32 *stage,
                      int high, int wide, int next) {{
    const int across = wide / strip, units = across * (high / 16), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int slices = (int)blockDim.x / 32 / units, slice = warp / units, unit = warp % units;
    const int line = unit / across * 16, column = unit % across * strip;
    const int blocks = deep_of(k) / 16, rounds = (blocks + slices - 1) / slices;
    const bool packed = ac == 4 && (ar | (int64)a) % 16 == 0 && k % 4 == 0;
    Quad<float32> *const own = (Quad<float32> *)stage + threadIdx.x;
    const auto fetch_round = [&](int round) {{
        const int at = (round * slices + slice) * 16 + lane % 4 * 4, slot = round % FETCHED_ROUNDS;
        for (int h = 0; round < rounds && h < 2; h++)
            fetch_quad(own + (2 * slot + h) * blockDim.x, a, line + lane / 4 + 8 * h, rows, at, k, ar, ac, packed);
        FETCH_END;
    }};
    BLOCK_BARRIER;
    for (int round = 0; round < FETCHED_ROUNDS; round++) fetch_round(round);
    Strips<strip> sums;
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {{
        FETCHED(FETCHED_ROUNDS - 1);
        const int slot = round % FETCHED_ROUNDS, at = round * slices + slice, in = at < blocks ? at : blocks - 1;
        const Quad<float32> x[2] = {{own[2 * slot * blockDim.x], own[(2 * slot + 1) * blockDim.x]}};
        sums.add(x, held + in * 16 * next + column, next, lane);
        fetch_round(round + FETCHED_ROUNDS);
    }}
    FETCHED(0);
    BLOCK_BARRIER;
    sums.put(stage + (slice * high + line) * (wide + GAP) + column, wide + GAP, lane);
    BLOCK_BARRIER;
    return slices;
}}
#else
template <class T> using Warps = Threads<T>;
template <int strip>
INLINE int strip_sums(const char *a, int64 rows, int64 k, int64 ar, int64 ac, const float32 *held, float32 *part,
                      int high, int wide, int next) {{
    BLOCK_BARRIER;
    for (int o = threadIdx.x; o < high * wide; o += blockDim.x) {{
        const int64 row = o / wide;
        part[row * (wide + GAP) + o % wide] = row < rows ? sum_of(a + row * ar, ac, held + o % wide, next, k) : 0;
    }}
    BLOCK_BARRIER;
    return 1;
}}
#endif
"""
"""The work of a warp in `tile_sums` (float64), and `strip_sums`, which replaces `tile_sums` in float32.

The elements of each thread are those that the manual of the instructions defines.  In float32 each thread prefetches
its own elements of the other factor, four at once and some rounds ahead, so that no barrier is needed; the rows of the
held factor are ordered accordingly (`turned_row`).
"""
