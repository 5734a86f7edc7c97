"""Decompositions of symbolic matrices (singular values, eigenvalues, Q and R), and functions computed from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scanopt.array.batching import dims_of
from scanopt.array.constants import as_tensor_variable
from scanopt.array.gradients import decompositions as parts
from scanopt.array.gradients.linalg import adjoint
from scanopt.array.numerics.factors import dtype_of
from scanopt.array.op import Op
from scanopt.array.operators.elementwise import cast, elementwise, real, where
from scanopt.array.operators.products import matmul
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.selecting import flip, take_along_axis
from scanopt.array.operators.shaping import expand_dims
from scanopt.array.variable import Variable, apply, describe

__all__ = [
    "EigResult", "EighResult", "LstsqResult", "QRResult", "SVDResult", "eig", "eigh", "eigvals", "eigvalsh", "expm",
    "lstsq", "matrix_rank", "pinv", "qr", "svd", "svdvals",
]  # fmt: skip


class SVDResult(NamedTuple):
    """A matrix as U diag(S) Vh."""

    U: Variable
    S: Variable
    Vh: Variable


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Variable
    eigenvectors: Variable


class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns: complex numbers."""

    eigenvalues: Variable
    eigenvectors: Variable


class QRResult(NamedTuple):
    """A matrix as Q R."""

    Q: Variable
    R: Variable


class LstsqResult(NamedTuple):
    """The solution, the sums of squares that are left, the rank, the singular values."""

    x: Variable
    residuals: Variable
    rank: Variable
    s: Variable


# Singular values


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """The singular value decomposition, as np.linalg.svd: U, S, Vh with a = U diag(S) Vh.

    a: (..., m, n).  full_matrices: U is m x m and Vh is n x n, else they have k = min(m, n) columns and rows.
    compute_uv: else S alone.  hermitian: a is known to be so.  Raises ValueError for other shapes, TypeError for
    half precision; LinAlgError at run time where it does not converge (NaN).
    The gradient is right for losses that do not depend on the arbitrary choice of signs, phases and bases.

    >>> from scanopt import interpret
    >>> u, s, vh = svd(np.array([[0.0, 2.0], [1.0, 0.0]]), full_matrices=False)
    >>> interpret(s), interpret((u * s) @ vh)
    (array([2., 1.]), array([[0., 2.],
           [1., 0.]]))
    """
    x = as_tensor_variable(a)
    if not compute_uv:
        return svdvals(x, hermitian=hermitian)
    if hermitian:
        return _svd_of_hermitian(x)
    rows, columns = x.type.shape[-2:] if x.ndim > 1 else (0, 1)
    full = bool(full_matrices) and (rows is None or rows != columns)
    return SVDResult(*parts.svd_parts(apply(Op.make("svd", full=full), x), x, full))


def _svd_of_hermitian(x: Variable) -> SVDResult:
    """The SVD of a Hermitian matrix from its eigenvalues, in descending order of magnitude; their signs go into Vh."""
    values, vectors = eigh(x)
    sizes, signs = elementwise("absolute", values), elementwise("copysign", 1.0, values)
    order = flip(_sorted("argsort", sizes), -1)
    sizes, signs = (take_along_axis(v, order, -1) for v in (sizes, signs))
    u = take_along_axis(vectors, expand_dims(order, -2), -1)
    return SVDResult(u, sizes, adjoint(u * expand_dims(signs, -2)))


def _sorted(name: str, x: Variable) -> Variable:
    return apply(Op.make(name, axis=x.ndim - 1), x)


def svdvals(x: Any, /, *, hermitian: bool = False) -> Variable:
    """The singular values in descending order, as np.linalg.svdvals.  x: (..., m, n).  Errors as `svd`.

    >>> from scanopt import interpret
    >>> interpret(svdvals(np.array([[0.0, 2.0], [1.0, 0.0]])))
    array([2., 1.])
    """
    a = as_tensor_variable(x)
    if hermitian:
        return flip(_sorted("sort", elementwise("absolute", eigvalsh(a))), -1)
    return apply(Op.make("spectrum", of="svd"), a)


# Eigenvalues


def _lower(triangle: Any) -> bool:
    found = {"L": True, "U": False}.get(str(triangle).upper())
    if found is None:
        raise ValueError(f"UPLO is 'L' or 'U', found {triangle!r}")
    return found


def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues and eigenvectors of a Hermitian matrix, as np.linalg.eigh.

    a: (..., n, n); only the lower (or upper) triangle is read.  Raises ValueError for other shapes and
    letters; LinAlgError at run time where it does not converge.

    >>> from scanopt import interpret
    >>> interpret(eigh(np.array([[0.0, 1.0], [1.0, 0.0]])).eigenvalues)
    array([-1.,  1.])
    """
    packed = apply(Op.make("eigh", lower=_lower(UPLO)), as_tensor_variable(a))
    values, vectors = parts.eigen_parts(packed)
    return EighResult(real(values), vectors)


def eigvalsh(a: Any, UPLO: str = "L") -> Variable:
    """The eigenvalues of a Hermitian matrix in ascending order, as np.linalg.eigvalsh; arguments as `eigh`.

    >>> eigvalsh(np.ones((5, 3, 3))).type.shape
    (5, 3)
    """
    return apply(Op.make("spectrum", of=f"eigvalsh_{'lower' if _lower(UPLO) else 'upper'}"), as_tensor_variable(a))


def eig(a: Any) -> EigResult:
    """Eigenvalues and eigenvectors of a square matrix: always complex, unlike NumPy's.

    a: (..., n, n).  NumPy gives real numbers where all eigenvalues are real, which is not known before the run:
    write eigh for a symmetric matrix, or take the real part.  Raises ValueError for other shapes; LinAlgError at
    run time for infinities and NaN.

    >>> eig(np.ones((5, 3, 3))).eigenvectors.type
    TensorType(dtype='complex128', shape=(5, 3, 3))
    """
    return EigResult(*parts.eigen_parts(apply(Op.make("eig"), as_tensor_variable(a))))


def eigvals(a: Any) -> Variable:
    """The eigenvalues of a square matrix: always complex, unlike NumPy's.  Arguments and errors as `eig`.

    >>> eigvals(np.ones((5, 3, 3))).type
    TensorType(dtype='complex128', shape=(5, 3))
    """
    return apply(Op.make("spectrum", of="eig"), as_tensor_variable(a))


# Q and R


def qr(a: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and R upper triangular, a = Q R, as np.linalg.qr.

    a: (..., m, n).  mode: "reduced" (min(m, n) columns of Q), "complete" (m of them), "r" (R alone).
    Raises ValueError for other shapes and modes.  The gradient raises where R is singular.

    >>> qr(np.ones((4, 2)), mode="complete").R.type.shape
    (4, 2)
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"mode is 'reduced', 'complete' or 'r', found {mode!r}")
    x = as_tensor_variable(a)
    found = parts.qr_parts(apply(Op.make("qr", complete=mode == "complete"), x), x)
    return found[1] if mode == "r" else QRResult(*found)


# Functions of singular values


def _eps_times_longer(x: Variable, dtype: str) -> Any:
    """The machine epsilon of `dtype` times the greater of the two lengths of a matrix."""
    m, n = dims_of(x)[-2:]
    longer = max(m, n) if isinstance(m, int) and isinstance(n, int) else elementwise("maximum", m, n)
    return longer * float(np.finfo(dtype).eps)


def _needs_matrix(x: Variable, what: str) -> Variable:
    if x.ndim < 2:
        raise ValueError(f"{what} takes a matrix or a stack of them, found {describe(x)}")
    return x


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = ...) -> Variable:
    """The pseudo-inverse, as np.linalg.pinv.

    a: (..., m, n).  rcond: singular values up to rcond times the greatest count as 0 (default 1e-15; for stacks, one
    for each matrix); rtol: the same, None for the accuracy of the dtype.  hermitian: a promise that a is Hermitian.
    Raises ValueError for other shapes.  The gradient assumes that the rank stays the same, also where a given rcond
    cuts off singular values that are not 0.

    >>> from scanopt import interpret
    >>> interpret(pinv(np.array([[2.0], [0.0]])))
    array([[0.5, 0. ]])
    """
    x = _needs_matrix(as_tensor_variable(a), "pinv")
    if rcond is not None and rtol is not ...:
        raise ValueError("pinv takes rcond or rtol, not both")
    cut = _cut(rcond if rtol is ... else rtol)
    if rcond is None:
        rcond = 1e-15 if rtol is ... else _eps_times_longer(x, dtype_of(x.dtype)) if rtol is None else rtol
    return apply(Op.make("pinv", hermitian=bool(hermitian), **cut), x, _threshold(rcond))


def _cut(given: Any) -> dict[str, bool]:
    """The option that says that a threshold is more than rounding, so that singular values below it need not be 0."""
    small = given is None or (not isinstance(given, Variable) and np.all(np.asarray(given) < _ROUNDING))
    return {} if small else {"cut": True}


_ROUNDING = 1e-8


def _threshold(rcond: Any) -> Variable:
    return cast(as_tensor_variable(rcond, dtype=None if isinstance(rcond, Variable) else "float64"),
                             "float64")  # fmt: skip


def lstsq(a: Any, b: Any, rcond: Any = None) -> LstsqResult:
    """Least squares: the x that minimizes the sum of squares of a x - b, with all four results of np.linalg.lstsq.

    a: (m, n).  b: m numbers, or (m, k).  rcond: singular values up to rcond times the greatest count as 0
    (default: the machine epsilon of float64 times the greater of m and n).  The residuals are empty where a has less
    than full rank or no more rows than columns.  Raises ValueError for other shapes.

    >>> from scanopt import interpret
    >>> interpret(lstsq(np.array([[1.0], [1.0]]), np.array([1.0, 3.0])).x)
    array([2.])
    """
    x, right = _needs_matrix(as_tensor_variable(a), "lstsq"), as_tensor_variable(b)
    limit = _threshold(_eps_times_longer(x, "float64") if rcond is None else rcond)
    limit = where(limit < 0, float(np.finfo("float64").eps), limit)  # as LAPACK reads it
    found = apply(Op.make("lstsq", **_cut(rcond)), x, right, limit)
    s = svdvals(x)
    rank = cast(reduce("sum", s > s[:1] * limit, None, False), "int32")
    return LstsqResult(found, _residuals(x, found, right, rank), rank, s)


def _residuals(a: Variable, x: Variable, b: Variable, rank: Variable) -> Variable:
    left = elementwise("square", elementwise("absolute", matmul(a, x) - b))
    sums = reduce("sum", left if b.ndim == 2 else expand_dims(left, 1), 0, False)
    m, n = dims_of(a)
    there = elementwise("equal", rank, n) & elementwise("greater", m, n)
    return sums[: where(there, sums.shape[0], 0)]


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Variable:
    """The number of singular values above tol, or above rtol times the greatest one, as np.linalg.matrix_rank.

    A: (..., m, n); of fewer axes it is 0 or 1.  tol, rtol: for stacks, one for each matrix.

    >>> from scanopt import interpret
    >>> interpret(matrix_rank(np.ones((3, 4))))
    array(1)
    """
    x = as_tensor_variable(A)
    if x.ndim < 2:
        return cast(reduce("any", elementwise("not_equal", x, 0), None, False), "int64")
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank takes tol or rtol, not both")
    s = svdvals(x, hermitian=hermitian)
    if tol is not None:
        limit: Any = expand_dims(as_tensor_variable(tol), -1)
    elif rtol is None:
        limit = s[..., :1] * cast(as_tensor_variable(_eps_times_longer(x, s.dtype)), s.dtype)
    else:
        limit = s[..., :1] * expand_dims(as_tensor_variable(rtol), -1)
    return reduce("sum", s > limit, -1, False, "int64")


def expm(A: Any) -> Variable:
    """The exponential of a square matrix, as scipy.linalg.expm.  A: (..., n, n).  Raises ValueError for other shapes.

    >>> from scanopt import interpret
    >>> interpret(expm(np.zeros((2, 2))))
    array([[1., 0.],
           [0., 1.]])
    """
    return apply(Op.make("expm"), as_tensor_variable(A))
