"""A bool as an index, as in NumPy: a new axis of length 1 or 0."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

Array = np.ndarray[Any, Any]


def put(x: Array, index: Any, value: Any) -> Array:
    new = x.copy()
    new[index] = value
    return new


CASES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Array, Array], Any]]] = {
    "all or nothing": (lambda x, m: x[m], lambda x, m: x[m]),
    "before an integer": (lambda x, m: x[m, 0], lambda x, m: x[m, 0]),
    "behind a slice": (lambda x, m: x[:, m], lambda x, m: x[:, m]),
    "behind an integer": (lambda x, m: x[0, m], lambda x, m: x[0, m]),
    "set": (lambda x, m: x[m].set(9.0), lambda x, m: put(x, m, 9.0)),
    "set to an array": (lambda x, m: x[m].set(2 * x), lambda x, m: put(x, m, 2 * x)),
    "inc": (lambda x, m: x[m].inc(1.0), lambda x, m: x + m),
    "gradient": (lambda x, m: T.grad((x[m] * 3).sum(), x), lambda x, m: np.full((2, 3), 3.0 * m)),
    "held in steps": (lambda x, m: scanopt.map(lambda r, m: r[m].sum(axis=0), x, m)[0], lambda x, m: x * m),
    "of each step": (
        lambda x, m: scanopt.map(lambda r: r[r[0] > 1].sum(axis=0), x)[0],
        lambda x, m: x * (x[:, :1] > 1),
    ),
    "set in each step": (
        lambda x, m: scanopt.map(lambda r: r[r[0] > 1].set(0.0), x)[0],
        lambda x, m: x * (x[:, :1] <= 1),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("value", [True, False])
def test_as_numpy(name: str, value: bool) -> None:
    symbolic, plain = CASES[name]
    x, m = T.dmatrix("x"), T.tensor("bool", (), "m")
    f = scanopt.function([x, m], symbolic(x, m), on_unused_input="ignore")
    a, b = np.arange(6.0).reshape(2, 3), np.array(value)
    for run in (f, f.unoptimized):
        np.testing.assert_array_equal(run(a, b), plain(a, b), strict=True)


def test_a_scalar() -> None:
    x, m = T.dscalar("x"), T.tensor("bool", (), "m")
    f = scanopt.function([x, m], [x[m], x[m].set(1.0)])
    for run in (f, f.unoptimized):
        assert [y.tolist() for y in run(2.0, True)] == [[2.0], 1.0]
        assert [y.tolist() for y in run(2.0, False)] == [[], 2.0]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (0, 0)])
def test_a_mask_without_entries_fits_any_axis(shape: tuple[int, ...]) -> None:
    x = T.tensor("float64", (2, 3), "x")
    mask, a = np.zeros(shape, bool), np.arange(6.0).reshape(2, 3)
    f = scanopt.function([x], [x[mask], x[T.constant(mask)], x[mask].set(1.0)])
    for run in (f, f.unoptimized):
        for found, expected in zip(run(a), (a[mask], a[mask], a), strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)
