"""Rows that steps sort: in C, with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(4)


def exactly(f: Any, values: Any) -> None:
    """Whether kernels sort, with the bits of the interpreter."""
    assert_same([*f(values)], [*f.unoptimized(values)])
    assert any("sort_" in str(k) and "compiled" in k.state for k in f.kernels), f.kernels


def sorted_at_each_step(dtype: str) -> Any:
    """A loop that carries a matrix, whose rows and parts are sorted."""
    x = T.TensorType(dtype, (None, None))("x")

    def step(i: Any, s: Any) -> Any:
        rows = T.sort(s - T.sort(s[i % 2, ::-1]), axis=-1)
        return [s[::-1] * 3 % 17 + rows[:, :1], T.sort(s.flatten())[2], T.sort(s[0, i % 2 :])[0]]

    found, _ = scanopt.scan(step, T.arange(5), [x, None, None])
    return scanopt.function([x], found, fp="exact", backend="c")


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8"])
def test_rows_are_sorted(dtype: str) -> None:
    f = sorted_at_each_step(dtype)
    for n in (2, 5, 16, 17, 100):
        x = (RNG.normal(size=(3, n)) * 30).astype(dtype)
        exactly(f, x)
        if dtype.startswith("float"):
            odd = np.array([np.nan, np.inf, 0.5], dtype)
            exactly(f, np.where(RNG.random(x.shape) < 0.1, RNG.choice(odd, x.shape), x))


def test_zeros_of_both_signs_and_long_rows_are_left_to_numpy() -> None:
    x = T.dvector("x")
    found, _ = scanopt.scan(lambda s: T.sort(s) * -0.5, outputs_info=x, n_steps=4)
    f = scanopt.function([x], found, fp="exact", backend="c")
    for values in (np.array([0.0, 1.0, -0.0, 3.0, 0.0]), RNG.normal(size=2000), RNG.normal(size=20)):
        exactly(f, values)
