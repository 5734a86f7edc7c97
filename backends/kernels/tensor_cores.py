"""Products by tensor cores, as CUDA text: they round as other instructions do, but add in another order.

float64: a warp multiplies 8 rows of 4 elements by 4 rows of 8 (`mma.m8n8k4`).  float32: 16 rows of 8 by 8 rows of 8
(`mma.m16n8k8`), of which the tensor cores see the upper 11 bits of each number.  So each is taken apart into two parts
of 11 and 12 bits, and three of the four products of parts are added; the last one is below what float32 keeps.  What
is not finite, or is when it is rounded, has no parts: they make the sums no numbers, and these are computed once more.
Both from compute capability 8.0.

All warps of a block run the same number of these instructions, those without elements with zeros.

[Ootomo and Yokota, Recovering single precision accuracy from Tensor Cores, 2022]
"""

from __future__ import annotations

__all__ = ["TENSOR_ROWS", "TENSOR_TILES"]

TENSOR = """\
#if __CUDA_ARCH__ >= 800
#ifndef MMA
#define MMA(c, a, b) asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" \\
    : "+d"((c)[0]), "+d"((c)[1]) : "d"(a), "d"(b))
#endif
"""
"""c += a b: of the thread with the number t in its warp a is the element (t / 4, t % 4), b (t % 4, t / 4), and c are
(t / 4, 2 (t % 4)) and the next one."""

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
"""As `rows_product`, of 8 rows."""

TENSOR_TILES = f"""{TENSOR}\
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
    enum {{ threads = 32, high = 8, wide = 16, deep = 4, parts = 1 }};
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
template <> struct Warps<float32> {{
    enum {{ threads = 32, high = 16, wide = 32, deep = 8, parts = 2 }};
    float32 sum[4][4] = {{}};
    INLINE void add(const float32 *x, int apart, const float32 *y, int next, int lane, bool in) {{
        uint32 upper[4], lower[4];
        for (int q = 0; q < 4; q++) {{
            const Parts a(in ? x[(lane / 4 + q % 2 * 8) * apart + lane % 4 + q / 2 * 4] : 0.0f);
            upper[q] = a.upper;
            lower[q] = a.lower;
        }}
        uint32 above[4][2], below[4][2];
        for (int q = 0; q < 4; q++)
            for (int i = 0; i < 2; i++) {{
                const Parts b(in ? y[(lane % 4 + 4 * i) * next + 8 * q + lane / 4] : 0.0f);
                above[q][i] = b.upper;
                below[q][i] = b.lower;
            }}
        for (int q = 0; q < 4; q++) MMA32(sum[q], lower, above[q]);
        for (int q = 0; q < 4; q++) MMA32(sum[q], upper, below[q]);
        for (int q = 0; q < 4; q++) MMA32(sum[q], upper, above[q]);
    }}
    INLINE void put(float32 *part, int next, int lane) {{
        for (int q = 0; q < 4; q++)
            for (int i = 0; i < 4; i++)
                part[(lane / 4 + i / 2 * 8) * next + 8 * q + lane % 4 * 2 + i % 2] = sum[q][i];
    }}
}};
#else
template <class T> using Warps = Threads<T>;
#endif
"""
"""What a warp does for `tile_products`: the elements of a thread are those that the manual of the instructions says."""
