"""Rows that are sorted, and their orders: by NumPy's functions, with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.loop_report import ONCE

RNG = np.random.default_rng(4)


def exactly(f: Any, *values: Any) -> None:
    """Whether a function gives the bits of the interpreter."""
    with np.errstate(all="ignore"):
        assert_same([*f(*values)], [*f.unoptimized(*values)])


def compiled(f: Any) -> bool:
    return all(k.loop == ONCE and "compiled" in k.state for k in f.kernels)


def drawn(shape: tuple[int, ...], dtype: str) -> Any:
    """Elements of which some are equal, among them zeros of both signs, infinities and NaN."""
    x = (RNG.normal(size=shape) * 30).astype(dtype)
    some = np.array([np.nan, np.inf, 0.0, -0.0, 0.5] if dtype[0] == "f" else [0, 1, 1, 2], dtype)
    return np.where(RNG.random(shape) < 0.4, RNG.choice(some, shape), x)


def sorted_at_each_step(dtype: str) -> Any:
    """A loop that carries a matrix, whose rows, columns and parts are sorted, or put in the order of others."""
    x = T.TensorType(dtype, (None, None))("x")

    def step(i: Any, s: Any) -> Any:
        rows, columns = T.sort(s - T.sort(s[i % 2, ::-1]), axis=-1), T.sort(s, axis=0)
        order = T.argsort(columns, axis=i.ndim, kind="stable")
        left = [T.argsort(s, axis=1), order, T.argsort(s[:, ::-1], axis=0)]
        along = T.take_along_axis(s, left[0], axis=1)
        return [s[::-1] * 3 % 17 + rows[:, :1] - columns, T.sort(s[0, i % 2 :])[0], along, *left]

    found, _ = scanopt.scan(step, T.arange(5), [x, *(None,) * 5])
    return scanopt.function([x], found, fp="exact", backend="c")


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8"])
def test_rows_are_sorted(dtype: str) -> None:
    f = sorted_at_each_step(dtype)
    for n in (2, 17, 700):
        exactly(f, drawn((3, n), dtype))
    assert compiled(f)


@pytest.mark.share(9)
@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 7, 8, 9, 10])
def test_rows_of_few_elements(count: int) -> None:
    """Along each axis, in a loop and outside, with and without what only NumPy's order tells apart."""
    for dtype in ("float64", "float32", "int64", "uint8", "bool"):
        x = T.TensorType(dtype, (None, count, None))("x")
        rows, _ = scanopt.scan(
            lambda v, s: [T.sort(v[:, 0]), T.sort(v + s[::-1], axis=0)], x, [None, T.zeros_like(x[0])]
        )
        found = [
            T.sort(x, axis=1),
            T.sort(x[:, ::-1].transpose((2, 0, 1)), kind="stable"),
            T.sort(x * x, axis=1),
            *rows,
        ]
        f = scanopt.function([x], found, fp="exact", backend="c")
        for odd in (False, True, False):
            values = drawn((7, count, 4), dtype) if odd else (RNG.normal(size=(7, count, 4)) * 5).astype(dtype)
            exactly(f, values)
        exactly(f, np.where(RNG.random((7, count, 4)) < 0.5, values, np.zeros((), dtype)))
        exactly(f, np.where(RNG.random((7, count, 4)) < 0.5, values, np.array(-0.0).astype(dtype)))


@pytest.mark.share(2)
@pytest.mark.parametrize("count", [3, 5, 8])
def test_medians_of_windows(count: int) -> None:
    """A shift register of which each step takes the median."""
    x, s = T.dvector("x"), T.TensorType("float64", (count,))("s")

    def step(v: Any, s: Any) -> Any:
        s = T.concatenate([T.stack([v]), s[:-1]])
        return [T.median(s), s]

    f = scanopt.function([x, s], scanopt.scan(step, x, [None, s])[0], fp="exact", backend="c")
    exactly(f, RNG.normal(size=50), np.zeros(count))
    exactly(f, drawn((50,), "float64"), -np.zeros(count))


def test_rows_that_are_empty_and_loops_of_no_step() -> None:
    x, n = T.fmatrix("x"), T.lscalar("n")
    found, _ = scanopt.scan(lambda s: [T.sort(s) * -0.5, T.argsort(s, axis=0)], outputs_info=[x, None], n_steps=n)
    f = scanopt.function([x, n], found, fp="exact", backend="c")
    for shape in ((0, 3), (3, 0), (1, 1), (4, 1), (1, 4), (2, 9)):
        for steps in (0, 1, 4):
            exactly(f, drawn(shape, "float32"), steps)
    assert compiled(f)


def test_sorting_outside_loops_and_by_bools() -> None:
    x, y = T.dvector("x"), T.bmatrix("y")
    whole = [T.sort(T.exp(x)) * 2.0, x[T.argsort(x * 0.5)], T.sort(y > 2, axis=0), T.argsort(y > 2, kind="mergesort")]
    f = scanopt.function([x, y], whole, fp="exact", backend="c")
    for n in (1, 3, 40, 600):
        exactly(f, drawn((n,), "float64"), drawn((n, 5), "int8"))
    assert compiled(f)
