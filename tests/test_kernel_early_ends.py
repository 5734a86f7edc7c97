"""Searches for a truth value end at the first one that decides them: `any`, `all`, and places of first truth values."""

from typing import Any

import numpy as np
import pytest
from shares import EVERYTHING
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T

LENGTHS = (1, 2, 3, 7, 8, 9, 12, 63, 64, 65, 127, 128, 130, 200)


def looked_up(reduce: Any) -> Any:
    """Whether any (or all) of the elements at some places before a step are true; each step sets one."""
    x, apart, d = T.lvector("x"), T.lvector("apart"), T.TensorType("bool", (None,))("d")

    def step(v: Any, i: Any, d: Any, apart: Any) -> Any:
        found = reduce(d[i - apart] & (apart < v))
        return [T.set_subtensor(d[i], found ^ (v > 2)), T.cast(found, "int64")]

    (ds, found), _ = scanopt.scan(step, [x, T.arange(x.shape[0])], [d, None], non_sequences=apart)
    return scanopt.function([x, apart, d], [ds[-1], found], backend="c", fp="exact")


@pytest.mark.parametrize("reduce", [T.any, T.all])
def test_elements_that_are_looked_up_are_computed_up_to_the_first_hit(reduce: Any) -> None:
    f, rng = looked_up(reduce), np.random.default_rng(0)
    for m in (1, 2, 12, 13, 70):
        for likely in (0.0, 0.2, 0.9, 1.0):
            values = [rng.integers(0, 5, 40), rng.integers(-3, 5, m), rng.random(50) < likely]
            assert_same([*f(*values)], [*f.unoptimized(*values)])
    text = f.kernels[-1].texts[-1]
    check, search = text.index("== 0))"), text.rindex("break;")
    assert text.index("return -1;", check) < search
    assert " >> 1;" not in text


@pytest.mark.parametrize("reduce", [T.any, T.all])
def test_places_out_of_range_after_the_first_hit_are_errors(reduce: Any) -> None:
    f = looked_up(reduce)
    x, apart, d = np.full(5, 4), np.ones(12, "int64"), np.full(9, reduce is T.any)
    assert_same([*f(x, apart, d)], [*f.unoptimized(x, apart, d)])
    for far in (-9, 100):
        with pytest.raises(IndexError):
            f(x, np.append(apart, far), d)


@pytest.mark.parametrize("reduce", [T.any, T.all])
def test_long_rows_end_with_a_block(reduce: Any) -> None:
    x, a = T.dvector("x"), T.dvector("a")
    found = scanopt.scan(lambda v, s, a: reduce((a > v) ^ (s > 2)) + s * 0.5, x, T.constant(0.0), non_sequences=a)[0]
    f = scanopt.function([x, a], found, backend="c", fp="exact")
    rng = np.random.default_rng(1)
    for n in LENGTHS:
        for _ in range(3):
            values = [rng.normal(size=30) * 3, rng.normal(size=n)]
            values[1][rng.integers(0, n, 2)] = np.nan
            assert_same([f(*values)], [f.unoptimized(*values)])
            for at in range(0, n, 7):  # one element decides
                values[1][:] = -9.0 if reduce is T.any else 9.0
                values[1][at] *= -1
                assert_same([f(*values)], [f.unoptimized(*values)])
    text = f.kernels[-1].texts[-1]
    assert " >> 6;" in text
    assert " < 64; " in text


@pytest.mark.parametrize("find", [T.argmax, T.argmin])
def test_first_truth_values_are_found(find: Any) -> None:
    x, a = T.dvector("x"), T.dvector("a")

    def step(v: Any, s: Any) -> list[Any]:
        test = s < v
        at = find(test)
        return [T.set_subtensor(s[at], v), at + T.any(test)]

    (ss, places), _ = scanopt.scan(step, x, [a, None])
    f = scanopt.function([x, a], [ss[-1], places], backend="c", fp="exact")
    rng = np.random.default_rng(2)
    for n in LENGTHS:
        for shift in (-5.0, 0.0, 0.0, 5.0):  # none, some, all
            values = [rng.normal(size=25) + shift, rng.normal(size=n)]
            values[0][5:7] = np.nan
            assert_same([*f(*values)], [*f.unoptimized(*values)])
    assert any(f"first_{'greater' if find is T.argmax else 'less'}_bool" in x for x in f.kernels[-1].texts)


def test_the_first_of_few_truth_values_is_not_found_in_memory() -> None:
    x, a = T.dvector("x"), T.TensorType("float64", (5,))("a")
    step = lambda v, s: T.set_subtensor(s[T.argmax(s < v)], v)  # noqa: E731
    f = scanopt.function([x, a], scanopt.scan(step, x, a)[0][-1], backend="c", fp="exact")
    values = [np.random.default_rng(3).normal(size=40), np.zeros(5)]
    assert_same([f(*values)], [f.unoptimized(*values)])
    assert f.kernels[-1].texts[-1].count("bool8 *") == 0


def test_rows_of_truth_values_given_from_outside() -> None:
    x = T.TensorType("bool", (None, None))("x")
    f = scanopt.function([x], [T.argmax(x, axis=1), T.argmin(x, axis=1), T.argmax(x, axis=0)], backend="c", fp="exact")
    rng = np.random.default_rng(4)
    for n in LENGTHS:
        for likely in (0.0, 0.05, 0.5, 0.95, 1.0):
            value = rng.random((9, n)) < likely
            assert_same([*f(value)], [*f.unoptimized(value)])


@pytest.mark.parametrize("seed", range(100 if EVERYTHING else 8))
def test_random_searches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, k, d = T.dvector("x"), T.lmatrix("k"), T.dvector("d")
    reduce, find = ([T.any, T.all][seed % 2], [T.argmax, T.argmin][seed // 2 % 2])
    twice, other = bool(rng.integers(0, 2)), int(rng.integers(0, 3))

    def step(v: Any, k: Any, d: Any) -> list[Any]:
        at = T.cast(T.maximum(d[k], 0), "int64") if twice else k
        test = [d[at] > v, (d[at] > v) & (k > 1), T.neq(k, 2)][other]
        first = find(test)
        return [T.set_subtensor(d[k[first]], T.cast(reduce(test), "float64") * v), first]

    (ds, firsts), _ = scanopt.scan(step, [x, k], [d, None])
    f = scanopt.function([x, k, d], [ds[-1], firsts], backend="c", fp="exact")
    n = int(rng.choice(LENGTHS))
    values = [rng.normal(size=20), rng.integers(-4, 4, (20, n)), rng.normal(size=4)]
    assert_same([*f(*values)], [*f.unoptimized(*values)])
