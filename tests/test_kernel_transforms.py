"""Discrete Fourier transforms in kernels, with the bits of np.fft."""

from typing import Any

import numpy as np
import pytest
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.compilers import compiler

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason=f"needs a compiler: {compiler()}")
RNG = np.random.default_rng(12)


def check(f: Any, *values: Any) -> None:
    found, expected = f(*values), f.unoptimized(*values)
    assert_same(*(x if isinstance(x, list) else [x] for x in (found, expected)))
    assert all("kernels compiled" in k.state for k in f.kernels), f.kernels


@pytest.mark.share(2)
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("dtype", ["complex128", "float64", "int64"])
def test_rows_and_columns_of_matrices(dtype: str, norm: str | None) -> None:
    x = T.tensor3("x", dtype=dtype)

    def step(x: Any) -> list[Any]:
        halves = [T.fft.rfft(x, norm=norm)] if dtype != "complex128" else [T.fft.irfft(x, axis=0, norm=norm)]
        return [T.fft.fft(x, norm=norm), T.fft.ifft(x, axis=0, norm=norm), T.fft.fft2(x[:, ::-1], norm=norm), *halves]

    found, _ = scanopt.scan(step, sequences=x)
    for fp in ("exact", "reassoc"):
        f = scanopt.function([x], found, fp=fp, backend="c")
        for shape in ((2, 4, 5), (2, 9, 8)):
            values = RNG.integers(-9, 9, shape) if dtype == "int64" else RNG.normal(size=shape)
            check(f, values + 1j * RNG.normal(size=shape) if dtype == "complex128" else values)


def test_a_wave_by_steps_in_both_domains() -> None:
    p, v, k = T.zvector("p"), T.zvector("v"), T.zvector("k")
    found, _ = scanopt.scan(lambda p, v, k: v * T.fft.ifft(k * T.fft.fft(v * p)), None, p, [v, k], n_steps=20)
    f = scanopt.function([p, v, k], found[-1], fp="exact", backend="c")
    for n in (8, 15):
        x = np.linspace(-3, 3, n)
        check(f, np.exp(-(x**2)) + 0j, np.exp(-0.1j * x**2), np.exp(-0.1j * np.fft.fftfreq(n) ** 2))
        assert f(*np.ones((3, n), complex)).shape == (n,)


def test_single_precision_and_other_numbers_of_points_are_array_steps() -> None:
    for dtype, points in (("complex64", None), ("complex128", 5)):
        x = T.matrix("x", dtype=dtype)
        found, _ = scanopt.scan(lambda x, points=points: T.tanh(T.fft.fft(x, points)) * 2, sequences=x)
        f = scanopt.function([x], found, fp="exact", backend="c")
        values = (RNG.normal(size=(3, 8)) + 1j * RNG.normal(size=(3, 8))).astype(dtype)
        assert_same([f(values)], [f.unoptimized(values)])
        assert not any("1 of 1 kernels" in k.state and "fft" in str(k) for k in f.kernels)
