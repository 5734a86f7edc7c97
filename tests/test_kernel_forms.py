"""Operators that are written with several others: with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(29)


@pytest.mark.share(3)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis: int, dtype: str) -> None:
    x, w = T.matrix("x", dtype), T.tensor3("w", dtype)
    found, _ = scanopt.scan(lambda w, x: T.softmax(x + w, axis=axis), sequences=w, outputs_info=x)
    for shape in ((5, 40), (3, 3), (2, 200)):
        f = scanopt.function([x, w], found, fp="exact", backend="c")
        values = [RNG.normal(size=n).astype(dtype) * 3 for n in (shape, (6, *shape))]
        values[1][2, 0] = -np.inf
        exact_kernel(f, values)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8"])
def test_clip_by_arrays(dtype: str) -> None:
    x, low, high = T.vector("x", dtype), T.matrix("low", dtype), T.vector("high", dtype)
    zero = T.constant(np.dtype(dtype).type(0))

    def step(low: Any, x: Any, high: Any) -> Any:
        return T.clip(x + low, low, high) - T.clip(x, zero, high)

    found, _ = scanopt.scan(step, sequences=low, outputs_info=x, non_sequences=high)
    odd = np.array([0.0, -0.0, 1.0, -1.0, np.nan, np.inf] if dtype[0] == "f" else [0, 1, 2, 3, 4, 5])
    for n in (24, 3):
        f = scanopt.function([x, low, high], found, fp="exact", backend="c")
        exact_kernel(f, [RNG.choice(odd, shape).astype(dtype) for shape in (n, (7, n), n)])


def test_calls_on_few_elements_come_together() -> None:
    x, a, n = T.dvector("x"), T.dscalar("a"), T.lscalar("n")

    def step(x: Any, a: Any) -> list[Any]:
        first, second = T.exp(-x), T.sigmoid(x[::-1])
        third = T.exp(T.exp(a) - T.exp(x[0]) * T.exp(second[1]))
        return [T.tanh(first - second) + T.sin(x) * T.cos(a), T.arctan2(third, a) + T.arctan2(T.sin(a), x[1])]

    found, _ = scanopt.scan(step, outputs_info=[x, a], n_steps=n)
    f = scanopt.function([x, a, n], found, fp="exact", backend="c")
    text = exact_kernel(f, [RNG.normal(size=3), 0.3, 12])
    assert text.count("inner *)F") < 9  # of 13


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_calls_on_integers_and_floats_come_together(dtype: str) -> None:
    x, k, n = T.scalar("x", dtype), T.lscalar("k"), T.lscalar("n")
    found, _ = scanopt.scan(
        lambda x, k: [T.cast(T.log1p(abs(x)) + T.log1p(k + 1.5), dtype), k + 1, T.log1p(T.cast(k, "float64"))],
        outputs_info=[x, k, None], n_steps=n,
    )  # fmt: skip
    f = scanopt.function([x, k, n], found, fp="exact", backend="c")
    exact_kernel(f, [np.dtype(dtype).type(0.7), 2, 9])


@pytest.mark.parametrize("size", [3, 4, 12])
def test_rows_moved_to_both_sides_are_not_made(size: int) -> None:
    """Joined of parts of different lengths: a loop for what each pair of parts has in common."""
    u, a, n = T.dvector("u"), T.dvector("a"), T.lscalar("n")

    def step(u: Any, a: Any) -> Any:
        left, right = T.concatenate([u[1:], a]), T.concatenate([a, u[:-1]])
        three = T.concatenate([a, u[2:], a * 2.0])
        return 0.3 * (left + right) - u * 0.5 + three

    found, _ = scanopt.scan(step, outputs_info=u, non_sequences=a, n_steps=n)
    f = scanopt.function([u, a, n], found, fp="exact", backend="c")
    text = exact_kernel(f, [RNG.normal(size=size), RNG.normal(size=1), 6])
    assert size < 12 or text.count("for (int64") < 14
