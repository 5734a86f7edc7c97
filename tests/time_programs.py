"""Recurrences that compose, and some that do not: what chunks of time are tried on."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import scanopt
import scanopt.tensor as T

ZERO = np.float64(0.3)
ROTATION = np.array([[0.5, 0.2, 0.1], [0.1, 0.5, 0.3], [-0.4, 0.1, 0.2]])


class Program(NamedTuple):
    """make: inputs and outputs.  kinds: how its groups of states compose.  exact: whether parts give the same bits."""

    make: Callable[[], tuple[list[Any], Any]]
    kinds: list[str]
    exact: bool = False


def _scan(step: Any, sequences: Any, initial: Any, *others: Any) -> Any:
    return scanopt.scan(step, sequences, initial, list(others))[0]


def _of_x(step: Any, initial: Any, dtype: str = "float64", then: Any = None) -> Callable[[], Any]:
    def make() -> Any:
        x = T.vector("x", dtype=dtype)
        found = _scan(step, x, initial)
        return [x], found if then is None else then(found)

    return make


def _two_inputs() -> Any:
    x, a = T.dvectors("x", "a")
    return [x, a], _scan(lambda x, a, s: a * s + x, [x, a], ZERO)


def _vector() -> Any:
    x = T.dmatrix("x")
    return [x], _scan(lambda x, s: s @ T.constant(ROTATION) + x, x, T.zeros(3))


def _matrix_state() -> Any:
    x, A = T.dmatrix("x"), T.dmatrix("A")
    return [x, A], _scan(lambda x, s, A: A @ s * 0.5 + T.outer(x, x), [x], T.zeros((3, 3)), A)


def _kalman_like() -> Any:
    x = T.dmatrix("x")
    gain = np.array([0.3, 0.1, 0.05])
    return [x], _scan(lambda x, s: T.constant(ROTATION) @ s + T.constant(gain) * (x[0] - s[0]), x, T.zeros(3))


def _in_a_row() -> Any:
    x = T.dvector("x")
    first = _scan(lambda x, s: 0.5 * s + T.sin(x), x, ZERO)
    return [x], {"first": first, "second": _scan(lambda u, s: 0.9 * s + u, first, np.float64(0.0)), "sum": first.sum()}


def _lanes() -> Any:
    x, w = T.dmatrix("x"), T.dvector("w")
    return [x, w], _scan(lambda x, s, w: s * w + x, x, T.zeros_like(w), w)


I0, B0 = np.int64(3), np.bool_(False)
PROGRAMS: dict[str, Program] = {
    "sum": Program(_of_x(lambda x, s: s + x, ZERO), ["Folded"]),
    "sum of integers": Program(_of_x(lambda x, s: s + x, I0, "int64"), ["Folded"], True),
    "product of integers": Program(_of_x(lambda x, s: s * (x | 1), I0, "int64"), ["Folded"], True),
    "greatest": Program(_of_x(lambda x, s: T.maximum(s, x), ZERO), ["Folded"], True),
    "least of two": Program(_of_x(lambda x, s: T.minimum(T.minimum(s, x), -x), ZERO), ["Folded"], True),
    "bits": Program(_of_x(lambda x, s: s ^ x, I0, "int64"), ["Folded"], True),
    "divisor": Program(_of_x(lambda x, s: T.gcd(s, x), np.int64(60), "int64"), ["Folded"], True),
    "log of a sum": Program(_of_x(lambda x, s: T.logaddexp(s, x), ZERO), ["Folded"]),
    "filter": Program(_of_x(lambda x, s: 0.9 * s + 0.1 * x, ZERO), ["Affine"]),
    "linear": Program(_two_inputs, ["Affine"]),
    "integers modulo 2^64": Program(_of_x(lambda x, s: 3 * s - x, I0, "int64"), ["Affine"], True),
    "oscillator": Program(_of_x(lambda x, s, v: [s + 0.1 * v, v - 0.1 * s + x], [ZERO, np.float64(0.0)]), ["Affine"]),
    "two taps": Program(
        _of_x(lambda x, s, r: 0.5 * s - 0.3 * r + x, dict(initial=np.array([1.0, 2.0]), taps=[-1, -2])), ["Affine"]
    ),
    "far taps": Program(
        _of_x(lambda x, s: x - 0.5 * s, dict(initial=np.array([1.0, 2.0, 0.5]), taps=[-3])), ["Affine"]
    ),
    "reset": Program(_of_x(lambda x, s: T.where(x > 1.5, 0.0, s) + x, ZERO), ["Affine"]),
    "lanes": Program(_lanes, ["Affine"]),
    "rotation": Program(_vector, ["Linear"]),
    "observer": Program(_kalman_like, ["Linear"]),
    "matrix": Program(_matrix_state, ["Linear"]),
    "cusum": Program(_of_x(lambda x, s: T.maximum(s + x, 0.0), ZERO), ["Clamped"]),
    "clamp": Program(_of_x(lambda x, s: T.clip(s + x, -1.0, 1.0), ZERO), ["Clamped"]),
    "max-plus": Program(_of_x(lambda x, s: T.maximum(s + x, T.sin(x)), ZERO, then=lambda s: s[-1]), ["Clamped"]),
    "switch": Program(_of_x(lambda x, s: T.where(x > 1.0, True, s & (x > -1.0)), B0), ["Finite"], True),
    "flip": Program(_of_x(lambda x, s: T.neq(s, x > 0.0), B0), ["Finite"], True),
    "counted": Program(
        _of_x(lambda x, s, n: [T.maximum(s + x, 0.0), n + T.cast(s > 2.0, "int64")], [ZERO, I0]), ["Clamped", "Folded"]
    ),
    "in a row": Program(_in_a_row, ["Affine", "Affine"]),
}

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "tanh": (_of_x(lambda x, s: T.tanh(s + x), ZERO), "tanh of"),
    "logistic": (_of_x(lambda x, s: 3.7 * s * (1.0 - s) + 0.0 * x, ZERO), "multiply of"),
    "division by the state": (_of_x(lambda x, s: x / (s + 2.0), ZERO), "divide of"),
    "threshold": (_of_x(lambda x, s: T.where(s > 1.0, 0.0, s) + x, ZERO), "greater of"),
}
"""Loops whose step does not compose, and the operator that is named."""


def arguments(inputs: list[Any], n: int, seed: int = 0) -> list[Any]:
    """Values: those named x and a have n rows."""
    rng = np.random.default_rng(seed)
    found = []
    for v in inputs:
        shape = (n if v.name in ("x", "a") else 3, *(3,) * (v.ndim - 1))
        x = rng.normal(size=shape)
        found.append((x * 50).astype("int64") if v.dtype == "int64" else x * (0.5 if v.name in "aA" else 1.0))
    return found
