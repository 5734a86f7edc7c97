"""C helper functions for random numbers (Philox), which the kernel language cannot express."""

from __future__ import annotations

__all__ = ["HELPERS"]

_PHILOX = """\
#ifndef PHILOX
#define PHILOX
static inline void philox(uint64 *w, uint64 k0, uint64 k1, uint64 c0, uint64 c2)
{
    uint64 c1 = 0, c3 = 0;
    for (int i = 0; i < 10; i++) {
        const unsigned __int128 a = (unsigned __int128)c0 * 0xD2E7470EE14C6C93ULL;
        const unsigned __int128 b = (unsigned __int128)c2 * 0xCA5A826395121157ULL;
        c0 = (uint64)(b >> 64) ^ c1 ^ k0;
        c1 = (uint64)b;
        c2 = (uint64)(a >> 64) ^ c3 ^ k1;
        c3 = (uint64)a;
        k0 += 0x9E3779B97F4A7C15ULL;
        k1 += 0xBB67AE8584CAA73BULL;
    }
    w[0] = c0; w[1] = c1; w[2] = c2; w[3] = c3;
}
#endif
"""


def _uniform(dtype: str, bits: int, end: str) -> str:
    return (
        f"{_PHILOX}static void uniform_{dtype}({dtype} *x, const uint64 *s, int64 count)\n{{\n"
        "    uint64 w[4];\n    for (int64 i = 0; i < count; i++) {\n"
        "        if (i % 4 == 0) philox(w, s[0], s[1], i / 4 + 1, s[2]);\n"
        f"        x[i] = ({dtype})(w[i % 4] >> {64 - bits}) * 0x1p-{bits}{end};\n    }}\n}}\n"
    )


HELPERS = {
    "uniform_float64": _uniform("float64", 53, ""),
    "uniform_float32": _uniform("float32", 24, "f"),
    "arrows_float64": _PHILOX
    + """\
static void arrows_float64(float64 *x, float64 *y, const uint64 *s, int64 pairs)
{
    uint64 w[4];
    for (int64 i = 0; i < pairs; i++) {
        if (i % 2 == 0) philox(w, s[0], s[1], i / 2 + 1, s[2]);
        x[i] = (float64)(w[i % 2 * 2] >> 11) * 0x1p-53;
        y[i] = (float64)(w[i % 2 * 2 + 1] >> 11) * 0x1p-53;
    }
}
""",
}
"""The C text of each function, by name.  The words are those of `scanopt.array.random.philox`, lane 0, attempt 0."""
