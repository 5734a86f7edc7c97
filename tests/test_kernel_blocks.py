"""Loops over elements run block by block: the same bits at all lengths around the length of a block."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shares import tries

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.blocks import BLOCK, FEW


def escape(a: Any, b: Any, n: Any) -> Any:
    def step(x: Any, y: Any, k: Any, a: Any, b: Any) -> list[Any]:
        inside = x * x + y * y < 4.0
        return [T.where(inside, x * x - y * y + a, x), T.where(inside, 2.0 * x * y + b, y), k + T.cast(inside, "int64")]

    start = [T.zeros_like(a), T.zeros_like(a), T.zeros_like(a, dtype="int64")]
    found, _ = scanopt.scan(step, outputs_info=start, non_sequences=[a, b], n_steps=n)
    return [x[-1] for x in found]


def exchanged(a: Any, b: Any, n: Any) -> Any:
    found, _ = scanopt.scan(lambda x, y, z: [y, x + z, x * 0.5], outputs_info=[a, b, a * b], n_steps=n)
    return [x[-1] for x in found]


def by_numbers(a: Any, b: Any, n: Any) -> Any:
    rates = T.sqrt(T.arange(n) + 1.0)
    found, _ = scanopt.scan(lambda r, x, b: x / r + b[0] * x, rates, a, non_sequences=b)
    return found[-1]


def of_32_bits(a: Any, b: Any, n: Any) -> Any:
    x, on = T.cast(a, "float32"), a > b
    found, _ = scanopt.scan(lambda x, on: [x * x - x, T.logical_xor(on, x > 0)], outputs_info=[x, on], n_steps=n)
    return [x[-1] for x in found]


def matrices(a: Any, b: Any, n: Any) -> Any:
    x = T.outer(a[:3], b)
    found, _ = scanopt.scan(lambda x: T.maximum(x * 1.5 - 0.25, -x), outputs_info=x, n_steps=n)
    return found[-1]


@pytest.mark.share(4)
@pytest.mark.parametrize("made", [escape, exchanged, by_numbers, of_32_bits, matrices])
@pytest.mark.parametrize("length", [10, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_blocks_give_the_bits_of_the_interpreter(made: Callable[..., Any], length: int) -> None:
    a, b, n = T.dvector("a"), T.dvector("b"), T.lscalar("n")
    f = scanopt.function([a, b, n], made(a, b, n), fp="exact", backend="c")
    values = np.linspace(-2, 1, length), np.linspace(1.5, -1, length), 9
    with np.errstate(all="ignore"):
        found, expected = f(*values), f.unoptimized(*values)
    assert "1 of 1 kernels" in str(f.kernels[0]), f.kernels
    for x, y in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        np.testing.assert_array_equal(x, y)
    if made is not by_numbers:
        assert f"[{BLOCK}];" in str(f.kernels[0])


def columns(x: Any, n: Any, places: Any) -> Any:
    """Two states that start from columns of a matrix."""
    found, _ = scanopt.scan(lambda a, b: [b * 0.7 - a, a * 0.3 + b], outputs_info=[x[:, 0], x[:, 1]], n_steps=n)
    return [s[-1] for s in found]


def turned(x: Any, n: Any, places: Any) -> Any:
    """A state that starts from the transpose of a matrix."""
    return scanopt.scan(lambda a: a * 0.7 - 1 / (1 + a * a), outputs_info=x.T, n_steps=n)[0][-1]


def backwards(x: Any, n: Any, places: Any) -> Any:
    """A state that starts from every second element of a column, last first."""
    return scanopt.scan(lambda a: a * 0.7 - 1 / (1 + a * a), outputs_info=x[::-2, 1], n_steps=n)[0][-1]


def looked_up(x: Any, n: Any, places: Any) -> Any:
    """States that start from rows and columns at places."""
    step = lambda a: a * 0.7 - 1 / (1 + a * a)  # noqa: E731
    return [scanopt.scan(step, outputs_info=s, n_steps=n)[0][-1] for s in (x[places], x[places, 1])]


def done(x: Any, n: Any, places: Any) -> Any:
    """A loop that ends when all elements are done."""

    def step(a: Any) -> Any:
        over = abs(a) < 0.5
        return T.where(over, a, a * 0.75), scanopt.until(T.all(over))

    return scanopt.scan(step, outputs_info=x[:, 1], n_steps=n)[0][-1]


@pytest.mark.parametrize("made", [columns, turned, backwards, looked_up, done])
def test_states_start_from_elements_that_lie_apart(made: Callable[..., Any]) -> None:
    x, n, places = T.dmatrix("x"), T.lscalar("n"), T.lvector("places")
    f = scanopt.function([x, n, places], made(x, n, places), fp="exact", backend="c", on_unused_input="ignore")
    for length in (5, 9, FEW + 3, BLOCK + 7):
        rng = np.random.default_rng(length)
        values = rng.normal(size=(length, 2)), 5, rng.integers(0, length, length + 2)
        for y, z in zip(f(*values), f.unoptimized(*values), strict=True):
            np.testing.assert_array_equal(y, z)


PARTS = [
    lambda x: x[:, 0, 1], lambda x: x[0, :, 2], lambda x: x[1, ::-1, 0], lambda x: x[:, 1, 1] * 2, lambda x: x[2].T[1],
    lambda x: x.transpose(1, 0, 2)[0, :, 1], lambda x: x[:, :, 0].T[2], lambda x: x[::-1, 2, 2], lambda x: x[2, :, 1],
]  # fmt: skip
MATRICES = [
    lambda x: x[:, 0, :], lambda x: x[0], lambda x: x[:, :3, 1], lambda x: x[::-1, 1, :], lambda x: x[:, 2, :] + 1,
    lambda x: x.transpose(2, 0, 1)[0][:, :3], lambda x: x[1, :, ::-1], lambda x: x[:, :3, 0], lambda x: x[:3, :, 1].T,
]  # fmt: skip
FORMS = [
    lambda u, v: u * 0.7 - v, lambda u, v: u + v * 0.3, lambda u, v: T.where(u > v, u * 0.5, v + 0.1),
    lambda u, v: T.maximum(u * 0.9, -v), lambda u, v: u / (1 + v * v),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(tries(40)))
def test_random_loops_over_parts_of_an_array(seed: int) -> None:
    """Their states start from parts and they hold parts, of vectors or matrices, whose elements lie apart or not."""
    pick, x, n = random.Random(seed), T.dtensor3("x"), T.lscalar("n")
    parts = pick.choice([PARTS, PARTS, MATRICES])
    count, steps, ends = pick.randrange(1, 4), pick.randrange(3, 8), pick.random() < 0.25
    starts, held = ([pick.choice(parts)(x) for _ in range(k)] for k in (count, pick.randrange(3)))
    plans = [(pick.choice(FORMS), *pick.choices(range(count + len(held)), k=2)) for _ in range(count)]

    def step(*given: Any) -> Any:
        new = [form(given[i], given[k]) for form, i, k in plans]
        if not ends:
            return new
        new = [T.where(abs(z) < 0.2, z, y * 0.5) for z, y in zip(given, new, strict=False)]
        return new, scanopt.until(T.all(abs(new[0]) < 0.2))

    found, _ = scanopt.scan(step, outputs_info=starts, non_sequences=held, n_steps=n)
    traces = found if isinstance(found, list) else [found]
    f = scanopt.function([x, n], [s if pick.random() < 0.2 else s[-1] for s in traces], fp="exact", backend="c")
    for length in (4, 9, FEW + 8, BLOCK + 4):
        value = np.random.default_rng(seed).normal(size=(length, length, 3))
        for y, z in zip(f(value, steps), f.unoptimized(value, steps), strict=True):
            np.testing.assert_array_equal(y, z)


# ---- loops of each element, which end when it is done ----


def root_of(c: Any) -> Any:
    """By Newton's method; never found where c is negative or NaN."""

    def step(x: Any, c: Any) -> Any:
        new = 0.5 * (x + c / x)
        return new, scanopt.until(abs(new - x) < 1e-9 * new)

    return scanopt.scan(step, outputs_info=T.ones_like(c), non_sequences=c, n_steps=12)[0][-1]


def between(c: Any) -> Any:
    """By bisection: two states, one of them kept."""

    def step(low: Any, high: Any, c: Any) -> Any:
        middle = 0.5 * (low + high)
        below = middle * middle < c
        return [T.where(below, middle, low), T.where(below, high, middle)], scanopt.until(high - low < 1e-6)

    found, _ = scanopt.scan(step, outputs_info=[T.zeros_like(c), c + 1.0], non_sequences=c, n_steps=40)
    return found[0][-1]


def steps_to_one(c: Any) -> Any:
    """Collatz: integers, one element at a time; some are stopped by the number of steps."""

    def step(v: Any, count: Any) -> Any:
        return [T.where(T.eq(v % 2, 0), v // 2, 3 * v + 1), count + 1], scanopt.until(v <= 2)

    start = T.cast(T.floor(abs(c) * 10.0), "int64") + 1
    found, _ = scanopt.scan(step, outputs_info=[start, T.zeros_like(start)], n_steps=60)
    return found[1][-1]


def divisor(c: Any) -> Any:
    """Euclid: what is kept is what a state was before the last step."""

    def step(x: Any, y: Any) -> Any:
        rest = x % T.maximum(y, 1)
        return [y, rest], scanopt.until(rest <= 0)

    start = T.cast(T.floor(abs(c) * 1000.0), "int64") + 1
    found, _ = scanopt.scan(step, outputs_info=[start, T.constant(np.int64(360))], n_steps=50)
    return found[0][-1]


@pytest.mark.share(6)
@pytest.mark.parametrize("one", [root_of, between, steps_to_one, divisor])
@pytest.mark.parametrize("length", [12, FEW - 1, FEW, FEW + 1, 3 * FEW + 5])
def test_elements_end_by_themselves(one: Callable[[Any], Any], length: int) -> None:
    c = T.dvector("c")
    found, _ = scanopt.map(one, c)
    f = scanopt.function([c], found, fp="exact", backend="c")
    values = np.random.default_rng(length).uniform(0.1, 50.0, length)
    if one is root_of:
        values[2:4] = -3.0, np.nan
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(f(values), f.unoptimized(values))
    assert "1 of 1 kernels" in str(f.kernels[0]), f.kernels
    size = 1 if one in (steps_to_one, divisor) else FEW
    assert f"[{size}];" in str(f.kernels[0])
