"""Formulas written in other ways: each has to cost what the plain one costs, and to give what the interpreter gives."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

Formula = Callable[..., Any]


def _filter(step: Any, x: Any, starts: Any, *more: Any) -> Any:
    found = scanopt.scan(step, x, starts, list(more))[0]
    return found[0] if isinstance(found, list) else found


def _product(step: Any, x: Any, starts: Any) -> Any:
    first, second = scanopt.scan(step, x, starts)[0]
    return first * second


def _tanh(start: Any, x: Any) -> Any:
    return _filter(lambda v, s: T.tanh(s + v), x, start)


def _rows(x: Any, y: Any) -> Any:
    """A state of as many entries as y."""
    return scanopt.scan(lambda v, s: T.tanh(s * v), x, y)[0]


def _rows_by_number(x: Any, place: Callable[[Any, Any], Any]) -> Any:
    """The same, where the numbers of rows are counted down and taken from the length."""
    count = T.arange(x.shape[0])[::-1]
    return _filter(lambda i, s, x: T.tanh(s + x[place(x.shape[0], i)]), count, np.float64(0), x)


def _filled(x: Any) -> Any:
    """What is written row by row into an array that the loop carries."""
    write = lambda i, v, s, rows: (T.tanh(s + v), T.set_subtensor(rows[i], T.tanh(s + v)))  # noqa: E731
    return scanopt.scan(write, [T.arange(x.shape[0]), x], [np.float64(0), T.zeros_like(x)])[0][1][-1]


def _filled_backwards(x: Any, places: Any) -> Any:
    """The same, in the other direction."""
    write = lambda i, v, s, rows: (T.tanh(s + v), T.set_subtensor(rows[i], T.tanh(s + v)))  # noqa: E731
    return scanopt.scan(write, [places, x[::-1]], [np.float64(0), T.zeros_like(x)])[0][1][-1]


def _rows_of_entries(x: Any, y: Any) -> Any:
    """tanh of the outer product, entry by entry, one row after the other."""

    def row(v: Any, y: Any) -> Any:
        write = lambda j, w, row, v: T.set_subtensor(row[j], T.tanh(v * w))  # noqa: E731
        return scanopt.scan(write, [T.arange(y.shape[0]), y], T.zeros_like(y), [v])[0][-1]

    return scanopt.map(row, x, [y])[0]


def _entries_of_a_matrix(x: Any, y: Any) -> Any:
    """The same, written into a matrix that both loops carry."""

    def row(i: Any, v: Any, rows: Any, y: Any) -> Any:
        write = lambda j, w, rows, i, v: T.set_subtensor(rows[i, j], T.tanh(v * w))  # noqa: E731
        return scanopt.scan(write, [T.arange(y.shape[0]), y], rows, [i, v])[0][-1]

    start = T.zeros((x.shape[0], y.shape[0]))
    return scanopt.scan(row, [T.arange(x.shape[0]), x], start, [y])[0][-1]


def _companion(x: Any) -> Any:
    """A filter of second order, by products with a constant matrix."""
    matrix, first = T.constant(np.array([[0.5, 0.2], [1.0, 0.0]])), T.constant(np.array([1.0, 0.0]))
    return _filter(lambda v, s: T.dot(matrix, s) + v * first, x, np.zeros(2))[:, 0]


def _one_by_one(x: Any) -> Any:
    """The same, with what stands for the zeros of the matrix."""
    step = lambda v, s, r: [0.5 * s + 0.2 * r + v, s + 0.0 * r + v * 0.0]  # noqa: E731
    return _filter(step, x, [np.float64(0)] * 2)


def _matrix(x: Any, y: Any) -> Any:
    return T.tanh(T.outer(x, y))


def _sums(rows: Any, start: Any) -> Any:
    return scanopt.scan(lambda v, s: s + v, rows, start)[0]


def _tanh_of(inside: Any, x: Any, y: Any, weights: Any) -> Any:
    return _filter(lambda *values: T.tanh(inside(*values)), _matrix(x, y), x, *weights)


WRITINGS: dict[str, Sequence[Formula]] = {
    "rows written one by one": (lambda x, y: _tanh(np.float64(0), x), lambda x, y: _filled(x)),
    "rows written backwards": (
        lambda x, y: _tanh(np.float64(0), x[::-1])[::-1],
        lambda x, y: _filled_backwards(x, T.arange(x.shape[0] - 1, -1, -1)),
        lambda x, y: _filled_backwards(x, T.arange(x.shape[0])[::-1]),
        lambda x, y: _filled_backwards(x, x.shape[0] - 1 - T.arange(x.shape[0])),
        lambda x, y: _filled_backwards(x, -1 - T.arange(x.shape[0])),
    ),
    "entries written one by one": (
        lambda x, y: T.tanh(T.outer(x, y)),
        lambda x, y: _rows_of_entries(x, y),
        lambda x, y: _entries_of_a_matrix(x, y),
    ),
    "sums of columns that are ones": (
        lambda x, y: T.repeat(y[None], x.shape[0], axis=0).sum(axis=0),
        lambda x, y: T.outer(T.ones_like(x), y).sum(axis=0),
        lambda x, y: T.outer(T.ones(x.shape[0]), y).sum(axis=0),
        lambda x, y: T.outer(y, T.ones_like(x)).sum(axis=1),
        lambda x, y: (y[:, None] * T.ones_like(x)).sum(axis=1),
    ),
    "a companion matrix": (lambda x, y: _one_by_one(x), lambda x, y: _companion(x)),
    "always true": (
        lambda x, y: T.exp(x),
        lambda x, y: T.where(T.ones_like(x, dtype="bool"), T.exp(x), 2 * x),
        lambda x, y: T.where(T.zeros_like(x, dtype="bool"), 2 * x, T.exp(x)),
        lambda x, y: T.maximum(T.exp(x), T.exp(x)),
        lambda x, y: T.concatenate([T.zeros_like(x[:1]), T.exp(x), T.zeros_like(x[:1])])[1:-1],
        lambda x, y: T.pad(T.exp(x), (2, 3))[2:-3],
    ),
    "rows and columns": (
        lambda x, y: T.dot(x, T.outer(y, y)),
        lambda x, y: T.flatten(T.dot(T.reshape(x, (1, -1)), T.outer(y, y))),
    ),
    "counts in floats": (
        lambda x, y: x * T.cast(T.arange(1, x.shape[0] + 1), "float64"),
        lambda x, y: x * T.arange(1.0, x.shape[0] + 1.0),
    ),
    "counted down": (
        lambda x, y: T.exp(x),
        lambda x, y: scanopt.map(lambda i, x: T.exp(x[x.shape[0] - i]), T.arange(x.shape[0], 0, -1), [x])[0],
    ),
    "a number of steps": (
        lambda x, y: T.cumsum(x),
        lambda x, y: scanopt.scan(lambda v, s: s + v, x, np.float64(0), n_steps=x.shape[0])[0],
    ),
    "sums of equal rows": (
        lambda x, y: T.repeat(y[None], x.shape[0], axis=0).sum(axis=0),
        lambda x, y: (T.ones((x.shape[0], 1)) * y).sum(axis=0),
        lambda x, y: scanopt.map(lambda v, y: y, x, [y])[0].sum(axis=0),
    ),
    "the last state, from the front": (
        lambda x, y: _tanh(x, T.outer(y, y))[-1],
        lambda x, y: T.concatenate([x[None], _tanh(x, T.outer(y, y))])[y.shape[0]],
    ),
    "numbers": (lambda x, y: y * x * 0.6, lambda x, y: y * (x * 0.2) * 3, lambda x, y: 2 * (x * 0.3 * y)),
    "quarters": (lambda x, y: x * 0.25, lambda x, y: x / 4, lambda x, y: x / 2 / 2),
    "sums": (lambda x, y: 3 * x.sum(), lambda x, y: (3 * x).sum(), lambda x, y: (x * 0.2 * 15).sum()),
    "products": (lambda x, y: -0.5 * T.dot(x, y), lambda x, y: T.dot(x * -0.5, y), lambda x, y: T.dot(x, y * -0.5)),
    "differences": (lambda x, y: x - y, lambda x, y: -(y - x), lambda x, y: -y + x),
    "squares": (lambda x, y: x**2, lambda x, y: abs(x) ** 2, lambda x, y: (-x) ** 2),
    "cubes": (lambda x, y: x**2 * x, lambda x, y: x**3, lambda x, y: x * x * x),
    "smoothing": (
        lambda x, y: _filter(lambda v, s, a: s + a * (v - s), x, x[0], y[0]),
        lambda x, y: _filter(lambda v, s, a: s - a * (s - v), x, x[0], y[0]),
        lambda x, y: _filter(lambda v, a, s: s - (s - v) * a, [x, T.repeat(y[0][None], x.shape[0])], x[0]),
    ),
    "itself": (
        lambda x, y: T.exp(x),
        lambda x, y: T.exp(T.reshape(x[None], x.shape)),
        lambda x, y: T.exp(T.real(T.cast(x, "complex128"))),
        lambda x, y: T.exp(T.concatenate([x[:2], x[2:5], x[5:]])),
    ),
    "choices": (lambda x, y: T.where(x > y, x, 0.5), lambda x, y: T.where(~(x > y), 0.5, x)),
    "choices made twice": (
        lambda x, y: T.where(x > 0.6, T.exp(x), -x),
        lambda x, y: T.where(x > 0.6, T.where(x > 0.6, T.exp(x), 0.0), -x),
        lambda x, y: T.where(x > 0.6, T.exp(x), T.where(x > 0.6, 0.0, -x)),
    ),
    "sigmoids": (
        lambda x, y: T.sigmoid(x * y),
        lambda x, y: 1 / (1 + T.exp(-(x * y))),
        lambda x, y: 1 / (T.exp(-(x * y)) + 1),
    ),
    "slopes": (
        lambda x, y: scanopt.grad(((x + y) ** 2).sum(), y),
        lambda x, y: scanopt.grad(((x - (-y)) ** 2).sum(), y),
    ),
    "two states": (
        lambda x, y: _filter(lambda v, r, s, a: a * s - 0.5 * r + v, x, dict(initial=y[:2], taps=[-2, -1]), y[0]),
        lambda x, y: _filter(lambda v, s, r, a: [a * s - 0.5 * r + v, s], x, [y[1], y[0]], y[0]),
    ),
    "states beside each other": (
        lambda x, y: _filter(lambda v, s, r: [T.tanh(s + v) * r, r + s * v], y, [x, y]),
        lambda x, y: _filter(lambda v, s: T.stack([T.tanh(s[0] + v) * s[1], s[1] + s[0] * v]), y, T.stack([x, y]))[
            :, 0
        ],
    ),
    "repeated rows": (
        lambda x, y: T.outer(x, y) * T.exp(y),
        lambda x, y: T.outer(x, y) * T.exp(T.tile(y, (x.shape[0], 1))),
        lambda x, y: T.outer(x, y) * T.repeat(T.exp(y)[None], x.shape[0], axis=0),
        lambda x, y: T.outer(x, y) * T.exp(T.broadcast_to(y, (x.shape[0], y.shape[0]))),
        lambda x, y: scanopt.map(lambda v, w: v * y * T.exp(w), [x, T.tile(y, (x.shape[0], 1))])[0],
    ),
    "one number in all places": (
        lambda x, y: x * T.exp(y[0]),
        lambda x, y: x * T.exp(T.full(x.shape, y[0])),
        lambda x, y: T.exp(T.broadcast_to(y[0], x.shape)) * x,
        lambda x, y: scanopt.map(lambda v, w: v * T.exp(w), [x, T.full(x.shape, y[0])])[0],
    ),
    "numbers of steps": (
        lambda x, y: x * T.cast(T.arange(x.shape[0]), "float64"),
        lambda x, y: x * T.arange(x.shape[0], dtype="float64"),
        lambda x, y: x * T.arange(0.0, x.shape[0], 1.0),
    ),
    "the first behind": (lambda x, y: T.exp(y[0]), lambda x, y: T.exp(T.concatenate([x, y])[x.shape[0]])),
    "behind the first state": (lambda x, y: _tanh(x, y)[2:4], lambda x, y: T.concatenate([x[None], _tanh(x, y)])[3:5]),
    "a loop that changes nothing": (
        lambda x, y: _filter(lambda v, s, q: T.tanh(s * q + v), x, y[0], _tanh(np.float64(0), y)[-1]),
        lambda x, y: _filter(lambda v, s, y: T.tanh(s * _tanh(np.float64(0), T.neg(T.neg(y)))[-1] + v), x, y[0], y),
    ),
    "equal maxima": (
        lambda x, y: _product(lambda v, s, r: [T.maximum(s * 0.9, v), T.maximum(s * 0.9, v)], y, [x[0], x[0]]),
        lambda x, y: _product(lambda v, s, r: [T.maximum(s * 0.9, v), T.maximum(v, r * 0.9)], y, [x[0], x[0]]),
    ),
    "equal choices": (
        lambda x, y: _product(lambda v, s, r: [T.where(s < v, v, s * 0.9), T.where(s < v, v, s * 0.9)], y, [x[0]] * 2),
        lambda x, y: _product(lambda v, s, r: [T.where(s < v, v, s * 0.9), T.where(v > r, v, r * 0.9)], y, [x[0]] * 2),
    ),
    "side by side": (
        lambda x, y: T.maximum(x, T.exp(x)),
        lambda x, y: T.stack([x, T.exp(x)]).max(axis=0),
        lambda x, y: T.stack([x, T.exp(x)], axis=1).max(axis=1),
    ),
    "means of windows": (
        lambda x, y: (x[:-2] + x[1:-1] + x[2:]) / 3,
        lambda x, y: T.stack([x[:-2], x[1:-1], x[2:]]).mean(axis=0),
        lambda x, y: T.stack([x[:-2], x[1:-1], x[2:]]).sum(axis=0) / 3,
        lambda x, y: x[:-2] / 3 + x[1:-1] / 3 + x[2:] / 3,
    ),
    "transposed products": (
        lambda x, y: T.dot(_matrix(x, y), T.dot(_matrix(y, y), y)),
        lambda x, y: T.dot(T.dot(_matrix(y, y).T, _matrix(x, y).T).T, y),
    ),
    "rows moved along": (
        lambda x, y: _matrix(x, y).mean(axis=0) + y,
        lambda x, y: (_matrix(x, y) + y).mean(axis=0),
        lambda x, y: scanopt.map(lambda v, y: y + v, _matrix(x, y), [y])[0].mean(axis=0),
    ),
    "running sums of rows": (
        lambda x, y: T.cumsum(_matrix(x, y), axis=0),
        lambda x, y: _sums(_matrix(x, y), T.zeros_like(_matrix(x, y)[0])),
        lambda x, y: T.concatenate([_matrix(x, y)[:1], _sums(_matrix(x, y)[1:], _matrix(x, y)[0])]),
        lambda x, y: T.concatenate([T.zeros_like(_matrix(x, y)[:1]), T.cumsum(_matrix(x, y), axis=0)])[1:],
    ),
    "running sums of multiples": (
        lambda x, y: _sums(_matrix(x, y), T.zeros_like(_matrix(x, y)[0])),
        lambda x, y: -_sums(-_matrix(x, y), T.zeros_like(_matrix(x, y)[0])),
        lambda x, y: _sums(_matrix(x, y) * 2, T.zeros_like(_matrix(x, y)[0])) / 2,
    ),
    "parts of elements": (lambda x, y: T.exp(x[2:]), lambda x, y: T.exp(x)[2:]),
    "ones": (
        lambda x, y: x.sum(),
        lambda x, y: T.dot(x, T.ones(x.shape[0])),
        lambda x, y: T.dot(T.ones(x.shape[0]), x),
    ),
    "one that is like a number": (lambda x, y: T.exp(y[0]) * x, lambda x, y: T.ones_like(y[0]) * T.exp(y[0]) * x),
    "a polynomial": (
        lambda x, y: (x * y[0] ** T.arange(x.shape[0])).sum(),
        lambda x, y: scanopt.map(lambda v, i, b: v * b**i, [x, T.arange(x.shape[0])], [y[0]])[0].sum(),
    ),
    "a choice of the same": (
        lambda x, y: T.tanh(x),
        lambda x, y: scanopt.ifelse(y.sum() > 0, T.tanh(x), T.tanh(x)),
        lambda x, y: T.where(T.ones_like(x) > 0, T.tanh(x), 0.0),
        lambda x, y: T.tanh(T.where(T.ones_like(x) > 0, x, 0.0)),
    ),
    "one array put side by side": (
        lambda x, y: T.tanh(x),
        lambda x, y: T.stack([T.tanh(x)]).mean(axis=0),
        lambda x, y: T.stack([T.tanh(x)], axis=1)[:, 0],
    ),
    "rows read from the end": (
        lambda x, y: _tanh(np.float64(0), x),
        lambda x, y: _rows_by_number(x, lambda n, i: n - 1 - i),
        lambda x, y: _rows_by_number(x, lambda n, i: n - i - 1),
    ),
    "an axis in front of both": (lambda x, y: x * T.exp(y), lambda x, y: (x[None] * T.exp(y)[None])[0]),
    "a product of joined vectors": (
        lambda x, y: _tanh_of(lambda v, s, W, U: T.dot(v, W) + T.dot(s, U), x, y, [_matrix(y, y), _matrix(y, x)]),
        lambda x, y: _tanh_of(
            lambda v, s, V: T.dot(T.concatenate([v, s]), V), x, y, [T.concatenate([_matrix(y, y), _matrix(y, x)])]
        ),
    ),
    "a part of elements": (lambda x, y: T.exp(x[2:7]) * y[0], lambda x, y: (T.exp(x) * y[0])[2:7]),
    "the last row of what a loop's rows come to": (
        lambda x, y: T.exp(_rows(x, y)[-1]).sum(),
        lambda x, y: T.exp(_rows(x, y))[-1].sum(),
        lambda x, y: T.exp(_rows(x, y)).sum(axis=1)[-1],
    ),
    "parts of products": (
        lambda x, y: T.dot(_matrix(x, y), _matrix(y, x)[:, 2]),
        lambda x, y: T.dot(_matrix(x, y), _matrix(y, x))[:, 2],
    ),
    "an entry of a product": (
        lambda x, y: T.dot(_matrix(x, y)[1], _matrix(y, x)[:, 2]),
        lambda x, y: T.dot(_matrix(x, y), _matrix(y, x))[1, 2],
        lambda x, y: T.dot(_matrix(x, y), _matrix(y, x))[1][2],
    ),
    "running products": (lambda x, y: T.cumprod(x), lambda x, y: _filter(lambda v, s: s * v, x, np.float64(1))),
    "prefix maxima": (
        lambda x, y: T.cummax(x),
        lambda x, y: _filter(T.maximum, x, x[0]),
        lambda x, y: T.concatenate([x[:1], _filter(T.maximum, x[1:], x[0])]),
    ),
    "sums in another order": (lambda x, y: x.sum(), lambda x, y: T.roll(x, 2).sum(), lambda x, y: x[::-1].sum()),
    "functions of parts": (lambda x, y: 2 - T.exp(x), lambda x, y: T.concatenate([2 - T.exp(x[:3]), 2 - T.exp(x[3:])])),
    "sums of sums": (lambda x, y: _matrix(x, y).sum(), lambda x, y: _matrix(x, y).sum(axis=1).sum()),
    "the first running sums": (lambda x, y: T.cumsum(x[:3]), lambda x, y: T.cumsum(x)[:3]),
    "a transposed product": (
        lambda x, y: T.dot(_matrix(y, x), T.dot(_matrix(x, x), y)),
        lambda x, y: T.dot(T.dot(_matrix(x, x).T, _matrix(y, x).T).T, y),
    ),
}


@pytest.mark.parametrize("name", WRITINGS)
def test_other_writings_cost_the_same(name: str) -> None:
    costs, values = [], [np.random.default_rng(0).uniform(0.5, 1, 9) for _ in range(2)]
    for formula in WRITINGS[name]:
        inputs = [T.dvector("x"), T.dvector("y")]
        f = scanopt.function(inputs, formula(*inputs), on_unused_input="ignore")
        costs.append(f.cost)
        assert np.allclose(f(*values), f.unoptimized(*values), rtol=1e-12)
    assert max(costs) <= 1.1 * min(costs)


def test_smoothing_by_another_formula_where_that_is_allowed() -> None:
    """s + a * (v - s) is no number after an infinite v, and (1 - a) * s + a * v is infinite."""
    x, y = T.dvector("x"), T.dvector("y")
    out = _filter(lambda v, s, a: s + a * (v - s), x, x[0], y[0])
    other = _filter(lambda v, s, a: (1 - a) * s + a * v, x, x[0], y[0])
    fast, faster = (scanopt.function([x, y], h, fp="fast") for h in (out, other))
    assert fast.cost <= 1.1 * faster.cost
    values = np.array([1.0, 2.0, 0.5]), np.array([0.5])
    assert np.allclose(fast(*values), fast.unoptimized(*values), rtol=1e-12)
    f = scanopt.function([x, y], out)
    for v in (np.array([1.0, np.inf, 1.0, 2.0]), values[0]):
        np.testing.assert_allclose(f(v, values[1]), f.unoptimized(v, values[1]), rtol=1e-12)


def test_extremes_of_rows_with_the_same_added_where_another_formula_is_allowed() -> None:
    """The greatest of -inf and 1 is 1, and with infinity added no number and infinity, of which no number comes out."""
    X, y = T.dmatrix("X"), T.dvector("y")
    rows, infinite = np.array([[-np.inf, 2.0], [1.0, 3.0]]), np.array([np.inf, 1.0])
    f = scanopt.function([X, y], (T.tanh(X) * 2 + y).max(axis=0))
    assert np.allclose(f(rows, infinite), f.unoptimized(rows, infinite), equal_nan=True)
    f = scanopt.function([X, y], (X + y).max(axis=0))
    assert np.isnan(f(rows, infinite)[0])
    fast, moved = (scanopt.function([X, y], out, fp="fast") for out in ((X + y).max(axis=0), X.max(axis=0) + y))
    assert fast.cost <= 1.1 * moved.cost
    assert np.allclose(fast(rows, np.ones(2)), (rows + 1).max(axis=0))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-0.0, 1), (3.0, 2), (-5, -1.0), (0.5, 1.0), (0, 0.1), (1000.0, 3.0)])
def test_ranges_of_floats_are_those_of_numpy(dtype: str, bounds: tuple[float, float]) -> None:
    start, step = bounds
    n = T.lscalar("n")
    f = scanopt.function([n], T.arange(start, n, step, dtype=dtype))
    for stop in (0, 7, -20, int(start + 40 * step)):
        expected = np.arange(start, stop, step, dtype=dtype)
        for found in (f(stop), f.unoptimized(stop)):
            assert found.dtype == expected.dtype
            assert found.tobytes() == expected.tobytes()


def test_long_ranges_of_single_precision_round_as_those_of_numpy() -> None:
    n = T.lscalar("n")
    for start in (0, 3):
        f = scanopt.function([n], T.arange(start, n, dtype="float32")[-9:])
        stop = 2**24 + 50
        np.testing.assert_array_equal(f(stop), np.arange(start, stop, dtype="float32")[-9:])


def test_quotients_by_numbers_stay_quotients_where_formulas_may_not_differ() -> None:
    """3 * 0.1 / 0.1 is less than 3, and 3 * 0.1 * 10 is 3: what counts by steps of 0.1 would count otherwise."""
    x, values = T.dvector("x"), np.arange(100) * 0.1
    f = scanopt.function([x], T.floor(x / 0.1))
    np.testing.assert_array_equal(f(values), np.floor(values / 0.1))
    fast = scanopt.function([x], T.exp(x) / 0.1, fp="fast")
    assert "divided_by_number" in fast.laws


@pytest.mark.parametrize("number", [0.0, 1e300, 1e-300, np.inf, np.nan])
def test_numbers_near_zero_and_infinity_stay_where_they_are(number: float) -> None:
    x, values = T.dvector("x"), np.array([1e200, -1e200, 1.0, np.inf])
    f = scanopt.function([x], [(x * number).sum(), x * number * 1e-300, x / number, T.dot(x * number, x)])
    with np.errstate(all="ignore"):
        for got, want in zip(f(values), f.unoptimized(values), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)
