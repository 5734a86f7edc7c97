"""Matrix factorizations are shared: computed once outside a loop whose systems have one matrix, and once for A and A^T.

A factorization raises nothing, so it may leave a loop that runs no step; the solver that uses it does the check.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.condition import Rules, fact, when
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Args, Clock, Text, Value, hold, ops, seq, steps
from scanopt.facts.raising import always
from scanopt.facts.values import float64, floating, matrix, nothing, of_dtype, vector


@fact
def cholesky_factor(v: Value, *, c: Clock, x: Value, X: Value, xs: Args) -> Rules:
    """v is a Cholesky factor, so no entry of its diagonal is zero."""
    yield when(v.is_(ops.cholesky(xs))).then(cholesky_factor(v))
    yield when(v.is_(hold(c, x)), cholesky_factor(x)).then(cholesky_factor(v))
    yield when(v.is_(seq(c, X)), cholesky_factor(X)).then(cholesky_factor(v))


def _triangular(lower: bool, trans: int) -> Any:
    return ops("solve_triangular", lower=lower, trans=trans, unit_diagonal=False)


def _again(step: Any, s: Any, A: Any, n: Any) -> Any:
    """The last of n values of a state whose steps read one matrix."""
    return scanopt.scan(step, None, [s], [A], n_steps=n)[0][-1]


def _if_positive(x: Any, A: Any) -> Any:
    return scanopt.ifelse(x.sum() > 0, T.linalg.inv(A).sum(), 0.0)


def _regular(A: Any) -> Any:
    return A @ A.T + T.identity_like(A)


@law(
    licence="reassoc",
    stepwise=True,
    source="LAPACK: gesv is getrf and getrs",
    example=lambda A, x, n: _again(lambda s, A: T.linalg.solve(A, s), x, A, n),
    never=(
        lambda A, x: T.linalg.solve_triangular(A, x, lower=True),
        lambda A, x: T.linalg.solve(T.cast(A, "float32"), x),
    ),
)
def system_by_factors(A: Value, b: Value, d: Text) -> Equation:
    """A system is solved by LU factors of its matrix, in the precision of the matrix."""
    left = ops.solve(A, b)
    return Equation(left, ops.lu_solve(ops.lu_factor(A), b, trans=0), when=[of_dtype(left, d), of_dtype(A, d)])


@law(
    licence="reassoc",
    stepwise=True,
    source="LAPACK: getrs with trans",
    example=lambda A, x: T.linalg.solve(A, T.linalg.solve(A.T, x)),
    never=(
        lambda A, x: T.linalg.solve(A, T.linalg.solve(A * 2.0, x)),
        lambda A, x: T.linalg.solve(T.cast(A, "float32").T, x),
    ),
)
def system_of_transpose(A: Value, b: Value, d: Text) -> Equation:
    """The LU factors of a matrix also solve systems with its transpose."""
    left = ops.solve(ops.transpose(A, axes=(1, 0)), b)
    return Equation(left, ops.lu_solve(ops.lu_factor(A), b, trans=1), when=[of_dtype(left, d), of_dtype(A, d)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda A, x: T.dot(T.linalg.inv(A), x),
    never=(
        lambda A, x: T.dot(T.linalg.cholesky(_regular(A)), x),
        lambda A, p: T.dot(T.linalg.inv(T.cast(A, "float32")), T.cast(p, "int8")),
    ),
)
def inverse_times(A: Value, b: Value, d: Text) -> Equation:
    """inv(A) @ b = solve(A, b)."""
    return Equation(ops.dot(ops.inv(A), b), ops.solve(A, b), when=[of_dtype(A, d), of_dtype(b, d)])


@law(
    licence="reassoc",
    stepwise=True,
    example=lambda A, x: T.dot(x, T.linalg.inv(A)),
    never=(
        lambda A, X: T.dot(X, T.linalg.inv(A)),
        lambda A, p: T.dot(T.cast(p, "int8"), T.linalg.inv(T.cast(A, "float32"))),
    ),
)
def vector_times_inverse(A: Value, b: Value, d: Text) -> Equation:
    """b @ inv(A) solves a system with the transpose of A."""
    right = ops.lu_solve(ops.lu_factor(A), b, trans=1)
    return Equation(ops.dot(b, ops.inv(A)), right, when=[vector(b), of_dtype(A, d), of_dtype(b, d)])


@law(
    licence="fast",
    stepwise=True,
    example=lambda A, X: T.dot(X[:2], T.linalg.inv(A)),
    never=(
        lambda A, x: T.dot(x, T.linalg.inv(A)),
        lambda A, X: T.dot(T.cast(X, "int8"), T.linalg.inv(T.cast(A, "float32"))),
    ),
)
def matrix_times_inverse(A: Value, B: Value, d: Text) -> Equation:
    """B @ inv(A) solves a system with the transpose of A, as in the gain of a Kalman filter."""
    right = ops.transpose(ops.solve(ops.transpose(A, axes=(1, 0)), ops.transpose(B, axes=(1, 0))), axes=(1, 0))
    return Equation(ops.dot(B, ops.inv(A)), right, when=[matrix(B), of_dtype(A, d), of_dtype(B, d)])


def _with_identity(A: Any) -> Any:
    return T.linalg.solve(A, T.eye(A.shape[0], dtype="float64"))


@law(
    licence="exact",
    stepwise=True,
    example=_with_identity,
    never=(
        lambda A: T.linalg.solve(A, T.eye(A.shape[0], k=1, dtype="float64")),
        lambda A: _with_identity(T.cast(A, "float32")),
    ),
)
def system_of_identity(A: Value, k: Value) -> Equation:
    """solve(A, I) = inv(A)."""
    n = A.shape[0]
    identity = ops.eye(n, n, k, dtype="float64")
    return Equation(ops.solve(A, identity), ops.inv(A), when=[nothing(k), float64(A)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda A, x, n: _again(lambda s, A: T.tanh(s * T.linalg.inv(A).sum()), x, A, n),
    never=lambda A, x, n: _again(lambda s, A: T.tanh(s * T.linalg.det(A)), x, A, n),
)
def inverse_or_flag(A: Value) -> Equation:
    """An inverse is computed without raising, and flags singular matrices; the check is an operator of its own."""
    flagged = ops.linalg_or_flag(A, function="inv")
    return Equation(ops.inv(A), ops.unless_flagged(flagged))


@law(
    licence="exact",
    stepwise=True,
    example=lambda A, x, n: _again(lambda s, A: T.tanh(s * T.linalg.cholesky(A @ A.T).sum()), x, A, n),
    never=lambda A, x, n: _again(lambda s, A: T.tanh(s * T.linalg.det(A)), x, A, n),
)
def cholesky_or_flag(A: Value) -> Equation:
    """A Cholesky factor is computed without raising, and flags failures; the check is an operator of its own."""
    flagged = ops.linalg_or_flag(A, function="cholesky")
    return Equation(ops.cholesky(A), ops.unless_flagged(flagged))


@law(
    licence="exact",
    stepwise=True,
    example=lambda A, X: scanopt.map(lambda x, A: T.linalg.solve_triangular(T.linalg.cholesky(A), x), X, [A])[0],
    never=(
        lambda A, X, n: scanopt.map(lambda x, A: _if_positive(x, A), X, [A])[0],
        lambda A, x, n: _again(lambda s, A: T.tanh(s * T.linalg.det(A)), x, A, n),
    ),
)
def checked_before_loop(c: Clock, F: Value) -> Equation:
    """The check of a flagged result is done before the loop, if the loop runs any step."""
    left = ops.unless_flagged(hold(c, F))
    return Equation(left, hold(c, ops.unless_flagged(F, steps(c))), when=[always(left)])


def _with_cholesky(A: Any, x: Any, transposed: bool) -> Any:
    L = T.linalg.cholesky(_regular(A))
    half = T.linalg.solve_triangular(L, x, lower=True)
    return T.linalg.solve_triangular(L.T, half) if transposed else T.linalg.solve_triangular(L, half, "T", lower=True)


@law(
    licence="reassoc",
    stepwise=True,
    enabling=True,
    example=lambda A, x: _with_cholesky(A, x, True),
    never=lambda A, x: T.linalg.solve_triangular(A, x),
)
def upper_triangle_of_transpose(L: Value, b: Value) -> Equation:
    """An upper system whose matrix is L^T is solved from L with trans=1: no array is transposed."""
    return Equation(_triangular(False, 0)(ops.transpose(L, axes=(1, 0)), b), _triangular(True, 1)(L, b))


@law(
    licence="reassoc",
    stepwise=True,
    source="LAPACK: potrs",
    example=lambda A, x: _with_cholesky(A, x, False),
    never=(
        lambda A, x: T.linalg.solve_triangular(A, T.linalg.solve_triangular(A, x, lower=True), "T", lower=True),
        lambda A, x: _with_cholesky(T.cast(A, "complex128"), x, False).real,
    ),
)
def systems_of_cholesky(L: Value, b: Value) -> Equation:
    """Two solves, with a Cholesky factor and its transpose, are one call of cho_solve; the diagonal has no zero."""
    half = _triangular(True, 0)(L, b)
    right = ops.cho_solve(L, b, lower=True)
    return Equation(_triangular(True, 1)(L, half), right, when=[cholesky_factor(L), floating(L)])
