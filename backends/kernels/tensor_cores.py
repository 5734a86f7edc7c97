"""Products of float64 by tensor cores, as CUDA text: they round as other instructions do, but add in another order.

A warp multiplies 8 rows of 4 elements by 4 rows of 8 (`mma.m8n8k4`), on devices from compute capability 8.0.  float32
has no such instruction: what TF32 drops would have to be multiplied by itself, and to take numbers apart takes as long
as to multiply them here.

All warps of a block run the same number of these instructions, those without elements with zeros.
"""

from __future__ import annotations

__all__ = ["TENSOR", "TENSOR_ROWS"]

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
