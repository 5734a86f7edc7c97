"""Rows put back in front, and running sums of multiples, written in other ways."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

Formula = Callable[..., Any]


def _scan(step: Any, x: Any, starts: Any, *more: Any) -> Any:
    return scanopt.scan(step, x, starts, list(more))[0]


def _sums(X: Any) -> Any:
    return _scan(lambda v, s: s + v, X, T.zeros_like(X[0]))


def _differences(X: Any) -> Any:
    return _scan(lambda v, s: s - v, X, T.zeros_like(X[0]))


def _means(X: Any, a: Any) -> Any:
    """Exponential smoothing of rows."""
    return _scan(lambda v, s, a: a * v + (1 - a) * s, X, X[0], a)


def _means_by_number(X: Any, a: Any) -> Any:
    return _scan(lambda i, s, a, X: a * X[i] + (1 - a) * s, T.arange(X.shape[0]), X[0], a, X)


WRITINGS: dict[str, Sequence[Formula]] = {
    "running sums of rows": (
        lambda X, x: _sums(X),
        lambda X, x: -_sums(-X),
        lambda X, x: -_differences(X),
        lambda X, x: _differences(-X),
        lambda X, x: _sums(X * 2.0) / 2.0,
        lambda X, x: 0.5 * _sums(2.0 * X),
    ),
    "running sums of numbers": (
        lambda X, x: T.cumsum(x),
        lambda X, x: -_scan(lambda v, s: s - v, x, np.float64(0)),
        lambda X, x: _scan(lambda v, s: s - v, -x, np.float64(0)),
    ),
    "a sequence that a state hands on": (
        lambda X, x: T.tanh(x[1:] - x[:-1]),
        lambda X, x: _scan(lambda v, before: [v, T.tanh(v - before)], x[1:], [x[0], None])[1],
        lambda X, x: _scan(lambda before, v: T.tanh(v - before), dict(input=x, taps=[-1, 0]), None),
    ),
    "rows that a state hands on": (
        lambda X, x: _scan(lambda v, w, s: T.tanh(v * w + s), [X[1:], X[:-1]], x),
        lambda X, x: _scan(lambda v, w, s: [v, T.tanh(v * w + s)], X[1:], [X[0], x])[1],
    ),
    "arrays side by side, read row by row": (
        lambda X, x: T.exp(x) * T.tanh(x) + x,
        lambda X, x: scanopt.map(lambda v: v[0] * v[1] + v[2], T.stack([T.exp(x), T.tanh(x), x], axis=1))[0],
    ),
    "all rows rolled once around": (lambda X, x: T.exp(x), lambda X, x: T.exp(T.roll(x, x.shape[0]))),
    "slopes of rows that are looked up": (
        lambda X, x: T.grad((_means(X, x[0]) ** 2).sum(), X),
        lambda X, x: T.grad((_means_by_number(X, x[0]) ** 2).sum(), X),
    ),
    "a row and those behind it": (lambda X, x: T.exp(X[2:]), lambda X, x: T.exp(T.concatenate([X[2][None], X[3:]]))),
    "sums and extremes from the first row": (
        lambda X, x: T.cumsum(X, axis=0)[1:] + T.cummax(X, axis=0)[1:],
        lambda X, x: _scan(lambda v, s: s + v, X[1:], X[0]) + _scan(lambda v, s: T.maximum(v, s), X[1:], X[0]),
        lambda X, x: _scan(lambda v, s, m: [s + v, T.maximum(m, v)], X[1:], [X[0], X[0]])[0] + T.cummax(X, axis=0)[1:],
    ),
    "counted from a place": (
        lambda X, x: _scan(lambda v, s: T.tanh(s + v), x[2:], x[0]),
        lambda X, x: _scan(lambda i, s, x: T.tanh(s + x[i]), T.arange(2, x.shape[0]), x[0], x),
        lambda X, x: _scan(lambda i, s, x: T.tanh(s + x[i]), T.arange(2, x.shape[0]), x[0], x * 1.0),
    ),
}


@pytest.mark.parametrize("name", WRITINGS)
def test_other_writings_cost_the_same(name: str) -> None:
    costs, results, rng = [], [], np.random.default_rng(0)
    values = rng.uniform(0.5, 1, (9, 4)), rng.uniform(0.5, 1, 4)
    for formula in WRITINGS[name]:
        inputs = [T.dmatrix("X"), T.dvector("x")]
        f = scanopt.function(inputs, formula(*inputs), on_unused_input="ignore")
        costs.append(f.cost)
        results.append(f(*values))
        assert np.allclose(results[-1], f.unoptimized(*values), rtol=1e-12)
        assert np.allclose(results[-1], results[0], rtol=1e-12)
    assert max(costs) <= 1.01 * min(costs)


@pytest.mark.parametrize("dtype", ["int8", "bool"])
def test_differences_of_integers_are_those_of_the_interpreter(dtype: str) -> None:
    """A difference in a loop has the opposite of what is taken away batched: of 8 bits, -(-128) is -128."""
    x, values = T.lvector("x"), np.array([-128, 127, 1, -1, 5, -128])
    f = scanopt.function([x], _scan(lambda v, s: s - T.cast(v, dtype), x, np.int64(0)))
    np.testing.assert_array_equal(f(values), f.unoptimized(values))


def test_a_row_that_is_not_there_is_an_error_still() -> None:
    X = T.dmatrix("X")
    f = scanopt.function([X], T.concatenate([X[2][None], X[3:]]) * 2.0)
    np.testing.assert_array_equal(f(np.ones((4, 2))), np.full((2, 2), 2.0))
    for rows in (np.ones((2, 2)), np.ones((0, 2))):
        for call in (f, f.unoptimized):
            with pytest.raises(IndexError):
                call(rows)
