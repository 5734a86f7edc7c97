"""Operators that are written with several others: with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(29)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis: int, dtype: str) -> None:
    x, w = T.matrix("x", dtype), T.tensor3("w", dtype)
    found, _ = scanopt.scan(lambda w, x: T.softmax(x + w, axis=axis), sequences=w, outputs_info=x)
    for shape in ((5, 40), (3, 3), (2, 200)):
        f = scanopt.function([x, w], found, fp="exact", backend="c")
        values = [RNG.normal(size=n).astype(dtype) * 3 for n in (shape, (6, *shape))]
        values[1][2, 0] = -np.inf
        exact_kernel(f, values)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8"])
def test_clip_by_arrays(dtype: str) -> None:
    x, low, high = T.vector("x", dtype), T.matrix("low", dtype), T.vector("high", dtype)
    zero = T.constant(np.dtype(dtype).type(0))

    def step(low: Any, x: Any, high: Any) -> Any:
        return T.clip(x + low, low, high) - T.clip(x, zero, high)

    found, _ = scanopt.scan(step, sequences=low, outputs_info=x, non_sequences=high)
    odd = np.array([0.0, -0.0, 1.0, -1.0, np.nan, np.inf] if dtype[0] == "f" else [0, 1, 2, 3, 4, 5])
    for n in (24, 3):
        f = scanopt.function([x, low, high], found, fp="exact", backend="c")
        exact_kernel(f, [RNG.choice(odd, shape).astype(dtype) for shape in (n, (7, n), n)])
