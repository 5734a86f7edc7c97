"""Loops that end when a counter reaches a number take a number of steps that is known (`rewrites/until_counted.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt import function, lax, scan

ENDS: dict[str, Callable[[Any, Any], Any]] = {
    "i >= n": lambda i, n: i >= n,
    "n <= i": lambda i, n: n <= i,
    "i + 1 >= n": lambda i, n: i + 1 >= n,
    "i + 1 > n": lambda i, n: i + 1 > n,
    "n < i + 2": lambda i, n: n < i + 2,
    "not (i < n)": lambda i, n: T.logical_not(i < n),
    "~(i + 1 <= n)": lambda i, n: ~(i + 1 <= n),
}
BOUNDS = (-(2**63), -5, 0, 1, 2, 3, 9, 100, 2**63 - 2, 2**63 - 1)
X, N, M = T.dvector("x"), T.lscalar("n"), T.lscalar("m")
ZERO = T.constant(0, dtype="int64")


def by_state(end: Callable[[Any, Any], Any], start: int) -> Any:
    """A loop that counts in a state."""

    def step(i: Any, s: Any, n: Any) -> Any:
        return [i + 1, T.tanh(s) * 2.0], scanopt.until(end(i, n))

    return scan(step, None, [T.constant(start, dtype="int64"), X], [N], n_steps=M)[0][1]


def by_sequence(end: Callable[[Any, Any], Any], start: int) -> Any:
    """A loop that reads its counter."""

    def step(i: Any, s: Any, n: Any) -> Any:
        return T.tanh(s) * 2.0, scanopt.until(end(i, n))

    return scan(step, [T.arange(start, M + start)], [X], [N])[0]


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("loop", [by_state, by_sequence])
@pytest.mark.parametrize("start", [0, 3])
def test_it_runs_the_same_steps(name: str, loop: Callable[..., Any], start: int) -> None:
    out = loop(ENDS[name], start)
    written, found = function([X, N, M], out, mode="unoptimized"), function([X, N, M], out, fp="exact")
    assert "until" in str(written.program)
    assert "until" not in str(found.program)
    for bound in BOUNDS:
        for most in (0, 1, 2, 7):
            assert np.array_equal(found([0.5, 1.0], bound, most), written([0.5, 1.0], bound, most)), (bound, most)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32"])
def test_bounds_of_other_dtypes(dtype: str) -> None:
    n = T.scalar("n", dtype=dtype)
    out = lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, T.tanh(s[1]) * 2.0), (ZERO, X))
    f = function([n, X], out)
    assert "until" not in str(f.program)
    for bound in (0, 1, 5):
        x = np.array([0.5, 1.0])
        for _ in range(np.array(bound).astype(dtype)):
            x = np.tanh(x) * 2.0
        count, last = f(np.array(bound).astype(dtype), [0.5, 1.0])
        assert np.array_equal(last, x)
        assert count == int(np.array(bound).astype(dtype))


def test_a_loop_in_a_loop() -> None:
    rows = T.dmatrix("rows")

    def power(v: Any) -> Any:
        return lax.while_loop(lambda s: s[0] < N, lambda s: (s[0] + 1, T.sin(s[1]) + v), (ZERO, v))[1]

    f = function([rows, N], scanopt.map(power, rows)[0])
    assert "until" not in str(f.program)
    at_once = function([rows, N], scanopt.map(power, rows)[0], backend="numpy")
    assert str(at_once.program).count("loop ") == 1  # the inner loop runs once, on all rows
    values = np.random.default_rng(1).normal(size=(3, 4))
    expected = values
    for _ in range(5):
        expected = np.sin(expected) + values
    assert np.allclose(f(values, 5), expected, rtol=1e-12)
    assert np.array_equal(f(values, 0), values)


def test_sums_of_a_counted_while_loop_need_no_loop() -> None:
    total = lax.while_loop(lambda s: s[0] < N, lambda s: (s[0] + 1, s[1] + s[0]), (ZERO, ZERO))[1]
    f = function([N], total)
    assert "loop" not in str(f.program)
    assert [int(f(n)) for n in (-3, 0, 1, 5, 100)] == [0, 0, 0, 10, 4950]


@pytest.mark.parametrize(
    "end", [lambda i, n: i == n, lambda i, n: i < n, lambda i, n: i * 2 >= n, lambda i, n: i >= T.cast(n, "float64")]
)
def test_other_conditions_stay(end: Callable[[Any, Any], Any]) -> None:
    f = function([X, N, M], by_state(end, 0))
    assert "until" in str(f.program)
