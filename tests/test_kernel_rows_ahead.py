"""Products whose rows a loop makes some steps ahead: the bits of array steps, and little memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.prices import KERNELS
from scanopt.backends.kernels.rows_ahead import rows_alike
from scanopt.backends.kernels.tiles import TiledProduct

RNG = np.random.default_rng(0)


def networks(dtype: str) -> tuple[list[Any], list[Any]]:
    """Loops that read rows of products: of an input, of a part, of what is computed, backwards, in a loop inside."""
    x, w, u = (T.TensorType(dtype, (None, None))(name) for name in "xwu")
    h = T.TensorType(dtype, (None,))("h")

    def run(rows: Any, start: Any) -> Any:
        found, _ = scanopt.scan(lambda row, s, u: T.tanh(row + s @ u), rows, start, u)
        return found

    def each(k: Any, s: Any) -> Any:
        return s + run((x * k) @ w, s)[-1]

    outer, _ = scanopt.scan(each, T.arange(1, 4).astype(dtype), h)
    read_twice = x @ w
    return [x, w, u, h], [
        run(x @ w, h),
        run((x @ w)[2:], h)[-1],
        run(T.exp(-abs(x)) @ w, h)[-1],
        run((x @ w)[::-1], h)[-1],
        run(x[::-1] @ w + h, h),
        outer,
        run(read_twice, h)[-1] + read_twice[0],
    ]


@pytest.mark.share(4)
@pytest.mark.parametrize("fp", ["exact", "reassoc"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_have_the_bits_of_the_whole_product(dtype: str, fp: str) -> None:
    """Also of factors that do not lie packed: these are multiplied at once, where only `exact` copies them."""
    inputs, outputs = networks(dtype)
    f, steps = (scanopt.function(inputs, outputs, fp=fp, backend=b, adapt=False, cost=KERNELS) for b in ("c", "numpy"))
    for n, k, m in [(3, 5, 16), (8, 16, 10), (9, 16, 32), (11, 3, 40), (30, 20, 12), (64, 33, 24)]:
        x, w, u, h = (RNG.normal(size=s).astype(dtype) for s in ((n, k), (k, m), (m, m), (m,)))
        for given in ((x, w, u, h), (x[::-1], w, u, h)):
            for a, b in zip(f(*given), steps(*given), strict=True):
                np.testing.assert_array_equal(a, b)
        given = x, np.asfortranarray(w), u, h
        tolerance = 0.0 if fp == "exact" else 1e-10 if dtype == "float64" else 0.01
        for a, b in zip(f(*given), f.unoptimized(*given), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)
    assert f.kernels[0].state.endswith("compiled")


def test_memory_is_for_few_rows() -> None:
    inputs, outputs = networks("float64")
    f = scanopt.function(inputs, outputs[0][-1], backend="c", adapt=False)
    given = [RNG.normal(size=s) for s in ((4000, 8), (8, 64), (64, 64), (64,))]
    np.testing.assert_allclose(f(*given), f.unoptimized(*given), rtol=1e-9)
    if rows_alike(TiledProduct("float64", (4000, 8, 64), (64, 8), (512, 8), False)):
        assert f.kernels[0].memory < 20_000


def test_a_step_that_reads_several_rows_makes_these() -> None:
    X, S, w = T.dtensor3("X"), T.dmatrix("S"), T.dmatrix("w")
    found, _ = scanopt.scan(lambda rows, s: T.tanh(rows + s), T.tensordot(X, w, axes=(2, 0)), S)
    f = scanopt.function([X, S, w], found[-1], fp="exact", backend="c", adapt=False)
    for n, batch, k, m in [(3, 2, 4, 11), (100, 6, 5, 24)]:
        given = [RNG.normal(size=s) for s in ((n, batch, k), (batch, m), (k, m))]
        np.testing.assert_array_equal(f(*given), f.unoptimized(*given))
    if rows_alike(TiledProduct("float64", (600, 5, 24), (40, 8), (192, 8), False, each=6 * 24)):
        assert f.kernels[0].memory < 10_000


def test_products_that_round_otherwise_are_made_at_once() -> None:
    few = TiledProduct("float64", (7, 8, 64), (64, 8), (512, 8), False)
    assert not rows_alike(few)  # so few rows are not worth it
    long = TiledProduct("float32", (37, 5000, 77), (20_000, 4), (308, 4), False)
    whole, some = (RNG.normal(size=s).astype("float32") for s in ((37, 5000), (5000, 77)))
    alike = np.array_equal((whole @ some)[:4], whole[:4] @ some)
    assert alike or not rows_alike(long)
