"""What functions mean that NumPy has elsewhere or under another name, said with NumPy and SciPy: for `corpus.plain`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

__all__ = ["FUNCTIONS", "MODULES"]

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


def softplus(x: Array) -> Array:
    return np.logaddexp(x, x.dtype.type(0))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cummax": lambda x, axis: np.maximum.accumulate(x, axis),
    "cummin": lambda x, axis: np.minimum.accumulate(x, axis),
    "cumaffine": cumaffine,
    "fill_diagonal": fill_diagonal,
    "put_along_axis": put_along_axis,
    "at": at,
    "disconnected_grad": _same,
    "zero_grad": _same,
    "grad_clip": _same,
    "specify_shape": _same,
    "sliding_window_view": np.lib.stride_tricks.sliding_window_view,
}
"""Functions of `scanopt.tensor` by name."""


MODULES: dict[str, Any] = {
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
