"""Choices by conditions that calls compute of a state are branches, with the bits of the interpreter."""

import re
from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(11)
BRANCH = re.compile(r"if \(v\d+\) \{ ONE_BY_ONE r = ")


@pytest.mark.parametrize("late", [True, False])
def test_a_step_does_not_wait_for_the_call_that_accepts(late: bool) -> None:
    u, e, x = T.dvector("u"), T.dvector("e"), T.dscalar("x")

    def step(u: Any, e: Any, x: Any) -> Any:
        return T.switch(u < T.exp(-abs(x + e) if late else -abs(e)), x + e, x)

    found, _ = scanopt.scan(step, [u, e], x)
    f = scanopt.function([u, e, x], [found], fp="exact", backend="c")
    for odd in (0.0, np.nan):
        noise = np.append(RNG.normal(size=40), odd)
        text = exact_kernel(f, [RNG.random(41), noise, np.float64(0.3)])
        assert bool(BRANCH.search(text)) == late, text


def test_an_element_of_an_array_is_accepted() -> None:
    u, s = T.dvector("u"), T.lvector("s")

    def step(i: Any, u: Any, s: Any) -> Any:
        change = s[i] * (s[i - 1] + s[(i + 1) % s.shape[0]])
        return T.set_subtensor(s[i], T.switch(u < T.exp(-0.4 * change), -s[i], s[i]))

    found, _ = scanopt.scan(step, [T.arange(u.shape[0]) % s.shape[0], u], s)
    f = scanopt.function([u, s], [found[-1]], fp="exact", backend="c")
    text = exact_kernel(f, [RNG.random(90), RNG.choice([-1, 1], 12)])
    assert BRANCH.search(text), text


@pytest.mark.parametrize("late", [True, False])
def test_a_step_does_not_wait_for_what_lies_at_the_place_that_it_goes_to(late: bool) -> None:
    grid, moves, turns = T.lmatrix("grid"), T.lvector("moves"), T.lvector("turns")

    def step(m: Any, k: Any, i: Any, j: Any, grid: Any) -> list[Any]:
        a, b = T.clip(i + m, 0, grid.shape[0] - 1), T.clip(j + k, 0, grid.shape[1] - 1)
        free = T.eq(grid[a, b] if late else k, 0)
        return [T.where(free, a, i), T.where(free, b, j)]

    start = T.constant(0, dtype="int64")
    found, _ = scanopt.scan(step, [moves, turns], [start, start], grid)
    f = scanopt.function([grid, moves, turns], found, fp="exact", backend="c")
    text = exact_kernel(f, [RNG.integers(0, 2, (4, 9)), RNG.integers(-2, 3, 60), RNG.integers(-2, 3, 60)])
    assert bool(BRANCH.search(text)) == ("clip_in_step" in text) == late, text
