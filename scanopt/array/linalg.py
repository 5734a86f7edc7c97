"""Linear algebra on symbolic arrays: `scanopt.tensor.linalg`.

The functions of numpy.linalg and scipy.linalg, by their names.  All of them take stacks of matrices too.
Matrices that are singular, or not positive definite, raise numpy.linalg.LinAlgError when the function runs;
arguments are not searched for infinities and NaN.

>>> from scanopt import function, tensor as T
>>> A, b = T.dmatrix("A"), T.dvector("b")
>>> function([A, b], solve(A, b))([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0])
array([1., 2.])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from scanopt.absent import no_such_name
from scanopt.array.functions.matrices import kron
from scanopt.array.linalg_decompositions import (
    EighResult,
    EigResult,
    LstsqResult,
    QRResult,
    SVDResult,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    expm,
    lstsq,
    matrix_rank,
    pinv,
    qr,
    svd,
    svdvals,
)
from scanopt.array.linalg_norms import cond, matrix_norm, norm, vector_norm
from scanopt.array.linalg_products import (
    block_diag,
    cross,
    diagonal,
    matmul,
    matrix_power,
    matrix_transpose,
    multi_dot,
    outer,
    tensordot,
    tensorinv,
    tensorsolve,
    trace,
    vecdot,
)
from scanopt.array.linalg_systems import (
    LUResult,
    SlogdetResult,
    cho_factor,
    cho_solve,
    cholesky,
    det,
    inv,
    lu,
    lu_factor,
    lu_solve,
    slogdet,
    solve,
    solve_triangular,
)
from scanopt.array.linalg_theano import solve_continuous_lyapunov, solve_discrete_lyapunov, solve_sylvester
from scanopt.array.registry import NUMPY_FUNCTIONS
from scanopt.array.theano_functions import matrix_dot

__all__ = [
    "EigResult", "EighResult", "LUResult", "LstsqResult", "QRResult", "SVDResult", "SlogdetResult", "block_diag",
    "cho_factor", "cho_solve", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "expm", "inv", "kron", "lstsq", "lu", "lu_factor", "lu_solve", "matmul", "matrix_dot", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve",
    "solve_continuous_lyapunov", "solve_discrete_lyapunov", "solve_sylvester", "solve_triangular", "svd", "svdvals",
    "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_such_name("scanopt.tensor.linalg", name, __all__)


# They stand in for NumPy's, given a symbolic array: np.linalg.solve(A, b).
NUMPY_FUNCTIONS.update({f"linalg.{name}": globals()[name] for name in __all__ if name in np.linalg.__all__})
