"""Searches, integer powers, rounding to digits and running extremes: with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(17)


def drawn(shape: Any, dtype: str) -> Any:
    x = RNG.normal(size=shape) * 9
    if dtype[0] == "f":
        x = np.where(RNG.random(shape) < 0.3, RNG.choice([np.nan, np.inf, -0.0, 0.0], shape), x)
    return x.astype(dtype)


def exactly(f: Any, values: list[Any]) -> None:
    """Whether all loops are kernels, and give the bits of the interpreter."""
    with np.errstate(all="ignore"):
        assert_same([*f(*values)], [*f.unoptimized(*values)])
    assert {"array steps" in k.state for k in f.kernels} == {False}, f.kernels


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8"])
def test_places_in_sorted_vectors(dtype: str) -> None:
    """Of other dtypes, and in a vector that changes from step to step."""
    x, edges, n = T.dmatrix("x"), T.vector("edges", dtype), T.lscalar("n")

    def step(i: Any, x: Any, edges: Any) -> Any:
        own = T.sort(x[0])
        found = T.digitize(x, edges) + T.digitize(x, own, right=True) * 2 + T.searchsorted(edges, x[::-1])
        return T.where(i > 1, x * 0.5 - found, T.searchsorted(own, edges[0], side="right") - x)

    found, _ = scanopt.scan(step, T.arange(n), x, edges)
    f = scanopt.function([x, edges, n], found, fp="exact", backend="c")
    for shape, steps in (((3, 12), 4), ((1, 1), 3), ((2, 9), 0)):
        exactly(f, [drawn(shape, "float64"), np.sort(RNG.normal(size=7) * 5).astype(dtype), steps])
    for edges_of in (np.array([3, 1, 0]), np.array([1, 1, 1]), np.array([3, 0, 1])):
        values = [drawn((3, 12), "float64"), edges_of.astype(dtype), 3]
        if edges_of[0] > edges_of[2] < edges_of[1] or edges_of[0] == edges_of[1]:
            np.testing.assert_array_equal(f(*values), f.unoptimized(*values))
        else:
            with pytest.raises(ValueError, match="monotonically"):
                f(*values)


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint16"])
def test_powers_of_integers(dtype: str) -> None:
    x, e, n = T.matrix("x", dtype), T.vector("e", "int8"), T.lscalar("n")
    found, _ = scanopt.scan(lambda x, e, n: x**e % 101 + T.cast(x**n, dtype) + 3 ** x.shape[0], x, None, [e, n])
    f = scanopt.function([x, e, n], found, fp="exact", backend="c")
    for shape in ((5, 12), (3, 2), (4, 1)):
        exactly(f, [drawn(shape, dtype), RNG.integers(0, 70, shape[1]).astype("int8"), 5])
    for e_wrong, n_wrong in ((-1, 2), (1, -2)):
        with pytest.raises(ValueError, match="negative integer powers"):
            f(drawn((5, 12), dtype), np.full(12, e_wrong, "int8"), n_wrong)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_digits_and_running_extremes(dtype: str) -> None:
    x, a = T.matrix("x", dtype), T.scalar("a", dtype)

    def step(x: Any, a: Any) -> Any:
        digits = [T.round(x * a, 2), T.round(a, 3)] + ([T.round(x, -1)] if dtype[0] == "f" else [])
        return [T.cummax(x, axis=0), T.cummin(x, axis=1), T.cummin(x[0]), *digits]

    rows, _ = scanopt.scan(step, T.stack([x, -x]), None, a)
    f = scanopt.function([x, a], rows, fp="exact", backend="c")
    for shape in ((5, 12), (1, 3), (40, 2)):
        exactly(f, [drawn(shape, dtype), np.dtype(dtype).type(3.4567)])
