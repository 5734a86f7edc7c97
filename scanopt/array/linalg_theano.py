"""What `theano.tensor.nlinalg` and `slinalg` have beside functions of NumPy and SciPy: also operators to be called.

`T.nlinalg.MatrixInverse()(x)` is `T.linalg.inv(x)`.  The equations of linear control are those of PyTensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.array.constants import as_tensor_variable
from scanopt.array.gradients.linalg import adjoint
from scanopt.array.linalg_decompositions import eigvalsh as _eigvalsh
from scanopt.array.linalg_decompositions import pinv
from scanopt.array.linalg_systems import cholesky, det, inv, solve, solve_triangular
from scanopt.array.operators.creation import eye
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Variable

__all__ = [
    "AllocDiag", "Cholesky", "Det", "ExtractDiag", "MatrixInverse", "MatrixPinv", "Solve", "alloc_diag", "eigvalsh",
    "extract_diag", "solve_continuous_lyapunov", "solve_discrete_lyapunov", "solve_lower_triangular", "solve_sylvester",
    "solve_symmetric", "solve_upper_triangular",
]  # fmt: skip

Unary = Callable[[Any], Variable]


def solve_lower_triangular(a: Any, b: Any) -> Variable:
    """x with a x = b for a lower triangular a."""
    return solve_triangular(a, b, lower=True)


def solve_upper_triangular(a: Any, b: Any) -> Variable:
    """x with a x = b for an upper triangular a."""
    return solve_triangular(a, b)


def solve_symmetric(a: Any, b: Any) -> Variable:
    """x with a x = b for a symmetric a."""
    return solve(a, b, assume_a="sym")


def eigvalsh(a: Any, b: Any = None, lower: bool = True) -> Variable:
    """The eigenvalues w of a v = w v, or of a v = w b v, in ascending order, as scipy.linalg.eigvalsh.

    a: Hermitian.  b: positive definite.  lower: which triangles are read.

    >>> eigvalsh(np.diag([2.0, 12.0]), np.diag([2.0, 3.0])).eval()
    array([1., 4.])
    """
    if b is None:
        return _eigvalsh(a, "L" if lower else "U")
    x, factor = as_tensor_variable(a), cholesky(b if lower else adjoint(as_tensor_variable(b)), lower=True)
    half = solve_triangular(factor, _hermitian(x, lower), lower=True)
    return _eigvalsh(solve_triangular(factor, adjoint(half), lower=True))


def _hermitian(x: Variable, lower: bool) -> Variable:
    """The Hermitian matrix with this triangle of x; the other triangle of x is not read."""
    strict: Variable = FUNCTIONS["tril"](x, -1) if lower else FUNCTIONS["triu"](x, 1)
    own: Variable = FUNCTIONS["tril"](x) if lower else FUNCTIONS["triu"](x)
    return own + adjoint(strict)


def alloc_diag(x: Any) -> Variable:
    """The matrix with this diagonal."""
    return FUNCTIONS["diag"](x)  # type: ignore[no-any-return]


def extract_diag(x: Any) -> Variable:
    """The diagonal of a matrix."""
    return FUNCTIONS["diag"](x)  # type: ignore[no-any-return]


# Operators that are made first, and then called: the names of Theano's classes


def Cholesky(lower: bool = True, on_error: str = "raise") -> Unary:  # noqa: N802
    """`cholesky` as an operator."""
    return lambda x: cholesky(x, lower=lower, on_error=on_error)


def Solve(  # noqa: N802
    A_structure: str = "general", lower: bool = False, overwrite_A: bool = False, overwrite_b: bool = False
) -> Callable[[Any, Any], Variable]:
    """`solve` as an operator.

    A_structure: "general", "symmetric", "lower_triangular" or "upper_triangular"; the others have no effect.
    """
    solvers = {"general": solve, "symmetric": solve_symmetric, "lower_triangular": solve_lower_triangular,
               "upper_triangular": solve_upper_triangular}  # fmt: skip
    if A_structure not in solvers:
        raise ValueError(f"A_structure is one of {', '.join(map(repr, solvers))}, found {A_structure!r}")
    return solvers[A_structure]


def _operator(name: str, f: Unary) -> Callable[..., Unary]:
    def made(**options: Any) -> Unary:
        return f

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"`{f.__name__}` as an operator."
    return made


Det, MatrixInverse, MatrixPinv = _operator("Det", det), _operator("MatrixInverse", inv), _operator("MatrixPinv", pinv)
AllocDiag, ExtractDiag = _operator("AllocDiag", alloc_diag), _operator("ExtractDiag", extract_diag)


# Linear control


def solve_sylvester(a: Any, b: Any, c: Any) -> Variable:
    """x with a x + x b = c, as scipy.linalg.solve_sylvester; the matrices may not be stacked.

    It is solved as one system of as many unknowns as x has entries.

    >>> solve_sylvester(np.diag([1.0, 2.0]), np.eye(2), np.ones((2, 2))).eval()
    array([[0.5       , 0.5       ],
           [0.33333333, 0.33333333]])
    """
    x, y, z = as_tensor_variable(a), as_tensor_variable(b), as_tensor_variable(c)
    n, m = x.shape[0], y.shape[0]
    kron = FUNCTIONS["kron"]
    system = kron(x, eye(m, dtype=y.dtype)) + kron(eye(n, dtype=x.dtype), FUNCTIONS["transpose"](y))
    return solve(system, z.ravel()).reshape((n, m), ndim=2)  # type: ignore[no-any-return]


def solve_continuous_lyapunov(a: Any, q: Any) -> Variable:
    """x with a x + x a^H = q, as scipy.linalg.solve_continuous_lyapunov."""
    return solve_sylvester(a, adjoint(as_tensor_variable(a)), q)


def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Variable:
    """x with a x a^H - x + q = 0, as scipy.linalg.solve_discrete_lyapunov; method: "direct", the only one there is.

    >>> solve_discrete_lyapunov(np.diag([0.5, 0.0]), np.eye(2)).eval()
    array([[1.33333333, 0.        ],
           [0.        , 1.        ]])
    """
    if method not in (None, "direct"):
        raise ValueError(f"method must be 'direct', found {method!r}")
    x, z = as_tensor_variable(a), as_tensor_variable(q)
    n = x.shape[0]
    outer: Any = FUNCTIONS["kron"](x, FUNCTIONS["conj"](x) if np.dtype(x.dtype).kind == "c" else x)
    return solve(eye(n * n, dtype=x.dtype) - outer, z.ravel()).reshape((n, n), ndim=2)  # type: ignore[no-any-return]
