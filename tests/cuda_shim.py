"""CUDA texts run on a CPU: compiled as C++, the threads of a block as fibers that wait for one another at barriers.

All threads of a block must come to the same barrier.  They run in either order; blocks one after the other, or, where
they wait for one another, as threads of the system.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from scanopt.backends.kernels.device_plans import DeviceLimits
from scanopt.backends.kernels.grid_tiles import PARTS
from scanopt.backends.kernels.shared_memory import FOLDING, HELD

__all__ = ["Shim"]

PRELUDE = r"""
#include <math.h>
#include <string.h>
#include <stdlib.h>
#include <ucontext.h>
#include <pthread.h>
#include <sched.h>
#define __device__
#define __forceinline__ inline
#define __global__
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__
struct dim3_ { unsigned x; };
static thread_local dim3_ threadIdx, blockIdx;
static dim3_ blockDim, gridDim;
static inline double __longlong_as_double(long long x) { double y; memcpy(&y, &x, 8); return y; }
static inline float __uint_as_float(unsigned x) { float y; memcpy(&y, &x, 4); return y; }
static inline unsigned __float_as_uint(float x) { unsigned y; memcpy(&y, &x, 4); return y; }
static inline float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
struct fiber { ucontext_t at; int line; unsigned index; char *stack; };
static thread_local ucontext_t scheduler;
static thread_local fiber *current;
static void stop_at(int line) {
    current->line = line; swapcontext(&current->at, &scheduler); threadIdx.x = current->index;
}
#define __syncthreads() stop_at(__LINE__)
#define __threadfence() __sync_synchronize()
#define SPIN sched_yield()
#define ARRIVE(count) __atomic_fetch_add(count, 1ULL, __ATOMIC_SEQ_CST)
#define ARRIVED(count) __atomic_load_n(count, __ATOMIC_SEQ_CST)
static thread_local double fragment_a[1024], fragment_b[1024];
#define MMA(c, a, b) multiply_add(c, a, b, __LINE__)
static void multiply_add(double *c, double a, double b, int line) {
    const unsigned own = threadIdx.x, warp = own / 32 * 32, row = own % 32 / 4, column = own % 4 * 2;
    fragment_a[own] = a; fragment_b[own] = b;
    stop_at(line);
    for (int q = 0; q < 2; q++)
        for (int i = 0; i < 4; i++)
            c[q] = fma(fragment_a[warp + row * 4 + i], fragment_b[warp + (column + q) * 4 + i], c[q]);
    stop_at(line);
}
static thread_local float tile_a[1024][4], tile_b[1024][2];
#define MMA32(c, a, b) multiply_add_32(c, a, b, __LINE__)
static void multiply_add_32(float *c, const unsigned *a, const unsigned *b, int line) {
    const unsigned own = threadIdx.x, warp = own / 32 * 32, row = own % 32 / 4, column = own % 4 * 2;
    for (int i = 0; i < 4; i++) tile_a[own][i] = __uint_as_float(a[i] & 0xffffe000u);
    for (int i = 0; i < 2; i++) tile_b[own][i] = __uint_as_float(b[i] & 0xffffe000u);
    stop_at(line);
    for (int q = 0; q < 4; q++)
        for (int i = 0; i < 8; i++)
            c[q] = fmaf(tile_a[warp + row * 4 + i % 4][q / 2 + i / 4 * 2],
                        tile_b[warp + (column + q % 2) * 4 + i % 4][i / 4], c[q]);
    stop_at(line);
}
#define __nanosleep(n) sched_yield()
static thread_local char shuffled[1024][8];
template <class T> static T shuffled_from(unsigned other, T x, int line) {
    memcpy(shuffled[threadIdx.x], &x, sizeof(x));
    stop_at(line);
    if (other / 32 == threadIdx.x / 32) memcpy(&x, shuffled[other], sizeof(x));
    stop_at(line);
    return x;
}
#define __shfl_up_sync(mask, value, d) shuffled_from(threadIdx.x - (d), value, __LINE__)
#define __shfl_down_sync(mask, value, d) shuffled_from(threadIdx.x + (d), value, __LINE__)
struct fetch_ { char *to; const char *from; int size, group; unsigned thread; };
static thread_local fetch_ on_the_way[1 << 14];
static thread_local int fetches, group[1024];
#define FETCH(to, from) fetch((char *)(to), (const char *)(from), sizeof(*(to)))
#define AHEAD(x, n)
#define FETCH_END group[threadIdx.x]++
#define FETCHED(n) arrive(n)
static void fetch(char *to, const char *from, int size) {
    memset(to, 0xff, size);
    on_the_way[fetches++] = fetch_{to, from, size, group[threadIdx.x], threadIdx.x};
}
static void arrive(int still) {
    int left = 0;
    for (int i = 0; i < fetches; i++) {
        fetch_ x = on_the_way[i];
        const bool arrived = x.thread == threadIdx.x && x.group < group[threadIdx.x] - still;
        if (arrived) memcpy(x.to, x.from, x.size); else on_the_way[left++] = x;
    }
    fetches = left;
}
static inline unsigned long long atomicAdd(unsigned long long *p, unsigned long long n) {
    return __atomic_fetch_add(p, n, __ATOMIC_SEQ_CST);
}
"""
POSTLUDE = r"""
static long long *arguments;
static int backward, fibers;
static void start() { kernel_of(arguments); current->line = -1; swapcontext(&current->at, &scheduler); }
static void *block(void *number) {
    const unsigned threads = blockDim.x;
    blockIdx.x = (unsigned)(long long)number;
    if (!fibers) {
        for (unsigned i = 0; i < threads; i++) { threadIdx.x = backward ? threads - 1 - i : i; kernel_of(arguments); }
        return 0;
    }
    fiber *all = (fiber *)calloc(threads, sizeof(fiber));
    for (unsigned i = 0; i < threads; i++) {
        getcontext(&all[i].at); all[i].index = i; all[i].stack = (char *)malloc(1 << 16);
        all[i].at.uc_stack.ss_sp = all[i].stack; all[i].at.uc_stack.ss_size = 1 << 16; all[i].at.uc_link = 0;
        makecontext(&all[i].at, start, 0);
    }
    int line = 0, wrong = 0;
    while (line >= 0 && !wrong) {
        for (unsigned i = 0; i < threads; i++) {
            current = &all[backward ? threads - 1 - i : i]; threadIdx.x = current->index;
            swapcontext(&scheduler, &current->at);
        }
        line = all[0].line;
        for (unsigned i = 1; i < threads; i++) wrong |= all[i].line != line;
    }
    for (unsigned i = 0; i < threads; i++) free(all[i].stack);
    free(all);
    return wrong ? (void *)1 : 0;
}
extern "C" int run(long long *a, unsigned blocks, unsigned threads, int back, int by_fibers, unsigned together) {
    int wrong = 0;
    pthread_t made[64];
    arguments = a; blockDim.x = threads; gridDim.x = blocks; backward = back; fibers = by_fibers;
    for (unsigned b = 0; b < blocks; b += together) {
        void *found = 0;
        if (together == 1) { wrong |= block((void *)(long long)b) != 0; continue; }
        const unsigned n = blocks - b < together ? blocks - b : together;
        for (unsigned i = 0; i < n; i++) {
            const unsigned at = back ? n - 1 - i : i;
            pthread_create(&made[at], 0, block, (void *)(long long)(b + at));
        }
        for (unsigned i = 0; i < n; i++) { pthread_join(made[i], &found); wrong |= found != 0; }
    }
    return wrong;
}
"""
SHARED = 1 << 16
TOGETHER = 64
"""So many blocks run at the same time where they wait for one another."""


@dataclass
class Function:
    """A compiled text.  arrays: which of its parameters are arrays; together: how many blocks run at the same time.

    fixed: whether the text itself says how many threads it has.
    """

    run: Any
    arrays: list[bool]
    fibers: bool
    together: int
    fixed: bool


@dataclass
class Shim:
    """Runs CUDA texts on NumPy arrays, each twice: threads forward and backward, which must give the same bits.

    launches: blocks and threads of all launches; texts: of all functions.  together: whether blocks may run together;
    shared: bytes of shared memory that they may ask for.  multiprocessors: few, so that blocks have more than one part
    of the work; capability: ten times that of the device.
    """

    folder: Path
    xp: Any = np
    threads: int = 0
    together: bool = False
    shared: int = 1 << 13
    multiprocessors: int = 3
    capability: int = 80
    launches: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    texts: list[str] = field(default_factory=list[str])

    @property
    def limits(self) -> DeviceLimits:
        """As a device tells them."""
        taken = FOLDING + (PARTS if self.together else 0)
        return DeviceLimits(self.multiprocessors, taken + self.shared, self.together, self.threads or 512)

    def load(self, text: str, exact: bool, together: bool = False) -> Function:
        """The function of a text."""
        self.texts.append(text)
        assert together == ("grid_barrier" in text)
        fibers = "BARRIER;" in text.split("__global__")[1] or HELD in text
        text = f"#define __CUDA_ARCH__ {10 * self.capability}\n{text}"
        text = text.replace(HELD, f"alignas(16) static thread_local char held[{max(SHARED, self.limits.shared)}];")
        name = sha256(text.encode()).hexdigest()[:24]
        path, source = self.folder / f"{name}.so", self.folder / f"{name}.cpp"
        found = re.search(r"scanopt_kernel\(([^)]*)\)", text)
        assert found is not None
        kinds = [p.strip() for p in found[1].split(",")]
        types = [k.replace("__restrict__", "").rsplit(" " if "*" not in k else "*", 1)[0] for k in kinds]
        given = ", ".join(f"({t}{'*' * ('*' in k)})a[{i}]" for i, (t, k) in enumerate(zip(types, kinds, strict=True)))
        if not path.exists():
            whole = f"{PRELUDE}{text}\nstatic void kernel_of(long long *a) {{ scanopt_kernel({given}); }}"
            source.write_text(whole + POSTLUDE)
            flags = ["-O0", "-ffp-contract=off", "-w", "-shared", "-fPIC", "-pthread", "-nostdinc++", "-x", "c++"]
            subprocess.run(["g++", *flags, str(source), "-o", str(path)], check=True, capture_output=True)
        at_once = TOGETHER if "atomicAdd" in text or "grid_barrier" in text else 1
        run, fixed = ctypes.CDLL(str(path)).run, not fibers or at_once > 1 or "#define ROWS" in text
        return Function(run, ["*" in k for k in kinds], fibers, at_once, fixed)

    def launch(self, function: Function, blocks: int, threads: int, args: Sequence[Any], shared: int = 0) -> None:
        """Run it; threads: no more than `self.threads` where that is set, and the text leaves it open."""
        assert shared <= self.limits.shared
        if not function.fixed and self.threads:
            threads = min(threads, self.threads)
        self.launches.append((blocks, threads))
        written = [a and x.flags.c_contiguous for x, a in zip(args, function.arrays, strict=True)]  # or may be
        before = [np.array(x) if w else x for x, w in zip(args, written, strict=True)]
        self._once(function, blocks, threads, args, False)
        self._once(function, blocks, threads, before, True)
        for i, (x, y) in enumerate(zip(args, before, strict=True)):
            if function.arrays[i] and x.dtype != np.uint8:  # bytes are scratch memory
                assert x.tobytes() == y.tobytes(), "the order of threads makes a difference"

    def _once(self, function: Function, blocks: int, threads: int, args: Sequence[Any], backward: bool) -> None:
        assert len(args) == len(function.arrays)
        numbers = [x.ctypes.data if a else int(x) for x, a in zip(args, function.arrays, strict=True)]
        packed = (ctypes.c_longlong * len(numbers))(*numbers)
        code = function.run(packed, blocks, threads, int(backward), int(function.fibers), function.together)
        assert not code, "threads of a block came to different barriers"
