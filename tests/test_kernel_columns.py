"""Reductions over the rows of a matrix that nothing else reads: the bits of the interpreter, without the matrix."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.columns import WIDTH
from scanopt.backends.kernels.stages import FEW

SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, 1.0, -2.5])


def matches(rows: int, columns: int, seed: int, special: bool) -> list[Any]:
    draw = np.random.default_rng(seed)
    first, change = draw.standard_normal(rows), draw.standard_normal((rows, columns))
    if special:
        first, change = draw.choice(SPECIAL, first.shape), draw.choice(SPECIAL, change.shape)
    return [draw.standard_normal((4, columns)), first, change]


def both(outputs: list[Any], inputs: list[Any], values: list[Any]) -> str:
    return exact_kernel(scanopt.function(inputs, outputs, fp="exact", backend="c"), values)


@pytest.mark.share(6)
@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("columns", [2, WIDTH - 1, WIDTH, WIDTH + 1, 2 * WIDTH, 3 * WIDTH + 5])
@pytest.mark.parametrize("rows", [2, 7, 40])
def test_extremes_sums_and_places_over_rows(rows: int, columns: int, special: bool) -> None:
    seen, first, change = T.dmatrix("seen"), T.dvector("first"), T.dmatrix("change")

    def step(seen: Any, first: Any, change: Any) -> list[Any]:
        scores = first[:, None] * change + seen
        ends = [T.max, T.min, T.sum, T.prod, T.argmax, T.argmin]
        return [g(scores, axis=0) for g in ends] + [T.any(scores > 0, axis=0), T.all(scores > 0, axis=0)]

    outs, _ = scanopt.scan(step, seen, non_sequences=[first, change])
    text = both(outs, [seen, first, change], matches(rows, columns, rows * columns, special))
    assert (f"[{WIDTH}];" in text) == (rows * columns > FEW)


def test_integers_and_narrow_floats() -> None:
    x, y = T.lmatrix("x"), T.fmatrix("y")
    a, b = x * 3 - x // 2, y * y - y
    outs = [g(z, axis=0) for g in (T.max, T.min, T.sum, T.argmax, T.argmin) for z in (a, b)]
    values = [
        np.arange(15 * 37).reshape(15, 37) * 7919 % 101 - 50,
        np.linspace(-1, 2, 15 * 37, dtype="f4").reshape(15, 37),
    ]
    assert f"[{WIDTH}];" in both(outs, [x, y], values)


def test_a_matrix_that_is_read_elsewhere_is_kept() -> None:
    x = T.dmatrix("x")
    y = x * x - 1.0
    text = both([T.max(y, axis=0), T.max(y, axis=1)], [x], [np.linspace(-2, 2, 60).reshape(5, 12)])
    assert f"[{WIDTH}];" not in text
