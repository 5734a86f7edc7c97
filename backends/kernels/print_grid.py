"""A kernel as CUDA text for one large state: all blocks of a grid share each step, and wait for one another.

As for the threads of a block (`print_cuda.py`), but a barrier is one of all blocks, which have to be on the device at
the same time.  How they multiply is told in `grid_tiles.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from scanopt.backends.kernels.barriers import Access
from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.grid_tiles import GRID_THREADS, TILED, TILES, GridFactor
from scanopt.backends.kernels.ir import ZERO, Declare, Do, Expr, Inner, Kernel, Lit, Stmt, Var
from scanopt.backends.kernels.print_cuda import Block, assembled, signature
from scanopt.backends.kernels.recipe import Recipe
from scanopt.backends.kernels.shared_memory import HELD

__all__ = ["GRID_HEAD", "grid_text"]

CELL = 64
"""Bytes of scratch memory for a number that all blocks read."""

GRID_HEAD = """\
#undef BARRIER
#undef ALL_THREADS
#ifndef SPIN
#define SPIN
#if __CUDA_ARCH__ >= 700
INLINE void arrive(volatile uint64 *count) {
    asm volatile("red.release.gpu.global.add.u64 [%0], 1;" ::"l"(__cvta_generic_to_global((void *)count)) : "memory");
}
INLINE uint64 arrived(volatile uint64 *count) {
    uint64 found;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                 : "=l"(found) : "l"(__cvta_generic_to_global((void *)count)) : "memory");
    return found;
}
#define ARRIVE arrive
#define ARRIVED arrived
#endif
#endif
#define BLOCK_BARRIER __syncthreads()
#define BARRIER grid_barrier((volatile uint64 *)status + 2, met)
#define ME ((int64)blockIdx.x * blockDim.x + threadIdx.x)
#define ALL ((int64)gridDim.x * blockDim.x)
#define ALL_THREADS(i, n) for (int64 i = ME; i < (n); i += ALL)
INLINE void grid_barrier(volatile uint64 *count, uint64 &met) {
    BLOCK_BARRIER;
    if (threadIdx.x == 0) {
        met += gridDim.x;
        ARRIVE(count);
        while (ARRIVED(count) < met) { SPIN; }
    }
    BLOCK_BARRIER;
}
"""


class _Grid(Block):
    """Each statement is shared out among the threads of all blocks."""

    me, threads = "ME", "ALL"

    def __init__(self, recipe: Recipe, exact: bool) -> None:
        super().__init__(recipe)
        self.exact = exact
        self.held: list[GridFactor] = []
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
        dtype = self.recipe.loops[x.slot][1][0]
        t, tiled = TYPES[dtype], dtype in TILED and x.arrays[1] in self.fixed
        _, m, k, n, _, _, _, ar, ac, br, bc, cr, cc = (self.expression(v) for v in (*x.dims, *x.strides))
        a, b, c = (f"(char *)({p})" for p in x.arrays)
        plain = f"grid_products<{t}>({', '.join([a, b, c, m, k, n, ar, ac, br, bc, cr, cc])});"
        if not tiled or not all(_is_known(v, self.recipe) for v in x.dims[1:]):
            return plain
        i = len(self.held)
        name, sizes = f"h{i}", f"(int)high{i}, (int)wide{i}, (int)next{i}"
        self.held.append(GridFactor(name, x.dims[1], x.dims[2], x.dims[3], dtype, self.exact))
        given = ", ".join([f"({t} *)(held + {name})", b, m, k, n, br, bc, sizes])
        self.holding.append(f"    if ({name} >= 0) hold_tiles({given});")
        given = ", ".join([a, c, m, k, n, ar, ac, cr, cc, f"({t} *)(held + {name}), ({t} *)(held + stage)", sizes])
        warps = "" if self.exact else f"else if (next{i} > wide{i}) tile_products<{t}, Warps<{t}>>({given}); "
        return f"if ({name} < 0) {plain} {warps}else tile_products<{t}, Threads<{t}>>({given});"


def _is_known(x: Expr, recipe: Recipe) -> bool:
    """Whether an expression is made of lengths that are known before the loop."""
    match x:
        case Var(name=name):
            return name in recipe.lengths.numbers
        case Do(args=args):
            return all(_is_known(a, recipe) for a in args)
        case _:
            return isinstance(x, Lit)


def grid_text(recipe: Recipe, exact: bool) -> tuple[str, tuple[GridFactor, ...], int]:
    """The text of a kernel that all blocks run together, what it may hold, and bytes for numbers that all read.

    It is given, after its own numbers: where each factor is held, the rows and columns of its tiles, how far its rows
    lie apart, where rows are staged, and the size of its scratch memory.
    exact: tensor cores are not used.  status: three numbers; the last one counts blocks at barriers.
    """
    w = _Grid(recipe, exact)
    body = list(w.body_of(recipe.kernel))
    start = ["    const int64 lane = 0;"]
    for i, (g, p) in enumerate(zip(recipe.given, recipe.kernel.params, strict=True)):
        place = f"({TYPES[g.dtype]} *)(scratch + {p.offset})" if g.kind == "scratch" else f"q{i}"
        start.append(f"    {TYPES[g.dtype]} *const {p.name} = {place};")
    numbers = [x for i, h in enumerate(w.held) for x in (h.name, f"high{i}", f"wide{i}", f"next{i}")]
    head = signature(recipe, [*recipe.kernel.numbers, *numbers, "stage", "room"])
    limit = f"__launch_bounds__({GRID_THREADS}) "
    text = assembled(recipe, w, limit, head, [f"    {HELD}", *start, *body], GRID_HEAD + TILES)
    return text, tuple(w.held), w.cells * CELL
