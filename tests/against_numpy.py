"""Functions of arrays against themselves: of values, of symbols, interpreted and optimized, in steps of loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable

__all__ = ["check", "check_in_a_step", "close", "numbers"]

Array = np.ndarray[Any, Any]


def numbers(*shape: int, dtype: str = "float64", seed: int = 0) -> Array:
    """Random numbers of a dtype: moderate, integers from 0 to 9."""
    rng = np.random.default_rng([seed, *shape])
    kind = np.dtype(dtype).kind
    if kind in "biu":
        return np.asarray(rng.integers(0, 2 if kind == "b" else 10, shape).astype(dtype))
    x = rng.normal(size=shape)
    return np.asarray((x + 1j * rng.normal(size=shape) if kind == "c" else x).astype(dtype))


def close(found: Any, expected: Any, message: str = "") -> None:
    """The same dtype and shape, and values up to rounding."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), message
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected, message)
    else:
        single = np.finfo(expected.dtype).eps > 1e-8
        tolerance = 2e-2 if expected.dtype == "float16" else 2e-4 if single else 1e-10
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=message)


def _listed(x: Any) -> list[Any]:
    return list(x) if isinstance(x, tuple | list) else [x]


def _symbols(args: Sequence[Array], known: bool) -> list[Variable]:
    return [
        Variable(TensorType(a.dtype.name, a.shape if known else (None,) * a.ndim), f"x{i}") for i, a in enumerate(args)
    ]


def check(build: Callable[..., Any], *args: Array, like: Callable[..., Any] | None = None) -> None:
    """build(symbols) has the values of like(arrays) (or of build itself), lengths being known before the run or not."""
    with np.errstate(all="ignore"):
        expected = _listed((like or build)(*args))
    symbols, known = _symbols(args, False), _symbols(args, True)
    outputs, sharper = _listed(build(*symbols)), _listed(build(*known))
    f = scanopt.function(symbols, outputs, on_unused_input="ignore")
    with np.errstate(all="ignore"):
        for run in (f, f.unoptimized):
            for v, found, value in zip(outputs, run(*args), expected, strict=True):
                assert v.dtype == np.asarray(value).dtype.name
                close(found, value)
        values = scanopt.interpret(sharper, dict(zip(known, args, strict=True)))
    for v, found, value in zip(sharper, values, expected, strict=True):
        assert v.type.accepts(TensorType(found.dtype.name, found.shape))
        close(found, value)


def check_in_a_step(build: Callable[..., Any], *args: Array, like: Callable[..., Any] | None = None) -> None:
    """The same of rows, by a loop over three rows and by one over none; and of one array for all steps."""
    rows = [np.stack([a, a[..., ::-1] if a.ndim == 1 else a, a]) for a in args]
    symbols = _symbols(rows, False)
    outputs, _ = scanopt.map(lambda *xs: _listed(build(*xs)), symbols)
    f = scanopt.function(symbols, _listed(outputs), on_unused_input="ignore")
    with np.errstate(all="ignore"):
        one_by_one = [_listed((like or build)(*row)) for row in zip(*rows, strict=True)]
        for run in (f, f.unoptimized):
            for found, values in zip(run(*rows), zip(*one_by_one, strict=True), strict=True):
                close(found, np.stack(values))
            for found, values in zip(run(*(r[:0] for r in rows)), zip(*one_by_one, strict=True), strict=True):
                assert found.shape == (0, *np.shape(values[0]))
    _check_as_a_constant_of_a_loop(build, args, one_by_one[0])


def _check_as_a_constant_of_a_loop(build: Callable[..., Any], args: Sequence[Array], expected: Sequence[Any]) -> None:
    symbols, n = _symbols(args, False), T.lscalar("n")
    outputs, _ = scanopt.map(
        lambda i, *xs: [v * T.cast(i, v.dtype) for v in _listed(build(*xs)) if v.dtype != "bool"],
        T.arange(1, n),
        symbols,
    )
    if not _listed(outputs):
        return
    f = scanopt.function([n, *symbols], _listed(outputs), on_unused_input="ignore")
    with np.errstate(all="ignore"):
        wanted = [e for e in expected if np.asarray(e).dtype != bool]
        for run in (f, f.unoptimized):
            for found, value in zip(run(2, *args), wanted, strict=True):
                close(found, np.asarray(value)[None])
