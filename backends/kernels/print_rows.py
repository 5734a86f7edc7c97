"""Prints a kernel as CUDA text for the rows of a batch: each block of threads runs all steps of some rows.

The threads of a row share its elements.  Matrices that no step changes, and that are the same for all rows, are held
in shared memory where they fit, and so is the scratch memory of a row; a thread multiplies an element of such a matrix
by the vectors of all rows of its block.  Unless tensor cores multiply, each sum is added up in one order, however many
rows there are, so the bits of a row do not depend on the batch that it is in.

[Diamos et al., Persistent RNNs, 2016; Poeppel et al., FlashRNN, 2024]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from scanopt.backends.kernels.barriers import Access
from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.fetched_rows import AHEAD
from scanopt.backends.kernels.ir import (
    ONE,
    Declare,
    Expr,
    For,
    If,
    Inner,
    Kernel,
    Let,
    Lit,
    Load,
    Steps,
    Stmt,
    Var,
)  # fmt: skip
from scanopt.backends.kernels.print_cuda import (
    Block,
    assembled,
    parameters,
    places_of_lane,
    product_of,
    signature,
    start_of_lane,
)  # fmt: skip
from scanopt.backends.kernels.recipe import Recipe
from scanopt.backends.kernels.shared_memory import HELD, HeldFactor, Staged
from scanopt.backends.kernels.tensor_cores import TENSOR_ROWS
from scanopt.backends.kernels.walks import expressions
from scanopt.records import dataclass

__all__ = ["MOST_ROWS", "MOST_THREADS", "ROWS_HEAD", "rows_run_alike", "rows_text"]

MOST_ROWS, MOST_THREADS = 8, 512
STAGE = "stage"

ROWS_HEAD = """\
#undef ALL_THREADS
#define ROWS {rows}
#define ALL_THREADS(i, n) for (int64 i = me; i < (n); i += per)
template <class T> INLINE void hold_all(T *to, const char *b, int64 k, int64 n, int64 br, int64 bc) {{
    for (int64 i = threadIdx.x; i < k * n; i += blockDim.x) to[i] = *(const T *)(b + i / n * br + i % n * bc);
}}
template <class T> INLINE void row_product(const char *x, int64 xs, const char *w, int64 wk, int64 wn, char *y,
                                           int64 ys, int64 k, int64 n, int64 me, int64 per) {{
    for (int64 j = me; j < n; j += per) {{
        T sum = 0;
        UNROLLED for (int64 i = 0; i < k; i++) sum += *(const T *)(x + i * xs) * *(const T *)(w + i * wk + j * wn);
        *(T *)(y + j * ys) = sum;
    }}
}}
template <class T> INLINE void rows_product(const T *stage, const char *w, int64 wk, int64 wn, char *const *to,
                                            int64 ys, int64 k, int64 n, int64 here) {{
    for (int64 j = threadIdx.x; j < n; j += blockDim.x) {{
        T sum[ROWS] = {{}};
        UNROLLED for (int64 i = 0; i < k; i++) {{
            const T y = *(const T *)(w + i * wk + j * wn);
            for (int r = 0; r < ROWS; r++) sum[r] += stage[i * ROWS + r] * y;
        }}
        for (int r = 0; r < ROWS; r++) if (r < here) *(T *)(to[r] + j * ys) = sum[r];
    }}
}}
"""


def rows_run_alike(kernel: Kernel) -> bool:
    """Whether the rows of a batch take the same branches and numbers of steps, whatever their values are."""
    alike = set(kernel.numbers)
    statements = list(_outside_nests(kernel.body))
    for x in statements:
        if isinstance(x, Steps):
            alike.add(x.var)
        elif isinstance(x, Let) and _of(x.value, alike):
            alike.add(x.name)
    for x in statements:
        if isinstance(x, If | Steps | For) and not all(_of(v, alike) for v in expressions(x)):
            return False
        if isinstance(x, Inner) and not all(_of(v, alike) for v in x.dims):
            return False
    return True


def _outside_nests(body: Sequence[Stmt]) -> Iterator[Stmt]:
    """Yield all statements except those that one thread runs by itself."""
    for x in body:
        yield x
        if isinstance(x, Steps):
            yield from _outside_nests(x.body)
        elif isinstance(x, If):
            yield from _outside_nests((*x.then, *x.otherwise))


def _of(x: Expr, alike: Collection[str]) -> bool:
    """Whether an expression reads nothing but these variables."""
    match x:
        case Lit():
            return True
        case Var(name=name):
            return name in alike
        case Load():
            return False
        case _:
            return all(_of(a, alike) for a in (getattr(x, "args", None) or (x.arg,)))  # type: ignore[union-attr]


class _Rows(Block):
    """Prints statements that the threads of a row share, and products by fixed factors, shared by those of a block."""

    me, threads, row = "me", "per", "row"

    def __init__(self, recipe: Recipe, fixed: Collection[str], rows: int, exact: bool) -> None:
        super().__init__(recipe)
        self.fixed, self.rows, self.exact = fixed, rows, exact
        self.held: dict[tuple[str, ...], HeldFactor] = {}
        self.holding: list[str] = []
        self.staged: list[Staged] = []
        self.lengths = {*recipe.lengths.numbers}

    def body_of(self, kernel: Kernel) -> Iterator[str]:
        """As for any kernel, after the lines that load held factors."""
        lines = list(super().body_of(kernel))
        yield from self.holding
        yield from ["    BARRIER;"] * bool(self.holding)
        yield from lines

    def statement(self, x: Stmt, depth: int) -> Iterator[str]:
        """As for one row, except for products that all rows of a block compute together."""
        factor = self._factor(x) if isinstance(x, Inner) and not self.inside else None
        if factor is None:
            yield from super().statement(x, depth)
        else:
            yield from self._product(factor, "    " * depth)

    def _shared(self, x: Stmt, depth: int) -> Iterator[str]:
        if isinstance(x, Declare) and x.elements and self.rows > 1:
            space, t = "    " * depth, TYPES[x.dtype]
            yield f"{space}__shared__ {t} {x.name}_all[{self.rows * x.elements}];"
            yield f"{space}{t} *const {x.name} = {x.name}_all + row * {x.elements};"
        else:
            yield from super()._shared(x, depth)

    def _factor(self, x: Inner) -> _Factor | None:
        """Describe a product of a row's vector and a fixed matrix; None for other calls."""
        name, dtypes = self.recipe.loops[x.slot]
        if name != "matmul":
            return None
        (a, b, c), (_, m, k, n) = x.arrays, x.dims
        _, _, _, ar, ac, br, bc, cr, cc = x.strides
        found = None
        if b in self.fixed and m == ONE:
            found = _Factor(dtypes[0], a, ac, b, br, bc, c, cc, k, n, x)
        elif a in self.fixed and n == ONE:
            found = _Factor(dtypes[0], b, br, a, ac, ar, c, cr, k, m, x)
        known = found is not None and all(_of(v, self.lengths) for v in (found.k, found.n, found.wk, found.wn))
        return found if known else None

    def _product(self, f: _Factor, space: str) -> Iterator[str]:
        item = np.dtype(f.dtype).itemsize
        t, (xs, wk, wn, ys, k, n) = TYPES[f.dtype], map(self.expression, (f.xs, f.wk, f.wn, f.ys, f.k, f.n))
        key = f.w, wk, wn, k, n
        if key not in self.held:
            name = f"h{len(self.held)}"
            self.held[key] = HeldFactor(name, f.k, f.n, item)
            self.holding += [
                f"    if ({name} >= 0) hold_all(({t} *)(held + {name}), (char *)({f.w}), {k}, {n}, {wk}, {wn});",
                f"    const char *const w_{name} = {name} < 0 ? (char *)({f.w}) : held + {name};",
                f"    const int64 k_{name} = {name} < 0 ? {wk} : {n} * {item}, n_{name} = {name} < 0 ? {wn} : {item};",
            ]
        name = self.held[key].name
        w = f"w_{name}, k_{name}, n_{name}"
        if self.rows == 1:
            yield from self._wait(self.touched(f.call), space)
            given = f"(char *)({f.x}), {xs}, {w}, (char *)({f.y}), {ys}, {k}, {n}, me, per"
            yield f"{space}row_product<{t}>({given});"
            return
        to = f"to{len(self.staged)}"
        self.staged.append(Staged(f.k, item))
        sizes = self.waiting.read(f.k, f.n)
        packed = f.xs == Lit(item)
        yield from self._wait([*sizes, Access(f.x, False, packed), Access(to, True), Access(STAGE, True)], space)
        yield f"{space}__shared__ char *{to}[ROWS];"
        yield f"{space}if (me == 0) {to}[row] = (char *)({f.y});"
        yield (
            f"{space}ALL_THREADS(i, {k}) (({t} *)(held + stage))[i * ROWS + row] = "
            f"*(const {t} *)((char *)({f.x}) + i * {xs});"
        )
        yield f"{space}BARRIER;"
        self.waiting.met()
        tensor = t == "float64" and self.rows == MOST_ROWS and not self.exact
        by = "tensor_rows" if tensor else f"rows_product<{t}>"
        yield f"{space}{by}(({t} *)(held + stage), {w}, {to}, {ys}, {k}, {n}, here);"
        self.waiting.note([Access(STAGE, False), Access(to, False), Access(f.y, True)])


@dataclass(frozen=True)
class _Factor:
    """y = x w, with a vector x of k elements and a fixed matrix w of k times n; the others are strides in bytes."""

    dtype: str
    x: str
    xs: Expr
    w: str
    wk: Expr
    wn: Expr
    y: str
    ys: Expr
    k: Expr
    n: Expr
    call: Inner


def rows_text(
    recipe: Recipe, lanes: int, fixed: Collection[str], rows: int, exact: bool
) -> tuple[str, tuple[HeldFactor, ...], tuple[Staged, ...]]:
    """The text of a kernel whose blocks run `rows` rows each, the factors that it may hold, and the vectors it stages.

    fixed: names of arrays that are the same for all rows.  After the strides of its arrays, the kernel is given: the
    offsets in shared memory, in bytes, of held factors, of staged vectors and of scratch memory; the size of scratch
    memory; and the number of threads of a row.  exact: tensor cores are not used.
    """
    w = _Rows(recipe, fixed, rows, exact)
    body = list(w.body_of(recipe.kernel))
    held = tuple(w.held.values())
    head = [*recipe.kernel.numbers, *parameters(recipe, lanes), *(h.name for h in held)]
    limit = f"__launch_bounds__({MOST_THREADS}) "
    whole = [f"    {HELD}", *_start(recipe, lanes), *body]
    numbers = signature(recipe, [*head, "stage", "own", "room", "per"])
    more = AHEAD + ROWS_HEAD.format(rows=rows) + (TENSOR_ROWS if rows == MOST_ROWS and not exact else "")
    return assembled(recipe, w, limit, numbers, whole, more), held, tuple(w.staged)


def _start(recipe: Recipe, lanes: int) -> Iterable[str]:
    """The lines that find which row this is, and where its arrays start.  Threads without a row only wait."""
    yield f"    const int64 lanes = {product_of(lanes)}, row = threadIdx.x / per, first = (int64)blockIdx.x * ROWS;"
    yield "    const int64 here = lanes - first < ROWS ? lanes - first : ROWS;"
    yield "    const int64 me = row < here ? threadIdx.x % per : 1LL << 50;"
    yield "    const int64 lane = first + (row < here ? row : here - 1);"
    yield from places_of_lane(lanes)
    yield "    char *const mine = own < 0 ? scratch + lane * room : held + own + row * room;"
    for i, (g, p) in enumerate(zip(recipe.given, recipe.kernel.params, strict=True)):
        t = TYPES[g.dtype]
        place = f"({t} *)(mine + {p.offset})" if g.kind == "scratch" else start_of_lane(i, lanes)
        yield f"    {t} *const {p.name} = {place};"
