"""Affine recurrences of numbers, eight steps at once: in NumPy, and the same bits in kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from test_kernel_recurrences import written

import scanopt
import scanopt.tensor as T
from scanopt.array.numerics import regrouped
from scanopt.array.op import Op
from scanopt.backends.kernels.compilers import compiler
from scanopt.backends.kernels.prices import KERNELS

needs_compiler = pytest.mark.skipif(isinstance(compiler(), str), reason=f"needs a compiler: {compiler()}")
Array = np.ndarray[Any, Any]
ODD = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e30])
STEPS: dict[str, Callable[..., Any]] = {
    "linear_recurrence": lambda r, s, a, x: s * a + x,
    "smoothing": lambda r, s, a, x: s + (x - s) * a,
    "regrouped_sum": lambda r, s, x: s + x,
    "regrouped_filter": lambda r, s, x, a: s * a + x,
    "regrouped_smoothing": lambda r, s, x, a: s + (x - s) * a,
    "regrouped_filter2": lambda r, s, x, a, b: (s * a + r * b) + x,
}


def arguments(name: str, dtype: str, n: int, rng: np.random.Generator, most: float) -> list[Array]:
    """Random ones: the states before, sequences, and coefficients of at most this size."""
    init = rng.normal(size=2 if name == "regrouped_filter2" else 1)
    x, a = rng.normal(size=n), rng.uniform(-most if most > 1 else 0, most, n)
    if name in ("linear_recurrence", "smoothing"):
        return [v.astype(dtype) for v in (init, a, x)]
    factors = [np.array(v) for v in rng.uniform(-most / 2, most / 2, 2)]
    more = {"regrouped_sum": 0, "regrouped_filter": 1, "regrouped_smoothing": 1, "regrouped_filter2": 2}[name]
    return [v.astype(dtype) for v in (init, x, *factors[:more])]


def steps(name: str, init: Array, *rest: Array) -> Array:
    """The loop, step by step."""
    r, s, out = init[0], init[-1], []
    for t in range(len(rest[0] if rest[0].ndim else rest[1])):
        r, s = s, STEPS[name](r, s, *(v[t] if v.ndim else v[()] for v in rest))
        out.append(s)
    return np.array(out, init.dtype)


def cases(count: int, most: float, odd: bool) -> Iterator[tuple[str, list[Array]]]:
    rng = np.random.default_rng([count, int(most * 10), odd])
    for i in range(count):
        name, dtype = list(STEPS)[i % 6], str(rng.choice(["float32", "float64"]))
        values = arguments(name, dtype, int(rng.choice([1, 7, 8, 9, 127, 128, 129, 300, 1100])), rng, most)
        if odd:
            for v in values[1:]:
                if v.ndim:
                    v[rng.integers(0, len(v), 2)] = rng.choice(ODD, 2)
        yield name, values


@pytest.mark.parametrize("odd", [False, True])
def test_rows_are_those_of_the_loop_up_to_rounding(odd: bool) -> None:
    for name, values in cases(60, 1.0, odd):
        with np.errstate(all="ignore"):
            got, want = Op.make(name).bind(np)(*values), steps(name, *values)
        finite = np.isfinite(want)
        np.testing.assert_array_equal(got[~finite], want[~finite])
        scale = float(np.abs(want[finite]).max(initial=1.0))
        assert np.abs(got[finite] - want[finite]).max(initial=0.0) <= 100 * np.finfo(got.dtype).eps * scale


def test_states_that_may_grow_are_computed_one_by_one() -> None:
    for name, values in cases(40, 3.0, odd=False):
        if name != "regrouped_sum" and len(values[1]) > 100:
            calm = name == "regrouped_filter" and abs(float(values[2])) <= 1
            calm |= name == "regrouped_filter2" and abs(values[3]) < 1 and abs(values[2]) <= 1 - values[3]
            with np.errstate(all="ignore"):
                if not calm:
                    np.testing.assert_array_equal(Op.make(name).bind(np)(*values), steps(name, *values))


def test_a_balance_that_pays_its_interest_stays_where_it_is() -> None:
    x, s, a = T.dvector("x"), T.dscalar("s"), T.dscalar("a")
    f = scanopt.function([x, s, a], scanopt.scan(lambda v, s, a: s * a + v, x, s, [a])[0])
    assert set(f(np.full(4000, -0.1), 1.0, 1.1).tolist()) == {1.0}


def test_only_steps_beside_one_that_is_not_finite_are_computed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    once = regrouped._one_by_one

    def noted(steps: Any, state: Any, out: Any, t: int, end: int) -> Any:
        counted.append(end - t)
        return once(steps, state, out, t, end)

    monkeypatch.setattr(regrouped, "_one_by_one", noted)
    x = np.ones(1000)
    x[304:308] = -1.7e308, 1.7e308, 1.7e308, -1.7e308  # the sum of two of them is not finite, but all rows are
    got = Op.make("regrouped_sum").bind(np)(np.zeros(1), x)
    np.testing.assert_allclose(got, np.add.accumulate(x), atol=1000)
    assert sum(counted) == 128


@needs_compiler
@pytest.mark.parametrize("name", STEPS)
def test_kernels_have_the_same_bits(name: str) -> None:
    with np.errstate(all="ignore"):
        for most, odd in ((1.0, False), (1.0, True), (3.0, False)):
            found = [values for other, values in cases(90, most, odd) if other == name]
            for dtype in ("float32", "float64"):
                some = [v for v in found if v[0].dtype == dtype]
                assert all(written(Op.make(name), *values) for values in some[:2])


@needs_compiler
@pytest.mark.parametrize("taps", [1, 2])
def test_the_last_row_takes_no_memory_for_the_others(taps: int) -> None:
    x, y, a = T.dvector("x"), T.dvector("y"), T.dscalar("a")
    start = y[0] if taps == 1 else dict(initial=y, taps=[-2, -1])
    step = {1: lambda v, s, a: s * a + v, 2: lambda v, r, s, a: (s * a + r * 0.3) + v}[taps]
    f = scanopt.function([x, y, a], scanopt.scan(step, x, start, [a])[0][-1], backend="c")
    g = scanopt.function([x, y, a], scanopt.scan(step, x, start, [a])[0][-1], mode="FAST_COMPILE")
    for n in (1, 1023, 1024, 1025, 5000):
        values = [np.cos(np.arange(n)), np.array([0.5, 2.0]), 0.6]
        np.testing.assert_allclose(f(*values), g(*values), rtol=1e-13)
    assert "regrouped_filter" in str(f.program)
    assert f.kernels[0].memory < 10_000


@pytest.mark.parametrize(
    "step",
    [
        lambda v, r, s, a: s * a + r * 0.3 + v,
        lambda v, r, s, a: v + s * a + r * 0.3,
        lambda v, r, s, a: v + r * 0.3 + s * a,
        lambda v, r, s, a: v + (r * 0.3 + s * a),
        lambda v, r, s, a: v - s * -a - r * -0.3,
    ],
)
def test_a_filter_is_found_in_whatever_order_its_sum_is_written(step: Callable[..., Any]) -> None:
    x, y, a = T.dvector("x"), T.dvector("y"), T.dscalar("a")
    f = scanopt.function([x, y, a], scanopt.scan(step, x, dict(initial=y, taps=[-2, -1]), [a])[0], cost=KERNELS)
    assert "regrouped_filter2(" in str(f.program)
    values = [np.cos(np.arange(300.0)), np.array([0.5, 2.0]), 0.6]
    np.testing.assert_allclose(
        f(*values), steps("regrouped_filter2", values[1], values[0], np.array(0.6), np.array(0.3))
    )
