"""Laws that undo one another make no forms without end: small programs of each kind saturate, and stay small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_programs import build, generate

import scanopt
from scanopt import tensor as T

x, y, X, n = T.dvector("x"), T.dvector("y"), T.dmatrix("X"), T.lscalar("n")


def _trace(step: Callable[[Any, Any], Any], start: float = 0.0) -> Any:
    return scanopt.scan(step, x, np.float64(start))[0]


def _mapped(step: Callable[[Any], Any]) -> Any:
    return scanopt.map(step, x)[0]


def _gelu(v: Any) -> Any:
    return v * 0.5 * (1.0 + T.tanh(0.7978845608 * (v + 0.044715 * v**3)))


def _slope_of_products() -> Any:
    rows = scanopt.map(lambda v, W: T.dot(v, W), X, [X.T])[0]
    return T.grad((rows**2).sum() + (rows * 0.5).sum(), X)


def _slope_of_opposites() -> Any:
    rows = scanopt.scan(lambda v, s, W: -T.tanh(-v - T.dot(s, W)), X, y, [T.exp(X)])[0]
    return T.grad((rows**2).sum(), X)


def _zeros_until() -> Any:
    zeros = T.zeros((1, 1))
    one, none = np.float64(1), None
    first, rows = scanopt.scan(lambda v, s: ([s, zeros[0]], scanopt.until(X.sum() > 1)), X, [one, none], n_steps=1)[0]
    last = scanopt.scan(lambda v, s, w: (w, scanopt.until(v.sum() > 1)), zeros, one, first[-1])[0]
    return T.concatenate([rows[-1], last])


def _repeated() -> Any:
    return scanopt.scan(lambda v, s: (s, scanopt.until(s > 0.5)), x, dict(initial=y[:3], taps=[-3]))[0]


def _passed_on() -> Any:
    r, s, t = scanopt.scan(lambda r, s, t: [r / 2, t, r / 2 + s], None, [x[0]] * 3, n_steps=1)[0]
    return r[-1] + s[-1] * t[-1]


def _truths_of_two_steps() -> Any:
    numbers, no = T.constant(np.array([3.0, 4.0])), T.zeros((2,), dtype="bool")
    return scanopt.scan(lambda v, s: s | ((v > 1) | no), numbers, T.stack([n > 0, n > 1]))[0]


def _one_row_from_the_end(row: Any) -> Any:
    return scanopt.foldr(lambda v, s: s + (v - s), row, row)[0]


PROGRAMS: dict[str, tuple[int, Callable[[], Any]]] = {
    "products": (60, lambda: T.exp(x) * 0.5 * 2.0 * y * 3.0),
    "sums": (30, lambda: (x + 0.5) - 0.5 + (y + 1.5)),
    "halves": (60, lambda: T.exp(x) / 2.0 + T.exp(x) / 2.0),
    "opposites of halves": (80, lambda: -(-T.exp(x) / 2.0 - T.exp(x) / 2.0)),
    "halves of doubles": (80, lambda: T.dot((y + y) / 2.0, X) * T.exp(T.dot(y, X))),
    "quotients": (30, lambda: T.exp(x) / 3.0 / 0.7 * 3.0),
    "products, added": (50, lambda: (x * 2.0 + y * 2.0) * 0.5 - x * 3.0),
    "polynomial": (30, lambda: ((x * 2.0 + 1.0) * x + 3.0) * x - 4.0),
    "products of matrices": (80, lambda: T.dot(X * 2.0, x * 3.0) * 0.5),
    "variance": (30, lambda: ((x - x.mean()) ** 2).mean() * 2.0),
    "slope of an activation": (200, lambda: T.grad(_gelu(x).sum(), x)),
    "parts": (30, lambda: T.exp(x)[2:][:-1][::-1] * 2.0),
    "integers": (30, lambda: (n + 3) * 2 - n * 2),
    "decay": (60, lambda: _trace(lambda v, s: s * 0.5 + v)),
    "smoothing": (100, lambda: _trace(lambda v, s: s + 0.1 * (v - s))),
    "slope of smoothing": (60, lambda: T.grad(_trace(lambda v, s: s + 0.1 * (v - s))[-1], x)),
    "doubled": (80, lambda: _trace(lambda v, s: s * 2.0 + v)[-1] * 0.5),
    "slope of a network": (200, lambda: T.grad((_trace(lambda v, s: T.tanh(s * 0.9 + v * 0.1)) ** 2).sum() * 0.5, x)),
    "steps of Euler": (150, lambda: _trace(lambda v, s: s + 0.01 * (10.0 * (v - s)))),
    "counted": (120, lambda: scanopt.scan(lambda i, s: s + (i * 2 + 1), T.arange(n), np.int64(0))[0]),
    "counted there and back": (150, lambda: scanopt.scan(lambda i, s: (s + 3) - 3 + i, T.arange(n), np.int64(0))[0]),
    "added there and back": (150, lambda: _trace(lambda v, s: (s + 3.0) - 3.0 + v)),
    "constants and states": (150, lambda: _trace(lambda v, s: ((v + 3.0) + s) + 2.0)),
    "differences": (100, lambda: _trace(lambda v, s: (-0.5 - s) + 0.25)),
    "added to itself": (40, lambda: T.exp(x) + T.exp(x) + (T.exp(x) + T.exp(x))),
    "slope of what is added to itself": (60, lambda: T.grad(((T.exp(x) + T.exp(x) + x) ** 2).sum() * 0.5, x)),
    "slope of a loop that adds to itself": (180, lambda: T.grad((_trace(lambda v, s: v + v) ** 2).sum() * 0.125, x)),
    "slope of products of numbers": (300, lambda: T.grad((2.0 * (1.5 * (y * 0.5 * T.exp(x)) * T.exp(x))).sum(), x)),
    "slope of powers": (300, lambda: T.grad(((((x**0.5) ** 2) ** 3) ** 2).sum() * 0.5, x)),
    "slope of multiples of states": (300, lambda: T.grad(_trace(lambda v, s: (0.5 * s) * (0.1 * s * v))[-1], x)),
    "slope of a product of matrices": (60, lambda: T.grad((T.dot(X, x + x + (x + x)) ** 2).sum() * 0.5, x)),
    "lengths of products": (60, lambda: T.dot(T.dot(X, X.T), X).shape[1] * T.dot(X, X.T).shape[0]),
    "slope of opposites in a network": (400, _slope_of_opposites),
    "slope of rows of products": (200, _slope_of_products),
    "choices": (80, lambda: T.where(x > 0.5, T.where(y > 2.0, x * 2.0, y) - 1.0, x) * 3.0),
    "greatest and least": (150, lambda: _trace(lambda v, s: T.minimum(v, T.minimum(3.0, T.maximum(s, 1.5))))),
    "parts of arrays put together": (60, lambda: T.concatenate([T.exp(x)[:3], T.exp(x)])[1:][::-1] * 2.0),
    "turned": (60, lambda: (T.exp(X).T * 2.0)[1:].T[::-1] * 0.5),
    "reduced twice": (60, lambda: ((X * 2.0).mean(axis=0) - 1.0).var() * 0.5),
    "two states": (
        150,
        lambda: scanopt.scan(lambda v, s, t: [s * 0.5 + t, t - 0.1 * s + v], x, [np.float64(1)] * 2)[0][1],
    ),
    "a state that is passed on in a loop of one step": (150, _passed_on),
    "greatest of itself": (60, lambda: scanopt.scan(lambda s: T.maximum(s, s), None, n, n_steps=2)[0][-1]),
    "a state that repeats until it ends": (70, _repeated),
    "rows of zeros in loops of one step that may end": (200, _zeros_until),
    "slope of halves of squares in steps": (
        200,
        lambda: T.grad(scanopt.scan(lambda s: (y[0] + T.log1p(abs(s))) ** 2 * 0.5, None, x, n_steps=n)[0].sum(), x),
    ),
    "truths of two steps": (350, _truths_of_two_steps),
    "a number that is its own row": (450, lambda: _one_row_from_the_end((n + n).reshape((1,)))),
    "parts of one row": (600, lambda: _one_row_from_the_end(scanopt.scan(lambda s: s + s, None, n, n_steps=1)[0])),
    "slope of a map": (250, lambda: T.grad(_mapped(lambda v: ((v * 0.5 + 1.0) * 2.0) ** 3).sum() * 0.25, x)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_small_programs_saturate(name: str) -> None:
    most, program = PROGRAMS[name]
    f = scanopt.function([x, y, X, n], program(), on_unused_input="ignore")
    assert f.report.saturated
    assert f.report.enodes <= most


def test_a_state_that_goes_on_after_its_first_step_is_one_state() -> None:
    kept, rows = scanopt.shared(1.5), T.stack([n, n])
    _, first = scanopt.scan(lambda v: [(kept, kept)], rows, n_steps=1)
    halves, _ = scanopt.scan(lambda v: (kept, {kept: kept * 0.5}), rows)
    f = scanopt.function([n], [first[kept], halves])
    assert f.report.saturated
    assert f.report.laws["states_of_equal_updates"] < 100


def test_equal_sequences_are_one_before_lists_of_them_are_made() -> None:
    """A stack of four sequences, each of several equal forms, in another one: lists of them took gigabytes."""
    inputs, outputs = build(generate(31804))
    patient = scanopt.Schedule(scanopt.Phase(), seconds=300)  # other processes may slow it down
    report = scanopt.function(list(inputs), outputs, on_unused_input="ignore", schedule=patient).report
    assert report.saturated
    assert report.enodes <= 4000
