"""Windows of arrays that steps reduce, several steps at once, have the bits of steps one by one."""

from typing import Any

import numpy as np
import pytest
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(5)
REDUCED = {
    "max": lambda x, w: x.max(),
    "min": lambda x, w: x.min(),
    "sum": lambda x, w: x.sum(),
    "mean": lambda x, w: x.mean(),
    "prod": lambda x, w: x.prod(),
    "std": lambda x, w: x.std(),
    "var of few": lambda x, w: x.var(ddof=1),
    "weighted": lambda x, w: (x * w).sum(),
    "product": lambda x, w: w @ x - x.max(),
    "range": lambda x, w: (x - x.mean()).max() - x.min() * 2,
    "two windows": lambda x, w: (abs(x) + 1).max() + (x[1:] if x.ndim > 1 else x).sum(),
}


def _rolling(name: str, dtype: str, k: int, start: Any = lambda i: i) -> Any:
    """A function of x, weights and a number of windows."""
    x, w, n = T.TensorType(dtype, (None,))("x"), T.TensorType(dtype, (None,))("w"), T.lscalar("n")

    def step(i: Any, x: Any, w: Any) -> Any:
        return REDUCED[name](x[start(i) : start(i) + k], w)

    y, _ = scanopt.scan(step, T.arange(n), non_sequences=[x, w])
    return scanopt.function([x, w, n], y, fp="exact", backend="c", on_unused_input="ignore")


def _given(dtype: str, n: int, kind: int) -> Any:
    """Ordinary numbers, of all sizes, small integers, or with zeros of both signs, NaN and infinities."""
    x = RNG.normal(size=n)
    odd = RNG.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0], n)
    wide, small = x * 10.0 ** RNG.integers(-5, 6, n), RNG.integers(-3, 4, n) * 1.0
    kinds = (x, wide, small, np.where(RNG.random(n) < 0.05, odd, x))
    return kinds[kind].astype(dtype) if dtype != "int64" else RNG.integers(-9, 9, n)


@pytest.mark.share(10)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("name", REDUCED)
def test_windows_of_several_steps(name: str, dtype: str) -> None:
    for k in (3, 20, 67):
        f = _rolling(name, dtype, k)
        for n in (12, 65, 150):
            for kind in range(4):
                given = [_given(dtype, n + k + 3, kind), _given(dtype, k, 0), n]
                with np.errstate(all="ignore"):
                    assert_same([f(*given)], [f.unoptimized(*given)])
        assert "compiled" in f.kernels[0].state, f.kernels[0].state


@pytest.mark.share(2)
@pytest.mark.parametrize("name", ["max", "mean"])
def test_windows_that_do_not_follow_each_other(name: str) -> None:
    """Every other one, backwards, longer than what NumPy adds in one go, or of which the last are cut off."""
    starts = (lambda i: 2 * i, lambda i: 110 - i, lambda i: i + 3, lambda i: i % 7, lambda i: i - 250)
    for k in (16, 140):
        for start in starts:
            f = _rolling(name, "float64", k, start)
            given = [RNG.normal(size=320), np.ones(1), 70]
            assert_same([f(*given)], [f.unoptimized(*given)])
    f = _rolling(name, "float64", 9)
    for length in (78, 77, 70):
        given = [RNG.normal(size=length), np.ones(1), 70]
        assert_same([f(*given)], [f.unoptimized(*given)])


def test_windows_of_a_loop_that_is_a_kernel_of_its_own() -> None:
    x = T.dvector("x")
    y, _ = scanopt.scan(lambda i, v, x: x[i : i + 9].max() + v, [T.arange(90), x[::2]], non_sequences=x)
    f = scanopt.function([x], T.fft.fft(y).real, fp="exact", backend="c")
    given = RNG.normal(size=200)
    assert_same([f(given)], [f.unoptimized(given)])


def test_a_mean_of_windows_is_made_of_sums_that_they_share() -> None:
    f = _rolling("mean", "float64", 64)
    f(RNG.normal(size=300), np.ones(1), 200)
    (text,) = f.kernels[0].texts
    assert text.count("< 71") == 2  # 64 windows side by side and the seven next ones
