"""Rows of a loop that may end early are read in the kernel of the whole program, however many there are."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T

WAYS: dict[str, Callable[[Any], list[Any]]] = {
    "scaled": lambda r: [r * 2.0],
    "with all rows": lambda r: [r, T.sum(r)],
    "extremes": lambda r: [T.max(r), T.min(r), r.shape[0]],
    "place": lambda r: [T.argmin(T.abs(r - 5.0))],
    "running": lambda r: [T.cumsum(r)],
    "mean": lambda r: [T.mean(r), r[-1]],
    "backwards": lambda r: [r[::-1]],
    "functions": lambda r: [T.exp(-r), T.log(r)],
    "differences": lambda r: [T.sum(r[1:] - r[:-1])],
    "lengths": lambda r: [T.cast(r, "int32"), r.shape[0] * 2],
    "product": lambda r: [T.dot(r, r)],
}


def rows_of(a: Any, n: Any) -> Any:
    """Numbers from 1 on, `a` apart, up to the first beyond 150."""
    step = lambda x, a: (x + a, scanopt.until(x > 150.0))  # noqa: E731
    return scanopt.scan(step, outputs_info=T.constant(1.0, dtype="float64"), non_sequences=a, n_steps=n)[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fp", ["exact", "reassoc"])
def test_rows_are_read_in_one_kernel(way: str, fp: str) -> None:
    a, n = T.dscalar("a"), T.lscalar("n")
    f = scanopt.function([a, n], WAYS[way](rows_of(a, n)), backend="c", fp=fp)
    for apart in (400.0, 3.0, 0.1, 3.0):
        for steps in (20_000, 50, 2, 1):
            found, expected = [*f(apart, steps)], [*f.unoptimized(apart, steps)]
            if fp == "exact":
                assert_same(found, expected)
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-12)
    assert all("the program" in str(k) for k in f.kernels)
    assert "loop0':" not in str(f.kernels[0])


def test_rows_of_vectors() -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    step = lambda s: (s * 1.5 + 1.0, scanopt.until(T.max(s) > 1e3))  # noqa: E731
    r, _ = scanopt.scan(step, outputs_info=x, n_steps=n)
    for outputs in ([T.max(r, axis=0), r], [T.sum(r, axis=1)], [r * x, T.sum(r)], [r[:, 0], T.mean(r, axis=0)]):
        f = scanopt.function([x, n], outputs, backend="c", fp="exact")
        for values in ([1.0, -2.0, 3.0], [900.0, 0.0], [0.0], [1e4, 1.0, 1.0, 2.0]):
            for steps in (100, 4, 2, 1):
                assert_same([*f(np.array(values), steps)], [*f.unoptimized(np.array(values), steps)])


def test_no_step_and_wrong_indices_are_left_to_array_steps() -> None:
    a, n = T.dscalar("a"), T.lscalar("n")
    f = scanopt.function([a, n], [rows_of(a, n)[3] + 1.0, T.sum(rows_of(a, n))], backend="c", fp="exact")
    assert_same([*f(3.0, 100)], [*f.unoptimized(3.0, 100)])
    with pytest.raises(IndexError):
        f(600.0, 100)
    g = scanopt.function([a, n], [rows_of(a, n) * 2.0, T.sum(rows_of(a, n))], backend="c", fp="exact")
    assert_same([*g(3.0, 0)], [*g.unoptimized(3.0, 0)])


def test_threads_that_call_at_once_get_their_own_rows() -> None:
    a, n = T.dscalar("a"), T.lscalar("n")
    f = scanopt.function([a, n], [rows_of(a, n) * 2.0], backend="c")
    apart = [0.1, 3.0, 0.15, 1.0]
    expected = [f.unoptimized(v, 30_000)[0] for v in apart]
    wrong = []

    def call(i: int) -> None:
        for _ in range(20):
            if not np.array_equal(f(apart[i], 30_000)[0], expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong
