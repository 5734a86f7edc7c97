"""Factors that lie turned are copied only where a product of them as they lie has other bits, or takes longer."""

import time
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.compilers import compiler
from scanopt.backends.kernels.tiles import TiledProduct, ready
from scanopt.backends.kernels.turned import across, as_it_lies

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason="needs a C compiler")
RNG = np.random.default_rng(4)


def memory_of(shapes: tuple[int, int, int], dtype: str) -> int:
    """Bytes that a kernel computes in whose steps multiply transposes, left and right, after a look at its bits."""
    batch, units, inner = shapes
    u, s, W, G = (T.TensorType(dtype, (None,) * n)() for n in (3, 2, 2, 2))

    def step(u: Any, s: Any, G: Any, W: Any) -> list[Any]:
        s = T.tanh((s @ W) @ W.T + u)
        return [s, G + s.T @ u]

    (ss, Gs), _ = scanopt.scan(step, u, [s, G], non_sequences=W)
    f = scanopt.function([u, s, W, G], [ss[-1], Gs[-1]], fp="exact", backend="c")
    values = [RNG.normal(size=n).astype(dtype) for n in (
        (5, batch, units), (batch, units), (units, inner), (units, units))]  # fmt: skip
    for _ in range(2):
        for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
            np.testing.assert_array_equal(found, expected)
    return f.kernels[0].memory


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_transposes_have_the_bits_of_packed_ones(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanopt.backends.kernels.plans.better", lambda product: False)
    monkeypatch.setattr("scanopt.backends.kernels.turned._SLOWER", 1e9)
    as_it_lies.cache_clear()
    shapes = [(6, 9, 5), (2, 3, 4), (1, 7, 3), (40, 150, 170)]
    found = [memory_of(s, dtype) for s in shapes]
    monkeypatch.setattr("scanopt.backends.kernels.plans.as_it_lies", lambda product: False)
    copied = [memory_of(s, dtype) for s in shapes]
    as_it_lies.cache_clear()
    assert all(x <= y for x, y in zip(found, copied, strict=True))
    batch, units, inner = shapes[-1]
    item = np.dtype(dtype).itemsize
    left = TiledProduct(dtype, (units, batch, units), (item, units * item), (units * item, item), False)
    right = TiledProduct(dtype, (batch, inner, units), (inner * item, item), (item, inner * item), True)
    assert (found[-1] < copied[-1]) == any(map(as_it_lies, (left, right)))


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiles_of_the_columns_of_a_transpose_have_the_bits_of_packed_ones(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    while not ready():
        time.sleep(0.01)
    monkeypatch.setattr("scanopt.backends.kernels.plans.better", lambda product: False)
    monkeypatch.setattr("scanopt.backends.kernels.plans.as_it_lies", lambda product: False)
    monkeypatch.setattr("scanopt.backends.kernels.turned._SLOWER", 1e9)
    across.cache_clear()
    shapes = [(6, 9, 5), (2, 3, 4), (17, 70, 33), (8, 16, 24), (5, 41, 8), (16, 100, 96)]
    found = [memory_of(s, dtype) for s in shapes]
    monkeypatch.setattr("scanopt.backends.kernels.plans.across", lambda product: False)
    copied = [memory_of(s, dtype) for s in shapes]
    item, (batch, units, inner) = np.dtype(dtype).itemsize, shapes[-1]
    product = TiledProduct(dtype, (batch, inner, units), (inner * item, item), (item, inner * item), True)
    assert (found[-1] < copied[-1]) == across(product)
    across.cache_clear()


def test_what_may_be_a_matrix_and_itself_or_takes_long_to_try_is_copied() -> None:
    assert not as_it_lies(TiledProduct("float64", (8, 4, 8), (32, 8), (8, 32), True))
    assert not as_it_lies(TiledProduct("float64", (1 << 10, 1 << 10, 1 << 10), (8192, 8), (8, 8192), True))
