"""Rows of integers and truth values are put together as they are computed, and only as far as places count."""

import re
from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel
from shares import EVERYTHING
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T

REDUCED = (T.max, T.min, T.sum, T.prod, T.any, T.all)


def random_program(seed: int) -> tuple[Any, list[Any]]:
    """A loop that reduces integers chosen by places and by what a state has."""
    rng = np.random.default_rng(seed)
    dtype = ["int64", "int32", "uint8", "int64", "bool"][seed % 5]
    x, b, k = T.dvector("x"), T.lvector("b"), T.TensorType(dtype, (None,))("k")
    reduce, compare, more, other = (int(rng.integers(0, n)) for n in (6, 5, 4, 3))

    def step(v: Any, end: Any, s: Any, x: Any, k: Any) -> list[Any]:
        i = T.arange(x.shape[0])
        test = [i < end, i <= end, end > i, end >= i, i > end][compare]
        test = [test, test & (x < v), (x > v) & test, test * (k > 0)][more]
        chosen = T.where(test, s, T.constant([0, 1, 0][other], dtype=dtype))
        found = REDUCED[reduce]([chosen, chosen, test][other])
        second = T.sum(x > v)
        new = T.where(T.eq(i, end % x.shape[0]), T.cast(found + second, dtype), s)
        return [new, T.cast(found, "int64"), second]

    (ss, ys, zs), _ = scanopt.scan(step, [x, b], [k, None, None], non_sequences=[x, k])
    count = int(rng.integers(1, 40))
    ends = rng.integers(-3, count + 3, count)
    if seed % 3 == 0:
        ends[rng.integers(0, count, 2)] = rng.choice([2**63 - 1, -(2**63), 2**62], 2)
    values = [rng.normal(size=count).round(1), ends, rng.integers(0, 2 if dtype == "bool" else 9, count).astype(dtype)]
    return scanopt.function([x, b, k], [ss[-1], ys, zs], fp="exact", backend="c"), values


@pytest.mark.parametrize("seed", range(200 if EVERYTHING else 10))
def test_random_rows(seed: int) -> None:
    f, values = random_program(seed)
    assert_same([*f(*values)], [*f.unoptimized(*values)])


def subsequence() -> Any:
    """The longest increasing one."""
    a = T.dvector("a")

    def step(x: Any, i: Any, best: Any, a: Any) -> Any:
        before = (T.arange(a.shape[0]) < i) & (a < x)
        return T.set_subtensor(best[i], 1 + T.max(T.where(before, best, 0)))

    found, _ = scanopt.scan(step, [a, T.arange(a.shape[0])], T.zeros(a.shape, dtype="int64"), non_sequences=a)
    return scanopt.function([a], T.max(found[-1]), backend="c")


def test_only_places_that_count_are_computed() -> None:
    f = subsequence()
    for n in (1, 2, 7, 100):
        a = np.random.default_rng(n).normal(size=n)
        assert_same([f(a)], [f.unoptimized(a)])
    (kernel,) = f.kernels
    assert ">> 1;" in kernel.texts[-1]
    assert kernel.memory < 2.5 * 8 * 100 + 512  # the state and the places


def test_elements_that_no_step_has_set_are_not_computed() -> None:
    x = T.dvector("x")

    def chain(rest: int, first: int = 0) -> Any:
        def step(i: Any, d: Any, x: Any) -> Any:
            return T.set_subtensor(d[i], T.max(T.where(x < x[i], d, rest)) + 1)

        places = T.arange(first, x.shape[0])
        return scanopt.scan(step, places, T.full(x.shape, 1, dtype="int64"), non_sequences=x)[0][-1]

    for rest, first, limited in ((1, 3, True), (0, 0, False), (1, -1, False)):
        f = scanopt.function([x], [chain(rest, first)], fp="exact", backend="c")
        text = exact_kernel(f, [np.random.default_rng(rest).normal(size=20)])
        assert bool(re.search(r"const int64 h\d+ = clip_int64", text)) == limited, (rest, first)


@pytest.mark.share(6)
@pytest.mark.parametrize("axes", [0, 1, (0, 1)])
@pytest.mark.parametrize("reduce", REDUCED)
def test_of_matrices(reduce: Any, axes: Any) -> None:
    """Of rows, of columns, of all; also of none or one element beside the halves."""
    u, k = T.dvector("u"), T.lmatrix("k")
    step = lambda v, s: [s + T.cast(v, "int64"), reduce(s * 3 + T.cast(v, "int64"), axis=axes)]  # noqa: E731
    (ss, ys), _ = scanopt.scan(step, u, [k, None])
    f = scanopt.function([u, k], [ss[-1], ys], fp="exact", backend="c")
    rng = np.random.default_rng(1)
    for shape in ((3, 17), (17, 3), (1, 12), (12, 1), (20, 21)):
        values = 3 * rng.normal(size=5), rng.integers(-3, 4, shape)
        assert_same([*f(*values)], [*f.unoptimized(*values)])


def test_averages_of_integers_are_made_of_whole_sums_and_larger_ones_left_to_array_steps() -> None:
    x, m = T.lmatrix("x"), T.TensorType("int8", (None, None, None))("m")
    rows, _ = scanopt.scan(lambda r, s: s + T.mean(r > s), x, T.constant(0.0, dtype="float64"))
    means = [T.mean(x), T.mean(x, axis=0), T.mean(m, axis=(0, 2)), T.mean(m > 0, axis=1), rows]
    f = scanopt.function([x, m], means, fp="exact", backend="c")
    rng = np.random.default_rng(0)
    small = rng.integers(-128, 128, (3, 50, 70)).astype("int8")
    exact_kernel(f, [rng.integers(-(2**32), 2**32, (40, 300)), small])
    large = [rng.integers(2**61, 2**62, (40, 300)), small]
    assert_same([*f(*large)], [*f.unoptimized(*large)])
