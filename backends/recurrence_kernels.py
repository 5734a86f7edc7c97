"""Runs the operators for linear recurrences on a device, all steps in one launch, however few lanes there are.

With many lanes, each lane is a thread that runs all steps in order.  With few lanes, steps are cut into chunks, which
run in one pass (`one_pass.py`).  Where the end of a chunk differs from the start of the next one by more than a few
units in the last place, all steps are run again, one thread per lane.  That is a second launch, which returns
immediately where no chunks disagree, so the host need not wait for the answer.  Filters with fixed coefficients always
run one thread per lane, which keeps the bits of the loop.
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
from scanopt.backends.kernels.ir import NAME
from scanopt.backends.one_pass import Shape, one_pass, shape_of
from scanopt.backends.one_pass import text as one_pass_text

__all__ = ["LinearRecurrences", "text_by_lanes"]

Array = Any
THREADS, DEPTH = 128, 8
"""The threads of a block that runs lanes; the number of steps that are prefetched while earlier ones are computed."""
LEAST = 32
"""Up to this many steps are not cut into chunks."""
ENOUGH = 100_000
"""Rows of at least this many bytes keep a device busy without chunks (measured on an NVIDIA H200)."""
DTYPES = ("int32", "int64", "float32", "float64")

_START = """
#define ALL _Pragma("unroll")
extern "C" __global__ void __launch_bounds__(THREADS) {name}({arguments}int64 n, int64 lanes)
{{
    const int64 lane = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= lanes) return;
"""
_RUN = """    if (if_apart && !published[1]) return;
    a += lane * al;
    x += lane * xl;
    out += lane;
    T s = starts[lane], ga[DEPTH], gx[DEPTH];
    ALL for (int j = 0; j < DEPTH; j++) {
        ga[j] = j < n ? a[j * ar] : (T)1;
        gx[j] = j < n ? x[j * xr] : (T)0;
    }
    for (int64 t = 0; t < n; t += DEPTH) {
        T na[DEPTH], nx[DEPTH];
        ALL for (int j = 0; j < DEPTH; j++) {
            const bool in = t + DEPTH + j < n;
            na[j] = in ? a[(t + DEPTH + j) * ar] : (T)1;
            nx[j] = in ? x[(t + DEPTH + j) * xr] : (T)0;
        }
        ALL for (int j = 0; j < DEPTH; j++) {
            s = s * ga[j] + gx[j];
            if (t + j < n) out[(t + j) * lanes] = s;
            ga[j] = na[j];
            gx[j] = nx[j];
        }
    }
}
"""
_FILTER = """    const T f = a[lane * al], g = b[lane * bl];
    x += lane * xl;
    out += lane;
    T older = starts[lane], s = starts[lane + lanes], gx[DEPTH];
    ALL for (int j = 0; j < DEPTH; j++) gx[j] = j < n ? x[j * xr] : (T)0;
    for (int64 t = 0; t < n; t += DEPTH) {
        T nx[DEPTH];
        ALL for (int j = 0; j < DEPTH; j++) nx[j] = t + DEPTH + j < n ? x[(t + DEPTH + j) * xr] : (T)0;
        ALL for (int j = 0; j < DEPTH; j++) {
            T sum = s * f;
            if (two) sum = sum + older * g;
            sum = sum + gx[j];
            older = s;
            s = sum;
            if (t + j < n) out[(t + j) * lanes] = s;
            gx[j] = nx[j];
        }
    }
}
"""
_BODIES = {"run": _RUN, "filter": _FILTER}
_ARGUMENTS = {
    "run": "const T *__restrict__ a, int64 ar, int64 al, const T *__restrict__ x, int64 xr, int64 xl, "
    "const T *__restrict__ starts, T *__restrict__ out, const uint64 *published, int64 if_apart, ",
    "filter": "const T *__restrict__ a, int64 al, const T *__restrict__ b, int64 bl, int64 two, "
    "const T *__restrict__ x, int64 xr, int64 xl, const T *__restrict__ starts, T *__restrict__ out, ",
}


@cache
def text_by_lanes(what: str, dtype: str) -> str:
    """Return the CUDA text of a kernel, "run" or "filter", in which each thread runs one lane."""
    defined = f"#define THREADS {THREADS}\n#define DEPTH {DEPTH}\ntypedef {TYPES[dtype]} T;"
    return HEAD + defined + _START.format(name=NAME, arguments=_ARGUMENTS[what]) + _BODIES[what]


class LinearRecurrences:
    """The operators `linear_recurrence` and `lfilter` on one device."""

    def __init__(self, launcher: Launcher) -> None:
        self.launcher = launcher
        self._made: dict[tuple[str | Shape, str], Any] = {}

    def _function(self, what: str | Shape, dtype: str) -> Any:
        if (what, dtype) not in self._made:
            text = text_by_lanes(what, dtype) if isinstance(what, str) else one_pass_text(dtype, what)
            self._made[what, dtype] = self.launcher.load(text, True)
        return self._made[what, dtype]

    def _by_lanes(self, what: str, dtype: str, n: int, lanes: int, *args: Any) -> None:
        given = [*_numbers(*args), np.int64(n), np.int64(lanes)]
        self.launcher.launch(self._function(what, dtype), -(-lanes // THREADS), THREADS, given)

    def _rows(self, x: Array, shape: tuple[int, ...], dtype: Any) -> tuple[Array, int]:
        """Return x as contiguous rows, and whether a row has one element per lane (1) or one for all lanes (0)."""
        if x.dtype == dtype and x.shape[1:] == shape and x.flags.c_contiguous:
            return x, int(prod(shape) > 1)
        rows = aligned(x, len(shape)).astype(dtype, copy=False)
        if prod(rows.shape[1:]) != 1 or prod(shape) == 1:
            rows = self.launcher.xp.broadcast_to(rows, (rows.shape[0], *shape))
            return self.launcher.xp.ascontiguousarray(rows), int(prod(shape) > 1)
        np.broadcast_to(np.empty(rows.shape[1:]), shape)  # raises where they have more axes
        return self.launcher.xp.ascontiguousarray(rows), 0

    def recurrence(self, plain: Callable[..., Array], init: Array, a: Array, x: Array) -> Array:
        """Compute the rows: row t is a[t] * (row t - 1) + x[t].  plain: the function to call where no kernel fits."""
        dtype, shape, n = init.dtype.name, init.shape[1:], x.shape[0]
        lanes = prod(shape)
        if dtype not in DTYPES or not n or not lanes or a.shape[0] != n or init.shape[0] != 1:
            return plain(init, a, x)
        (a, al), (x, xl) = (self._rows(y, shape, init.dtype) for y in (a, x))
        out = self.launcher.xp.empty((n, *shape), init.dtype)
        start = init if init.flags.c_contiguous else self.launcher.xp.ascontiguousarray(init)
        given = _numbers(a, lanes if al else 1, al, x, lanes if xl else 1, xl, start)
        published, chunks = start, lanes * init.dtype.itemsize < ENOUGH and n > LEAST
        if chunks:
            block = shape_of(dtype, lanes)
            function = self._function(block, dtype)
            published = one_pass(self.launcher, function, block, given, out, n, lanes)
        if not chunks or dtype.startswith("float"):  # after chunks: returns at once unless two of them disagreed
            self._by_lanes("run", dtype, n, lanes, *given, out, published, int(chunks))
        return out

    def filtered(self, plain: Callable[..., Array], init: Array, x: Array, *factors: Array) -> Array:
        """Compute the rows, with the bits of the loop: row t is ((row t - 1) * a + (row t - 2) * b) + x[t]."""
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
        self._by_lanes("filter", dtype, n, lanes, a, al, b, bl, two, *rows, past, out)
        return out


def _numbers(*args: Any) -> list[Any]:
    return [np.int64(x) if isinstance(x, int) else x for x in args]
