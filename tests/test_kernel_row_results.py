"""What is computed of all rows that a loop keeps is computed in its steps, with the bits of the interpreter."""

import re
from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(12)


def run(after: Any) -> Any:
    """A loop of two results, and what is made of these; its function."""
    z, w, x = T.dmatrix("z"), T.dvector("w"), T.dvector("x")

    def step(z: Any, s: Any) -> list[Any]:
        s = s * 0.5 + z
        return [s, s > T.sqrt(abs(z))]

    (states, over), _ = scanopt.scan(step, z, [x, None])
    return scanopt.function([z, w, x], after(states, over, w), fp="exact", backend="c", on_unused_input="ignore")


def values(steps: int = 9, lanes: int = 20) -> list[Any]:
    return [RNG.normal(size=(steps, lanes)), RNG.normal(size=lanes), RNG.normal(size=lanes)]


RESULTS = {
    "a cast": lambda s, o, w: [T.cast(o, "int64")],
    "several, one of which others read": lambda s, o, w: [s * w, T.cast(o, "float64") * s, (s * w).sum()],
    "some rows too": lambda s, o, w: [s * w + 1.0, s[-1]],
    "with what others read": lambda s, o, w: [T.where(o, s, w) * 2.0, s],
    "a product": lambda s, o, w: [T.where(o, s, 0.5).dot(w)],
    "sums": lambda s, o, w: [T.where(o, s, w).sum(axis=0), T.where(o, s, w).sum(axis=1)],
    "reductions of rows": lambda s, o, w: [
        s.max(axis=1),
        s.sum(axis=1) - s.mean(axis=1),
        T.argmin(s, axis=1),
        o.all(axis=1),
    ],
    "of all rows": lambda s, o, w: [s - s.mean(axis=0), T.cast(o, "int8")],
}


@pytest.mark.share(2)
@pytest.mark.parametrize("after", RESULTS.values(), ids=RESULTS)
def test_what_is_computed_of_kept_rows(after: Any) -> None:
    f = run(after)
    for size in ((9, 20), (2, 11), (30, 300)):
        exact_kernel(f, values(*size))


def test_rows_that_nothing_else_reads_are_not_kept() -> None:
    f = run(RESULTS["a cast"])
    exact_kernel(f, values(100, 50))
    assert f.kernels[0].memory < 100 * 50


def test_a_state_of_which_only_extremes_of_rows_are_asked_for_is_changed_in_place() -> None:
    x, k = T.dvector("x"), T.lscalar("k")
    step = lambda x, t, s: T.set_subtensor(s[t % s.shape[0]], x)  # noqa: E731
    last, _ = scanopt.scan(step, [x, T.arange(x.shape[0])], T.zeros((k,)))
    f = scanopt.function(
        [x, k], [T.max(last, axis=1), T.sum(last, axis=1), T.argmin(last, axis=1)], fp="exact", backend="c"
    )
    exact_kernel(f, [RNG.normal(size=100), 40])
    assert f.kernels[0].memory < 8 * 40 * 10


@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("times", [False, True])
def test_running_sums_end_where_the_loop_does(dtype: str, times: bool) -> None:
    x, most = T.vector("x", dtype=dtype), T.scalar("most", dtype=dtype)

    def step(x: Any, s: Any, p: Any, most: Any) -> tuple[list[Any], Any]:
        s = s * x if times else s + x
        return [s, p * 2 - x], scanopt.until(s > most)

    start = T.constant(1 if times else 0, dtype=dtype)
    (s, p), _ = scanopt.scan(step, x, [start, start], non_sequences=[most])
    f = scanopt.function([x, most], [s[-1], p], fp="exact", backend="c")
    g = scanopt.function([x, most], [s[-1]], fp="exact", backend="c")
    for values in (RNG.integers(1, 4, 30), np.full(30, 0), np.array([-0.0, 2.0, 0.0])):
        for end in (20, 1000):
            exact_kernel(f, [values.astype(dtype), np.asarray(end, dtype=dtype)])
            exact_kernel(g, [values.astype(dtype), np.asarray(end, dtype=dtype)])
    assert g.kernels[0].memory < 64


@pytest.mark.parametrize("dtype", ["int64", "int8"])
def test_integers_that_are_kept_to_be_put_together_are_put_together_in_steps(dtype: str) -> None:
    x = T.vector("x", dtype)
    one = T.constant(np.dtype(dtype).type(1))
    (run, last), _ = scanopt.scan(lambda x, k, y: [T.where(T.eq(x, y), k + one, one), x], x, [one * 0, -one])
    for result in (T.max(run), T.min(run)):
        f = scanopt.function([x], [result, last[-1]], fp="exact", backend="c")
        text = exact_kernel(f, [RNG.integers(0, 2, 300).astype(dtype)])
        assert re.search(r"\[t\d+\] =", text) is None  # no row is kept
