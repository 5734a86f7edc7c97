"""How many steps a loop took that may end early is a number in kernels, too: the bits of the interpreter."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.array.numerics.powers import powers
from scanopt.backends.kernels.loop_report import ONCE

RNG = np.random.default_rng(3)


def halved(x: Any, most: int = 1000) -> Any:
    """The numbers from x on, by Collatz's rule."""

    def step(x: Any) -> Any:
        y = T.switch(T.eq(x % 2, 0), x // 2, 3 * x + 1)
        return y, scanopt.until(T.eq(y, 1))

    return scanopt.scan(step, outputs_info=x, n_steps=most)[0]


def both(inputs: list[Any], outputs: Any, *values: Any) -> None:
    f = scanopt.function(inputs, outputs, fp="exact", backend="c")
    found, expected = f(*values), f.unoptimized(*values)
    several = isinstance(outputs, list)
    for a, b in zip(*((found, expected) if several else ([found], [expected])), strict=True):
        np.testing.assert_array_equal(a, b)
    assert [k.loop for k in f.kernels] == [ONCE], f.program


def its_length(ys: Any) -> Any:
    return ys.shape[0]


def its_length_and_last(ys: Any) -> Any:
    return [ys[-1], ys.shape[0] * 2, ys.shape[0]]


def its_length_and_rows(ys: Any) -> Any:
    return [ys, ys.shape[0] + 1]


@pytest.mark.share(4)
@pytest.mark.parametrize("asked", [its_length, its_length_and_last, its_length_and_rows])
@pytest.mark.parametrize("most", [1, 7, 1000])
def test_the_number_of_steps_is_a_result(asked: Callable[[Any], Any], most: int) -> None:
    x = T.lscalar("x")
    for start in (27, 1, 2, 97):
        both([x], asked(halved(x, most)), start)


def test_loops_inside_others_count_their_steps() -> None:
    x = T.lvector("x")
    found, _ = scanopt.scan(lambda x: halved(x).shape[0], x)
    both([x], found, RNG.integers(2, 10_000, size=40))


def test_a_state_takes_the_number_of_steps_of_a_loop_inside() -> None:
    x = T.lvector("x")

    def step(x: Any, longest: Any) -> Any:
        count = halved(x).shape[0]
        return T.switch(count > longest, count, longest)

    found, _ = scanopt.scan(step, x, T.constant(0, dtype="int64"))
    both([x], [found[-1], found], RNG.integers(2, 500, size=30))


def test_lanes_that_end_together_are_counted() -> None:
    x = T.dvector("x")

    def step(y: Any, x: Any) -> Any:
        new = 0.5 * (y + x / y)
        return new, scanopt.until(T.all(T.abs(new - y) < 1e-9 * new))

    ys, _ = scanopt.scan(step, outputs_info=x, non_sequences=x, n_steps=60)
    for size in (1, 5, 40):
        both([x], [ys.shape[0], ys[-1]], RNG.uniform(1, 100, size=size))


def test_a_later_loop_runs_as_often() -> None:
    x = T.lscalar("x")
    count = halved(x).shape[0]
    ys, _ = scanopt.scan(lambda y: 2.0 * y + 1.0, outputs_info=T.constant(0.0, dtype="float64"), n_steps=count)
    f = scanopt.function([x], ys[-1], fp="exact", backend="c")
    for start in (27, 6, 1):
        np.testing.assert_array_equal(f(start), f.unoptimized(start))


@pytest.mark.share(6)
@pytest.mark.parametrize("seed", range(60))
def test_random_loops_that_end_early(seed: int) -> None:
    draw = np.random.default_rng(seed)
    a, b, limit = T.dscalar("a"), T.dvector("b"), T.dscalar("limit")
    most, kind = int(draw.integers(1, 40)), int(draw.integers(3))

    def step(x: Any, y: Any, b: Any, limit: Any) -> Any:
        x = x * 0.9 + T.max(b)
        y = y + b * x
        return [x, y], scanopt.until([x > limit, T.any(y > limit), T.all(y > limit)][kind])

    (xs, ys), _ = scanopt.scan(step, outputs_info=[a, b], non_sequences=[b, limit], n_steps=most)
    every = [xs.shape[0], ys.shape[0] + xs.shape[0], xs[-1], ys[-1], ys, T.cast(xs.shape[0], "float64") * a]
    asked = [every[i] for i in sorted(draw.choice(len(every), size=3, replace=False))]
    f = scanopt.function([a, b, limit], asked, fp="exact", backend="c")
    for size in (1, 3, 12):
        values = [draw.normal(), draw.normal(size=size), 4 * draw.normal()]
        for x, y in zip(f(*values), f.unoptimized(*values), strict=True):
            np.testing.assert_array_equal(x, y)


def test_powers_of_other_exponents_than_all_have_the_bits_of_array_steps() -> None:
    x, e = T.dscalar("x"), T.lvector("e")
    found, _ = scanopt.scan(lambda e, x: x**e, e, non_sequences=x)
    f = scanopt.function([x, e], found, backend="c")
    for _ in range(100):
        base, count = RNG.normal(), int(RNG.integers(1, 90))
        exponents = RNG.integers(0, RNG.integers(1, 400), size=count)
        np.testing.assert_array_equal(f(base, exponents), powers(np, np.array(base), exponents, "float64"))
        np.testing.assert_allclose(f(base, exponents), f.unoptimized(base, exponents), rtol=1e-9)
    assert "compiled" in f.kernels[0].state
    np.testing.assert_array_equal(f(2.0, [-1, 3]), [0.5, 8.0])


def test_elements_that_are_read_only_where_a_loop_runs_belong_to_a_kernel_of_the_program() -> None:
    x, c = T.dvector("x"), T.dmatrix("c")

    def section(c: Any, x: Any) -> Any:
        def one(x: Any, z: Any, c: Any) -> Any:
            y = c[0] * x + z
            return [y, c[1] * x - c[2] * y]

        (ys, _), _ = scanopt.scan(one, x, [None, T.constant(0.0, dtype="float64")], non_sequences=c)
        return ys

    found, _ = scanopt.scan(section, c, x)
    both([x, c], found[-1], RNG.normal(size=20), 0.3 * RNG.normal(size=(4, 3)))
