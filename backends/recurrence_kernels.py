"""Linear recurrences on a device, a few launches for all steps, however few lanes there are.

Steps are cut into chunks.  The maps of a chunk compose to one; what these make of the first state, by the same means,
is where each chunk starts; then all chunks run their own steps.  Where the end of a chunk is not the start of the next
one, up to a few units in the last place, all steps are run one after the other.  Filters with fixed coefficients keep
the bits of the loop: each lane is a thread.

[Blelloch, Prefix sums and their applications, 1990]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from scanopt.array.numerics.chunked import CLOSE
from scanopt.array.numerics.running import aligned
from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.cuda_operations import HEAD
from scanopt.backends.kernels.device_plans import Launcher
from scanopt.backends.kernels.print_c import NAME

__all__ = ["LinearRecurrences", "texts"]

Array = Any
THREADS = 128
CHUNK = 16
"""Steps of a chunk: a line of memory for each thread where there is one lane."""
ENOUGH = 1 << 16
"""So many lanes keep a device busy without chunks."""
DTYPES = ("int32", "int64", "float32", "float64")

_START = """
extern "C" __global__ void __launch_bounds__({threads}) {name}({arguments}int64 n, int64 lanes, int64 length)
{{
    const int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x, lane = i % lanes, first = i / lanes * length;
    if (first >= n) return;
    const int64 last = first + length < n ? first + length : n;
"""
_COMPOSED = """    {T} factor = 1, rest = 0;
    for (int64 t = first; t < last; t++) {{
        const {T} f = a[t * ar + lane * al], y = x[t * xr + lane * xl];
        factor = factor * f;
        rest = rest * f + y;
    }}
    factors[i] = factor;
    rests[i] = rest;
}}
"""
_RUN = """    {T} s = starts[i], most = 0;
    for (int64 t = first; t < last; t++) {{
        s = s * a[t * ar + lane * al] + x[t * xr + lane * xl];
        out[t * lanes + lane] = s;
        most = most > s ? most : s;
        most = most > -s ? most : -s;
    }}
    if (last == n || CLOSE < 0) return;
    const {T} next = starts[i + lanes], apart = s < next ? next - s : s - next;
    if (!(apart <= ({T})CLOSE * most)) wrong[0] = 1;
}}
"""
_FILTER = """    {T} older = starts[lane], s = starts[lane + lanes];
    for (int64 t = first; t < last; t++) {{
        {T} sum = s * a[lane * al];
        if (two) sum = sum + older * b[lane * bl];
        sum = sum + x[t * xr + lane * xl];
        older = s;
        s = sum;
        out[t * lanes + lane] = s;
    }}
}}
"""
_GIVEN = "const {T} *__restrict__ a, int64 ar, int64 al, const {T} *__restrict__ x, int64 xr, int64 xl, "
_ARGUMENTS = {
    "composed": _GIVEN + "{T} *__restrict__ factors, {T} *__restrict__ rests, ",
    "run": _GIVEN + "const {T} *__restrict__ starts, {T} *__restrict__ out, int64 *__restrict__ wrong, ",
    "filter": "const {T} *__restrict__ a, int64 al, const {T} *__restrict__ b, int64 bl, int64 two, "
    "const {T} *__restrict__ x, int64 xr, int64 xl, const {T} *__restrict__ starts, {T} *__restrict__ out, ",
}
_BODIES = {"composed": _COMPOSED, "run": _RUN, "filter": _FILTER}


@cache
def texts(dtype: str) -> dict[str, str]:
    """The CUDA texts of a dtype: what composes the maps of chunks, what runs chunks, what filters."""
    t = TYPES[dtype]
    close = f"{CLOSE * float(np.finfo(dtype).eps)!r}" if dtype.startswith("float") else "-1"
    head = f"{HEAD}#define CLOSE {close}\n"
    return {
        what: head + (_START + body).format(T=t, threads=THREADS, name=NAME, arguments=_ARGUMENTS[what].format(T=t))
        for what, body in _BODIES.items()
    }


class LinearRecurrences:
    """The operators `linear_recurrence` and `lfilter` on one device."""

    def __init__(self, launcher: Launcher) -> None:
        self.launcher = launcher
        self._made: dict[tuple[str, str], Any] = {}

    def _function(self, what: str, dtype: str) -> Any:
        if (what, dtype) not in self._made:
            self._made[what, dtype] = self.launcher.load(texts(dtype)[what], True)
        return self._made[what, dtype]

    def _launch(self, what: str, dtype: str, threads: int, *args: Any) -> None:
        given = [np.int64(x) if isinstance(x, int) else x for x in args]
        self.launcher.launch(self._function(what, dtype), -(-threads // THREADS), THREADS, given)

    def _rows(self, x: Array, shape: tuple[int, ...], dtype: Any) -> tuple[Array, int]:
        """Rows one after the other, and whether there is an element for each lane (else one for all)."""
        rows = aligned(x, len(shape)).astype(dtype, copy=False)
        if prod(rows.shape[1:]) != 1 or prod(shape) == 1:
            rows = self.launcher.xp.broadcast_to(rows, (rows.shape[0], *shape))
            return self.launcher.xp.ascontiguousarray(rows), int(prod(shape) > 1)
        np.broadcast_to(np.empty(rows.shape[1:]), shape)  # raises where they have more axes
        return self.launcher.xp.ascontiguousarray(rows), 0

    def recurrence(self, plain: Callable[..., Array], init: Array, a: Array, x: Array) -> Array:
        """Row t is a[t] * (row t - 1) + x[t].  plain: computes it where no kernel does."""
        dtype, shape, n = init.dtype.name, init.shape[1:], x.shape[0]
        lanes = prod(shape)
        if dtype not in DTYPES or not n or not lanes or a.shape[0] != n or init.shape[0] != 1:
            return plain(init, a, x)
        (a, al), (x, xl) = (self._rows(y, shape, init.dtype) for y in (a, x))
        out = self.launcher.xp.empty((n, *shape), init.dtype)
        given = (a, lanes if al else 1, al, x, lanes if xl else 1, xl)
        wrong = self.launcher.xp.zeros(1, "int64")
        start = self.launcher.xp.ascontiguousarray(init[0])
        if lanes < ENOUGH and n > CHUNK:
            self._scan(given, start, out, wrong, n, lanes, dtype)
            if dtype.startswith("int") or not int(wrong[0]):
                return out
        self._launch("run", dtype, lanes, *given, start, out, wrong, n, lanes, n)
        return out

    def _scan(self, given: Any, start: Array, out: Array, wrong: Array, n: int, lanes: int, dtype: str) -> None:
        """All rows from the state before the first one; also of chunks, which are rows of maps again."""
        xp, chunks = self.launcher.xp, -(-n // CHUNK)
        if chunks == 1:
            self._launch("run", dtype, lanes, *given, start, out, wrong, n, lanes, n)
            return
        factors, rests = (xp.empty((chunks, lanes), dtype) for _ in range(2))
        self._launch("composed", dtype, chunks * lanes, *given, factors, rests, n, lanes, CHUNK)
        starts = xp.empty((chunks + 1, lanes), dtype)
        starts[0] = start.reshape(-1)
        wide = int(lanes > 1)
        maps = (factors, lanes, wide, rests, lanes, wide)
        self._scan(maps, start, starts[1:], wrong, chunks, lanes, dtype)
        self._launch("run", dtype, chunks * lanes, *given, starts, out, wrong, n, lanes, CHUNK)

    def filtered(self, plain: Callable[..., Array], init: Array, x: Array, *factors: Array) -> Array:
        """Row t is ((row t - 1) * a + (row t - 2) * b) + x[t], bit for bit as the loop has it."""
        dtype, shape, n = init.dtype.name, init.shape[1:], x.shape[0]
        lanes = prod(shape)
        if dtype not in DTYPES or not n or not lanes or init.shape[0] != len(factors):
            return plain(init, x, *factors)
        x, xl = self._rows(x, shape, init.dtype)
        coefficients = [self._rows(f[None], shape, init.dtype) for f in factors]
        (a, al), (b, bl) = coefficients[0], coefficients[-1]
        past = self.launcher.xp.ascontiguousarray(self.launcher.xp.concatenate([init, init])[-2:])
        out = self.launcher.xp.empty((n, *shape), init.dtype)
        two = int(len(factors) == 2)
        rows = (x, lanes if xl else 1, xl)
        self._launch("filter", dtype, lanes, a, al, b, bl, two, *rows, past, out, n, lanes, n)
        return out
