"""Sums, products and counts written in other ways: each costs what the plain one costs, within 2 %."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

_ONE, _ZERO = T.constant(1, dtype="int64"), T.constant(0, dtype="int64")
_LOWEST, _FLOAT = T.constant(-np.inf, dtype="float64"), T.constant(1.0, dtype="float64")


def _power(x: Any, n: Any) -> Any:
    return scanopt.scan(lambda s, x: s * x, None, T.ones_like(x), [x], n_steps=n)[0][-1]


def _slope(rows: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The slope of tanh(X @ W) by W, where the rows of the product are written so."""
    return lambda x, n, X, W: T.grad(T.tanh(scanopt.map(rows, X, [W])[0]).sum(), W)


def _slope_of_loop(product: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    step = lambda v, s, W: T.tanh(v + product(s, W))  # noqa: E731
    return lambda x, n, X, W: T.grad(scanopt.scan(step, X, X[0], [W])[0][-1].sum(), W)


def _by_columns(v: Any, W: Any) -> Any:
    return scanopt.map(lambda w, v: T.dot(w, v), W.T, [v])[0]


def _running(op: Any, rows: Any, start: Any) -> Any:
    return scanopt.scan(lambda v, s: op(s, v), rows, start)[0]


def _peeled(op: Any, rows: Any, start: Any) -> Any:
    """The first step by itself, and a loop over the others."""
    first = op(start, rows[0])
    return T.concatenate([first[None], _running(op, rows[1:], first)])


def _halved(op: Any, rows: Any, start: Any) -> Any:
    """A loop of three steps, and one over the others."""
    first = _running(op, rows[:3], start)
    return T.concatenate([first, _running(op, rows[3:], first[-1])])


WRITINGS: dict[str, tuple[Callable[..., Any], ...]] = {
    "a power": (
        lambda x, n, X, W: _power(x, n),
        lambda x, n, X, W: T.repeat(x[None], n, axis=0).prod(axis=0),
        lambda x, n, X, W: T.tile(x, (n, 1)).prod(axis=0),
    ),
    "equal rows, added": (
        lambda x, n, X, W: x * 5.0,
        lambda x, n, X, W: T.broadcast_to(x, (5, x.shape[0])).sum(axis=0),
        lambda x, n, X, W: T.tile(x, (5, 1)).sum(axis=0),
    ),
    "any": (lambda x, n, X, W: T.any(x > 0.7), lambda x, n, X, W: ~T.all(~(x > 0.7))),
    "a count": (lambda x, n, X, W: (x > 0.7).sum() + n, lambda x, n, X, W: T.where(x > 0.7, _ONE, _ZERO).sum() + n),
    "a slope of products": (lambda x, n, X, W: T.grad(T.tanh(T.dot(X, W)).sum(), W), _slope(_by_columns)),
    "a slope of a loop of products": (_slope_of_loop(T.dot), _slope_of_loop(_by_columns)),
    "a slope of squares": (
        lambda x, n, X, W: T.grad(((T.dot(X, x) - X[:, 0]) ** 2).sum(), x),
        lambda x, n, X, W: T.grad(((X[:, 0] - T.dot(X, x)) ** 2).sum(), x),
    ),
    "scores": (
        lambda x, n, X, W: T.dot(X, W.T),
        lambda x, n, X, W: (X[:, None, :] * W[None, :, :]).sum(axis=-1),
        lambda x, n, X, W: (W[None] * X[:, None]).sum(axis=2),
    ),
    "squares of rows": (
        lambda x, n, X, W: (X**2).sum(axis=1),
        lambda x, n, X, W: (X * X).sum(axis=1),
        lambda x, n, X, W: scanopt.map(lambda v: T.dot(v, v), X)[0],
    ),
    "products of rows": (
        lambda x, n, X, W: (T.exp(X) * T.tanh(X)).sum(axis=1),
        lambda x, n, X, W: scanopt.map(T.dot, [T.exp(X), T.tanh(X)])[0],
    ),
    "running means": (
        lambda x, n, X, W: T.cumsum(x) / T.arange(1, x.shape[0] + 1),
        lambda x, n, X, W: T.cumsum(x) / (1 + T.arange(x.shape[0])),
        lambda x, n, X, W: T.cumsum(x) / T.arange(1, x.shape[0] + 1, dtype="float64"),
        lambda x, n, X, W: T.cumsum(x) / T.cumsum(T.ones_like(x)),
        lambda x, n, X, W: scanopt.map(lambda i, x: x[: i + 1].mean(), T.arange(x.shape[0]), [x])[0],
    ),
    "running extremes": (
        lambda x, n, X, W: T.cummax(x),
        lambda x, n, X, W: -T.cummin(-x),
        lambda x, n, X, W: scanopt.map(lambda i, x: x[: i + 1].max(), T.arange(x.shape[0]), [x])[0],
        lambda x, n, X, W: _running(T.maximum, x, _LOWEST),
        lambda x, n, X, W: _running(T.maximum, x[::-1][::-1], x[0]),
    ),
    "running extremes of integers": (
        lambda x, n, X, W: T.cummin(T.argsort(x)),
        lambda x, n, X, W: _running(T.minimum, T.argsort(x), T.constant(2**63 - 1, dtype="int64")),
    ),
    "running extremes of rows": (
        lambda x, n, X, W: T.cummax(X, axis=0),
        lambda x, n, X, W: _running(T.maximum, X, T.full_like(X[0], _LOWEST)),
        lambda x, n, X, W: scanopt.map(T.cummax, X.T)[0].T,
    ),
    "running sums of rows": (
        lambda x, n, X, W: T.cumsum(X, axis=0),
        lambda x, n, X, W: T.cumsum(X.T, axis=1).T,
        lambda x, n, X, W: _running(T.add, X, T.zeros_like(X[0])),
        lambda x, n, X, W: _running(lambda s, v: (s[0] + v[0])[None], X[:, None], T.zeros_like(X[0])[None])[:, 0],
        lambda x, n, X, W: _peeled(T.add, X, T.zeros_like(X[0])),
        lambda x, n, X, W: _halved(T.add, X, T.zeros_like(X[0])),
        lambda x, n, X, W: scanopt.scan(
            lambda i, s, X: s + X[i - 1], T.arange(1, X.shape[0] + 1), T.zeros_like(X[0]), [X]
        )[0],
    ),
    "running products": (
        lambda x, n, X, W: T.cumprod(x + 1.0),
        lambda x, n, X, W: _running(T.multiply, x + 1.0, _FLOAT),
        lambda x, n, X, W: _halved(T.multiply, x + 1.0, _FLOAT),
    ),
    "four side by side": (
        lambda x, n, X, W: X[:-2] + X[2:] + X[1:-1] + X[1:-1],
        lambda x, n, X, W: T.stack([X[:-2], X[2:], X[1:-1], X[1:-1]]).sum(axis=0),
    ),
    "weighted rows": (
        lambda x, n, X, W: T.dot(X[:, 0], T.exp(X).sum(axis=1)),
        lambda x, n, X, W: (X[:, 0][:, None] * T.exp(X)).sum(),
    ),
    "a row of what is transposed": (lambda x, n, X, W: T.exp(X[:, 2]), lambda x, n, X, W: T.exp(X.T)[2]),
}


@pytest.mark.parametrize("name", WRITINGS)
def test_sums_cost_the_same(name: str) -> None:
    costs, random = [], np.random.default_rng(0)
    values = random.uniform(0.5, 1, 6), 4, random.uniform(0.5, 1, (7, 6)), random.uniform(0.5, 1, (6, 6))
    for formula in WRITINGS[name]:
        inputs = [T.dvector("x"), T.lscalar("n"), T.dmatrix("X"), T.dmatrix("W")]
        f = scanopt.function(inputs, formula(*inputs), on_unused_input="ignore")
        costs.append(f.cost)
        assert np.allclose(f(*values), f.unoptimized(*values), rtol=1e-12)
    assert max(costs) <= 1.02 * min(costs)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_few_equal_rows(n: int) -> None:
    """A product of no rows is one, also of what is no number; a negative number of rows is refused."""
    x, k = T.dvector("x"), T.lscalar("k")
    rows = T.repeat(x[None], k, axis=0)
    f = scanopt.function([x, k], [rows.prod(axis=0), rows.sum(axis=0)])
    values = np.array([2.0, -3.0, 0.0, np.nan, np.inf, -np.inf])
    for got, want in zip(f(values, n), f.unoptimized(values, n), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    with pytest.raises(ValueError, match="repeats may not be negative"):
        f(values, -1 - n)
