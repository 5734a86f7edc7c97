"""Factors of matrices, and systems solved with them: calls LAPACK's routines for one matrix after the other.

NumPy has no function that only factors or that solves with factors: SciPy is imported when one is first
called.  On a device CuPy's own functions stand in for it.  Nothing here looks for infinities and NaN.

All functions take a matrix or a stack of matrices, whose first axes broadcast.  A right-hand side is a vector (if it
has one axis) or a matrix of columns, as for `np.linalg.solve`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from scanopt.array.device import CUPY, device_of
from scanopt.libraries import library

__all__ = [
    "FLAGS", "SINGULAR", "checked", "cho_solve", "dtype_of", "flagged", "lu_factor", "lu_solve", "on", "raising",
    "solve_triangular", "solver",
]  # fmt: skip

SINGULAR = "Singular matrix"

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_LAPACK: dict[str, str] = {np.dtype(d).char: letter for d, letter in _LETTERS.items()}


def dtype_of(*dtypes: str) -> str:
    """The dtype of results: the promoted dtype of the arguments, with integers and booleans counting as float64.

    Raises TypeError for dtypes that LAPACK does not know, as NumPy does.

    >>> dtype_of("float32", "float32"), dtype_of("float32", "int8"), dtype_of("complex64", "float32")
    ('float32', 'float64', 'complex64')
    """
    wide = ["float64" if np.dtype(d).kind in "biu" else d for d in dtypes]
    for d in wide:
        if d not in _LETTERS:
            raise TypeError(f"linear algebra is done in single and double precision, found {d}: cast it first")
    return np.result_type(*wide).name


def raising(xp: Any) -> AbstractContextManager[Any]:
    """A context in which singular matrices raise on a device too."""
    device = device_of(xp)
    if device is None:
        return nullcontext()
    found: AbstractContextManager[Any] = device.load(device.states).errstate(linalg="raise")
    return found


@cache
def _routine(name: str, char: str) -> Callable[..., Any]:
    """LAPACK's routine `name` for the dtype with the letter `char` in NumPy."""
    found: Callable[..., Any] = getattr(library("scipy.linalg.lapack", "", name), _LAPACK[char] + name)
    return found


@cache
def _on_device() -> Any:
    return CUPY.load(CUPY.linalg)


# Systems


def on(xp: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of xp.linalg raise for singular matrices and return NumPy's dtypes on a device too."""
    if device_of(xp) is None:
        return function

    def run(*args: Any) -> Any:
        dtype = dtype_of(*(x.dtype.name for x in args))
        with raising(xp):
            return function(*(x.astype(dtype, copy=False) for x in args))

    return run


def solver(xp: Any) -> Callable[[Any, Any], Any]:
    """The function of a and b that solves a x = b; it raises LinAlgError if a is singular, unless b has no columns.

    >>> solver(np)(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0]))
    array([1., 2.])
    """
    one, device = on(xp, xp.linalg.solve), device_of(xp)
    stacks = device is None or device.stacks

    def solve(a: Any, b: Any) -> Any:
        vector, plain = b.ndim == 1, stacks or a.ndim == 2 == max(b.ndim, 2)
        if b.size and plain:
            return one(a, b)
        columns = b[:, None] if vector else b
        stack = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
        if columns.shape[-2] != _rows(a):
            raise ValueError(f"expected right sides of {_rows(a)} rows, found {columns.shape[-2]}")
        if b.size:
            x = one(*(xp.ascontiguousarray(xp.broadcast_to(y, (*stack, *y.shape[-2:]))) for y in (a, columns)))
        else:
            x = xp.empty((*stack, *columns.shape[-2:]), dtype_of(a.dtype.name, b.dtype.name))
        return x[..., 0] if vector else x

    return solve


# LU


def lu_factor(xp: Any, a: Any) -> Any:
    """The factors of a square matrix and their pivots, in one array with a row more than the matrix.

    Row j is column j of L and U in one (L has ones on its diagonal): LAPACK's layout, so that solving
    copies nothing.  The last row are the pivots: row i was exchanged with row pivots[i].  Of a singular
    matrix U has a zero on its diagonal; nothing is raised.

    >>> lu_factor(np, np.array([[0.0, 2.0], [4.0, 1.0]]))
    array([[4., 0.],
           [1., 2.],
           [1., 1.]])
    """
    stack, n = a.shape[:-2], _rows(a)
    dtype = dtype_of(a.dtype.name)
    out = xp.empty((*stack, n + 1, n), dtype)
    if not out.size:
        return out
    for i in np.ndindex(*stack) if stack else [...]:
        _factor(xp, a[i], out[i], dtype)
    return out


def _factor(xp: Any, a: Any, out: Any, dtype: str) -> None:
    n = a.shape[0]
    if device_of(xp) is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a singular matrix raises only when a system is solved with its factors
            factors, pivots = _on_device().lu_factor(a.astype(dtype), check_finite=False)
        out[:n], out[n] = factors.T, pivots
        return
    out[:n] = a.T
    _, pivots, _ = _routine("getrf", out.dtype.char)(out[:n].T, overwrite_a=True)
    out[n] = pivots


def lu_solve(xp: Any, factors: Any, b: Any, trans: int) -> Any:
    """x with a x = b (trans 0), a^T x = b (1) or a^H x = b (2), a given by its `lu_factor`.

    Raises LinAlgError if a is singular, unless there are no right sides at all.

    >>> lu_solve(np, lu_factor(np, np.array([[0.0, 2.0], [4.0, 1.0]])), np.array([2.0, 5.0]), 0)
    array([1., 1.])
    """
    n = factors.shape[-1]
    if factors.shape[-2] != n + 1:
        raise ValueError(f"expected factors of n + 1 rows of n, as lu_factor makes them, found {factors.shape}")
    return _solved(xp, lambda f, y: _with_factors(xp, f, y, trans), factors, n, b)


def _with_factors(xp: Any, factors: Any, b: Any, trans: int) -> Any:
    n = factors.shape[-1]
    if not factors.flags.c_contiguous:
        factors = xp.ascontiguousarray(factors)
    lu = factors[:n].T
    if not lu.diagonal().all():
        raise np.linalg.LinAlgError(SINGULAR)
    # LAPACK would write out of bounds for an invalid pivot.
    pivots = xp.minimum(xp.maximum((factors[n].real + 0.5).astype(np.intc), 0), n - 1)
    if device_of(xp) is not None:
        return _on_device().lu_solve((lu, pivots), b, trans=trans, check_finite=False)
    return _routine("getrs", factors.dtype.char)(lu, pivots, b, trans=trans)[0]


# Triangles


def solve_triangular(xp: Any, a: Any, b: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    """x with a x = b (trans 0), a^T x = b (1) or a^H x = b (2); only one triangle of a is read.

    Raises LinAlgError if its diagonal has a zero, unless there are no right sides at all.

    >>> solve_triangular(np, np.array([[2.0, 9.0], [1.0, 1.0]]), np.array([2.0, 3.0]), True, 0, False)
    array([1., 2.])
    """
    return _solved(xp, lambda m, y: _triangle(xp, m, y, lower, trans, unit_diagonal), a, _rows(a), b)


def _triangle(xp: Any, a: Any, b: Any, lower: bool, trans: int, unit: bool) -> Any:
    if device_of(xp) is not None:
        if not unit and not a.diagonal().all():
            raise np.linalg.LinAlgError(SINGULAR)
        return _on_device().solve_triangular(a, b, trans, lower, unit, check_finite=False)
    if a.flags.c_contiguous and trans < 2:  # as the transpose, whose memory layout is LAPACK's
        a, lower, trans = a.T, not lower, 1 - trans
    x, info = _routine("trtrs", a.dtype.char)(a, b, lower=lower, trans=trans, unitdiag=unit)
    if info > 0:
        raise np.linalg.LinAlgError(SINGULAR)
    return x


def cho_solve(xp: Any, c: Any, b: Any, lower: bool) -> Any:
    """x with a x = b, where a = c c^H (lower) or c^H c; only one triangle of c is read.  It never raises.

    >>> cho_solve(np, np.array([[2.0, 9.0], [0.0, 1.0]]), np.array([4.0, 1.0]), True)
    array([1., 1.])
    """
    return _solved(xp, lambda m, y: _with_cholesky(xp, m, y, lower), c, _rows(c), b)


def _with_cholesky(xp: Any, c: Any, b: Any, lower: bool) -> Any:
    if device_of(xp) is not None:
        solve = _on_device().solve_triangular
        first, second = (0, 2) if lower else (2, 0)
        half = solve(c, b, first, lower, check_finite=False)
        return solve(c, half, second, lower, check_finite=False)
    if c.flags.c_contiguous and c.dtype.kind == "f":
        c, lower = c.T, not lower
    return _routine("potrs", c.dtype.char)(c, b, lower=lower)[0]


# Results with a flag for each matrix that has none

FLAGS = {"inv": (1, SINGULAR), "cholesky": (2, "Matrix is not positive definite")}
"""For each function that `flagged` computes: the flag of a failure, and the error message that it stands for."""


def flagged(xp: Any, name: str, a: Any) -> Any:
    """inv or cholesky of matrices, with one more row of flags: 0 for success, else a number of `FLAGS`.

    >>> flagged(np, "inv", np.zeros((1, 1)))
    array([[nan],
           [ 1.]])
    """
    number, _ = FLAGS[name]
    stack, n = a.shape[:-2], _rows(a)
    out = xp.empty((*stack, n + 1, n), dtype_of(a.dtype.name))
    try:
        with raising(xp):
            out[..., :-1, :] = getattr(xp.linalg, name)(a.astype(out.dtype, copy=False))
            out[..., -1, :] = 0
    except np.linalg.LinAlgError:
        if stack:
            for i in np.ndindex(*stack):
                out[i] = flagged(xp, name, a[i])
        else:
            out[:-1], out[-1] = np.nan, number
    return out


def checked(xp: Any, found: Any, times: Any = None) -> Any:
    """The result of `flagged` without its row of flags.  Raises LinAlgError for a flag that is not 0.

    times: integers, how often each matrix is used: one that is not used raises nothing.

    >>> checked(np, np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[3., 4.]])
    """
    flags = found[..., -1, :1]
    if flags.any():
        used = flags if times is None else flags * (xp.asarray(times)[..., None] > 0)
        for number, message in FLAGS.values():
            if (used == number).any():
                raise np.linalg.LinAlgError(message)
    return found[..., :-1, :]


# Stacks


def _rows(a: Any) -> int:
    """The number of rows of a square matrix."""
    rows, columns = a.shape[-2:]
    if rows != columns:
        raise ValueError(f"expected a square matrix, found one of shape {a.shape}")
    return int(rows)


def _solved(xp: Any, solve: Callable[[Any, Any], Any], a: Any, n: int, b: Any) -> Any:
    """Solve all systems of a stack with `solve`, which solves one of a single dtype; n: the rows of the matrices."""
    rows = b.shape[-1 if b.ndim == 1 else -2]
    if rows != n:
        raise ValueError(f"expected right sides of {n} rows, one for each row of the matrix, found {rows}")
    dtype = a.dtype
    if dtype != b.dtype or dtype.char not in _LAPACK:
        dtype = np.dtype(dtype_of(dtype.name, b.dtype.name))
        a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    if a.ndim == 2 and b.ndim <= 2:
        return solve(a, b) if b.size else xp.empty(b.shape, dtype)
    columns = b[:, None] if b.ndim == 1 else b
    stack = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    out = xp.empty((*stack, *columns.shape[-2:]), dtype)
    if out.size:
        a, columns = (xp.broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, columns))
        for i in np.ndindex(*stack):
            out[i] = solve(a[i], columns[i])
    return out[..., 0] if b.ndim == 1 else out
