"""Random words on a device with a single launch: Philox as a CUDA kernel, bit for bit as in `philox.py`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

__all__ = ["NAME", "PHILOX", "TEXT", "blocks_on_device", "can_launch"]

Array = Any
NAME = "scanopt_kernel"
THREADS = 256
PHILOX = """\
INLINE void philox(uint64 *w, uint64 k0, uint64 k1, uint64 c0, uint64 c1, uint64 c2, uint64 c3) {
    for (int i = 0; i < 10; i++) {
        const uint64 a = __umul64hi(c0, 0xD2E7470EE14C6C93ULL), b = __umul64hi(c2, 0xCA5A826395121157ULL);
        const uint64 low = c0 * 0xD2E7470EE14C6C93ULL;
        c0 = b ^ c1 ^ k0;
        c1 = c2 * 0xCA5A826395121157ULL;
        c2 = a ^ c3 ^ k1;
        c3 = low;
        k0 += 0x9E3779B97F4A7C15ULL;
        k1 += 0xBB67AE8584CAA73BULL;
    }
    w[0] = c0; w[1] = c1; w[2] = c2; w[3] = c3;
}
"""
"""CUDA source that computes the four words of a key and a counter."""
TEXT = f"""\
typedef long long int64; typedef unsigned long long uint64;
#define INLINE __device__ __forceinline__
{PHILOX}
extern "C" __global__ void __launch_bounds__({THREADS}) {NAME}(const uint64 *__restrict__ states,
    const uint64 *__restrict__ first, uint64 *__restrict__ out, uint64 lane, uint64 attempt, int64 n)
{{
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) philox(out + 4 * i, states[3 * i], states[3 * i + 1], first[i], attempt, states[3 * i + 2], lane);
}}
"""


def can_launch(xp: Any) -> bool:
    """Whether an array module can compile CUDA source."""
    return hasattr(xp, "RawModule")


@cache
def _function(xp: Any, device: int) -> Any:
    return xp.RawModule(code=TEXT, options=("--std=c++17",)).get_function(NAME)


def blocks_on_device(xp: Any, states: Array, first: Array, lane: int, attempt: int) -> Array:
    """As `philox.blocks_at`: states (P, 3) and first words of the counter (P,) -> words (P, 4)."""
    out = xp.empty((first.shape[0], 4), dtype="uint64")
    if first.shape[0]:
        function = _function(xp, int(xp.cuda.runtime.getDevice()))
        given = (xp.ascontiguousarray(states), xp.ascontiguousarray(first), out)
        numbers = (np.uint64(lane), np.uint64(attempt), np.int64(first.shape[0]))
        function((-(-first.shape[0] // THREADS),), (THREADS,), (*given, *numbers))
    return out
