"""Steps that read a number and the one before it hand the number on, with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel
from shares import tries

import scanopt
import scanopt.tensor as T

SIZES = (9, 10, 40, 2100)


def values(rng: np.random.Generator, n: int, dtype: str) -> Any:
    found = rng.integers(-2, 3, n)
    if dtype == "float64":
        return np.where(rng.random(n) < 0.1, rng.choice([np.nan, -0.0, np.inf], n), found)
    return found.astype(dtype)


@pytest.mark.parametrize("dtype", ["int64", "float64", "int32"])
def test_a_number_one_step_ago_is_not_copied(dtype: str) -> None:
    x = T.vector("x", dtype=dtype)

    def step(v: Any, before: Any, run: Any) -> Any:
        return [v, T.switch(T.eq(v, before), run + 1, 1)]

    starts = [T.constant(1, dtype=dtype), T.constant(0, dtype="int64")]
    runs = scanopt.scan(step, x, starts)[0][1]
    f = scanopt.function([x], [runs], fp="exact", backend="c")
    for n in SIZES:
        text = exact_kernel(f, [values(np.random.default_rng(n), n, dtype)])
    assert "[1 + i" not in text, text


@pytest.mark.parametrize("seed", range(tries(40)))
def test_random_steps_that_read_two_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype = str(rng.choice(["int64", "float64", "int32", "bool"]))
    x, start, y = T.vector("x", dtype=dtype), T.vector("start", dtype=dtype), T.dvector("y")
    first = [start[:1], start, x[:1]][int(rng.integers(3))]
    behind = T.concatenate([first, x])
    behind = behind[: x.shape[0]] if rng.random() < 0.7 else behind
    ends, keeps, by, of = rng.random() < 0.3, rng.random() < 0.5, int(rng.integers(3)), int(rng.integers(2))

    def step(v: Any, before: Any, u: Any, held: Any, total: Any) -> Any:
        a, b = T.cast(v, "float64"), T.cast(before, "float64")
        new = [T.switch(a > b, held + u, -u), T.maximum(held - b, a), held * 0.5 + (a - b)][by]
        total = total + [T.cast(T.neq(v, before), "int64"), T.cast(new > 1.0, "int64")][of]
        return ([new, total], {}, scanopt.until(total > 12)) if ends else [new, total]

    starts = [T.constant(0.0, dtype="float64"), T.constant(0, dtype="int64")]
    held, total = scanopt.scan(step, [x, behind, y], starts)[0]
    outs = [held if keeps else held[-1], total[-1], behind[-1] if rng.random() < 0.2 else total[0]]
    f = scanopt.function([x, start, y], outs, fp="exact", backend="c", on_unused_input="ignore")
    for n in SIZES:
        given = [values(rng, n, dtype), values(rng, 1, dtype), rng.normal(size=n)]
        with np.errstate(all="ignore"):
            found, expected = f(*given), f.unoptimized(*given)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(np.signbit(a) & (a == a), np.signbit(b) & (b == b))


def test_a_number_handed_on_twice_and_one_that_is_kept() -> None:
    x = T.dvector("x")

    def step(v: Any, before: Any, earlier: Any, top: Any) -> Any:
        peak = (before > v) & (before > earlier)
        return [v, before, T.switch(peak, T.maximum(top, before), top * 0.9)]

    starts = [T.constant(0.0, dtype="float64")] * 3
    last, earlier, top = scanopt.scan(step, x, starts)[0]
    f = scanopt.function([x], [last[-1], earlier, top], fp="exact", backend="c")
    for n in SIZES:
        exact_kernel(f, [values(np.random.default_rng(n), n, "float64")])


def test_a_step_out_of_range_is_an_error_as_before() -> None:
    x, y = T.lvector("x"), T.lvector("y")
    rows = T.concatenate([y[:1], x])[: y.shape[0]]

    def step(v: Any, before: Any, s: Any) -> Any:
        return T.switch(T.eq(v, before), s + 1, 0)

    f = scanopt.function(
        [x, y], scanopt.scan(step, [x, rows], [T.constant(0, dtype="int64")])[0], fp="exact", backend="c"
    )
    for n, m in ((20, 20), (20, 12), (12, 20), (20, 21), (12, 12)):
        given = [np.arange(n) // 3, np.arange(m)]
        np.testing.assert_array_equal(f(*given), f.unoptimized(*given))
