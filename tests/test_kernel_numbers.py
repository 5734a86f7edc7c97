"""Numbers: those that calls are given, and those that kernels have in their text."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(23)
ODD = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan]
SCALARS = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float32", "float64"]


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_extremes_of_numbers(dtype: str) -> None:
    x = T.vector("x", dtype)
    for b in ODD:
        number = T.constant(np.dtype(dtype).type(b))
        rows = [T.maximum(x, number), T.minimum(x, number), T.maximum(number, x), T.minimum(number, x)]
        f = scanopt.function(
            [x], T.stack([*rows, T.maximum(x, x[::-1]), T.minimum(x, x[::-1])]), fp="exact", backend="c"
        )
        exact_kernel(f, [np.array([*ODD, *RNG.normal(size=30)], dtype)])


@pytest.mark.parametrize("dtype", SCALARS)
def test_numbers_of_numpy_are_taken_as_they_are(dtype: str) -> None:
    x, n = T.scalar("x", dtype), T.lscalar("n")
    found, _ = scanopt.scan(lambda s: T.where(T.eq(s, x), s, x), outputs_info=x, n_steps=n)
    f = scanopt.function([x, n], found[-1], backend="c")
    number = np.dtype(dtype).type(1)
    for value in (number, np.array(number), number):
        for _ in range(3):
            assert f(value, np.int64(7)) == number
    assert f.kernels[0].state.endswith("1 of 1 kernels compiled")


def test_whole_numbers_stand_for_floats() -> None:
    x, n = T.dscalar("x"), T.lscalar("n")
    found, _ = scanopt.scan(lambda s: s * 0.5, outputs_info=x, n_steps=n)
    f = scanopt.function([x, n], found[-1], backend="c")
    for value in (3, -3, 3.0, 2**53, 0):
        for _ in range(3):
            assert f(value, 2) == value / 4


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_integers_stand_in_the_text(dtype: str) -> None:
    x, n = T.vector("x", dtype), T.lscalar("n")

    def step(s: Any) -> Any:
        three, far = (T.constant(np.dtype(dtype).type(k)) for k in (3, 100))
        return ((s << three) ^ (s >> three)) % far + s // three - (s << far)

    found, _ = scanopt.scan(step, outputs_info=x, n_steps=n)
    f = scanopt.function([x, n], found, fp="exact", backend="c")
    text = exact_kernel(f, [RNG.integers(-100 if dtype[0] == "i" else 0, 100, 20).astype(dtype), 9])
    assert "right_shift" in text
    last, _ = scanopt.reduce(lambda x, s: (s * s - x) % T.constant(np.dtype(dtype).type(7)), x, T.zeros((), dtype))
    exact_kernel(scanopt.function([x], [last], fp="exact", backend="c"), [np.arange(90).astype(dtype)])
