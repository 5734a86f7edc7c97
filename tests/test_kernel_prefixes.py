"""Loops whose first elements alone are read, and arrays joined of others: the bits of the interpreter."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T


def both(inputs: list[Any], outputs: list[Any], values: list[Any]) -> str:
    f = scanopt.function(inputs, outputs, fp="exact", backend="c")
    found, expected = f(*values), f.unoptimized(*values)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)
    text = "\n".join(map(str, f.kernels))
    assert "1 of 1 kernels" in text
    return text


def moved(picks: Iterator[int], x: Any, other: Any) -> Any:
    """The elements of x some places further on, or back, the gap filled in one of several ways."""
    k = next(picks) % 3 + 1
    match next(picks) % 4:
        case 0:
            return T.concatenate([x[k:], x[-k:]])
        case 1:
            return T.concatenate([x[k:], other[:k]])
        case 2:
            return T.concatenate([other[:k], x[:-k]])
        case _:
            return T.concatenate([x[:k], x[k:]])


def stencil(seed: int) -> tuple[list[Any], list[Any]]:
    """A loop of two states, each made of both, moved or not; of its last states some first elements are results."""
    picks = iter(np.random.default_rng(seed).integers(1000, size=60).tolist())
    a, b, c, n = T.dvector("a"), T.dvector("b"), T.dscalar("c"), T.lscalar("n")

    def step(x: Any, y: Any, b: Any, c: Any) -> list[Any]:
        new: list[Any] = []
        for z in (x, y):
            for _ in range(next(picks) % 2 + 1):
                near = moved(picks, (x, y)[next(picks) % 2], (b, y)[next(picks) % 2])
                z = [z + c * near, T.maximum(z, near), T.where(near > z, z, c - near)][next(picks) % 3]
            new.append(z)
        return new

    (xs, ys), _ = scanopt.scan(step, outputs_info=[a, b], non_sequences=[b, c], n_steps=n)
    return [a, b, c, n], [xs[-1][next(picks) % 3], ys[-1][next(picks) % 3]][: next(picks) % 2 + 1]


@pytest.mark.share(6)
@pytest.mark.parametrize("seed", range(40))
def test_random_stencils(seed: int) -> None:
    inputs, outputs = stencil(seed)
    draw = np.random.default_rng(1000 + seed)
    f = scanopt.function(inputs, outputs, fp="exact", backend="c")
    for length, steps in [(4, 1), (4, 9), (11, 3), (37, 40), (50, 11)]:
        values = [draw.standard_normal(length), draw.standard_normal(length), 0.4, steps]
        for x, y in zip(f(*values), f.unoptimized(*values), strict=True):
            np.testing.assert_array_equal(x, y)
    assert str(f.kernels[0]).startswith("the program")


def test_what_is_needed_shrinks_and_nothing_is_joined_in_memory() -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    xs, _ = scanopt.scan(lambda x: 0.5 * x + T.concatenate([x[2:], x[-2:]]), outputs_info=x, n_steps=n)
    for steps in (1, 5, 30):
        text = both([x, n], [xs[-1][1]], [np.linspace(0, 1, 23), steps])
        assert "minimum_int64(n0, (2 + (2 * (" in text


@pytest.mark.parametrize("read", ["last", "all", "sum", "trace"])
def test_all_is_computed_where_all_is_read(read: str) -> None:
    x, n = T.dvector("x"), T.lscalar("n")

    def step(x: Any) -> Any:
        y = 0.5 * x + T.concatenate([x[1:], x[-1:]])
        return y / (1.0 + T.max(y)) if read == "sum" else y

    xs, _ = scanopt.scan(step, outputs_info=x, n_steps=n)
    outs = {"last": [xs[-1][-1]], "all": [xs[-1][0], xs[-1]], "sum": [xs[-1][0]], "trace": [xs[:, 0]]}[read]
    assert "minimum_int64(n0, (1 +" not in both([x, n], outs, [np.linspace(0, 1, 23), 7])
