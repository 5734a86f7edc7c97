"""Extremes and limits of rows, and of integers from step to step; increased parts: the bits of the interpreter."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.loop_report import ONCE

ODD = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 5e-324, 1e308])
RNG = np.random.default_rng(11)


def same_bits(inputs: list[Any], outputs: list[Any], values: list[Any]) -> None:
    f = scanopt.function(inputs, outputs, fp="exact", backend="c")
    for x, y in zip(f(*values), f.unoptimized(*values), strict=True):
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(np.signbit(x[x == x]), np.signbit(y[y == y]))
    assert [k.loop for k in f.kernels] == [ONCE], f.program


def odd(dtype: str, *shape: int) -> Any:
    return RNG.choice(ODD, size=shape).astype(dtype)


STEPS: list[Callable[[Any, Any, Any], Any]] = [
    lambda x, y, s: T.maximum(x, y),
    lambda x, y, s: T.minimum(T.maximum(x, s), y),
    lambda x, y, s: T.clip(x, y, s),
    lambda x, y, s: T.clip(x, -1.0, T.max(y)),
    lambda x, y, s: T.maximum(T.minimum(x, y), T.minimum(T.maximum(x, y), s)),
    lambda x, y, s: T.maximum(x + s, 0.0) - T.minimum(y, -0.0),
    lambda x, y, s: T.clip(s, T.min(x), T.max(x)),
]


@pytest.mark.share(6)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("step", range(len(STEPS)))
@np.errstate(all="ignore")
def test_extremes_of_rows(step: int, dtype: str) -> None:
    a, b, s = T.matrix("a", dtype=dtype), T.matrix("b", dtype=dtype), T.vector("s", dtype=dtype)
    found, _ = scanopt.scan(lambda x, y, s: T.cast(STEPS[step](x, y, s), dtype), [a, b], s)
    for n in (1, 7, 33, 200):
        same_bits([a, b, s], [found], [odd(dtype, 5, n), odd(dtype, 5, n), odd(dtype, n)])


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint64", "int8"])
@np.errstate(all="ignore")
def test_extremes_of_long_rows_and_their_places(dtype: str) -> None:
    x = T.matrix("x", dtype=dtype)
    ends = [T.argmax, T.argmin, T.max, T.min]
    found, _ = scanopt.scan(lambda row: [end(row) for end in ends], x)
    f = scanopt.function([x], [*found, *(end(x[0]) for end in ends)], fp="exact", backend="c")
    for n in (1, 2, 9, 15, 16, 17, 31, 32, 33, 47, 64, 100, 257):
        rows = [
            odd(dtype, n),
            RNG.choice(ODD[2:6], n),
            RNG.integers(0, 3, n),
            RNG.normal(size=n) * 9,
            np.arange(n) % 40,
        ]
        at = np.r_[RNG.choice([1.0, 2.0, 3.0], n)]
        at[RNG.integers(n)] = np.nan
        value = np.array([*rows, at, -at, np.zeros(n)]).astype(dtype)
        for y, z in zip(f(value), f.unoptimized(value), strict=True):
            assert y.tobytes() == np.asarray(z).tobytes()


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8", "uint64"])
def test_extremes_of_integers_from_step_to_step(dtype: str) -> None:
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)

    def step(x: Any, y: Any, s: Any, r: Any) -> list[Any]:
        return [T.minimum(T.maximum(s + x, y), y + x), T.maximum(T.minimum(r, s) - y, x)]

    zero = T.constant(0, dtype=dtype)
    (a, b), _ = scanopt.scan(step, [x, y], [zero, zero])
    low = 0 if dtype.startswith("u") else -100
    values = [RNG.integers(low, 100, size=300).astype(dtype) for _ in range(2)]
    same_bits([x, y], [a, b], values)


@pytest.mark.share(10)
@pytest.mark.parametrize("seed", range(60))
def test_parts_that_are_increased(seed: int) -> None:
    draw = np.random.default_rng(seed)
    picks = iter(draw.integers(1000, size=80).tolist())
    u, c, n = T.dmatrix("u"), T.dscalar("c"), T.lscalar("n")
    parts = [
        lambda u: u[1:-1], lambda u: u[:, 1:], lambda u: u[2:, :-2], lambda u: u[::2], lambda u: u[-1],
        lambda u: u[1, 1:], lambda u: u[1:3, 1], lambda u: u[::-1, 2:], lambda u: u[0, 0], lambda u: u[:],
    ]  # fmt: skip

    def step(u: Any, c: Any) -> Any:
        for _ in range(next(picks) % 3 + 1):
            part = parts[next(picks) % len(parts)]
            more = [c, c * part(u), T.sin(part(u)), T.sum(part(u)), part(T.roll(u, 1, axis=0)) - part(u)]
            change = T.inc_subtensor if next(picks) % 4 else T.set_subtensor
            new = change(part(u), more[next(picks) % len(more)])
            u = [new, new, new * 0.5 + u, T.maximum(new, u)][next(picks) % 4]
        return u

    start = [u, T.zeros_like(u)][next(picks) % 2]
    us, _ = scanopt.scan(step, outputs_info=start, non_sequences=c, n_steps=n)
    asked = [us, us[-1], us[-1][1:]][next(picks) % 3]
    f = scanopt.function([u, c, n], asked, fp="exact", backend="c")
    for shape in ((4, 4), (5, 9), (12, 30)):
        values = [draw.normal(size=shape), 0.3, 4]
        np.testing.assert_array_equal(f(*values), f.unoptimized(*values))


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", range(10))
def test_gradients_inside_steps(seed: int) -> None:
    draw = np.random.default_rng(seed)
    w, a, n = T.dvector("w"), T.dvector("a"), T.lscalar("n")
    losses = [lambda w: T.sum((w - a) ** 2), lambda w: T.sum(T.cos(w) * a), lambda w: T.sum(w**3) + T.max(a) * T.sum(w)]
    loss = losses[seed % 3]

    def step(w: Any, v: Any, a: Any) -> list[Any]:
        v = 0.9 * v - 0.01 * T.grad(loss(w), w)
        return [w + v, v]

    (ws, vs), _ = scanopt.scan(step, outputs_info=[w, T.zeros_like(w)], non_sequences=a, n_steps=n)
    f = scanopt.function([w, a, n], [ws[-1], vs], fp="exact", backend="c")
    for size in (1, 3, 20):
        values = [draw.normal(size=size), draw.normal(size=size), 6]
        for x, y in zip(f(*values), f.unoptimized(*values), strict=True):
            np.testing.assert_array_equal(x, y)
