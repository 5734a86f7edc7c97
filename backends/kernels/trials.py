"""Helpers of trials: products by NumPy's inner loop, for elements by which orders of additions and rounding differ."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from scanopt.backends.kernels.numpy_loops import inner_loop

__all__ = ["PlainProduct", "call_of", "least_seconds", "matrix_of", "same_bits", "values_of"]

_TRIES = 5
"""The number of runs by which each way is timed."""
_SUMS = 64
"""The least number of sums of ordinary numbers: few products, added in another order, mostly have the same sum."""


def values_of(dtype: str, dims: tuple[int, int, int], seed: int = 0) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of matrices: with elements of all sizes, tiny ones, zeros, infinities and NaN.  dims: m, k and n.

    Without a seed there are more pairs of small matrices, whose products have few elements.
    """
    rng = np.random.default_rng(seed)
    m, k, n = dims
    tiny = float(np.finfo(dtype).tiny) ** 0.5

    def normal(shape: tuple[int, int], spread: int = 0) -> Any:
        return (rng.normal(size=shape) * 10.0 ** rng.integers(-spread, spread + 1, shape)).astype(dtype)

    yield normal((m, k)), normal((k, n))
    yield normal((m, k), 3), normal((k, n), 3)
    yield (normal((m, k), 2) * tiny).astype(dtype), (normal((k, n), 2) * tiny).astype(dtype)
    odd = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], dtype)
    yield rng.choice(odd, (m, k)), normal((k, n))
    yield normal((m, k)), rng.choice(odd, (k, n))
    yield rng.choice(odd[:4], (m, k)), rng.choice(odd[:4], (k, n))
    yield np.full((m, k), -0.0, dtype), abs(normal((k, n)))
    yield np.full((m, k), tiny**1.9, dtype), -abs(normal((k, n))) * np.full((k, n), tiny, dtype)
    for _ in range(0 if seed else _SUMS // (m * n)):
        yield normal((m, k)), normal((k, n))


class PlainProduct:
    """Memory for two matrices and their product by NumPy's loop.  dims: m, k and n; left, right: strides in bytes."""

    def __init__(self, dtype: str, dims: tuple[int, int, int], left: tuple[int, int], right: tuple[int, int]) -> None:
        m, k, n = dims
        item = np.dtype(dtype).itemsize
        self.a, self.b = matrix_of(dtype, (m, k), left), matrix_of(dtype, (k, n), right)
        self.out = np.empty((m, n), dtype)
        slots = inner_loop("matmul", (dtype,) * 3)
        assert slots is not None
        matmul, data = slots
        strides = (0, 0, 0, *left, *right, n * item, item)
        self.plain = call_of(matmul, (self.a, self.b, self.out), (1, m, k, n), strides, data)

    def product(self, a: Any, b: Any) -> Any:
        """Compute the product of two matrices by NumPy's loop."""
        self.put(a, b)
        self.plain()
        return self.out.copy()

    def put(self, a: Any, b: Any) -> None:
        """Set both matrices."""
        with np.errstate(all="ignore"):
            self.a[...], self.b[...] = a, b


def same_bits(x: Any, y: Any) -> bool:
    """Whether arrays of one dtype have the same bits; NaNs count as equal."""
    same = x.view(f"u{x.itemsize}") == y.view(f"u{y.itemsize}")
    return bool(np.all(same | (np.isnan(x) & np.isnan(y))))


def least_seconds(way: Callable[[], None]) -> float:
    """The least seconds that a function takes in some runs."""
    found = []
    for _ in range(_TRIES):
        start = perf_counter()
        way()
        found.append(perf_counter() - start)
    return min(found)


def matrix_of(dtype: str, shape: tuple[int, int], strides: tuple[int, int]) -> Any:
    """Allocate a matrix with these strides, in bytes."""
    item = np.dtype(dtype).itemsize
    size = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + item
    memory = np.zeros(-(-size // item), dtype)
    return np.lib.stride_tricks.as_strided(memory, shape, strides)


def call_of(
    function: int, arrays: Sequence[Any], dims: Sequence[int], strides: Sequence[int], data: int = 0
) -> Callable[[], None]:
    """Bind an inner loop to its arguments; return a function that calls it."""
    made = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(function)
    places, given = array("Q", [x.ctypes.data for x in arrays]), (array("q", dims), array("q", strides))

    def call() -> None:
        moved = places[:]  # SciPy's loops count these up
        made(moved.buffer_info()[0], *(x.buffer_info()[0] for x in given), data)

    return call
