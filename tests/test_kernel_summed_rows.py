"""Rows that a loop keeps for products that add them up are added up in its steps: the same bits, and little memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.prices import KERNELS
from scanopt.backends.kernels.sum_orders import order_of
from scanopt.backends.kernels.tile_sums import order_number
from scanopt.backends.kernels.tiles import TiledProduct, address, ready
from scanopt.backends.kernels.trials import call_of

RNG = np.random.default_rng(0)


def sums(dtype: str) -> tuple[list[Any], list[Any]]:
    """Sums of the rows of a loop times those of an array: on both sides, two at once, of several rows a step."""
    s, x, X = (T.TensorType(dtype, (None,) * n)(name) for n, name in enumerate("sxX", 1))
    u, S = (T.TensorType(dtype, (None, None))(name) for name in "uS")

    def step(x: Any, s: Any, u: Any) -> list[Any]:
        made = s * x
        return [T.tanh(x + made @ u), made]

    (_, rows), _ = scanopt.scan(step, x, [s, None], u)
    (_, more), _ = scanopt.scan(step, X, [S, None], u)
    return [x, s, u, X, S], [
        T.tensordot(rows, x, axes=(0, 0)),
        T.tensordot(rows, x[::-1], axes=(0, 0)) + T.tensordot(x, rows, axes=(0, 0)),
        T.tensordot(X[::-1], more, axes=((0, 1), (0, 1))),
    ]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sums_have_the_bits_of_products(dtype: str) -> None:
    """Of lengths below and above those of the blocks in which BLAS adds up, and with columns that fill no register."""
    ready(seconds=60)
    inputs, outputs = sums(dtype)
    f = scanopt.function(inputs, outputs, fp="exact", backend="c", adapt=False)
    for n, batch, m in [(5, 2, 12), (400, 3, 33)]:
        given = [RNG.normal(size=k).astype(dtype) for k in ((n, m), (m,), (m, m), (n, batch, m), (batch, m))]
        for a, b in zip(f(*given), f.unoptimized(*given), strict=True):
            np.testing.assert_array_equal(a, b)
    assert f.kernels[0].state.endswith("compiled")


def test_memory_is_not_for_all_rows() -> None:
    ready(seconds=60)
    inputs, outputs = sums("float64")
    f = scanopt.function(inputs[:3], outputs[0], backend="c", adapt=False, cost=KERNELS)
    given = [RNG.normal(size=k) for k in ((3000, 16), (16,), (16, 16))]
    np.testing.assert_allclose(f(*given), f.unoptimized(*given), rtol=1e-9)
    if order_of(TiledProduct("float64", (16, 3000, 16), (8, 128), (128, 8), False)):
        assert f.kernels[0].memory < 10_000


def test_products_of_rows_are_made_in_steps() -> None:
    """Rows that a loop keeps only to have each multiplied by that of another array that it keeps are not kept."""
    x, s = T.dmatrix("x"), T.dvector("s")

    def step(x: Any, s: Any) -> list[Any]:
        near = T.exp(-abs(s - x))
        weights = near / near.sum()
        return [T.cumsum(weights) * near, near, weights]

    (_, rows, weights), _ = scanopt.scan(step, x, [s, None, None])
    products = weights[:, None, :] @ rows[:, :, None]
    f = scanopt.function([x, s], products, fp="exact", backend="c", adapt=False)
    given = RNG.normal(size=(200, 50)), RNG.normal(size=50)
    np.testing.assert_array_equal(f(*given), f.unoptimized(*given))
    assert f.kernels[0].memory < 200 * 50 * 8 / 4


def test_blocks_of_sums() -> None:
    """Rows are added block by block: of the greatest length while two are left, then the rest or its halves."""
    ready(seconds=60)
    for k, most, unit, ends in [
        (10, 16, 0, [10]),
        (20, 16, 4, [12, 20]),
        (32, 16, 4, [16, 32]),
        (45, 16, 0, [16, 31, 45]),
    ]:
        a, b = RNG.normal(size=(k, 5)), RNG.normal(size=(k, 3))
        found, memory = np.empty((5, 3)), np.empty((5, 11))
        for i in range(0, k, 7):
            dims = (5, min(7, k - i), 3, i, k, order_number(most, unit, False), 0)
            call_of(address("adding", "float64"), (a[i:], b[i:], memory, found), dims, (8, 40, 24))()
        whole, expected = np.empty((5, 3)), np.zeros((5, 3))
        for begin, end in zip([0, *ends], ends, strict=False):
            dims = (5, end - begin, 3, 0, end - begin, order_number(end - begin, 0, False), 0)
            call_of(address("adding", "float64"), (a[begin:], b[begin:], memory, whole), dims, (8, 40, 24))()
            expected = expected + whole if begin else whole.copy()
        np.testing.assert_array_equal(found, expected)
