"""verify_grad: a gradient against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.constants import constant
from scanopt.array.derivatives import smooth
from scanopt.array.variable import Variable
from scanopt.gradient.grad import grad

__all__ = ["VerifyGradError", "verify_grad"]

Array = np.ndarray[Any, Any]
_STEP = {"float16": 1e-1, "float32": 3e-3, "float64": 1e-5}
_TOLERANCE = {"float16": 1e-1, "float32": 1e-2, "float64": 1e-5}


class VerifyGradError(AssertionError):
    """A gradient differs from the finite differences of its function."""


def verify_grad(
    fun: Callable[..., Any],
    pt: Sequence[Any],
    n_tests: int = 2,
    rng: np.random.Generator | None = None,
    eps: float | None = None,
    abs_tol: float | None = None,
    rel_tol: float | None = None,
    mode: Any = None,
) -> None:
    """Check the gradient of fun at a point against central differences.

    fun: from symbolic arrays to one.  pt: arrays of float dtype, the point.  n_tests: how many random
    weightings of fun's entries are tried.  eps: step of the differences.  abs_tol, rel_tol: what may
    differ, by default 1e-5 for float64 and 1e-2 for float32.  mode: as for `function`.
    Raises VerifyGradError naming the worst entry; TypeError where a point is no float array.

    >>> from scanopt import tensor as T
    >>> verify_grad(lambda x: T.tanh(x).sum(), [np.array([0.1, 0.2])])

    Source: the documents' `theano.gradient.verify_grad`.
    """
    from scanopt.compiler import function

    points = [np.array(p) for p in pt]
    inputs = [_input(p, i) for i, p in enumerate(points)]
    output = fun(*inputs)
    if not isinstance(output, Variable):
        raise TypeError(f"verify_grad needs a function from symbolic arrays to one, which returned {output!r}")
    least = min((p.dtype.name for p in points), key=lambda d: np.dtype(d).itemsize)
    step, absolute, relative = eps or _STEP[least], abs_tol or _TOLERANCE[least], rel_tol or _TOLERANCE[least]
    random = rng or np.random.default_rng(42)
    shape = np.shape(function(inputs, output, mode=mode, on_unused_input="ignore")(*points))
    for _ in range(n_tests):
        weights = constant((random.uniform(size=shape) + 0.5).astype(output.dtype))
        cost = (output * weights).sum()
        value = function(inputs, cost, mode=mode, on_unused_input="ignore")
        gradients = function(inputs, list(grad(cost, inputs)), mode=mode, on_unused_input="ignore")(*points)
        for i, (found, x) in enumerate(zip(gradients, points, strict=True)):

            def moved(p: Array, f: Any = value, i: int = i) -> Any:
                return f(*points[:i], p, *points[i + 1 :])

            expected = _differences(moved, x, step)
            _compare(i, found, expected, absolute, relative)


def _input(point: Array, i: int) -> Variable:
    v = Variable(constant(point).type, f"pt[{i}]")
    if not smooth(v) or point.dtype.name not in _STEP:
        raise TypeError(f"pt[{i}] is {v.type}; a point for gradients is an array of real floating point numbers")
    return v


def _differences(f: Callable[[Array], Any], x: Array, step: float) -> Array:
    """The derivatives of f by central differences."""
    out = np.empty(x.shape)
    for index in np.ndindex(*x.shape):
        ahead, behind = x.copy(), x.copy()
        ahead[index] += step
        behind[index] -= step
        out[index] = (float(f(ahead)) - float(f(behind))) / (float(ahead[index]) - float(behind[index]))
    return out


def _compare(i: int, found: Array, expected: Array, absolute: float, relative: float) -> None:
    error = np.abs(found - expected)
    scale = np.maximum(np.abs(found), np.abs(expected))
    bad = error > np.maximum(absolute, relative * scale)
    if bad.any() or np.isfinite(found).all() != np.isfinite(expected).all():
        worst = np.unravel_index(np.argmax(np.where(bad, error, -1)), error.shape)
        place = tuple(int(k) for k in worst)
        raise VerifyGradError(
            f"the gradient with respect to pt[{i}] differs from finite differences at {int(bad.sum())} of {bad.size} "
            f"entries, most at {place}: found {found[place]}, expected {expected[place]}"
        )
