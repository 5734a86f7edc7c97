"""verify_grad: a gradient against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from scanopt import features
from scanopt.array.constants import constant
from scanopt.array.variable import Variable, describe
from scanopt.gradient.grad import grad
from scanopt.loops.location import user_location
from scanopt.loops.site import Site, show

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

    fun: takes symbolic arrays and returns one.  pt: the point, arrays of float dtype.  n_tests: how many
    random weightings of fun's entries are tried.  eps: step of the differences.  abs_tol, rel_tol: the
    tolerances, by default 1e-5 for float64 and 1e-2 for float32.  mode: as for `function`.  Random
    streams give the same numbers each time.
    Raises VerifyGradError naming the worst entry, also where a gradient or difference is not finite;
    TypeError, ValueError for other arguments.

    >>> from scanopt import tensor as T
    >>> verify_grad(lambda x: T.tanh(x).sum(), [np.array([0.1, 0.2])])

    Source: the documents' `theano.gradient.verify_grad`.
    """
    site = Site("verify_grad", user_location())
    points, random = _points(site, pt), _numbers(site, rng, n_tests)
    inputs = [_input(site, p, i) for i, p in enumerate(points)]
    output = _output(site, fun, inputs)
    least = min((p.dtype.name for p in points), key=lambda d: np.dtype(d).itemsize)
    step = _given(site, "eps", eps, _STEP[least], zero=False)
    absolute, relative = (
        _given(site, name, tolerance, _TOLERANCE[least])
        for name, tolerance in (("abs_tol", abs_tol), ("rel_tol", rel_tol))
    )
    compiled = partial(features.function, inputs, mode=mode, on_unused_input="ignore", no_default_updates=True)
    shape = np.shape(compiled(output)(*points))
    for _ in range(n_tests):
        weights = constant((random.uniform(size=shape) + 0.5).astype(output.dtype))
        cost = (output * weights).sum()
        value = compiled(cost)
        gradients = compiled(list(grad(cost, inputs, disconnected_inputs="ignore")))(*points)
        for i, (found, x) in enumerate(zip(gradients, points, strict=True)):

            def moved(p: Array, f: Any = value, i: int = i) -> Any:
                return f(*points[:i], p, *points[i + 1 :])

            expected = _differences(moved, x, step)
            _compare(site, i, found, expected, absolute, relative)


def _points(site: Site, pt: Any) -> list[Array]:
    if not isinstance(pt, list | tuple) or not pt:
        raise site.error(TypeError, f"pt must be a list with an array for each argument of fun, found {show(pt)}")
    return [np.array(p) for p in pt]


def _numbers(site: Site, rng: Any, n_tests: Any) -> Any:
    """The generator of random numbers.  Raises TypeError, ValueError."""
    if isinstance(n_tests, bool) or not isinstance(n_tests, int | np.integer) or n_tests < 1:
        raise site.error(ValueError, f"n_tests must be a number of tests from 1 up, found {show(n_tests)}")
    if rng is not None and not hasattr(rng, "uniform"):
        raise site.error(TypeError, f"rng must be a generator such as np.random.default_rng(3), found {show(rng)}")
    return np.random.default_rng(42) if rng is None else rng


def _given(site: Site, name: str, value: Any, default: float, zero: bool = True) -> float:
    """A step or tolerance as given, else its default.  Raises ValueError."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
        raise site.error(ValueError, f"{name} must be a number that is not negative, found {show(value)}")
    if not (zero or value):
        raise site.error(ValueError, f"{name} must be positive, found {show(value)}")
    return float(value)


def _input(site: Site, point: Array, i: int) -> Variable:
    if point.dtype.name not in _STEP:
        raise site.error(
            TypeError,
            f"pt[{i}] is {point.dtype.name}; a point for gradients is an array of float16, float32 or float64",
        )
    return Variable(constant(point).type, f"pt[{i}]")


def _output(site: Site, fun: Any, inputs: Sequence[Variable]) -> Variable:
    if not callable(fun):
        raise site.error(TypeError, f"fun must be a function from symbolic arrays to one, found {show(fun)}")
    output = fun(*inputs)
    if not isinstance(output, Variable):
        raise site.error(TypeError, f"fun must be a function from symbolic arrays to one, it returned {show(output)}")
    if np.dtype(output.dtype).kind != "f":
        raise site.error(TypeError, f"fun must return real floating point numbers, it returned {describe(output)}")
    return output


def _differences(f: Callable[[Array], Any], x: Array, step: float) -> Array:
    """The derivatives of f by central differences."""
    out = np.empty(x.shape)
    for index in np.ndindex(*x.shape):
        ahead, behind = x.copy(), x.copy()
        ahead[index] += step
        behind[index] -= step
        out[index] = (float(f(ahead)) - float(f(behind))) / (float(ahead[index]) - float(behind[index]))
    return out


def _compare(site: Site, i: int, found: Array, expected: Array, absolute: float, relative: float) -> None:
    with np.errstate(invalid="ignore"):  # infinite or NaN: no difference can confirm them
        error = np.abs(found - expected)
        scale = np.maximum(np.abs(found), np.abs(expected))
        bad = ~(error <= np.maximum(absolute, relative * scale))
    if bad.any():
        worst = np.unravel_index(np.argmax(np.where(bad, error, -1.0)), error.shape)
        place = tuple(int(k) for k in worst)
        raise site.error(
            VerifyGradError,
            f"the gradient with respect to pt[{i}] differs from finite differences at {int(bad.sum())} of {bad.size} "
            f"entries, most at {place}: found {found[place]:.6g}, expected {expected[place]:.6g}",
        )
