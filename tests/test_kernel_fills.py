"""Arrays that repeat a number and only have parts of copies set are not made; cumulation reads its array once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T

ROWS, PLACES = np.linspace(-1.0, 1.0, 12).reshape(4, 3), np.array([2, -3, 0, 1])
Step = Callable[[Any, Any, Any], Any]
STEPS: list[Step] = [
    lambda row, at, like: T.set_subtensor(T.zeros_like(like)[at], row[0]),
    lambda row, at, like: T.set_subtensor(T.ones_like(like)[at : at + 2], row[1]),
    lambda row, at, like: T.inc_subtensor(T.full_like(like, 3.0)[at], row[2]),
    lambda row, at, like: T.set_subtensor(T.fill(like, row[0])[at], row[1]),
    lambda row, at, like: T.set_subtensor(T.zeros_like(like)[at], row[0]) + T.zeros_like(like).sum(),
]


@pytest.mark.share(2)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("columns", [3, 20])
def test_parts_of_repeated_numbers_are_set(step: Step, columns: int) -> None:
    rows, places, like = T.dmatrix("rows"), T.lvector("places"), T.dvector("like")
    found, _ = scanopt.scan(step, sequences=[rows, places], non_sequences=like)
    f = scanopt.function([rows, places, like], [found], fp="exact", backend="c")
    exact_kernel(f, [ROWS, PLACES, np.zeros(columns)])


def test_a_copy_repeats_the_number_again() -> None:
    places, like = T.lvector("places"), T.dmatrix("like")
    found, _ = scanopt.scan(
        lambda at, like: T.set_subtensor(T.zeros_like(like)[at], 1.0), sequences=places, non_sequences=like
    )
    f = scanopt.function([places, like], [found], fp="exact", backend="c")
    text = exact_kernel(f, [PLACES, np.zeros((3, 20))])
    assert not [line for line in text.splitlines() if "memory for values in between" in line and "float64" in line]


@pytest.mark.share(3)
@pytest.mark.parametrize("cumulated", [T.cumsum, T.cumprod])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
def test_cumulation_along_any_axis(cumulated: Any, axis: int, dtype: str) -> None:
    x = T.TensorType(dtype, (None, None, None))("x")
    f = scanopt.function([x], [cumulated(x, axis=axis) * 2], fp="exact", backend="c")
    values = (3.0 * np.random.default_rng(axis).normal(size=(5, 4, 3))).astype(dtype)
    for given in (values, values[::-1], np.asfortranarray(values)):
        exact_kernel(f, [given])


def test_cumulation_of_parts_of_any_length_in_a_loop() -> None:
    x, lengths = T.dvector("x"), T.lvector("lengths")
    found, _ = scanopt.scan(lambda n, x: T.cumsum(x[:n]).sum(), sequences=lengths, non_sequences=x)
    f = scanopt.function([x, lengths], [found], fp="exact")
    values = [np.linspace(-1.0, 2.0, 7), np.array([3, 0, 7, 1])]
    for _ in range(2):
        np.testing.assert_array_equal(f(*values)[0], f.unoptimized(*values)[0])
