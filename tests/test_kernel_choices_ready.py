"""Choices of steps that are no branches, and rows that are nearly in order, with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(21)


def whole(k: int) -> Any:
    return T.constant(k, dtype="int64")


def odd(n: int) -> Any:
    """Numbers with NaN, infinities and zeros of both signs among them."""
    return np.where(RNG.random(n) < 0.2, RNG.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], n), RNG.normal(size=n))


def cooldown(x: Any) -> Any:
    def step(v: Any, last: Any, t: Any) -> Any:
        fire = (v > 0.5) & (t - last >= 3)
        return [T.switch(fire, t, last), t + 1, fire]

    return scanopt.scan(step, x, [whole(-3), whole(0), None])[0][2]


def bucket(x: Any) -> Any:
    def step(v: Any, left: Any) -> Any:
        left = T.minimum(left + v, 4.0)
        return [T.switch(left >= 1.0, left - 1.0, left), left >= 1.0]

    return scanopt.scan(step, x, [T.constant(4.0, dtype="float64"), None])[0][1]


def depth(x: Any) -> Any:
    def step(v: Any, s: Any, low: Any) -> Any:
        s = s + T.switch(v > 0.0, 1, -7)
        return [s, T.minimum(low, s)]

    return scanopt.scan(step, x, [whole(0), whole(0)])[0][1]


def narrow(x: Any) -> Any:
    def step(v: Any, s: Any, k: Any) -> Any:
        over = (v > s) | T.eq(k, 3)
        return [T.switch(over, v, s), T.switch(over, T.cast(0, "int32"), k + T.cast(1, "int32"))]

    start = [T.constant(0.0, dtype="float32"), T.constant(0, dtype="int32")]
    return scanopt.scan(step, T.cast(x, "float32"), start)[0][0]


@pytest.mark.parametrize("loop", [cooldown, bucket, depth, narrow])
def test_choices_that_depend_on_the_step_before(loop: Any) -> None:
    x = T.dvector("x")
    f = scanopt.function([x], [loop(x)], fp="exact", backend="c")
    for values in (RNG.random(300), odd(300), odd(7), np.zeros(40)):
        text = exact_kernel(f, [values])
    assert ("_READY(a)" in text) == (loop is not depth), text


def test_a_cast_of_what_is_kept_is_kept() -> None:
    x = T.dvector("x")
    f = scanopt.function([x], [T.cast(bucket(x), "int64")], fp="exact", backend="c")
    exact_kernel(f, [odd(200)])
    assert not f.kernels[0].memory


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "bool"])
def test_an_element_is_put_into_a_row_in_order(dtype: str) -> None:
    x, s = T.vector("x", dtype=dtype), T.vector("s", dtype=dtype)
    rows, _ = scanopt.scan(lambda v, s: T.sort(T.concatenate([s, T.stack([v])]))[1:], x, s)
    f = scanopt.function([x, s], [rows], fp="exact", backend="c")
    for n in (11, 40, 80):
        for values in (RNG.normal(size=90) * 20, odd(90)):
            start = np.sort(RNG.normal(size=n)) if n % 2 else np.zeros(n)
            with np.errstate(invalid="ignore"):
                exact_kernel(f, [values.astype(dtype), start.astype(dtype)])


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("count", [4, 8, 9, 12, 13, 17])
def test_the_place_of_an_extreme_of_a_row_that_was_just_changed(dtype: str, count: int) -> None:
    x, s = T.vector("x", dtype=dtype), T.vector("s", dtype=dtype)

    def step(v: Any, s: Any) -> Any:
        least, most = T.argmin(s), T.argmax(s)
        return [T.set_subtensor(s[T.switch(v > 0, least, most)], v), least, most]

    rows, _ = scanopt.scan(step, x, [s, None, None])
    f = scanopt.function([x, s], rows, fp="exact", backend="c")
    for values in (RNG.normal(size=120) * 9, odd(120)):
        with np.errstate(invalid="ignore"):
            exact_kernel(f, [values.astype(dtype), np.zeros(count, dtype)])
