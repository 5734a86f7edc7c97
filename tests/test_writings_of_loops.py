"""Loops written in other ways: each costs what the plain one costs, within 2 %, and gives the same numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

Formula = Callable[..., Any]


def _filter(step: Any) -> Formula:
    """A filter that looks back two rows, by the given step."""
    two = dict(initial=[], taps=[-2, -1])
    return lambda x, a, b: scanopt.scan(step, x, {**two, "initial": x[:2]}, [a, b])[0]


def _handed_on(x: Any, a: Any, b: Any) -> Any:
    """The same, where the row before is a state of its own."""
    starts = T.set_subtensor(T.zeros_like(x[:2])[:], x[:2])
    return scanopt.scan(lambda v, s, r, a, b: [v - a * s - b * r, s], x, [starts[1], starts[0]], [a, b])[0][0]


def _with_states(passed_on: Formula) -> Formula:
    """The same, where the state that is handed on is written so."""
    step = lambda v, s, r, a, b: [a * s + b * r + v, passed_on(s)]  # noqa: E731
    return lambda x, a, b: scanopt.scan(step, x, [x[1], x[0]], [a, b])[0][0]


def _spring(k: Any, speed: Any) -> Any:
    return lambda x, v: [x + 0.1 * v, v - 0.1 * k * x * speed]


def _places(x: Any, a: Any, b: Any) -> Any:
    return scanopt.scan(_spring(a, b), None, [x[0], x[1]], n_steps=20)[0][0]


def _places_and_last(x: Any, a: Any, b: Any) -> Any:
    """The last step outside says nothing of the speed."""
    places, speeds = scanopt.scan(_spring(a, b), None, [x[0], x[1]], n_steps=19)[0]
    return T.concatenate([places, _spring(a, b)(places[-1], speeds[-1])[0][None]])


def _heat(left: Formula, right: Formula) -> Formula:
    step = lambda u, a: u + a * (left(u) - 2 * u + right(u))  # noqa: E731
    return lambda x, a, b: scanopt.scan(step, None, x, [a], n_steps=10)[0][-1]


def _filter_of_multiples(k: float) -> Formula:
    """A filter whose two states are kept k times as large."""

    def step(v: Any, s: Any, r: Any, a: Any, b: Any) -> list[Any]:
        return [(a * (s / k) + b * (r / k) + v) * k, (s / k) * k]

    return lambda x, a, b: scanopt.scan(step, x, [x[1] * k, x[0] * k], [a, b])[0][0] / k


def _filter_of_opposites(x: Any, a: Any, b: Any) -> Any:
    """A filter whose two states are kept with the other sign."""
    step = lambda v, s, r, a, b: [-(a * -s + b * -r + v), T.neg(-s)]  # noqa: E731
    return -scanopt.scan(step, x, [-x[1], -x[0]], [a, b])[0][0]


def _products(sign: int = 1, first: bool = False) -> Formula:
    """Products of the first rows, kept with a sign; the first step may be taken outside the loop."""

    def step(v: Any, s: Any) -> Any:
        return (s * sign * v) * sign

    def loop(x: Any, a: Any, b: Any) -> Any:
        X = x[:, None] * x
        start = T.ones_like(X[0]) * sign
        if not first:
            return scanopt.scan(step, X, start)[0] * sign
        row = step(X[0], start)
        return T.concatenate([row[None], scanopt.scan(step, X[1:], row)[0]]) * sign

    return loop


def _decay(x: Any, y: Any, start: Any) -> Any:
    """A loop over two sequences."""
    return scanopt.scan(lambda v, w, s: T.tanh(s * w + v), [x, y], start)[0]


def _decay_in_halves(x: Any, a: Any, b: Any) -> Any:
    n, y = x.shape[0] // 2, x[1:] * a
    first = _decay(x[:n], y[:n], b)
    return T.concatenate([first, _decay(x[n:], y[n:], first[-1])])


def _decay_joined(x: Any, a: Any, b: Any) -> Any:
    """The rows, read in two parts that are joined."""
    trace = _decay(x, x[1:] * a, b)
    n = trace.shape[0] // 2
    return T.concatenate([trace[:n], trace[n:]])


WRITINGS: dict[str, tuple[Formula, ...]] = {
    "a filter of multiples": (_with_states(lambda s: s), _filter_of_multiples(2.0), _filter_of_multiples(0.5)),
    "a filter of opposites": (_with_states(lambda s: s), _filter_of_opposites),
    "products of rows": (_products(), _products(-1), _products(first=True)),
    "two sequences in halves": (lambda x, a, b: _decay(x, x[1:] * a, b), _decay_in_halves, _decay_joined),
    "a filter": (
        _filter(lambda v, r, s, a, b: s * -a + r * -b + v),
        _filter(lambda v, r, s, a, b: v - a * s - b * r),
        _filter(lambda v, r, s, a, b: v - b * r - a * s),
        _filter(lambda v, r, s, a, b: v - (a * s + b * r)),
        _filter(lambda v, r, s, a, b: -a * s + (v - b * r)),
        _filter(lambda v, r, s, a, b: -b * r + (-a * s + v)),
    ),
    "a filter with a state of its own for the row before": (
        _with_states(lambda s: s),
        _with_states(lambda s: s * 1.0),
        _with_states(lambda s: T.neg(T.neg(s))),
        _with_states(lambda s: scanopt.map(lambda v: v, s[None])[0][0]),
    ),
    "a spring": (_places, _places_and_last),
    "heat": (
        _heat(lambda u: T.roll(u, 1), lambda u: T.roll(u, -1)),
        _heat(lambda u: T.concatenate([u[-1:], u[:-1]]), lambda u: T.concatenate([u[1:], u[:1]])),
    ),
    "signs": (
        lambda x, a, b: scanopt.scan(lambda v, s, a: v + a * (1 - v) * s, x, b, [a])[0],
        lambda x, a, b: scanopt.scan(lambda v, s, a: v - a * (v - 1) * s, x, b, [a])[0],
    ),
}


@pytest.mark.parametrize("name", WRITINGS)
def test_loops_cost_the_same(name: str) -> None:
    values = np.random.default_rng(0).uniform(0.5, 1, 9), 0.3, 0.2
    costs = []
    for formula in WRITINGS[name]:
        inputs = [T.dvector("x"), T.dscalar("a"), T.dscalar("b")]
        f = scanopt.function(inputs, formula(*inputs), on_unused_input="ignore")
        costs.append(f.cost)
        assert np.allclose(f(*values), f.unoptimized(*values), rtol=1e-12)
    assert max(costs) <= 1.02 * min(costs)


def test_a_state_handed_on_is_a_filter_in_any_order() -> None:
    x, a, b = T.dvector("x"), T.dscalar("a"), T.dscalar("b")
    f = scanopt.function([x, a, b], _handed_on(x, a, b))
    assert "filter_of_two_states" in f.laws
    values = np.random.default_rng(0).uniform(0.5, 1, 9), 0.3, 0.2
    np.testing.assert_allclose(f(*values), f.unoptimized(*values), rtol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("fp", ["exact", "reassoc"])
def test_a_last_step_that_leaves_out_a_state(n: int, fp: str) -> None:
    """Where the loop takes no step there is no last row, which is an error, and what the step leaves out may be what
    the loop could not compute."""
    X, k = T.dvector("X"), T.lscalar("k")

    def step(v: Any, s: Any, r: Any) -> Any:
        return [T.tanh(s + r) * v, r * s + v]

    traces = scanopt.scan(step, X[:-1], [X[0], X[0]])[0]
    out = T.concatenate([traces[0], step(X[-1], traces[0][-1], traces[1][-1])[0][None]])
    f = scanopt.function([X, k], out + k, fp=fp)
    values = np.random.default_rng(n).uniform(-1, 1, n)
    if n < 2:
        for run in (f, f.unoptimized):
            with pytest.raises(IndexError):
                run(values, 1)
    else:
        np.testing.assert_allclose(f(values, 1), f.unoptimized(values, 1), rtol=0 if fp == "exact" else 1e-12)


@pytest.mark.parametrize("values", [40, 400])
def test_a_last_step_that_leaves_out_a_long_chain(values: int) -> None:
    """Of a state whose update takes many operators, what it would become is not looked for: there is no end to it."""
    X = T.dvector("X")

    def step(v: Any, s: Any, r: Any) -> list[Any]:
        later = r
        for k in range(values):
            later = T.sin(later) + v * k
        return [T.tanh(s + r) * v, later]

    traces = scanopt.scan(step, X[:-1], [X[0], X[0]])[0]
    out = T.concatenate([traces[0], step(X[-1], traces[0][-1], traces[1][-1])[0][None]])
    f = scanopt.function([X], out)
    x = np.random.default_rng(0).uniform(-1, 1, 5)
    np.testing.assert_allclose(f(x), f.unoptimized(x), rtol=1e-9)


@pytest.mark.parametrize("shape", [(0,), (1,), (2,), (5,), (0, 3), (1, 0), (3, 1), (4, 5)])
def test_rows_and_columns_that_are_rolled(shape: tuple[int, ...]) -> None:
    x, values = T.tensor("float64", (None,) * len(shape)), np.random.default_rng(0).normal(size=shape)
    for axis in range(len(shape)):
        for k in (1, -1, 2):
            f = scanopt.function([x], T.roll(x, k, axis=axis), fp="exact")
            np.testing.assert_array_equal(f(values), np.roll(values, k, axis=axis))


def test_variances_along_axes() -> None:
    X, values = T.dmatrix("X"), np.random.default_rng(0).normal(size=(4, 3))
    for axis in (0, 1):
        for kept in (False, True):
            f = scanopt.function([X], [X.var(axis=axis, keepdims=kept), X.T.std(axis=axis, keepdims=kept)])
            for found, expected in zip(
                f(values), (values.var(axis, keepdims=kept), values.T.std(axis, keepdims=kept)), strict=True
            ):
                np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("lengths", [(6, 6), (6, 9), (9, 6), (7, 2), (2, 7), (5, 3)])
def test_halves_of_sequences_of_different_lengths(lengths: tuple[int, int]) -> None:
    """The cut is half of one length: the other sequence may have fewer rows than that, or more."""
    x, y, a = T.dvector("x"), T.dvector("y"), T.dscalar("a")
    n = x.shape[0] // 2
    first = _decay(x[:n], y[:n], a)
    f = scanopt.function([x, y, a], T.concatenate([first, _decay(x[n:], y[n:], first[-1])]), fp="exact")
    assert str(f.program).count("loop ") == 1
    random = np.random.default_rng(0)
    values = *(random.uniform(-1, 1, k) for k in lengths), 0.3
    np.testing.assert_array_equal(f(*values), f.unoptimized(*values))


@pytest.mark.parametrize("cut", [-2, 2])
def test_parts_cut_at_any_number(cut: int) -> None:
    """Counted from the last row, sequences of different lengths are cut at different rows."""
    x, y, a, n = T.dvector("x"), T.dvector("y"), T.dscalar("a"), T.lscalar("n")
    first = _decay(x[:n], y[:n], a)
    f = scanopt.function([x, y, a, n], T.concatenate([first, _decay(x[n:], y[n:], first[-1])]), fp="exact")
    values = np.arange(5) / 5, np.arange(7) / 7, 0.3, cut
    np.testing.assert_array_equal(f(*values), f.unoptimized(*values))
