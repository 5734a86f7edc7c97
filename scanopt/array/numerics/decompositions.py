"""Decompositions of matrices; the parts of a result are packed into one array, so that they are computed together.

All functions take a matrix or a stack of matrices, and call NumPy's.  Functions that NumPy does not have are SciPy's,
which is imported when one is first called; on a device they are CuPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from scanopt.array.device import device_of
from scanopt.array.numerics.factors import dtype_of, on
from scanopt.libraries import library

__all__ = ["COMPLEX_OF", "eig", "eigh", "expm", "lstsq", "pinv", "qr", "spectrum", "svd"]

COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}


def _named(xp: Any, name: str, **options: Any) -> Callable[..., Any]:
    """A linear algebra function of the array module; one that the module lacks is computed by NumPy on the host."""
    found = getattr(xp.linalg, name, None)
    if found is not None:
        return on(xp, partial(found, **options) if options else found)
    known = getattr(np.linalg, name)

    def by_host(*args: Any) -> Any:
        results = known(*(xp.asnumpy(x) for x in args), **options)
        return tuple(map(xp.asarray, results)) if isinstance(results, tuple) else xp.asarray(results)

    return by_host


def svd(xp: Any, a: Any, full: bool) -> Any:
    """Singular values as the first row, then the rows of U, then those of V without a conjugate (vh transposed).

    >>> svd(np, np.array([[3.0, 0.0], [0.0, 2.0]]), False)[0]
    array([3., 2.])
    """
    u, s, vh = _named(xp, "svd", full_matrices=full)(a)
    m, n = a.shape[-2:]
    out = xp.zeros((*a.shape[:-2], 1 + m + n, max(m, n) if full else min(m, n)), u.dtype)
    out[..., 0, : s.shape[-1]] = s
    out[..., 1 : m + 1, : u.shape[-1]] = u
    out[..., m + 1 :, : vh.shape[-2]] = xp.swapaxes(vh, -1, -2)
    return out


def eigh(xp: Any, a: Any, lower: bool) -> Any:
    """Eigenvalues as the first row, then the rows of the matrix of eigenvectors, of a Hermitian matrix.

    >>> eigh(np, np.array([[2.0, 0.0], [0.0, 3.0]]), True)[0]
    array([2., 3.])
    """
    return _under(xp, *_named(xp, "eigh", UPLO="L" if lower else "U")(a))


def eig(xp: Any, a: Any) -> Any:
    """As `eigh`, of any square matrix; the result is always complex.

    >>> eig(np, np.array([[2.0, 0.0], [0.0, 3.0]]))[0]
    array([2.+0.j, 3.+0.j])
    """
    values, vectors = _named(xp, "eig")(a)
    found = _under(xp, values, vectors)
    return found.astype(COMPLEX_OF.get(found.dtype.name, found.dtype), copy=False)


def _under(xp: Any, values: Any, vectors: Any) -> Any:
    """A vector as a row above a matrix."""
    return xp.concatenate([values[..., None, :].astype(vectors.dtype, copy=False), vectors], axis=-2)


def qr(xp: Any, a: Any, complete: bool) -> Any:
    """The rows of Q, then those of R transposed.

    >>> qr(np, np.array([[-2.0]]), False)
    array([[ 1.],
           [-2.]])
    """
    q, r = on(xp, partial(xp.linalg.qr, mode="complete" if complete else "reduced"))(a)
    return xp.concatenate([q, xp.swapaxes(r, -1, -2)], axis=-2)


def spectrum(xp: Any, a: Any, of: str) -> Any:
    """Singular values (of: "svd") or eigenvalues ("eig"; "eigvalsh_lower", "eigvalsh_upper" read one triangle) alone.

    >>> spectrum(np, np.array([[0.0, 1.0], [1.0, 0.0]]), "eigvalsh_lower")
    array([-1.,  1.])
    """
    if of == "svd":
        return _named(xp, "svd", compute_uv=False)(a)
    if of == "eig":
        found = _named(xp, "eigvals")(a)
        return found.astype(COMPLEX_OF.get(found.dtype.name, found.dtype), copy=False)
    return _named(xp, "eigvalsh", UPLO="L" if of == "eigvalsh_lower" else "U")(a)


def pinv(xp: Any, a: Any, rcond: Any, hermitian: bool, cut: bool = False) -> Any:
    """The pseudo-inverse; singular values up to rcond times the greatest count as 0.  cut: for the gradient alone.

    >>> pinv(np, np.array([[2.0], [0.0]]), 1e-15, False)
    array([[0.5, 0. ]])
    """
    if not a.size:
        return xp.zeros((*a.shape[:-2], *a.shape[:-3:-1]), dtype_of(a.dtype.name))
    given = a if a.dtype.kind in "fc" else a.astype("float64")
    device = device_of(xp)
    options = {"hermitian": True} if hermitian and (device is None or device.hermitian) else {}
    return xp.linalg.pinv(given, rcond, **options)


def lstsq(xp: Any, a: Any, b: Any, rcond: Any, cut: bool = False) -> Any:
    """The shortest x for which the sum of squares of a x - b is least.  cut: as in `pinv`.

    >>> lstsq(np, np.array([[1.0], [1.0]]), np.array([1.0, 3.0]), 1e-15)
    array([2.])
    """
    dtype = dtype_of(a.dtype.name, b.dtype.name)
    found = xp.linalg.lstsq(a.astype(dtype, copy=False), b.astype(dtype, copy=False), rcond=float(rcond))
    return found[0]


def expm(xp: Any, a: Any) -> Any:
    """The exponential of a square matrix.

    >>> expm(np, np.zeros((1, 1)))
    array([[1.]])
    """
    dtype = dtype_of(a.dtype.name)
    x = a.astype(dtype, copy=False)
    if not x.size:
        return xp.zeros(x.shape, dtype)
    one = _expm(xp.__name__)
    if x.ndim == 2 or device_of(xp) is None:
        return one(x).astype(dtype, copy=False)
    flat = x.reshape((-1, *x.shape[-2:]))
    return xp.stack([one(m) for m in flat]).reshape(x.shape)


def _expm(module: str) -> Callable[..., Any]:
    device = device_of(module)
    home = library("scipy.linalg", "", "expm") if device is None else device.load(device.linalg)
    found: Callable[..., Any] = home.expm
    return found
