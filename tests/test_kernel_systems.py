"""Small systems and inverses, which kernels write out, have the bits of LAPACK."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel
from test_kernels import assert_same

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


@pytest.mark.share(3)
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


@pytest.mark.share(2)
@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_stacks_of_systems(n: int, dtype: str) -> None:
    """Written out, or by one call; a vector for each matrix, too."""
    a, b, v = (T.TensorType(dtype, (None,) * k)(name) for k, name in ((3, "a"), (3, "b"), (2, "v")))
    square = T.matmul(a, T.swapaxes(a, 1, 2)) + 3 * T.eye(n, dtype=dtype)
    outs = [
        T.linalg.inv(a) * 2.0, T.linalg.solve(a, b), T.linalg.solve(a, v[..., None])[..., 0], T.linalg.det(a),
        T.linalg.cholesky(square),
    ]  # fmt: skip
    f = scanopt.function([a, b, v], outs, fp="exact", backend="c")
    for count in (1, 2, 11):
        given = [RNG.normal(size=(count, n, k)).astype(dtype) for k in (n, 3)]
        given.append(RNG.normal(size=(count, n)).astype(dtype))
        assert_same(f(*given), f.unoptimized(*given))
    assert all("compiled" in k.state for k in f.kernels), [k.state for k in f.kernels]
    with pytest.raises(np.linalg.LinAlgError):
        f(np.zeros((4, n, n), dtype), np.ones((4, n, 2), dtype), np.ones((4, n), dtype))


def test_stacks_of_several_axes() -> None:
    a, b = T.TensorType("float64", (None,) * 4)("a"), T.TensorType("float64", (None,) * 4)("b")
    f = scanopt.function([a, b], [T.linalg.solve(a, b), T.linalg.inv(a)], fp="exact", backend="c")
    for n in (2, 6):
        for lead in ((3, 4), (1, 5), (2, 1)):
            given = [RNG.normal(size=(*lead, n, k)) for k in (n, 2)]
            assert_same(f(*given), f.unoptimized(*given))
    given = [RNG.normal(size=(1, 4, 2, 2)), RNG.normal(size=(3, 4, 2, 2))]
    assert_same(f(*given), f.unoptimized(*given))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_determinants_and_their_logarithms(dtype: str) -> None:
    x = T.tensor4("x", dtype=dtype)

    def step(x: Any) -> list[Any]:
        sign, size = T.linalg.slogdet(x)
        one = T.linalg.slogdet(x[0])
        return [sign, size, one.sign * one.logabsdet, T.linalg.det(x)]

    found, _ = scanopt.scan(step, sequences=x)
    values = RNG.normal(size=(5, 2, 3, 3)).astype(dtype)
    values[1, 0] = 0.0
    exact_kernel(scanopt.function([x], found, fp="exact", backend="c"), [values])


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_systems_of_complex_numbers(dtype: str) -> None:
    x, y = T.tensor3("x", dtype=dtype), T.vector("y", dtype=dtype)

    def step(x: Any, y: Any) -> list[Any]:
        return [T.linalg.solve(x, y), T.linalg.inv(x), T.linalg.det(x)]

    found, _ = scanopt.scan(step, sequences=x, outputs_info=[y, None, None])
    f = scanopt.function([x, y], found, fp="exact", backend="c")
    values = [(RNG.normal(size=n) + 1j * RNG.normal(size=n)).astype(dtype) for n in ((4, 3, 3), (3,))]
    exact_kernel(f, values)
    values[0][2] = 0
    with pytest.raises(np.linalg.LinAlgError):
        f(*values)


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_decompositions(dtype: str) -> None:
    """They have the bits of np.linalg, and where it raises an error or gives NaN, so does the loop."""

    def step(m: Any, last: Any) -> Any:
        m = m * last
        square = m @ m.T
        found = [*T.linalg.eigh(square), *T.linalg.eigh(square, UPLO="U"), *T.linalg.qr(m), T.linalg.svdvals(m)]
        found += [T.linalg.eigvalsh(square), T.linalg.eigvalsh(square, UPLO="U"), *T.linalg.svd(m)]
        return [T.tanh(m[0, 0]), *found, *T.linalg.svd(m, full_matrices=False)]

    a = T.TensorType(dtype, (None, None, None))("a")
    one = T.constant(np.array(1, dtype))
    f = scanopt.function([a], scanopt.scan(step, a, [one] + [None] * 15)[0], fp="exact", backend="c")
    for shape in ((2, 3, 3), (2, 4, 2), (1, 2, 4)):
        x = RNG.normal(size=shape).astype(dtype)
        assert_same(f(x), f.unoptimized(x))
    assert not any("array steps" in str(k.state) for k in f.kernels)
    with pytest.raises(np.linalg.LinAlgError):
        f(np.full((2, 2, 2), np.nan, dtype))
