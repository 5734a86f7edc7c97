"""What stands around loops has forms: turned arrays, unit matrices, elements that are read only where a loop runs."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.loop_report import ONCE

RNG = np.random.default_rng(5)


def turned_to_and_fro(u: Any) -> Any:
    return u + 0.1 * (T.roll(u, 1, axis=0) + T.roll(u, -1, axis=0) + T.roll(u, 3, axis=1) + T.roll(u, -2, axis=1))


def neighbours(u: Any) -> Any:
    around = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
    return sum(T.roll(T.roll(u, i, axis=0), j, axis=1) for i, j in around) % 3.0


@pytest.mark.parametrize("step", [turned_to_and_fro, neighbours])
def test_arrays_are_turned_in_the_kernel_and_by_more_than_their_lengths_too(step: Any) -> None:
    u, n = T.dmatrix("u"), T.lscalar("n")
    found, _ = scanopt.scan(step, outputs_info=u, n_steps=n)
    f = scanopt.function([u, n], found, fp="exact", backend="c")
    for shape in ((5, 7), (2, 2), (1, 4), (3, 1)):
        values = [RNG.normal(size=shape), 6]
        np.testing.assert_array_equal(f(*values), f.unoptimized(*values))
    assert "compiled" in f.kernels[0].state


@pytest.mark.parametrize("shift", [-9, -1, 0, 2, 5, 12])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_arrays_of_any_length_are_turned_as_by_numpy(shift: int, axis: int | None) -> None:
    x = T.dmatrix("x")
    f = scanopt.function([x], T.roll(x, shift, axis=axis))
    for shape in ((4, 5), (1, 3), (0, 3), (3, 0)):
        values = RNG.normal(size=shape)
        np.testing.assert_array_equal(f(values), np.roll(values, shift, axis))


@pytest.mark.share(5)
@pytest.mark.parametrize("k", [-2, 0, 1, 9])
@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
def test_unit_matrices(k: int, dtype: str) -> None:
    A, m = T.dmatrix("A"), T.lscalar("m")
    found, _ = scanopt.scan(lambda P, A: P + A, outputs_info=T.eye(A.shape[0], m, k, dtype=dtype) + A, non_sequences=A,
                            n_steps=4)  # fmt: skip
    f = scanopt.function([A, m], found[-1], fp="exact", backend="c")
    for shape in ((3, 4), (4, 3), (1, 2)):
        values = [RNG.normal(size=shape), shape[1]]
        np.testing.assert_array_equal(f(*values), f.unoptimized(*values))
    assert (f.kernels[0].loop, f.kernels[0].state) == ("the program", "3 of 3 kernels compiled")


def coefficients() -> tuple[Any, Any]:
    x, c = T.dvector("x"), T.dvector("c")
    found, _ = scanopt.scan(lambda v, y, c: c[0] * v + c[1] * y, x, T.constant(0.0, dtype="float64"), non_sequences=c)
    return [x, c], found


def test_elements_that_only_a_loop_reads_are_read_in_the_kernel() -> None:
    inputs, found = coefficients()
    f = scanopt.function(inputs, found, fp="exact", backend="c")
    assert "when_runs" in str(f.program)
    assert "the program" in exact_kernel(f, [RNG.normal(size=9), np.array([0.5, 0.25])])


def test_they_are_not_read_where_no_step_is_taken_and_missing_ones_are_told_of() -> None:
    inputs, found = coefficients()
    f = scanopt.function(inputs, found, fp="exact", backend="c")
    f(np.ones(3), np.ones(2))
    assert f(np.ones(0), np.ones(1)).shape == (0,)
    for _ in range(2):
        with pytest.raises(IndexError, match="index 1 is out of bounds"):
            f(np.ones(3), np.ones(1))


@pytest.mark.parametrize("fp", ["exact", "reassoc"])
def test_loops_that_end_early_for_each_of_many_numbers(fp: str) -> None:
    """Run side by side or one after the other, they are a part of one kernel."""
    n, a, q = T.lvector("n"), T.dvector("a"), T.dvector("q")

    def halved(x: Any) -> Any:
        step = lambda x, c: ([T.switch(x % 2 > 0, 3 * x + 1, x // 2), c + 1], scanopt.until(x < 3))  # noqa: E731
        return scanopt.scan(step, outputs_info=[x, np.int64(0)], n_steps=200)[0][1][-1]

    def searched(q: Any, a: Any) -> Any:
        def step(low: Any, high: Any) -> Any:
            middle = (low + high) // 2
            low, high = T.switch(a[middle] < q, middle + 1, low), T.switch(a[middle] < q, high, middle)
            return [low, high], scanopt.until(low >= high)

        return scanopt.scan(step, outputs_info=[np.int64(0), a.shape[0]], n_steps=64)[0][0][-1]

    found = [scanopt.map(halved, n)[0], scanopt.map(searched, q, non_sequences=a)[0]]
    f = scanopt.function([n, a, q], found, fp=fp, backend="c")
    values = [np.arange(1, 40), np.arange(30.0) ** 2, np.linspace(-3, 900, 17)]
    for _ in range(2):
        for x, y in zip(f(*values), f.unoptimized(*values), strict=True):
            np.testing.assert_array_equal(x, y)
    assert [k.loop for k in f.kernels] == [ONCE]


def test_promised_lengths_are_looked_at_before_a_kernel_runs() -> None:
    x, w = T.dvector("x"), T.dvector("w")
    rows = scanopt.map(lambda v, w: v * w + 1.0, x, [T.specify_shape(w, (3,))])[0]
    f = scanopt.function([x, w], [T.specify_shape(w, (x.shape[0],)) * x, rows], fp="exact", backend="c")
    assert "the program" in exact_kernel(f, [np.array([0.5, 1.5, 2.5]), np.array([2.0, 4.0, 8.0])])
    with pytest.raises(ValueError, match="axis 0 has length 2, not 3"):
        f(np.ones(3), np.ones(2))
    with pytest.raises(ValueError, match="axis 0 has length 3, not 2"):
        f(np.ones(2), np.ones(3))
