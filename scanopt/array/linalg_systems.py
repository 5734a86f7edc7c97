"""Systems of symbolic equations, inverses, determinants, and factors to solve with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from scanopt.array.batching import dims_of, transpose
from scanopt.array.constants import as_tensor_variable
from scanopt.array.gradients.linalg import exchanged, times, triangles
from scanopt.array.op import Op
from scanopt.array.operators.creation import arange
from scanopt.array.operators.elementwise import cast
from scanopt.array.operators.gradient import disconnected_grad
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Variable, apply

__all__ = [
    "LUResult", "SlogdetResult", "cho_factor", "cho_solve", "cholesky", "det", "inv", "lu", "lu_factor", "lu_solve",
    "slogdet", "solve", "solve_triangular",
]  # fmt: skip


class LUResult(NamedTuple):
    """A matrix as P L U."""

    P: Variable
    L: Variable
    U: Variable


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Variable
    logabsdet: Variable


def solve(
    a: Any, b: Any, assume_a: str = "gen", lower: bool = False, *, b_ndim: int | None = None, check_finite: bool = True
) -> Variable:
    """x with a x = b, as np.linalg.solve.

    a: (..., n, n).  b: a vector of n, or (..., n, k) of k right-hand sides; the first axes broadcast.
    b_ndim: as PyTensor has it, 1 where b is (..., n).  check_finite: accepted and without effect.
    assume_a: "pos" for a positive definite a, of which only the lower (or upper) triangle is read, as by
    scipy.linalg.solve; "gen", "sym" and "her" solve any system.
    Raises ValueError for other shapes and names, TypeError for half precision; LinAlgError at run time where a is
    singular (with "pos" not positive definite), unless there are no right-hand sides (k = 0).

    >>> solve(np.eye(3), np.ones((3, 2))).type.shape
    (3, 2)
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f"assume_a must be 'gen', 'sym', 'her' or 'pos', found {assume_a!r}")
    if assume_a == "pos":
        return _columns(b, b_ndim, lambda b: cho_solve((cholesky(a, lower=lower), lower), b))
    return _columns(b, b_ndim, lambda b: apply(Op.make("solve"), as_tensor_variable(a), b))


def _columns(b: Any, b_ndim: int | None, solved: Callable[[Variable], Variable]) -> Variable:
    """What belongs to right-hand sides, where b_ndim may say that each of several is a vector."""
    v = as_tensor_variable(b)
    if b_ndim not in (None, 1, 2):
        raise ValueError(f"b_ndim is 1 for vectors or 2 for matrices, found {b_ndim!r}")
    if b_ndim != 1 or v.ndim < 2:
        return solved(v)
    found: Variable = solved(FUNCTIONS["expand_dims"](v, -1))[..., 0]
    return found


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, *, b_ndim: int | None = None,
    check_finite: bool = True,
) -> Variable:  # fmt: skip
    """x with a x = b for a triangular a, as scipy.linalg.solve_triangular.

    a: (..., n, n); only one triangle is read.  b: as for `solve`.  trans: 0 or "N", 1 or "T" (a^T x = b),
    2 or "C" (a^H x = b).  unit_diagonal: the diagonal is taken to be ones and not read.  b_ndim, check_finite: as
    for `solve`.
    Raises ValueError for other shapes or another trans; LinAlgError at run time where the diagonal has a zero.

    >>> from scanopt import interpret
    >>> interpret(solve_triangular(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0]), lower=True))
    array([1., 2.])
    """
    x = as_tensor_variable(a)
    op = Op.make("solve_triangular", lower=bool(lower), trans=_trans(trans, x), unit_diagonal=bool(unit_diagonal))
    return _columns(b, b_ndim, lambda b: apply(op, x, b))


def _trans(trans: Any, a: Variable) -> int:
    found = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    if isinstance(found, bool) or found not in (0, 1, 2):
        raise ValueError(f"trans is 0 or 'N', 1 or 'T', 2 or 'C', found {trans!r}")
    return int(found) if np.dtype(a.dtype).kind == "c" else min(int(found), 1)


def lu_factor(a: Any) -> Variable:
    """The factors of square matrices, for `lu_solve`: one array (..., n + 1, n).

    Unlike SciPy's, they are not a pair: row j is column j of L and U in one, the last row has the pivots.
    Nothing is raised for a singular matrix; `lu_solve` does.  Raises ValueError for other shapes.

    >>> lu_factor(np.eye(3)).type.shape
    (4, 3)
    """
    return apply(Op.make("lu_factor"), as_tensor_variable(a))


def lu(a: Any, permute_l: bool = False, *, p_indices: bool = False) -> Any:
    """P, L, U with a = P L U, as scipy.linalg.lu: L with ones on its diagonal, U upper triangular.

    a: (..., n, n).  permute_l: P L and U alone.  p_indices: for P the column of the 1 in each of its rows, so that
    a = L[P] U for one matrix.  P has no gradient.  Raises ValueError for matrices that are not square.

    >>> from scanopt import interpret
    >>> p, l, u = lu(np.array([[0.0, 2.0], [4.0, 1.0]]))
    >>> interpret(p), interpret(u)
    (array([[0., 1.],
           [1., 0.]]), array([[4., 1.],
           [0., 2.]]))
    """
    packed = lu_factor(a)
    lower, upper = triangles(packed)
    order = disconnected_grad(packed)
    if permute_l:
        return exchanged(order, lower), upper
    n = dims_of(lower)[-1]
    p = exchanged(order, FUNCTIONS["zeros_like"](lower) + FUNCTIONS["eye"](n, dtype=lower.dtype))
    if p_indices:
        p = cast(FUNCTIONS["real"](times(p, cast(arange(n), lower.dtype))), "int64")
    return LUResult(p, lower, upper)


def lu_solve(lu: Any, b: Any, trans: Any = 0) -> Variable:
    """x with a x = b, a^T x = b (trans 1 or "T") or a^H x = b (2 or "C"), from `lu_factor(a)`.

    b: as for `solve`.  Raises ValueError for other shapes or another trans; LinAlgError at run time where a
    is singular (SciPy's gives infinities).

    >>> from scanopt import interpret
    >>> interpret(lu_solve(lu_factor(np.array([[2.0, 0.0], [1.0, 1.0]])), np.array([2.0, 3.0])))
    array([1., 2.])
    """
    factors = as_tensor_variable(lu)
    return apply(Op.make("lu_solve", trans=_trans(trans, factors)), factors, as_tensor_variable(b))


def cholesky(
    a: Any, upper: bool = False, *, lower: bool | None = None, check_finite: bool = True, on_error: str = "raise"
) -> Variable:
    """The lower triangular L with L L^H = a (upper: the U with U^H U = a), as np.linalg.cholesky.

    a: (..., n, n); only the lower (or upper) triangle is read.  lower: what PyTensor has in place of upper.
    check_finite: accepted and without effect.  on_error: "raise", the only one there is.
    Raises ValueError for other shapes; LinAlgError at run time where a is not positive definite.

    >>> from scanopt import interpret
    >>> interpret(cholesky(np.array([[4.0, 2.0], [2.0, 2.0]])))
    array([[2., 0.],
           [1., 1.]])
    """
    if on_error != "raise":
        raise ValueError(f"on_error must be 'raise', found {on_error!r}: add to the diagonal where that may be needed")
    x = as_tensor_variable(a)
    if lower or (lower is None and not upper):
        return apply(Op.make("cholesky"), x)
    return _adjoint(apply(Op.make("cholesky"), _adjoint(x)))


def _adjoint(x: Variable) -> Variable:
    if x.ndim < 2:
        return x
    other = FUNCTIONS["conj"](x) if np.dtype(x.dtype).kind == "c" else x
    return transpose(other, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def cho_factor(a: Any, lower: bool = False) -> tuple[Variable, bool]:
    """The Cholesky factor of a and whether it is the lower one, for `cho_solve`; errors as `cholesky`.

    >>> cho_factor(np.eye(3), lower=True)[1]
    True
    """
    return cholesky(a, upper=not lower), bool(lower)


def cho_solve(c_and_lower: Any, b: Any) -> Variable:
    """x with a x = b, from `cho_factor(a)`: the factor and whether it is the lower one, as scipy.linalg.cho_solve.

    Only one triangle of the factor is read.  b: as for `solve`.  Raises TypeError for anything but such a pair,
    ValueError for other shapes.

    >>> from scanopt import interpret
    >>> interpret(cho_solve(cho_factor(np.array([[4.0, 2.0], [2.0, 2.0]])), np.array([6.0, 4.0])))
    array([1., 1.])
    """
    if not isinstance(c_and_lower, tuple | list) or len(c_and_lower) != 2:
        raise TypeError(f"cho_solve takes a pair (factor, lower) as cho_factor gives it, found {c_and_lower!r}")
    c, lower = c_and_lower
    return apply(Op.make("cho_solve", lower=bool(lower)), as_tensor_variable(c), as_tensor_variable(b))


def inv(a: Any) -> Variable:
    """The inverse, as np.linalg.inv.  a: (..., n, n).

    Raises ValueError for other shapes; LinAlgError at run time where a is singular.

    >>> from scanopt import interpret
    >>> interpret(inv(np.array([[2.0, 0.0], [0.0, 4.0]])))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return apply(Op.make("inv"), as_tensor_variable(a))


def det(a: Any) -> Variable:
    """The determinant, as np.linalg.det.  a: (..., n, n).  Raises ValueError for other shapes.

    Its gradient raises LinAlgError where a is singular.

    >>> det(np.ones((5, 3, 3))).type.shape
    (5,)
    """
    return apply(Op.make("det"), as_tensor_variable(a))


def slogdet(a: Any) -> SlogdetResult:
    """The sign (or phase) of the determinant and the logarithm of its absolute value, as np.linalg.slogdet.

    a: (..., n, n).  Raises ValueError for other shapes.  Of a singular matrix they are 0 and -inf.

    >>> from scanopt import interpret
    >>> [float(x) for x in interpret(list(slogdet(-np.eye(1))))]
    [-1.0, 0.0]
    """
    x = as_tensor_variable(a)
    return SlogdetResult(apply(Op.make("det_sign"), x), apply(Op.make("logabsdet"), x))
