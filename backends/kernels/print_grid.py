"""Prints a kernel as CUDA text for one large state: all blocks of a grid share each step, and wait for one another.

Statements are shared as among the threads of a block (`print_cuda.py`), but a barrier waits for all blocks, which must
therefore be on the device at the same time.  Products are described in `grid_tiles.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scanopt.backends.kernels.barriers import Access
from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.fetched_rows import AHEAD, FETCHING
from scanopt.backends.kernels.finished_products import FinishedProduct, with_finished
from scanopt.backends.kernels.grid_tiles import GRID_THREADS, TILED, TILES, GridFactor
from scanopt.backends.kernels.ir import ZERO, Declare, Do, Expr, For, Inner, Kernel, Lit, Load, Point, Stmt, Store, Var
from scanopt.backends.kernels.print_cuda import Block, assembled, signature
from scanopt.backends.kernels.read_parts import with_parts_computed
from scanopt.backends.kernels.recipe import Recipe
from scanopt.backends.kernels.shared_memory import HELD
from scanopt.backends.kernels.walks import inside, with_loads
from scanopt.records import dataclass

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
#define MEET BARRIER
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
    """Prints statements that are shared out among the threads of all blocks."""

    me, threads = "ME", "ALL"

    def __init__(self, recipe: Recipe, exact: bool) -> None:
        super().__init__(recipe)
        self.exact = exact
        self.held: list[GridFactor] = []
        self.holding: list[str] = []
        self.cells, self.loose = 0, False
        self.fixed = {f"g{i}" for i, g in enumerate(recipe.given) if g.kind == "array"}

    def body_of(self, kernel: Kernel) -> Iterator[str]:
        """As for any kernel, after the lines that load held factors."""
        known = lambda x: _is_known(x, self.recipe) or (isinstance(x, Var) and x.name in kernel.numbers)  # noqa: E731
        lines = list(super().body_of(with_finished(with_parts_computed(kernel), self._is_tiled, known)))
        yield "    uint64 met = 0;"
        yield from self.holding
        yield from lines

    def statement(self, x: Stmt, depth: int) -> Iterator[str]:
        """As for a block, except for products fused with the loop that reads them."""
        yield from self._finished(x, depth) if isinstance(x, FinishedProduct) else super().statement(x, depth)

    def _shared(self, x: Stmt, depth: int) -> Iterator[str]:
        space = "    " * depth
        match x:
            case Inner(slot=slot) if self.recipe.loops[slot][0] == "matmul":
                yield from self._product(x, depth)
            case Inner(arrays=arrays, strides=strides) if arrays[0] == arrays[-1] and strides[0] == ZERO:
                yield f"{space}if (blockIdx.x == 0) {self._serial(x, 'threadIdx.x', 'blockDim.x')}"
            case Declare(name=name, dtype=dtype, elements=elements) if elements:
                t = TYPES[dtype]
                yield f"{space}{t} *const {name} = ({t} *)(scratch + room + {self.cells * CELL});"
                self.cells += 1
            case _:
                yield from super()._shared(x, depth)

    def touched(self, x: Stmt) -> list[Access]:
        """The accesses of a statement; products and reductions are not divided among threads as elements are."""
        found = super().touched(x)
        if isinstance(x, Inner) and (
            self.recipe.loops[x.slot][0] == "matmul" or (x.arrays[0] == x.arrays[-1] and x.strides[0] == ZERO)
        ):
            return [Access(a.pointer, a.write) for a in found]
        return found

    def _is_tiled(self, x: Inner) -> bool:
        """Whether a call is a product that may be made of tiles: with a fixed right factor and known lengths."""
        name, dtypes = self.recipe.loops[x.slot]
        return (
            name == "matmul"
            and dtypes[0] in TILED
            and x.arrays[1] in self.fixed
            and all(_is_known(v, self.recipe) for v in x.dims[1:])
        )

    def _product(self, x: Inner, depth: int) -> Iterator[str]:
        """The lines of a product, by a factor held in shared memory if there is room."""
        space, without = "    " * depth, self._without_tiles(x)
        if not self._is_tiled(x):
            self.loose = True
            yield f"{space}{without}"
            return
        t, c, (row, column) = TYPES[self.recipe.loops[x.slot][1][0]], x.arrays[2], map(self.expression, x.strides[-2:])
        yield f"{space}if (h{len(self.held)} < 0) {without}"
        yield f"{space}else"
        place = f"(char *)({c}) + row * {row} + column * {column}"
        whole = _Columns("row", "column", x.dims[3], (ZERO,), ())
        yield from self._by_tiles(x, whole, [f"*({t} *)({place}) = *sum;"], depth)

    def _finished(self, x: FinishedProduct, depth: int) -> Iterator[str]:
        """The lines of a product by tiles, fused with the operations on each of its elements."""
        space = "    " * depth
        nests = [For(x.var, x.count, x.body), *([x.then] if x.then else [])]
        yield from self._wait(self._touched(x, nests), space)
        test = f"h{len(self.held)} < 0" + (f" || !whole{len(self.held)}" if x.then else "")
        yield f"{space}if ({test}) {{"
        yield f"{space}    {self._without_tiles(x.product)}"
        for nest in nests:
            yield f"{space}    MEET;"
            yield from self._shared_out(nest, depth + 1)
        yield f"{space}}} else"
        own = _Columns(x.row or "row", x.column, x.columns, x.starts, x.sums, x.then is not None)
        early = {a: f"early{i}" for i, a in enumerate(x.read_early())}

        def read(a: Load) -> Expr:
            return Do("where", (Var("first", "bool"), Var(early[a], a.dtype), a), a.dtype, a.dtype) if a in early else a

        self.inside, fails, self.fails = 1, self.fails, "continue"
        place = [line for s in x.place for line in self.statement(s, 0)]
        body = [line for s in x.elements for line in self.statement(with_loads(s, read), 0)]
        self.inside, self.fails = 0, fails
        before = [f"{TYPES[a.dtype]} {name} = 0;" for a, name in early.items()]
        reads = [f"{name} = {self.expression(a)};" for a, name in early.items()]
        yield from self._by_tiles(x.product, own, [*place, *body], depth, before, [*place, *reads])

    def _touched(self, x: FinishedProduct, nests: Sequence[For]) -> list[Access]:
        """The accesses of a fused product, by tiles or not; elements that their own thread reads again do not count."""
        points = [p for p in inside(self.recipe.kernel.body) if isinstance(p, Point)]
        own = {x.product.arrays[2]} | {s.array for s in x.body if isinstance(s, Store) and x.then}
        parts = {p.name for p in points if p.array in own}
        found = [Access(x.product.arrays[0], False), *(a for nest in nests for a in self.touched(nest))]
        own, unseen = own - {x.product.arrays[2]}, own | parts
        return [Access(a.pointer, a.write) for a in found if a.pointer not in unseen or (a.write and a.pointer in own)]

    def _without_tiles(self, x: Inner) -> str:
        """The call that multiplies by a factor in global memory."""
        _, *dims = (self.expression(v) for v in x.dims)
        strides = [self.expression(v) for v in x.strides[3:]]
        t, arrays = TYPES[self.recipe.loops[x.slot][1][0]], [f"(char *)({p})" for p in x.arrays]
        return f"grid_products<{t}>({', '.join([*arrays, f'({t} *)(held + stage)', *dims, *strides])});"

    def _by_tiles(
        self,
        x: Inner,
        own: _Columns,
        body: Sequence[str],
        depth: int,
        before: Sequence[str] = (),
        early: Sequence[str] = (),
    ) -> Iterator[str]:
        """The lines of the loops over the tiles of a block and over the elements of a tile.  body: for each element.

        before, early: lines that declare, and load before the product is made, operands of a thread's first element.
        """
        i, dtype, groups = len(self.held), self.recipe.loops[x.slot][1][0], len(own.starts)
        t, space = TYPES[dtype], "    " * depth
        m, k, n = (self.expression(v) for v in (x.dims[1], x.dims[2], own.columns))
        ar, ac, br, bc = (self.expression(v) for v in x.strides[3:7])
        a, b = (f"(char *)({p})" for p in x.arrays[:2])
        self.held.append(GridFactor(f"h{i}", x.dims[1], x.dims[2], own.columns, dtype, self.exact, groups))
        sizes = f"(int)high{i}, (int)wide{i}, (int)next{i}"
        starts, columns = ", ".join(self.expression(v) for v in own.starts), self.expression(x.dims[3])
        self.holding += [
            f"    const int64 starts{i}[] = {{{starts}}};",
            *[f"    const bool whole{i} = are_all(starts{i}, {groups}, {n}, {columns});"] * own.whole,
            f"    if (h{i} >= 0) hold_tiles(({t} *)(held + h{i}), {b}, {m}, {k}, {n}, {br}, {bc}, {sizes}, starts{i});",
        ]
        inner = f"{space}    "
        place = f"{own.row} = tile.row() + o / tile.share, {own.column} = tile.column() + o % tile.share"
        yield f"{space}for (Tiles tile({m}, {n}, high{i}, wide{i} / {groups}); tile.more(); tile.next()) {{"
        yield f"{inner}const {t} *const own = ({t} *)(held + h{i}) + tile.nth * deep_of({k}) * next{i};"
        yield f"{inner}const char *const rows = {a} + tile.row() * {ar};"
        given = f"rows, {m} - tile.row(), {k}, {ar}, {ac}, own, ({t} *)(held + stage), {sizes}"
        yield from (f"{inner}{line}" for line in before)
        if early:
            yield f"{inner}if (const int o = threadIdx.x; o < high{i} * tile.share) {{"
            yield f"{inner}    const int64 {place};"
            yield f"{inner}    if ({own.row} < {m} && {own.column} < {n}) {{"
            yield from (f"{inner}        {line}" for line in early)
            yield from (f"{inner}    }}", f"{inner}}}")
        yield f"{inner}const int slices = {self._slices(i, dtype, given)};"
        yield f"{inner}for (int o = threadIdx.x; o < high{i} * tile.share; o += blockDim.x) {{"
        yield f"{inner}    const int64 {place};"
        yield f"{inner}    if ({own.row} >= {m} || {own.column} >= {n}) continue;"
        yield f"{inner}    {t} sum[{groups}];"
        at = "o / tile.share, o % tile.share"
        yield f"{inner}    tile_sum(sum, ({t} *)(held + stage), {at}, (int)high{i}, (int)wide{i}, slices);"
        if not self.exact and dtype == "float32":
            given = f"sum, rows + o / tile.share * {ar}, {ac}, own + o % tile.share, (int)next{i}, tile.share, {k}"
            yield f"{inner}    if (next{i} > wide{i}) whole_sum({given});"
        yield from (f"{inner}    const {t} {name} = sum[{q}];" for q, name in enumerate(own.sums))
        yield from [f"{inner}    const bool first = o == (int)threadIdx.x;"] * bool(before)
        yield from (f"{inner}    {line}" for line in body)
        yield f"{inner}}}"
        yield f"{space}}}"

    def _slices(self, i: int, dtype: str, given: str) -> str:
        """Text that calls the function that adds up a tile of this shape."""
        t = TYPES[dtype]
        threads, warps = f"tile_sums<{t}, Threads<{t}>>({given})", f"tile_sums<{t}, Warps<{t}>>({given})"
        if self.exact:
            return threads
        if dtype == "float32":
            narrow = "".join(f"wide{i} == {n} ? strip_sums<{n}>({given}) : " for n in (16, 32))
            warps = f"{narrow}strip_sums<64>({given})"
        return f"next{i} == wide{i} ? {threads} : {warps}"


@dataclass(frozen=True)
class _Columns:
    """The columns of a product to compute: `columns` of each group, the groups beginning at `starts` in a row.

    row, column: variables for the place of an element; sums: variables for its value in each group.  whole: whether the
    groups must cover all columns.
    """

    row: str
    column: str
    columns: Expr
    starts: tuple[Expr, ...]
    sums: tuple[str, ...]
    whole: bool = False


def _is_known(x: Expr, recipe: Recipe) -> bool:
    """Whether an expression reads nothing but lengths that are known before the loop."""
    match x:
        case Var(name=name):
            return name in recipe.lengths.numbers
        case Do(args=args):
            return all(_is_known(a, recipe) for a in args)
        case _:
            return isinstance(x, Lit)


def grid_text(recipe: Recipe, exact: bool) -> tuple[str, tuple[GridFactor, ...], bool, int]:
    """The text of a kernel that all blocks run together, the factors that it may hold, whether it makes products
    without tiles, and the bytes for numbers that all blocks read.

    After its own numbers, the kernel is given: for each factor the place where it is held, the rows and columns of its
    tiles and the stride of its rows; then where rows are staged, and the size of scratch memory.

    exact: tensor cores are not used.  status: three numbers; the last one counts blocks at barriers.
    """
    w = _Grid(recipe, exact)
    body = list(w.body_of(recipe.kernel))
    start = ["    const int64 lane = 0, me = ME, per = ALL;"]
    for i, (g, p) in enumerate(zip(recipe.given, recipe.kernel.params, strict=True)):
        place = f"({TYPES[g.dtype]} *)(scratch + {p.offset})" if g.kind == "scratch" else f"q{i}"
        start.append(f"    {TYPES[g.dtype]} *const {p.name} = {place};")
    numbers = [x for i, h in enumerate(w.held) for x in (h.name, f"high{i}", f"wide{i}", f"next{i}")]
    head = signature(recipe, [*recipe.kernel.numbers, *numbers, "stage", "room"])
    limit = f"__launch_bounds__({GRID_THREADS}) "
    text = assembled(recipe, w, limit, head, [f"    {HELD}", *start, *body], AHEAD + FETCHING + GRID_HEAD + TILES)
    return text, tuple(w.held), w.loose, w.cells * CELL
