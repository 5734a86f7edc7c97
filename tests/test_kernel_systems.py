"""Small systems and inverses, which kernels write out, have the bits of LAPACK."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.eliminations import way_of

RNG = np.random.default_rng(7)


def _matrix(n: int, kind: int) -> Any:
    """A matrix of ordinary elements, of all sizes, of small integers and zeros of both signs, or symmetric."""
    x = RNG.normal(size=(n, n))
    if kind == 1:
        return x * 10.0 ** RNG.integers(-8, 9, x.shape)
    if kind == 2:
        found = RNG.integers(-2, 3, x.shape) * RNG.choice([1.0, -0.0, 1.0], x.shape)
        return found if np.linalg.matrix_rank(found) == n else x
    return x @ x.T if kind == 3 else x


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_small_systems_have_the_bits_of_lapack(n: int, columns: int) -> None:
    """And are written out, where it is known how NumPy solves."""
    a, b = T.TensorType("float64", (n, n))("a"), T.TensorType("float64", (n,))("b")
    c = T.TensorType("float64", (n, columns))("c")
    f = scanopt.function(
        [a, b, c], [T.linalg.inv(a), T.linalg.solve(a, b), T.linalg.solve(a, c)], fp="exact", backend="c"
    )
    for i in range(80):
        right = RNG.normal(size=n) if i % 2 else RNG.integers(-1, 2, n) * RNG.choice([1.0, -0.0], n)
        text = exact_kernel(f, [_matrix(n, i % 4), right, RNG.integers(-1, 2, (n, columns)) * 1.0])
    assert way_of(True, n, 0) is None or "e-1022" in text or "p-1022" in text


def _inverses(a: Any) -> Any:
    """The inverse of each matrix, less those before."""
    x, _ = scanopt.scan(lambda m, x: T.linalg.inv(m + x * 0.0), sequences=a, outputs_info=T.zeros((2, 2)))
    return scanopt.function([a], x, fp="exact", backend="c")


def test_where_there_is_no_solution_array_steps_say_so() -> None:
    a = T.TensorType("float64", (None, 2, 2))("a")
    f = _inverses(a)
    good = np.array([np.eye(2), [[0.0, 1.0], [2.0, 0.0]]])
    np.testing.assert_array_equal(f(good), f.unoptimized(good))
    assert "1 of 1 kernels" in str(f.kernels[0])
    for bad in ([[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 1.0]]):
        with pytest.raises(np.linalg.LinAlgError):
            f(np.array([np.eye(2), bad]))


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan, 1e-310, 1e308, 5e-324])
def test_numbers_out_of_the_ordinary_are_left_to_lapack(odd: float) -> None:
    """Tiny pivots, infinities and NaN at any place."""
    a, b = T.TensorType("float64", (None, 2, 2))("a"), T.TensorType("float64", (None, 2))("b")
    outs, _ = scanopt.scan(
        lambda m, v, x: [T.linalg.solve(m, v - x), T.linalg.inv(m)], sequences=[a, b], outputs_info=[T.zeros(2), None]
    )
    f = scanopt.function([a, b], outs, fp="exact", backend="c")
    for place in range(4):
        m = np.array([[[2.0, 1.0], [1.0, 3.0]]] * 2)
        m[1].flat[place] = odd
        try:
            expected = f.unoptimized(m, np.ones((2, 2)))
        except np.linalg.LinAlgError:
            with pytest.raises(np.linalg.LinAlgError):
                f(m, np.ones((2, 2)))
            continue
        for x, y in zip(f(m, np.ones((2, 2))), expected, strict=True):
            np.testing.assert_array_equal(x, y)
