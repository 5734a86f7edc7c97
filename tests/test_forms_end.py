"""Laws that undo one another make no forms without end: small programs of each kind saturate, and stay small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
from scanopt import tensor as T

x, y, X, n = T.dvector("x"), T.dvector("y"), T.dmatrix("X"), T.lscalar("n")


def _trace(step: Callable[[Any, Any], Any], start: float = 0.0) -> Any:
    return scanopt.scan(step, x, np.float64(start))[0]


def _mapped(step: Callable[[Any], Any]) -> Any:
    return scanopt.map(step, x)[0]


def _gelu(v: Any) -> Any:
    return v * 0.5 * (1.0 + T.tanh(0.7978845608 * (v + 0.044715 * v**3)))


PROGRAMS: dict[str, tuple[int, Callable[[], Any]]] = {
    "products": (60, lambda: T.exp(x) * 0.5 * 2.0 * y * 3.0),
    "sums": (30, lambda: (x + 0.5) - 0.5 + (y + 1.5)),
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
    "slope of a map": (250, lambda: T.grad(_mapped(lambda v: ((v * 0.5 + 1.0) * 2.0) ** 3).sum() * 0.25, x)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_small_programs_saturate(name: str) -> None:
    most, program = PROGRAMS[name]
    f = scanopt.function([x, y, X, n], program(), on_unused_input="ignore")
    assert f.report.saturated
    assert f.report.enodes <= most
