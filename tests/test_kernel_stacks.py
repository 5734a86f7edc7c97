"""Products of stacks of matrices, and linear algebra on one matrix: with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from test_kernel_searches import exactly

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(23)


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_products_of_stacks(dtype: str) -> None:
    s, m, v, n = T.tensor3("s", dtype), T.matrix("m", dtype), T.vector("v", dtype), T.lscalar("n")
    w = T.TensorType(dtype, (None, None, None, None))("w")

    def step(s: Any, m: Any, v: Any, w: Any) -> Any:
        found = [T.matmul(s, m), T.matmul(m, s[:, ::-1]), T.matmul(w, s), T.matmul(s.transpose((0, 2, 1)), w[0])]
        return [T.matmul(s, s) % 7 - m, T.matmul(s, v), T.matmul(v, w), *found]

    found, _ = scanopt.scan(step, outputs_info=[s, *(None,) * 6], non_sequences=[m, v, w], n_steps=n)
    f = scanopt.function([s, m, v, w, n], found, fp="exact", backend="c")
    for stack, more, k, steps in ((3, 2, 4, 3), (1, 2, 9, 2), (2, 1, 1, 2), (5, 1, 40, 2), (3, 2, 4, 0)):
        shapes = [(stack, k, k), (k, k), (k,), (more, stack, k, k)]
        exactly(f, [*((RNG.normal(size=x) * 4).astype(dtype) for x in shapes), steps])
    for shapes in ([(0, 3, 3), (3, 3), (3,), (2, 1, 3, 3)], [(2, 0, 0), (0, 0), (0,), (2, 2, 0, 0)]):
        exactly(f, [*(np.ones(x, dtype) for x in shapes), 2])
    with pytest.raises(ValueError, match="broadcast"):
        f(*(np.ones(x, dtype) for x in [(3, 4, 4), (3, 4), (4,), (2, 3, 4, 4)]), 2)


def test_gradient_through_products_of_stacks() -> None:
    s, m = T.dtensor3("s"), T.dmatrix("m")
    found, _ = scanopt.scan(lambda s, m: T.tanh(T.matmul(s, T.matmul(s, m))), None, s, m, n_steps=3)
    f = scanopt.function([s, m], T.grad((found[-1] ** 2).sum(), [s, m]), fp="exact", backend="c")
    exactly(f, [RNG.normal(size=(3, 4, 4)), RNG.normal(size=(4, 4))])


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_systems_and_factors(dtype: str) -> None:
    m, v, n, r = T.matrix("m", dtype), T.vector("v", dtype), T.lscalar("n"), T.matrix("r", dtype)
    L = T.linalg

    def step(v: Any, r: Any, m: Any) -> Any:
        low = L.cholesky(T.dot(m, m.T) + r[:, :1] ** 2 * T.eye(m.shape[0], dtype=dtype))
        factors = L.lu_factor(m + v)
        half = L.solve_triangular(low, r, lower=True)
        both = L.solve_triangular(m.T, v, lower=False, trans=1, unit_diagonal=True)
        found = L.cho_solve((low, True), v) + L.cho_solve((low.T, False), r[:, 0]) + both * 0.125
        return [
            L.lu_solve(factors, v) + T.tanh(found), half + L.lu_solve(factors, r, trans=1), L.det(m * v), low, factors
        ]  # fmt: skip

    found, _ = scanopt.scan(step, outputs_info=[v, r, None, None, None], non_sequences=m, n_steps=n)
    f = scanopt.function([v, r, m, n], found, fp="exact", backend="c")
    loose = scanopt.function([v, r, m, n], found, backend="c")
    for k, columns, steps in ((3, 2, 3), (1, 1, 3), (9, 1, 2), (40, 5, 2), (3, 2, 0)):
        values = [RNG.normal(size=x).astype(dtype) for x in ((k,), (k, columns), (k, k))]
        values[2] += 9 * np.eye(k, dtype=dtype)
        exactly(f, [*values, steps])
        for x, y in zip(loose(*values, steps), f(*values, steps), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4)
    with pytest.raises(np.linalg.LinAlgError):
        f(*(np.zeros(x, dtype) for x in ((3,), (3, 2), (3, 3))), 2)


def test_singular_factors() -> None:
    """Of zeros on the diagonal array steps report; NaN is no zero."""
    f, v = T.dmatrix("f"), T.dvector("v")
    found, _ = scanopt.scan(lambda v, f: T.linalg.lu_solve(f, v), outputs_info=v, non_sequences=f, n_steps=2)
    solved = scanopt.function([f, v], found, fp="exact", backend="c")
    good = T.linalg.lu_factor(RNG.normal(size=(3, 3))).eval()
    odd = good.copy()
    odd[1, 1], odd[3] = np.nan, [7, -3, np.nan]  # pivots that are none
    for factors in (good, odd):
        exactly(solved, [factors, RNG.normal(size=3)])
    good[1, 1] = 0
    with pytest.raises(np.linalg.LinAlgError):
        solved(good, RNG.normal(size=3))


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_convolutions(dtype: str) -> None:
    x, y, n = T.vector("x", dtype), T.vector("y", dtype), T.lscalar("n")
    found, _ = scanopt.scan(
        lambda x, y: [T.convolve(x, y[::-1])[: x.shape[0]] % 9 - 1, T.convolve(y, x, mode="same")],
        outputs_info=[x, None], non_sequences=y, n_steps=n,
    )  # fmt: skip
    f = scanopt.function([x, y, n], found, fp="exact", backend="c")
    for k, m, steps in [(9, 4, 2), (4, 9, 2), (40, 11, 3), (40, 12, 3), (30, 30, 2), (12, 1, 2), (1, 1, 2), (9, 4, 0)]:
        exactly(f, [*((RNG.normal(size=i) * 9).astype(dtype) for i in (k, m)), steps])
    for k, m in ((0, 3), (0, 1)):
        exactly(f, [np.ones(k, dtype), np.ones(m, dtype), 2])
