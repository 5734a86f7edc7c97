"""Functions of scipy.special in kernels: SciPy's own loops, with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
import scipy.special
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T
from scanopt.array.operators.special import ARGUMENTS, SPECIAL

RNG = np.random.default_rng(7)
ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1.0, 0.5, 2.0, 1e300]
NAMES = sorted(set(SPECIAL) - {"zeta"})
"""All of them but one that is no ufunc in SciPy."""


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8"])
def test_all_functions(dtype: str) -> None:
    x = T.matrix("x", dtype)
    found, _ = scanopt.scan(lambda r: [SPECIAL[name](*[r + i for i in range(ARGUMENTS[name])]) for name in NAMES], x)
    f = scanopt.function([x], found, fp="exact", backend="c")
    with np.errstate(all="ignore"):
        values = np.where(RNG.random((6, 9)) < 0.4, RNG.choice(ODD, (6, 9)), RNG.normal(size=(6, 9)) * 3).astype(dtype)
    exact_kernel(f, [values])
    for shape in ((0, 9), (6, 0)):
        assert all(y.shape == shape for y in f(np.zeros(shape, dtype)))


def test_in_loops_with_numbers_and_vectors() -> None:
    x, a, n = T.dvector("x"), T.dscalar("a"), T.lscalar("n")

    def step(x: Any, a: Any) -> Any:
        return [T.erf(x) + T.gammaln(a + x[::-1] ** 2), T.erfc(a) * T.gammainc(2, T.exp(a)) + x[0]]

    found, _ = scanopt.scan(step, outputs_info=[x, a], n_steps=n)
    f = scanopt.function([x, a, n], found, fp="exact", backend="c")
    for size, steps in ((7, 9), (1, 1), (7, 0)):
        values = RNG.normal(size=size), 0.3, steps
        for y, z in zip(f(*values), f.unoptimized(*values), strict=True):
            np.testing.assert_array_equal(y, z)


def test_where_scipy_is_told_to_raise_array_steps_run() -> None:
    x = T.dvector("x")
    f = scanopt.function([x], scanopt.scan(T.gammaln, outputs_info=x, n_steps=3)[0], backend="c")
    for _ in range(3):
        f(np.ones(5))
        with scipy.special.errstate(all="raise"):
            np.testing.assert_array_equal(f(-np.ones(5)), np.full((3, 5), np.inf))
