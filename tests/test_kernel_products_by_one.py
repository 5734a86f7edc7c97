"""Products of which a factor has one element have the bits of `np.dot` in kernels: it multiplies, and adds nothing.

Products of integers have its bits, too, written out where they are small.
"""

import itertools
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

SPECIAL = (0.0, -0.0, 1.0, -1.5, np.inf, np.nan)
SHAPES = [
    ((1,), (1,)),
    ((1,), (1, 3)),
    ((1, 1), (1, 3)),
    ((3, 1), (1,)),
    ((3, 1), (1, 1)),
    ((1, 1), (1, 1)),
    ((1, 40), (40, 1)),
]


def _values(shape: tuple[int, ...], first: float, dtype: str) -> Any:
    rest = np.resize(np.array([first, *SPECIAL]), int(np.prod(shape)))
    return rest.reshape(shape).astype(dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_products_by_one_number(left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> None:
    xs = T.TensorType(dtype, (None,) * (len(left) + 1))("xs")
    M = T.TensorType(dtype, (None,) * len(right))("M")
    products, _ = scanopt.scan(lambda x, M: T.dot(x, M), xs, None, M)
    f = scanopt.function([xs, M], products, fp="exact", backend="c")
    for a, b in itertools.product(SPECIAL, repeat=2):
        rows = np.stack([_values(left, a, dtype), _values(left, -a, dtype)])
        found, expected = f(rows, _values(right, b, dtype)), f.unoptimized(rows, _values(right, b, dtype))
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(expected[known]))
    assert any("compiled" in k.state for k in f.kernels)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_state_of_one_element() -> None:
    x, a = T.dmatrix("x"), T.TensorType("float64", (1, 1))("a")
    states, _ = scanopt.scan(lambda s, a: T.dot(a, s), None, x, a, n_steps=5)
    f = scanopt.function([x, a], states, fp="exact", backend="c")
    for n, value, by in itertools.product((1, 3), SPECIAL, SPECIAL):
        start, factor = np.full((1, n), value), np.full((1, 1), by)
        found, expected = f(start, factor), f.unoptimized(start, factor)
        np.testing.assert_array_equal(found, expected)
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(expected[known]))


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint64"])
@pytest.mark.parametrize("length", [None, 2])
def test_products_of_integers(dtype: str, length: int | None) -> None:
    xs, A = T.TensorType(dtype, (None, length))("xs"), T.TensorType(dtype, (length, length))("A")

    def step(x: Any, s: Any, A: Any) -> list[Any]:
        return [T.dot(A, s) + A, T.dot(A, x), T.dot(x, s), T.dot(x, x), T.dot(A.T, s[::-1])]

    found, _ = scanopt.scan(step, xs, [A, None, None, None, None], A)
    f = scanopt.function([xs, A], found, fp="exact", backend="c")
    draw = np.random.default_rng(5)
    for n in (1, 2, 3, 9, 33) if length is None else (2,):
        values = [draw.integers(0, 100, shape).astype(dtype) for shape in ((4, n), (n, n))]
        for x, y in zip(f(*values), f.unoptimized(*values), strict=True):
            np.testing.assert_array_equal(x, y)
    assert all("compiled" in k.state for k in f.kernels)


PARTS = {
    "vector by matrix": lambda A, B, v, i: T.dot(v[:i], B[:i]),
    "matrix by vector": lambda A, B, v, i: T.dot(A[:, :i], v[:i]),
    "vectors": lambda A, B, v, i: T.dot(v[:i], v[1:][:i]),
    "squares": lambda A, B, v, i: T.dot(A[:i, :i], B[:i, :i]).sum(),
    "row by matrix": lambda A, B, v, i: T.dot(A[:1, :i], B[:i]),
    "matrix by column": lambda A, B, v, i: T.dot(A[:, i:], B[i:, :1]),
    "columns by rows": lambda A, B, v, i: T.dot(A[:, i : i + 1], B[i : i + 1]),
    "columns by part of rows": lambda A, B, v, i: T.dot(A[:, :i], B[:i]),
    "columns by all rows": lambda A, B, v, i: T.dot(A[:i].T, B[:i]),
}
"""Products of parts whose lengths steps decide, each of which is 1 at some step."""


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", PARTS)
def test_parts_that_have_one_element_at_some_step(name: str, dtype: str) -> None:
    A, B = T.TensorType(dtype, (None, None))("A"), T.TensorType(dtype, (None, None))("B")
    v, n = T.TensorType(dtype, (None,))("v"), T.lscalar("n")
    found, _ = scanopt.scan(lambda i: PARTS[name](A, B, v, i), T.arange(n) + 1)
    f = scanopt.function([A, B, v, n], found, fp="exact", backend="c", on_unused_input="ignore")
    draw = np.random.default_rng(0)

    def drawn(share: float, *shape: int) -> Any:
        x = draw.normal(size=shape) + (1j * draw.normal(size=shape) if dtype.startswith("complex") else 0)
        special = draw.choice(SPECIAL, shape)
        return np.where(draw.random(shape) < share, special, x).astype(dtype)

    for size, share in itertools.product((2, 17), (0.0, 0.3, 0.6)):
        values = [drawn(share, *shape) for shape in ((size + 2, size + 2), (size + 2, size + 2), (size + 2,))]
        values.append(np.asarray(min(size, 9)))
        with np.errstate(all="ignore"):
            x, y = f(*values), f.unoptimized(*values)
        for part in (np.real, np.imag):
            np.testing.assert_array_equal(part(x), part(y))
            known = ~np.isnan(part(y))
            np.testing.assert_array_equal(np.signbit(part(x)[known]), np.signbit(part(y)[known]))
    assert dtype.startswith("complex") or any("compiled" in k.state for k in f.kernels)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_columns_by_rows(dtype: str) -> None:
    """`np.dot` calls BLAS for them, the loop of matmul does not, and the two round otherwise."""
    A, B = T.TensorType(dtype, (None, None))("A"), T.TensorType(dtype, (None, None))("B")
    f = scanopt.function([A, B], [T.dot(A, B), T.tanh(A).sum()], fp="exact", backend="c")
    draw = np.random.default_rng(0)
    for m, k, n in itertools.product((1, 3, 65), (1, 2), (1, 4, 17)):
        values = [(draw.normal(size=s) + 1j * draw.normal(size=s)).astype(dtype) for s in ((m, k), (k, n))]
        np.testing.assert_array_equal(f(*values)[0], f.unoptimized(*values)[0])
