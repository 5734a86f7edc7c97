"""Products of which a factor has one element have the bits of `np.dot` in kernels: it multiplies, and adds nothing."""

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
