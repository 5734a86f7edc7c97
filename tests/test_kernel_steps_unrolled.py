"""Loops of few operations that take four steps at a time, also with branches, with the bits of the interpreter."""

import re
from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel
from shares import tries

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.build import Build

SIZES = (9, 10, 11, 12, 19, 40)


def random_step(rng: np.random.Generator, dtypes: list[str]) -> Any:
    """A step of a few random operations on states of these dtypes and a number of a sequence."""
    choices = [(int(rng.integers(6)), rng.random()) for _ in range(int(rng.integers(2, 9)))]
    takes = rng.integers(0, 1 << 30, (len(choices), 4)).tolist()
    ends = rng.integers(0, 1 << 30, len(dtypes)).tolist()

    def operation(kind: int, c: float, a: Any, b: Any, test: Any) -> Any:
        match kind:
            case 0:
                return T.switch(test, a, b)
            case 1:
                return a + b
            case 2:
                return T.maximum(a, b)
            case 3:
                return T.switch(a > b, a - b, a)
            case 4:
                return T.minimum(a, b + T.cast(3 * c, a.dtype))
        return a * T.cast(2 * c, a.dtype) - b

    def step(v: Any, *states: Any) -> Any:
        values = [T.cast(a, "int64") if a.dtype == "bool" else a for a in (v, *states)]
        for (kind, c), (i, j, k, m) in zip(choices, takes, strict=True):
            a, b, d, e = (values[n % len(values)] for n in (i, j, k, m))
            b = T.cast(b, a.dtype)
            values.append(operation(kind, c, a, b, T.lt(d, T.cast(e, d.dtype)) | T.eq(a, b)))
        return [T.cast(values[-1 - n % 4], dtype) for n, dtype in zip(ends, dtypes, strict=True)]

    return step


def rows(rng: np.random.Generator, n: int, dtype: str) -> Any:
    if dtype.startswith("int"):
        return rng.integers(-4, 5, n).astype(dtype)
    odd = rng.random(n) < rng.choice([0.01, 0.1])
    return np.where(odd, rng.choice([np.nan, np.inf, 0.0, -0.0], n), rng.normal(size=n)).astype(dtype)


@pytest.mark.parametrize("seed", range(tries(60)))
def test_random_steps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    of = str(rng.choice(["float64", "float32", "int64", "int32"]))
    dtypes = [str(rng.choice([of, of, "int64", "bool", "int8"])) for _ in range(int(rng.integers(1, 4)))]
    x = T.vector("x", dtype=of)
    starts = [T.constant(np.asarray(rng.integers(0, 2)).astype(d)) for d in dtypes]
    kept = scanopt.scan(random_step(rng, dtypes), x, starts)[0]
    kept = kept if isinstance(kept, list | tuple) else [kept]
    f = scanopt.function([x], [y if rng.random() < 0.6 else y[-1] for y in kept], fp="exact", backend="c")
    for n in (*SIZES, *[2100] * (seed % 4 == 0)):
        values = rows(rng, n, of)
        with np.errstate(all="ignore"):
            found, expected = f(values), f.unoptimized(values)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(np.signbit(a) & (a == a), np.signbit(b) & (b == b))


def test_steps_that_set_elements() -> None:
    x, s = T.lvector("x"), T.dvector("s")

    def step(v: Any, at: Any, s: Any) -> Any:
        at = T.switch(v > 0, T.minimum(at + 1, s.shape[0] - 1), T.maximum(at - 1, 0))
        return [at, T.set_subtensor(s[at], s[at] / 2 + T.cast(v, "float64"))]

    rows_of_s = scanopt.scan(step, x, [T.constant(0, dtype="int64"), s])[0][1]
    f = scanopt.function([x, s], [rows_of_s[-1]], fp="exact", backend="c")
    rng = np.random.default_rng(3)
    for n in SIZES:
        text = exact_kernel(f, [rng.integers(-3, 4, n), rng.normal(size=9)])
    assert "GROUPED\n" in text, text


def test_a_place_out_of_range_in_the_middle_of_a_group() -> None:
    x, s = T.lvector("x"), T.dvector("s")

    def step(i: Any, a: Any, s: Any) -> Any:
        return a * 0.5 + s[i]

    found = scanopt.scan(step, x, [T.constant(0.0, dtype="float64")], [s])[0]
    f = scanopt.function([x, s], found, fp="exact", backend="c")
    for wrong in (0, 5, 6, 11):
        places = np.arange(12) % 5
        f(places, np.ones(5))
        places[wrong] = 7
        with pytest.raises(IndexError):
            f(places, np.ones(5))


def always(text: str, first: bool) -> str:
    """The text of a kernel that takes one of two ways only, in long loops."""
    return re.sub(r"\(turn\w+ < 2 \|\| \(turn\w+ > 2 && \w+\)\)", f"({int(not first)})", text)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("seed", range(tries(10)))
def test_each_of_two_ways(seed: int, first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Build.__init__
    edited = set[str]()

    def build(self: Build, text: str) -> None:
        edited.update([always(text, first)] if "took" in text else [])
        made(self, always(text, first))

    monkeypatch.setattr(Build, "__init__", build)
    rng = np.random.default_rng(seed)
    x = T.dvector("x")

    def step(v: Any, held: Any, top: Any, low: Any, cash: Any) -> Any:
        top = T.maximum(top, v)
        sell = (held > 0) & (v < 0.9 * top)
        buy = T.eq(held, 0) & (v > 1.2)
        more = T.switch(sell, cash + v, T.switch(buy, cash - v, cash))
        low = T.switch(sell | buy, v, T.minimum(low, v))
        return [T.switch(sell, 0, T.switch(buy, 1, held)), T.switch(sell, v, top), low, more]

    starts = [T.constant(0, dtype="int64"), *[T.constant(0.0, dtype="float64")] * 3]
    f = scanopt.function([x], scanopt.scan(step, x, starts)[0], fp="exact", backend="c")
    text = ""
    for values in (rng.normal(size=2600) + 1, np.cumsum(rng.normal(size=2601) * 0.02), rows(rng, 3000, "float64")):
        text = exact_kernel(f, [values])
    assert "took" in text
    assert len(edited) == 1


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "float64", "bool"])
def test_truth_values_of_rows_are_combined(dtype: str) -> None:
    x = T.vector("x", dtype=dtype)
    f = scanopt.function([x], [T.all(x >= 0), T.any(x > 1), T.all(T.neq(x, 0) | (x < 1))], fp="exact", backend="c")
    rng = np.random.default_rng(5)
    for n in (9, 16, 33, 100):
        for place in (0, n // 2, n - 1):
            values = rows(rng, n, "int64") % 2
            exact_kernel(f, [values.astype(dtype)])
            values[place] = -1 + 4 * (n % 2)
            exact_kernel(f, [values.astype(dtype)])
