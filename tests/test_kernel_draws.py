"""Draws for all steps at once in kernels: the bits of array steps."""

from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

SIZES: list[tuple[int, ...]] = [(), (1,), (3,), (4, 5)]


def both(make: Any) -> list[Any]:
    """The same function in kernels and in array steps, each with a stream of its own."""
    found = []
    for backend in ("c", "numpy"):
        inputs, outputs, updates = make(T.random.RandomStream(3))
        found.append(scanopt.function(inputs, outputs, fp="exact", backend=backend, updates=updates))
    return found


def total(x: Any) -> Any:
    return x.sum() if x.ndim else x


@pytest.mark.share(6)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_draws_that_a_recurrence_reads(kind: str, size: tuple[int, ...]) -> None:
    def make(rng: Any) -> tuple[Any, Any, Any]:
        x, n = T.dscalar("x"), T.lscalar("n")
        found, updates = scanopt.scan(
            lambda s: s * 0.5 + total(getattr(rng, kind)(size=size) * 2.0), outputs_info=x, n_steps=n
        )
        return [x, n], found, updates

    f, g = both(make)
    for steps in (7, 1, 12):
        np.testing.assert_array_equal(f(0.5, steps), g(0.5, steps))
    assert f.kernels
    assert all("has no form" not in k.state for k in f.kernels), f.kernels


@pytest.mark.parametrize("size", [(), (5,)])
def test_draws_of_many_states(size: tuple[int, ...]) -> None:
    def make(rng: Any) -> tuple[Any, Any, Any]:
        n = T.lscalar("n")
        found, updates = scanopt.scan(lambda: T.exp(rng.normal(size=size)) + rng.uniform(size=size), n_steps=n)
        return [n], found, updates

    f, g = both(make)
    for steps in (9, 33):
        np.testing.assert_array_equal(f(steps), g(steps))
    assert "lead=1" in str(f.program)
