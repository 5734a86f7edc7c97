"""What functions mean that NumPy has elsewhere or under another name, said with NumPy and SciPy: for `corpus.plain`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

__all__ = ["BY_NAME", "FUNCTIONS", "MODULES"]

Array = np.ndarray[Any, Any]


class _Module:
    """Functions of some modules, the first that has one."""

    def __init__(self, *places: Any) -> None:
        self.places = places

    def __getattr__(self, name: str) -> Any:
        for place in self.places:
            found = place.get(name) if isinstance(place, dict) else getattr(place, name, None)
            if found is not None:
                return found
        raise AttributeError(name)


def cumaffine(a: Array, b: Array, axis: int = 0) -> Array:
    """y[t] = a[t] * y[t-1] + b[t], where y[-1] is 0."""
    y, last = np.empty(b.shape, np.result_type(a, b)), None
    to, of, by = (np.moveaxis(x, axis, 0) for x in (y, a, b))
    for t in range(len(by)):
        last = by[t] if last is None else of[t] * last + by[t]
        to[t] = last
    return y


def fill_diagonal(x: Array, value: Any) -> Array:
    new = x.copy()
    np.fill_diagonal(new, value)
    return new


def put_along_axis(x: Array, index: Array, value: Any, axis: int) -> Array:
    new = x.copy()
    np.put_along_axis(new, index, value, axis)
    return new


def at(x: Array, index: Any, how: str, value: Any) -> Array:
    """x.at[index].how(value)."""
    new = x.copy()
    if how == "set":
        new[index] = value
        return new
    ufunc = {"add": np.add, "multiply": np.multiply, "max": np.maximum, "min": np.minimum}[how]
    ufunc.at(new, index, np.asarray(value).astype(x.dtype))
    return new


def _same(x: Array, *_: Any) -> Array:
    return x


def specify_shape(x: Array, shape: Sequence[Any]) -> Array:
    if any(n is not None and n != m for n, m in zip(shape, x.shape, strict=True)):
        raise ValueError(f"{x.shape} is not {shape}")
    return x


def bitcast(x: Array, dtype: str) -> Array:
    """The bytes of x: more elements along a new last axis, or fewer that take it away."""
    old, new = x.dtype.itemsize, np.dtype(dtype).itemsize
    if new > old and x.shape[-1] * old != new:
        raise ValueError(f"{x.shape[-1]} elements of {old} bytes are none of {new}")
    shape = x.shape[:-1] if new > old else x.shape if new == old else (*x.shape, old // new)
    return np.frombuffer(x.tobytes(), dtype).reshape(shape)


def threefry(*words: Array) -> Array:
    """Threefry 2x32 with 20 rounds, word by word in Python integers."""
    shape = np.broadcast_shapes(*(x.shape for x in words))
    rows = zip(*(np.broadcast_to(x, shape).ravel().tolist() for x in words), strict=True)
    return np.array([_mixed(*row) for row in rows], "uint32").reshape((*shape, 2))


def _mixed(k0: int, k1: int, x0: int, x1: int) -> tuple[int, int]:
    mask, keys = 0xFFFFFFFF, (k0, k1, k0 ^ k1 ^ 0x1BD11BDA)
    a, b = (x0 + k0) & mask, (x1 + k1) & mask
    for i in range(20):
        by = (13, 15, 26, 6, 17, 29, 16, 24)[i % 8]
        a = (a + b) & mask
        b = ((b << by | b >> (32 - by)) & mask) ^ a
        if i % 4 == 3:
            n = i // 4 + 1
            a, b = (a + keys[n % 3]) & mask, (b + keys[(n + 1) % 3] + n) & mask
    return a, b


def irfft(x: Array, n: int | None = None, axis: int = -1) -> Array:
    """Of no frequencies zeros: NumPy gives memory that it has not written to."""
    found = np.fft.irfft(x, n, axis)
    return found if x.shape[axis] else np.zeros_like(found)


def hfft(x: Array, n: int | None = None, axis: int = -1) -> Array:
    found = np.fft.hfft(x, n, axis)
    return found if x.shape[axis] else np.zeros_like(found)


def softplus(x: Array) -> Array:
    return np.logaddexp(x, x.dtype.type(0))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cummax": lambda x, axis: np.maximum.accumulate(x, axis),
    "cummin": lambda x, axis: np.minimum.accumulate(x, axis),
    "cumaffine": cumaffine,
    "fill_diagonal": fill_diagonal,
    "polyval": lambda p, x: np.polyval(p, x).astype(np.result_type(p, x)),  # of no coefficients, too
    "put_along_axis": put_along_axis,
    "at": at,
    "disconnected_grad": _same,
    "zero_grad": _same,
    "grad_clip": _same,
    "specify_shape": specify_shape,
    "sliding_window_view": np.lib.stride_tricks.sliding_window_view,
}
"""Functions of `scanopt.tensor` by name."""


BY_NAME: dict[str, Any] = {
    "bitcast": bitcast,
    "threefry": threefry,
    "rules": SimpleNamespace(
        rooted=lambda x: np.sqrt(np.square(x) + x.dtype.type(1)),
        bent=lambda x, y: np.tanh(x) * y,
        turned=lambda x: np.sin(x) * np.cos(x),
    ),
}
"""What programs import by name."""


MODULES: dict[str, Any] = {
    "fft": _Module({"irfft": irfft, "hfft": hfft}, np.fft),
    "special": _Module(scipy.special),
    "linalg": _Module(
        np.linalg,
        {
            name: getattr(scipy.linalg, name)
            for name in ("expm", "cho_solve", "solve_triangular", "lu_factor", "lu_solve")
        },
    ),
    "nnet": _Module(
        {
            "softmax": lambda x, axis: scipy.special.softmax(x, axis),
            "log_softmax": lambda x, axis: scipy.special.log_softmax(x, axis),
            "softplus": softplus,
            "relu": lambda x: np.maximum(x, x.dtype.type(0)),
            "one_hot": lambda i, n: (i[..., None] == np.arange(n)).astype("float64"),
        }
    ),
}
"""Modules in `scanopt.tensor`."""
