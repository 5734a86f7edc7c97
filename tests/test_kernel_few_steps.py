"""Loops of a few steps inside the step of another loop are written step by step, with their numbers in variables."""

from typing import Any

import numpy as np
import pytest
from shares import EVERYTHING
from test_kernels import assert_same

import scanopt
import scanopt.tensor as T
from scanopt import lax


def sections() -> Any:
    """A cascade of filters: the state has two numbers for each section."""
    x, k, s = T.dvector("x"), T.dmatrix("k"), T.dmatrix("s")

    def step(v: Any, s: Any, k: Any) -> list[Any]:
        def section(k: Any, s: Any, v: Any) -> list[Any]:
            y = k[0] * v + s[0]
            return [y, T.stack([k[1] * v - k[3] * y + s[1], k[2] * v - k[4] * y])]

        (ys, new), _ = scanopt.scan(section, sequences=[k, s], outputs_info=[v, None])
        return [new, ys[-1]]

    (ss, ys), _ = scanopt.scan(step, sequences=x, outputs_info=[s, None], non_sequences=k)
    return [x, k, s], [ys, ss[-1]]


@pytest.mark.parametrize("fp", ["exact", "reassoc"])
def test_the_states_of_sections_are_variables(fp: Any) -> None:
    f, rng = scanopt.function(*sections(), backend="c", fp=fp), np.random.default_rng(0)
    by_steps = scanopt.function(*sections(), backend="numpy", fp=fp)
    for m in (3, 8, 1, 9):
        for n in (1, 17):
            values = [rng.normal(size=n), rng.normal(size=(m, 5)), rng.normal(size=(m, 2))]
            values[0][n // 2 :][rng.random(n - n // 2) < 0.1] = [np.nan, np.inf][n % 2]
            assert_same([*f(*values)], [*by_steps(*values)])
            if fp == "exact":
                assert_same([*f(*values)], [*f.unoptimized(*values)])
    first = f.kernels[-1].texts[0]  # for three sections
    assert first.count("while (") == 2
    step = first[first.rindex("while (") :]
    assert "for (int64 i" not in step[: step.index("++;")]


def test_a_known_number_of_steps() -> None:
    x = T.dvector("x")
    root = lambda a: lax.fori_loop(0, 4, lambda i, r: 0.5 * (r + a / r) + 0.0 * i, a)  # noqa: E731
    ys, _ = scanopt.scan(lambda v, s: root(v + 0.5 * s), x, T.constant(1.0, dtype="float64"))
    f, rng = scanopt.function([x], ys, backend="c", fp="exact"), np.random.default_rng(1)
    for n in (1, 5, 40):
        values = [rng.random(n) * [1.0, 9.0, -1.0][n % 3]]
        values[0][::7] = 0.0
        assert_same([f(*values)], [f.unoptimized(*values)])
    assert f.kernels[-1].texts[-1].count("while (") == 2


def test_small_arrays_are_joined_and_taken_apart_in_variables() -> None:
    x, s = T.dvector("x"), T.TensorType("float64", (2, 3))("s")

    def step(v: Any, s: Any) -> Any:
        turned = T.concatenate([s[1:, ::-1] * v, s[:1, :] - 1.0], axis=0)
        column = T.stack([turned[:, 0] + s[-1, 2], turned[:, 2]], axis=1)
        return T.concatenate([column, (turned[:, 1] / 2)[:, None]], axis=1)

    f = scanopt.function([x, s], scanopt.scan(step, x, s)[0], backend="c", fp="exact")
    rng = np.random.default_rng(2)
    for n in (1, 2, 30):
        values = [rng.normal(size=n), rng.normal(size=(2, 3))]
        assert_same([f(*values)], [f.unoptimized(*values)])
    text = f.kernels[-1].texts[-1]
    step_text = text[text.rindex("while (") :]
    assert "for (int64 i" not in step_text[: step_text.index("++;")]


def random_program(seed: int) -> tuple[Any, list[Any]]:
    """A loop with a loop of a few steps inside: over rows of a state, of an input, backwards, or counted."""
    rng = np.random.default_rng(seed)
    dtype = ["float64", "int64", "float32"][seed % 3]
    x, k, s = (T.TensorType(dtype, (None,) * i)(name) for i, name in ((1, "x"), (2, "k"), (1, "s")))
    what, keep, source, join = (int(rng.integers(0, n)) for n in (4, 4, 4, 3))

    def step(v: Any, s: Any, k: Any) -> list[Any]:
        def inner(a: Any, b: Any, c: Any, v: Any) -> list[Any]:
            new = [a * c + b, T.where(b > c, a, c) - v, T.maximum(a, c), T.tanh(T.cast(a - c, "float64"))][what]
            return [T.cast(new, dtype), T.cast(b + v * 2, dtype)]

        rows = [k[:, 0], s, k[::-1, 1], T.cast(T.arange(s.shape[0]), dtype)][source]
        (cs, ds), _ = scanopt.scan(inner, [rows, s], [v, None], non_sequences=v)
        last = [cs[-1], ds[-1], T.sum(cs), T.max(ds)][keep]
        new = [cs, T.concatenate([ds[1:], cs[:1]]), T.concatenate([cs[-1:], s[:-1]])][join]
        return [new, last]

    (ss, ys), _ = scanopt.scan(step, x, [s, None], non_sequences=k)
    m, n = int(rng.integers(2, 10)), int(rng.integers(1, 20))
    values = [rng.integers(-3, 4, n), rng.integers(-3, 4, (m, 2)), rng.integers(-3, 4, m)]
    f = scanopt.function([x, k, s], [ss[-1], ys], backend="c", fp="exact")
    return f, [v.astype(dtype) * np.array(1 if dtype == "int64" else 0.5, dtype) for v in values]


@pytest.mark.parametrize("seed", range(150 if EVERYTHING else 8))
def test_random_loops_of_few_steps(seed: int) -> None:
    f, values = random_program(seed)
    with np.errstate(all="ignore"):
        assert_same([*f(*values)], [*f.unoptimized(*values)])
    assert "kernels compiled" in str(f.kernels[-1])


def test_steps_fail_as_array_steps_do() -> None:
    x, table, k = T.dvector("x"), T.dvector("table"), T.lvector("k")

    def step(v: Any, s: Any, table: Any, k: Any) -> Any:
        found, _ = scanopt.scan(lambda at, a, table: a + table[at], k, s, non_sequences=table)
        return found[-1] * v

    ys, _ = scanopt.scan(step, x, T.constant(0.0, dtype="float64"), non_sequences=[table, k])
    f, values = scanopt.function([x, table, k], ys, backend="c", fp="exact"), [np.ones(6), np.arange(5.0)]
    for places in ([0, 4, -5], [1, 2, 3, -1]):
        assert_same([f(*values, np.array(places))], [f.unoptimized(*values, np.array(places))])
    with pytest.raises(IndexError):
        f(*values, np.array([0, 5, 1]))


def test_states_that_exchange_elements_change_at_once() -> None:
    x, b, c = T.dvector("x"), T.TensorType("float64", (3,))("b"), T.TensorType("float64", (3,))("c")

    def step(v: Any, a: Any, b: Any, c: Any) -> list[Any]:
        new = T.concatenate([T.expand_dims(a, 0), T.tanh(c[:2])])
        return [T.tanh(b[0] + v * a), new, T.concatenate([b[::-1], c])[1:6:2] * T.where(a > 0, 1.0, -2.0)]

    (as_, bs, cs), _ = scanopt.scan(step, x, [T.constant(1.0, dtype="float64"), b, c])
    f = scanopt.function([x, b, c], [as_[-1], bs[-1], cs], backend="c", fp="exact")
    rng = np.random.default_rng(5)
    for n in (1, 2, 3, 25):
        values = [rng.normal(size=n), rng.normal(size=3), rng.normal(size=3)]
        assert_same([*f(*values)], [*f.unoptimized(*values)])
