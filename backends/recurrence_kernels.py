"""Linear recurrences on a device, one launch for all steps, however few lanes there are.

With few lanes, steps are cut into chunks, which are run in one pass (`one_pass.py`).  Where the end of a chunk is not
the start of the next one, up to a few units in the last place, all steps are run one after the other, as with many
lanes: each is a thread.  So are filters with fixed coefficients, which keep the bits of the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from scanopt.array.numerics.running import aligned
from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.cuda_operations import HEAD
from scanopt.backends.kernels.device_plans import Launcher
from scanopt.backends.kernels.print_c import NAME
from scanopt.backends.one_pass import STEPS, one_pass, text

__all__ = ["LinearRecurrences", "texts"]

Array = Any
THREADS = 128
ENOUGH = 1 << 16
"""So many lanes keep a device busy without chunks."""
DTYPES = ("int32", "int64", "float32", "float64")

_START = """
extern "C" __global__ void __launch_bounds__({threads}) {name}({arguments}int64 n, int64 lanes)
{{
    const int64 lane = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= lanes) return;
"""
_RUN = """    {T} s = starts[lane];
    for (int64 t = 0; t < n; t++) {{
        s = s * a[t * ar + lane * al] + x[t * xr + lane * xl];
        out[t * lanes + lane] = s;
    }}
}}
"""
_FILTER = """    {T} older = starts[lane], s = starts[lane + lanes];
    for (int64 t = 0; t < n; t++) {{
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
    "run": _GIVEN + "const {T} *__restrict__ starts, {T} *__restrict__ out, ",
    "filter": "const {T} *__restrict__ a, int64 al, const {T} *__restrict__ b, int64 bl, int64 two, "
    "const {T} *__restrict__ x, int64 xr, int64 xl, const {T} *__restrict__ starts, {T} *__restrict__ out, ",
}
_BODIES = {"run": _RUN, "filter": _FILTER}


@cache
def texts(dtype: str) -> dict[str, str]:
    """The CUDA texts of a dtype: what does it in one pass, what runs a lane by a thread, what filters."""
    t = TYPES[dtype]
    return {"one pass": text(dtype)} | {
        what: HEAD + (_START + body).format(T=t, threads=THREADS, name=NAME, arguments=_ARGUMENTS[what].format(T=t))
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
        start = self.launcher.xp.ascontiguousarray(init[0])
        if lanes < ENOUGH and n > STEPS:
            apart = one_pass(self.launcher, self._function("one pass", dtype), given, start, out, n, lanes)
            if dtype.startswith("int") or not int(apart[0]):
                return out
        self._launch("run", dtype, lanes, *given, start, out, n, lanes)
        return out

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
        self._launch("filter", dtype, lanes, a, al, b, bl, two, *rows, past, out, n, lanes)
        return out
