"""Sequences that are computed for a loop alone are computed row by row in it, with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(11)


def run(source: Any, step: Any = lambda z, s: T.tanh(s * 0.5) + z, **options: Any) -> Any:
    """A loop over what is made of z and w; its function, whose second result is that, if asked for."""
    z, w, x = T.dmatrix("z"), T.dvector("w"), T.dvector("x")
    made = source(z, w)
    found, _ = scanopt.scan(step, made, x)
    outputs = [found, made] if options.get("kept") else [found]
    return scanopt.function([z, w, x], outputs, fp="exact", backend="c", on_unused_input="ignore")


def values(steps: int = 9, lanes: int = 20) -> list[Any]:
    return [RNG.normal(size=(steps, lanes)), RNG.normal(size=lanes), RNG.normal(size=lanes)]


SOURCES = {
    "one operation": lambda z, w: z * 0.25,
    "several": lambda z, w: T.sqrt(abs(z * w)) + z / (w * w + 1.0),
    "of a number for each step": lambda z, w: z[:, :1] * w - z,
    "of rows that are all alike": lambda z, w: z + w[None, :] * w,
    "through integers": lambda z, w: T.cast(T.cast(z * 8.0, "int64") * 3, "float64"),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_rows_are_computed_in_the_loop(source: Any) -> None:
    f = run(source)
    for size in ((9, 20), (2, 11), (30, 300)):
        exact_kernel(f, values(*size))


def test_the_sequence_is_not_made() -> None:
    f, kept = run(SOURCES["several"]), run(SOURCES["several"], kept=True)
    exact_kernel(f, values(100, 50))
    exact_kernel(kept, values(100, 50))
    assert f.kernels[0].memory < 8 * 100 * 50


def test_rows_that_others_read_are_made() -> None:
    def step(z: Any, s: Any) -> Any:
        return s * 0.5 + z * z.sum()

    exact_kernel(run(SOURCES["several"], step), values())
    exact_kernel(run(lambda z, w: T.exp(z * 0.1) + z * z, step), values())


def test_two_loops_and_taps() -> None:
    z, w, x = T.dmatrix("z"), T.dvector("w"), T.dvector("x")
    a, _ = scanopt.scan(lambda z, s: s * 0.5 + z, z * w, x)
    b, _ = scanopt.scan(lambda z, y, a, s: s * 0.25 + z - y * a, [dict(input=z - w, taps=[0, -1]), a[1:] * 2.0], x)
    f = scanopt.function([z, w, x], [a[-1], b], fp="exact", backend="c")
    exact_kernel(f, values(20))
    exact_kernel(f, values(30, 40))


@pytest.mark.share(5)
@pytest.mark.parametrize("seed", range(30))
def test_numbers_of_sequences_are_computed_in_the_step_that_reads_them(seed: int) -> None:
    draw = np.random.default_rng(seed)
    u, v, a = T.dvector("u"), T.dvector("v"), T.dscalar("a")
    made = [
        u * a, u + v, T.where(u > v, u, -v), u[1:] - u[:-1], -u[::-1], T.exp(u) * a, u * v + a * u - v * 0.5,
        T.eq(u, v), T.cast(u > 0, "int64") + 1,
    ]  # fmt: skip
    i, j, kept = *draw.integers(len(made), size=2), bool(draw.integers(2))

    def step(x: Any, y: Any, s: Any, r: Any) -> list[Any]:
        return [s * 0.5 + x * r, T.maximum(r - x, y * 1.0)]

    first, other = made[i] * 1.0, made[j]
    found, _ = scanopt.scan(step, [first, other], [a, a])
    outputs = [*found, first] if kept else found
    f = scanopt.function([u, v, a], outputs, fp="exact", backend="c", on_unused_input="ignore")
    for size in (12, 100):
        exact_kernel(f, [draw.normal(size=size), draw.normal(size=size), draw.normal()])


def test_rows_that_a_loop_reads_by_two_names() -> None:
    """Those of `above` alone, and in what is computed of them and of others."""
    x, b, k = T.dvector("x"), T.lvector("b"), T.lvector("k")

    def step(v: Any, end: Any, s: Any, x: Any) -> list[Any]:
        above = x > v
        chosen = T.where(above & (T.arange(x.shape[0]) < end), s, 1)
        found, second = T.sum(chosen), T.sum(above)
        return [T.where(T.eq(T.arange(x.shape[0]), end % x.shape[0]), found + second, s), found, second]

    (ss, ys, zs), _ = scanopt.scan(step, [x, b], [k, None, None], non_sequences=x)
    f = scanopt.function([x, b, k], [ss[-1], ys, zs], fp="exact", backend="c")
    rng = np.random.default_rng(0)
    values = rng.normal(size=30), rng.integers(-3, 33, 30), rng.integers(0, 9, 30)
    for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert "compiled" in f.kernels[0].state
