"""Small CUDA kernels that repeat what kernels of loops do, so that its time can be measured on a device."""

from __future__ import annotations

from scanopt.backends.kernels.cuda_operations import HEAD, functor
from scanopt.backends.kernels.grid_tiles import GRID_THREADS
from scanopt.backends.kernels.ir import NAME
from scanopt.backends.kernels.print_grid import GRID_HEAD
from scanopt.backends.kernels.print_rows import MOST_ROWS, MOST_THREADS, ROWS_HEAD
from scanopt.backends.kernels.shared_memory import HELD
from scanopt.records import dataclass

__all__ = ["COLUMNS", "DEEP", "FLAT", "PROBES", "Probe"]

COLUMNS, FLAT, DEEP = 512, 16, 512
"""The sizes of matrices: columns; rows if they lie in shared memory; rows if they do not."""


@dataclass(frozen=True)
class Probe:
    """A kernel that is measured.  repeated: the text that it runs n times; held: its bytes of shared memory.

    grid: all blocks of the device run it together; else a single block does.
    """

    before: str
    repeated: str
    after: str = ""
    threads: int = MOST_THREADS
    held: int = 0
    grid: bool = False

    @property
    def text(self) -> str:
        """The CUDA text of a function NAME(x, w, y, status, n)."""
        heads = (
            HEAD
            + (GRID_HEAD if self.grid else ROWS_HEAD.format(rows=MOST_ROWS))
            + functor("F0", "tanh", ("float32",) * 2)
        )
        given = "float32 *x, float32 *w, float32 *y, int64 *status, int64 n"
        body = f"{self.before}\n    for (int64 t = 0; t < n; t++) {{\n{self.repeated}\n    }}\n{self.after}"
        return f'{heads}extern "C" __global__ void {NAME}({given})\n{{\n{body}\n}}\n'


_THREADS = "    const int64 me = threadIdx.x, per = blockDim.x;"
_HELD = f"""    {HELD}
{_THREADS}
    float32 *const stage = (float32 *)held, *const own = stage + {FLAT * MOST_ROWS};
    for (int64 i = me; i < {FLAT * MOST_ROWS}; i += per) stage[i] = x[i];
    hold_all(own, (char *)w, {FLAT}, {COLUMNS}, {4 * COLUMNS}, 4);
    BARRIER;"""
_BYTES = 4 * FLAT * (MOST_ROWS + COLUMNS)


def _product(x: str, w: str, y: str, rows: int) -> str:
    """Text that multiplies a vector by a matrix, by all threads of a block."""
    given = f"(char *){x}, 4, (char *){w}, {4 * COLUMNS}, 4, (char *){y}, 4, {rows}, {COLUMNS}, me, per"
    return f"        row_product<float32>({given});\n        BARRIER;"


PROBES = {
    "thread": Probe(
        "    float32 s = x[0];\n    const float32 a = x[1], b = x[2];",
        "        s = s * a + b;",
        "    y[threadIdx.x] = s;",
        threads=32,
    ),
    "barrier": Probe("", "        BARRIER;", "    if (n < 0) y[0] = 0;"),
    "grid barrier": Probe("    uint64 met = 0;", "        BARRIER;", threads=GRID_THREADS, grid=True),
    "operators": Probe(
        _THREADS,
        f"        each<float32, F0>((char *)x, (char *)y, {COLUMNS}, 4, 4, me, per);\n"
        f"        each<float32, F0>((char *)y, (char *)x, {COLUMNS}, 4, 4, me, per);",
    ),
    "products by memory": Probe(_THREADS, f"{_product('x', 'w', 'y', DEEP)}\n{_product('y', 'w', 'x', DEEP)}"),
    "products by shared memory": Probe(
        _HELD, f"{_product('x', 'own', 'y', FLAT)}\n{_product('y', 'own', 'x', FLAT)}", held=_BYTES
    ),
    "products of rows": Probe(
        f"{_HELD}\n    __shared__ char *to[ROWS];\n"
        f"    if (me < ROWS) to[me] = (char *)(y + me * {COLUMNS});\n    BARRIER;",
        f"        rows_product<float32>(stage, (char *)own, {4 * COLUMNS}, 4, to, 4, {FLAT}, {COLUMNS}, ROWS);\n"
        f"        BARRIER;\n        for (int64 i = me; i < {FLAT} * ROWS; i += per) stage[i] = y[i];\n        BARRIER;",
        held=_BYTES,
    ),
}  # fmt: skip
"""The probes by name.  A repetition is two operators, two products, or a product of MOST_ROWS vectors."""
