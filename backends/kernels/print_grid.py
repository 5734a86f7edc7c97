"""A kernel as CUDA text for one large state: all blocks of a grid share each step, and wait for one another.

As for the threads of a block (`print_cuda.py`), but a barrier is one of all blocks, which have to be on the device at
the same time.  Factors of products that no step changes are held in shared memory where they fit: each block keeps the
columns that it multiplies by.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scanopt.backends.kernels.barriers import Access
from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.ir import ZERO, Declare, Inner, Kernel, Stmt
from scanopt.backends.kernels.print_cuda import Block, assembled, signature
from scanopt.backends.kernels.recipe import Recipe
from scanopt.backends.kernels.shared_memory import HELD, HeldFactor
from scanopt.backends.kernels.tensor_cores import TENSOR_GRID

__all__ = ["COLUMNS", "GRID_HEAD", "GRID_THREADS", "PARTS", "grid_text"]

GRID_THREADS = 256
COLUMNS = 16
"""Columns of a product that a block multiplies by at a time."""
PARTS = GRID_THREADS * COLUMNS * 8
"""Bytes in which the threads of a block add up what each multiplied."""
CELL = 64
"""Bytes of scratch memory for a number that all blocks read."""

GRID_HEAD = f"""\
#undef BARRIER
#undef ALL_THREADS
#ifndef SPIN
#define SPIN
#endif
#define BLOCK_BARRIER __syncthreads()
#define BARRIER grid_barrier((volatile uint64 *)status + 2, met)
#define ME ((int64)blockIdx.x * blockDim.x + threadIdx.x)
#define COLUMNS {COLUMNS}
#define ALL ((int64)gridDim.x * blockDim.x)
#define ALL_THREADS(i, n) for (int64 i = ME; i < (n); i += ALL)
INLINE void grid_barrier(volatile uint64 *count, uint64 &met) {{
    BLOCK_BARRIER;
    if (threadIdx.x == 0) {{
        __threadfence();
        met += gridDim.x;
        atomicAdd((uint64 *)count, 1ULL);
        while (*count < met) {{ SPIN; }}
        __threadfence();
    }}
    BLOCK_BARRIER;
}}
template <class T> INLINE void hold(T *to, const char *b, int64 k, int64 n, int64 br, int64 bc) {{
    for (int64 g = blockIdx.x; g * COLUMNS < n; g += gridDim.x, to += k * COLUMNS)
        for (int64 i = threadIdx.x; i < k * COLUMNS; i += blockDim.x) {{
            const int64 j = g * COLUMNS + i % COLUMNS;
            to[i] = j < n ? *(const T *)(b + i / COLUMNS * br + j * bc) : (T)0;
        }}
    BLOCK_BARRIER;
}}
INLINE void *grid_parts() {{
    __shared__ float64 part[{GRID_THREADS * COLUMNS}];
    return part;
}}
template <class T>
INLINE void grid_products(const char *a, const char *b, char *c, int64 m, int64 k, int64 n, int64 ar, int64 ac,
                          int64 br, int64 bc, int64 cr, int64 cc, const T *held) {{
    T *const part = (T *)grid_parts();
    const int64 rows = m > 32 ? 64 : m > 16 ? 32 : m > 8 ? 16 : m > 4 ? 8 : 4, slices = blockDim.x / rows;
    const int64 column = threadIdx.x % 4 * 4, slice = threadIdx.x / 4 % slices, high = threadIdx.x / 4 / slices * 4;
    for (int64 g = blockIdx.x; g * COLUMNS < n; g += gridDim.x, held += held ? k * COLUMNS : 0)
        for (int64 row = 0; row < m; row += rows) {{
            T sum[4][4] = {{}};
            for (int64 i = slice; i < k; i += slices) {{
                T x[4], y[4];
                for (int q = 0; q < 4; q++) {{
                    const int64 r = row + high + q, j = g * COLUMNS + column + q;
                    x[q] = r < m ? *(const T *)(a + r * ar + i * ac) : (T)0;
                    y[q] = held ? held[i * COLUMNS + column + q] : j < n ? *(const T *)(b + i * br + j * bc) : (T)0;
                }}
                for (int r = 0; r < 4; r++) for (int q = 0; q < 4; q++) sum[r][q] += x[r] * y[q];
            }}
            for (int r = 0; r < 4; r++)
                for (int q = 0; q < 4; q++) part[(slice * rows + high + r) * COLUMNS + column + q] = sum[r][q];
            BLOCK_BARRIER;
            for (int64 o = threadIdx.x; o < rows * COLUMNS; o += blockDim.x) {{
                const int64 r = row + o / COLUMNS, j = g * COLUMNS + o % COLUMNS;
                T total = 0;
                for (int64 s = 0; s < slices; s++) total += part[s * rows * COLUMNS + o];
                if (r < m && j < n) *(T *)(c + r * cr + j * cc) = total;
            }}
            BLOCK_BARRIER;
        }}
}}
"""


class _Grid(Block):
    """Each statement is shared out among the threads of all blocks."""

    me, threads = "ME", "ALL"

    def __init__(self, recipe: Recipe, exact: bool) -> None:
        super().__init__(recipe)
        self.exact = exact
        self.held: list[HeldFactor] = []
        self.holding: list[str] = []
        self.cells = 0
        self.fixed = {f"g{i}" for i, g in enumerate(recipe.given) if g.kind == "array"}

    def body_of(self, kernel: Kernel) -> Iterator[str]:
        """The statements; what is held comes first."""
        lines = list(super().body_of(kernel))
        yield "    uint64 met = 0;"
        yield from self.holding
        yield from lines

    def _shared(self, x: Stmt, depth: int) -> Iterator[str]:
        space = "    " * depth
        match x:
            case Inner(slot=slot) if self.recipe.loops[slot][0] == "matmul":
                yield f"{space}{self._product(x)}"
            case Inner(arrays=arrays, strides=strides) if arrays[0] == arrays[-1] and strides[0] == ZERO:
                yield f"{space}if (blockIdx.x == 0) {self._serial(x, 'threadIdx.x', 'blockDim.x')}"
            case Declare(name=name, dtype=dtype, elements=elements) if elements:
                t = TYPES[dtype]
                yield f"{space}{t} *const {name} = ({t} *)(scratch + room + {self.cells * CELL});"
                self.cells += 1
            case _:
                yield from super()._shared(x, depth)

    def touched(self, x: Stmt) -> list[Access]:
        """What a statement touches: products and reductions are divided in another way than elements."""
        found = super().touched(x)
        if isinstance(x, Inner) and (
            self.recipe.loops[x.slot][0] == "matmul" or (x.arrays[0] == x.arrays[-1] and x.strides[0] == ZERO)
        ):
            return [Access(a.pointer, a.write) for a in found]
        return found

    def _product(self, x: Inner) -> str:
        """A call that multiplies, by a factor held in shared memory where there is room."""
        t = TYPES[self.recipe.loops[x.slot][1][0]]
        _, m, k, n, _, _, _, ar, ac, br, bc, cr, cc = (self.expression(v) for v in (*x.dims, *x.strides))
        a, b, c = (f"(char *)({p})" for p in x.arrays)
        place = f"(const {t} *)0"
        if x.arrays[1] in self.fixed:
            name = f"h{len(self.held)}"
            self.held.append(HeldFactor(name, x.dims[2], x.dims[3], np.dtype(self.recipe.loops[x.slot][1][0]).itemsize))
            self.holding.append(f"    if ({name} >= 0) hold(({t} *)(held + {name}), {b}, {k}, {n}, {br}, {bc});")
            place = f"{name} < 0 ? {place} : (const {t} *)(held + {name})"
        by = "tensor_grid" if t == "float64" and not self.exact else f"grid_products<{t}>"
        return f"{by}({', '.join([a, b, c, m, k, n, ar, ac, br, bc, cr, cc, place])});"


def grid_text(recipe: Recipe, exact: bool) -> tuple[str, tuple[HeldFactor, ...], int]:
    """The text of a kernel that all blocks run together, what it may hold, and bytes for numbers that all read.

    It is given, after its own numbers, where the factors are held, and the size of its scratch memory.
    exact: tensor cores are not used.  status: three numbers; the last one counts blocks at barriers.
    """
    w = _Grid(recipe, exact)
    body = list(w.body_of(recipe.kernel))
    start = ["    const int64 lane = 0;"]
    for i, (g, p) in enumerate(zip(recipe.given, recipe.kernel.params, strict=True)):
        place = f"({TYPES[g.dtype]} *)(scratch + {p.offset})" if g.kind == "scratch" else f"q{i}"
        start.append(f"    {TYPES[g.dtype]} *const {p.name} = {place};")
    head = signature(recipe, [*recipe.kernel.numbers, *(h.name for h in w.held), "room"])
    limit = f"__launch_bounds__({GRID_THREADS}) "
    text = assembled(recipe, w, limit, head, [f"    {HELD}", *start, *body], GRID_HEAD + ("" if exact else TENSOR_GRID))
    return text, tuple(w.held), w.cells * CELL
