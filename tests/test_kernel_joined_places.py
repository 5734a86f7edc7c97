"""Parts are computed in the array that they are joined to: the same bits, and no array in between."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T


def heat(u: Any, m: Any) -> Any:
    """Both ends stay."""
    step = lambda u: T.concatenate([u[:1], u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2]), u[-1:]])  # noqa: E731
    return scanopt.scan(step, outputs_info=u, n_steps=9)[0][-1]


def rows_of_matrices(u: Any, m: Any) -> Any:
    """Joined along the first axis of two, products among the parts; all rows are kept."""
    step = lambda x: T.concatenate([T.tanh(x[:2] @ m), x[:1], T.exp(-x[3:])])  # noqa: E731
    return scanopt.scan(step, outputs_info=m, n_steps=5)[0]


def distances(u: Any, m: Any) -> Any:
    """What an inner loop keeps is a part."""

    def row(x: Any, i: Any, before: Any) -> Any:
        inner = lambda y, up, aslant, left: T.minimum(T.minimum(up, left) + 1.0, aslant + abs(x - y))  # noqa: E731
        found, _ = scanopt.scan(inner, [u, before[1:], before[:-1]], outputs_info=i)
        return T.concatenate([i[None], found])

    start = T.cast(T.arange(u.shape[0] + 1), "float64")
    return scanopt.scan(row, [u, start[1:]], outputs_info=start)[0][-1]


def read_elsewhere(u: Any, m: Any) -> Any:
    """A part is read by something else, one stands twice, one has another dtype, one is asked for."""

    def step(x: Any) -> list[Any]:
        a, b, c = T.sin(x), T.cos(x) * 2.0, x + 1.0
        whole = T.concatenate([a, b, b, T.cast(x > 0, "int64"), c])
        return [whole[1 : x.shape[0] + 1] + a.sum(), c, whole]

    found, _ = scanopt.scan(step, outputs_info=[u, None, None], n_steps=4)
    return found


def swapped(u: Any, m: Any) -> Any:
    """Parts that change places: each is made of elements of the other."""
    half = u.shape[0] // 2
    step = lambda x: T.concatenate([x[half:] * 0.5, x[:half] - 1.0])  # noqa: E731
    return scanopt.scan(step, outputs_info=u, n_steps=6)[0][-1]


@pytest.mark.parametrize("made", [heat, rows_of_matrices, distances, read_elsewhere, swapped])
def test_parts_have_the_bits_of_the_interpreter(made: Callable[..., Any]) -> None:
    u, m = T.dvector("u"), T.dmatrix("m")
    f = scanopt.function([u, m], made(u, m), fp="exact", backend="c", on_unused_input="ignore")
    rng = np.random.default_rng(3)
    for length in (12, 31):
        values = rng.normal(size=length), rng.normal(size=(length, length))
        found, expected = f(*values), f.unoptimized(*values)
        found, expected = ([x] if isinstance(x, np.ndarray) else x for x in (found, expected))
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_array_equal(x, y)
    assert "kernels compiled" in str(f.kernels[-1]), f.kernels


def test_no_array_is_made_in_between() -> None:
    u = T.dvector("u")
    f = scanopt.function([u], heat(u, None), backend="c")
    f(np.linspace(0, 1, 1000))
    assert f.kernels[-1].memory < 3 * 8000
