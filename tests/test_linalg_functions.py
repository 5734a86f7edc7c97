"""Linear algebra by NumPy's names: values, dtypes and shapes against NumPy and SciPy, gradients, loops, errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from against_numpy import Array, check, check_in_a_step, close, numbers

import scanopt
import scanopt.tensor as T
from scanopt.array.registry import NUMPY_FUNCTIONS

TALL, WIDE, SQUARE = numbers(4, 3), numbers(2, 4), numbers(3, 3)
SYMMETRIC = SQUARE @ SQUARE.T + np.diag([1.0, 2.0, 4.0])
STACK = numbers(2, 3, 3)
LA: Any = np.linalg
ORDERS = (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
ORDERS_OF_VECTORS = (None, 0, 1, 2, 3, -1, 0.5, np.inf, -np.inf)

Case = tuple[Callable[..., Any], tuple[Array, ...]]
CASES: dict[str, Case] = {
    "svd": (LA.svd, (TALL,)),
    "svd of wide": (LA.svd, (WIDE,)),
    "svd reduced": (lambda a: LA.svd(a, full_matrices=False), (WIDE,)),
    "svd values": (lambda a: LA.svd(a, compute_uv=False), (TALL,)),
    "svd of a hermitian matrix": (lambda a: LA.svd(a - 3 * np.eye(3), hermitian=True), (SYMMETRIC,)),
    "svdvals": (LA.svdvals, (STACK,)),
    "svdvals of a hermitian matrix": (lambda a: LA.svd(a, compute_uv=False, hermitian=True), (SYMMETRIC,)),
    "eigh": (LA.eigh, (SYMMETRIC,)),
    "eigh of an upper triangle": (lambda a: LA.eigh(a, UPLO="u"), (SQUARE,)),
    "eigvalsh": (LA.eigvalsh, (STACK,)),
    "qr": (LA.qr, (TALL,)),
    "qr of wide": (LA.qr, (WIDE,)),
    "qr complete": (lambda a: LA.qr(a, mode="complete"), (TALL,)),
    "qr r": (lambda a: LA.qr(a, mode="r"), (TALL,)),
    "pinv": (LA.pinv, (TALL,)),
    "pinv rcond": (lambda a: LA.pinv(a, 0.5), (STACK,)),
    "pinv rtol": (lambda a: LA.pinv(a, rtol=None), (WIDE,)),
    "pinv hermitian": (lambda a: LA.pinv(a, hermitian=True), (SYMMETRIC,)),
    "lstsq solution": (lambda a, b: LA.lstsq(a, b)[0], (TALL, numbers(4))),
    "lstsq rank and values": (lambda a, b: LA.lstsq(a, b, rcond=0.4)[2:], (TALL, numbers(4, 2))),
    "matrix_rank": (LA.matrix_rank, (np.ones((3, 4)),)),
    "matrix_rank of a stack": (lambda a: LA.matrix_rank(a, tol=1.0), (STACK,)),
    "matrix_rank rtol": (lambda a: LA.matrix_rank(a, rtol=0.3), (STACK,)),
    "matrix_rank of a vector": (LA.matrix_rank, (np.zeros(3),)),
    "matrix_power": (lambda a: [LA.matrix_power(a, n) for n in (-3, -1, 0, 1, 2, 3, 6)], (SYMMETRIC,)),
    "matrix_power of a stack": (lambda a: [LA.matrix_power(a, n) for n in (-1, 0, 5)], (STACK,)),
    "multi_dot": (lambda a, b, c: LA.multi_dot([a, b, c, a]), (numbers(2, 5), numbers(5, 3), numbers(3, 2))),
    "multi_dot of vectors": (lambda a, b: LA.multi_dot([a, b, a]), (numbers(3), SQUARE)),
    "tensorsolve": (LA.tensorsolve, (numbers(6, 2, 3), numbers(6))),
    "tensorsolve axes": (lambda a, b: LA.tensorsolve(a, b, axes=(0,)), (numbers(2, 6, 3), numbers(6))),
    "tensorinv": (lambda a: LA.tensorinv(a, ind=1), (numbers(6, 2, 3),)),
    "outer": (LA.outer, (numbers(3), numbers(2))),
    "cross": (LA.cross, (STACK, STACK[0])),
    "cross axis": (lambda a, b: LA.cross(a, b, axis=0), (SQUARE, SQUARE.T)),
    "vecdot": (lambda a, b: LA.vecdot(a, b, axis=0), (TALL, TALL + 1)),
    "matmul": (LA.matmul, (TALL, SQUARE)),
    "tensordot": (lambda a, b: LA.tensordot(a, b, axes=((0,), (1,))), (TALL, WIDE)),
    "matrix_transpose": (LA.matrix_transpose, (STACK,)),
    "trace": (lambda a: LA.trace(a, offset=1), (STACK,)),
    "trace of the first axes": (np.trace, (STACK,)),
    "diagonal": (lambda a: LA.diagonal(a, offset=-1), (STACK,)),
    "matrix_norm": (lambda a: LA.matrix_norm(a, keepdims=True), (STACK,)),
    "vector_norm": (lambda a: [LA.vector_norm(a), LA.vector_norm(a, axis=(0, 2), keepdims=True, ord=3)], (STACK,)),
    "norm": (lambda a: [LA.norm(x, o) for x in (a, a.T) for o in ORDERS], (TALL,)),
    "norm of vectors": (
        lambda a: [v for o in ORDERS_OF_VECTORS for v in (LA.norm(a, o, axis=1), LA.norm(a[0], o, keepdims=True))],
        (TALL,),
    ),
    "norm axes": (lambda a: [LA.norm(a, o, axis=(2, 0), keepdims=True) for o in (None, 1, "nuc", -np.inf)], (STACK,)),
    "norm of all": (LA.norm, (STACK,)),
    "cond": (lambda a: [LA.cond(a, o) for o in ORDERS], (STACK,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    f, args = CASES[name]
    check(f, *args)


@pytest.mark.share(6)
@pytest.mark.parametrize("name", [n for n in CASES if n not in ("norm", "norm of vectors", "cond", "matrix_power")])
def test_in_a_step(name: str) -> None:
    f, args = CASES[name]
    check_in_a_step(f, *args)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128", "int8", "bool"])
def test_dtypes(dtype: str) -> None:
    def results(a: Any) -> list[Any]:
        names = ("svd values", "svdvals", "eigvalsh", "qr", "pinv", "matrix_rank", "trace", "cond", "norm of all")
        powers = [LA.matrix_power(a, n) for n in (-2, 0, 3)]
        return [*powers, LA.norm(a, 2, axis=0), *(v for n in names for v in flat(CASES[n][0](a)))]

    a = np.triu(numbers(3, 3)) * 3 + 4 * np.eye(3)
    check(results, np.triu(np.ones((3, 3))).astype(dtype) if dtype in ("bool", "int8") else a.astype(dtype))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 0), (0, 2, 2)])
def test_lengths_of_zero(shape: tuple[int, ...]) -> None:
    names = ["svd", "svd reduced", "svdvals", "qr", "qr complete", "pinv", "matrix_rank", "matrix_norm"]
    names += ["eigh"] * (shape[-1] == shape[-2])
    check(lambda a: [v for n in names for v in flat(CASES[n][0](a))], np.zeros(shape))


def flat(x: Any) -> list[Any]:
    return list(x) if isinstance(x, tuple | list) else [x]


def test_eigenvalues_of_any_square_matrix_are_complex() -> None:
    def complex_eig(a: Array) -> list[Array]:
        return [np.asarray(x, "complex128") for x in (*LA.eig(a), LA.eigvals(a))]

    for a in (SQUARE, SYMMETRIC, STACK, SQUARE + 1j * SYMMETRIC, np.zeros((0, 0))):
        check(lambda x: [*LA.eig(x), LA.eigvals(x)], a, like=complex_eig)
    check_in_a_step(lambda x: [*LA.eig(x), LA.eigvals(x)], SQUARE, like=complex_eig)
    single = SQUARE.astype("float32")
    check(LA.eigvals, single, like=lambda a: LA.eigvals(a).astype("complex64"))


def test_the_exponential_is_that_of_scipy() -> None:
    for a in (SQUARE, STACK, SQUARE.astype("float32"), SQUARE * 1j, np.zeros((0, 0)), np.zeros((2, 0, 0))):
        check(T.linalg.expm, a, like=scipy.linalg.expm if a.size else lambda a: a)
    check_in_a_step(T.linalg.expm, SQUARE, like=scipy.linalg.expm)


@pytest.mark.share(3)
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(("m", "n"), [(4, 3), (3, 3), (2, 4)])
def test_least_squares(rank: int, m: int, n: int) -> None:
    a = numbers(m, rank) @ numbers(rank, n, seed=1)
    for b in (numbers(m), numbers(m, 2), numbers(m, 0)):
        check(LA.lstsq, a, b, like=lambda a, b: [np.asarray(x) for x in LA.lstsq(a, b)])
    check(lambda a, b: LA.lstsq(a, b)[0], a, numbers(m, dtype="complex128"))


def test_rows_of_right_sides_and_of_matrices_of_least_squares() -> None:
    a, b = numbers(3, 5, 2), numbers(3, 5)
    rows, right, one = T.dtensor3("rows"), T.dmatrix("right"), T.dmatrix("one")
    both, _ = scanopt.map(lambda m, v: T.linalg.lstsq(m, v).x, [rows, right])
    alone, _ = scanopt.map(lambda v, m: T.linalg.lstsq(m, v).x, right, one)
    f = scanopt.function([rows, right, one], [both, alone])
    for run in (f, f.unoptimized):
        found = run(a, b, a[0])
        close(found[0], np.stack([LA.lstsq(m, v)[0] for m, v in zip(a, b, strict=True)]))
        close(found[1], np.stack([LA.lstsq(a[0], v)[0] for v in b]))


SCIPY: dict[str, Case] = {
    "lu": (lambda la, a: la.lu(a), (SQUARE,)),
    "lu of a stack": (lambda la, a: la.lu(a), (STACK,)),
    "lu of a singular matrix": (lambda la, a: la.lu(a), (np.ones((3, 3)),)),
    "lu of nothing": (lambda la, a: la.lu(a), (np.ones((0, 0)),)),
    "lu of complex numbers": (lambda la, a: la.lu(a * (1 + 2j)), (SQUARE,)),
    "lu permuted": (lambda la, a: la.lu(a, permute_l=True), (SQUARE,)),
    "lu by indices": (lambda la, a: la.lu(a, p_indices=True), (SQUARE,)),
    "block_diag": (lambda la, a, b, c: la.block_diag(a, 3.0, b, c), (TALL, numbers(2), np.ones((0, 2)))),
    "block_diag of one": (lambda la, a: la.block_diag(a), (TALL,)),
}


@pytest.mark.parametrize("name", SCIPY)
@pytest.mark.parametrize("fp", ["exact", "reassoc"])
def test_values_are_those_of_scipy(name: str, fp: str) -> None:
    f, args = SCIPY[name]
    expected = f(scipy.linalg, *args)
    inputs = [T.tensor(a.dtype.name, (None,) * a.ndim) for a in args]
    found = scanopt.function(inputs, f(T.linalg, *inputs), fp=fp)(*args)
    several = isinstance(expected, tuple)
    for one, other in zip(found if several else [found], expected if several else [expected], strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


# Gradients


def _projector(a: Any) -> Any:
    u = T.linalg.svd(a)[0][:, :1]
    return u @ T.conj(u).T


# Of what is one entry of the operator table: tests/test_gradients_of_ops.py.
GRADIENTS: dict[str, tuple[Callable[..., Any], tuple[Array, ...]]] = {
    "svd": (lambda a: T.concatenate([x.ravel() for x in T.linalg.svd(a)]), (TALL,)),
    "svd hermitian": (lambda a: T.linalg.svd(a + a.T, hermitian=True).U, (SYMMETRIC,)),
    "a projector from a full basis": (_projector, (numbers(5, 2),)),
    "eig": (lambda a: T.abs(T.linalg.eig(a).eigenvectors), (SQUARE,)),
    "qr of wide": (lambda a: T.concatenate(T.linalg.qr(a), 1), (WIDE,)),
    "pinv hermitian": (lambda a: T.linalg.pinv(a + a.T, hermitian=True), (SYMMETRIC,)),
    "pinv of what is cut off": (lambda a: T.linalg.pinv(a, 0.6), (TALL,)),
    "pinv of what is cut off of a stack": (lambda a: T.linalg.pinv(a, [0.2, 0.7]), (STACK[:2],)),
    "pinv hermitian of what is cut off": (lambda a: T.linalg.pinv(a + a.T, 0.6, hermitian=True), (SYMMETRIC,)),
    "lstsq": (lambda a, b: T.linalg.lstsq(a, b).residuals, (TALL, numbers(4))),
    "lstsq of what is cut off": (lambda a, b: T.linalg.lstsq(a, b, rcond=0.6).x, (TALL, numbers(4))),
    "lu": (lambda a: T.concatenate(T.linalg.lu(a)[1:], 1), (SQUARE,)),
    "lu permuted": (lambda a: T.concatenate(T.linalg.lu(a, permute_l=True), 1), (SQUARE,)),
    "block_diag": (lambda a, b: T.linalg.block_diag(a, 2.0, b), (TALL, numbers(3))),
    "matrix_power": (lambda a: T.linalg.matrix_power(a, -3), (SYMMETRIC,)),
    "norms": (lambda a: T.stack([T.linalg.norm(a, o) for o in ("nuc", 2, -2, 1, -np.inf)]), (TALL,)),
    "norms of vectors": (lambda a: T.stack([T.linalg.norm(a, o, axis=0) for o in (3, np.inf, None)]), (WIDE,)),
    "cond": (lambda a: T.stack([T.linalg.cond(a), T.linalg.cond(a, 1)]), (STACK,)),
    "tensorinv": (lambda a: T.linalg.tensorinv(a, 1), (numbers(4, 2, 2),)),
    "cross": (T.linalg.cross, (numbers(2, 3), numbers(3))),
}


@pytest.mark.share(6)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    f, args = GRADIENTS[name]
    T.verify_grad(f, list(args))


def _without_phases(vectors: Any) -> Any:
    """What does not depend on the phase of each column."""
    column = vectors[:, :1]
    return T.real(column @ T.conj(column).T) + T.imag(column @ T.conj(column).T)


COMPLEX: dict[str, Callable[..., Any]] = {
    "eigh": lambda a: _without_phases(T.linalg.eigh(a).eigenvectors),
    "eig": lambda a: _without_phases(T.linalg.eig(a).eigenvectors),
    "u of svd": lambda a: _without_phases(T.linalg.svd(a).U),
    "v of svd": lambda a: _without_phases(T.conj(T.linalg.svd(a).Vh.T)),
    "pinv of what is cut off": lambda a: T.real(T.linalg.pinv(a, 0.6)) + T.imag(T.linalg.pinv(a, 0.6)),
    "both of svd": lambda a: T.real(T.linalg.svd(a).U[:, :1] @ T.linalg.svd(a).Vh[:1]),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", COMPLEX)
def test_gradients_of_complex_matrices(name: str) -> None:
    parts = numbers(2, 3, 3, seed=3)
    T.verify_grad(lambda p: COMPLEX[name](p[0] + 1j * p[1]), [parts])


def test_equal_values_leave_the_gradient_of_what_is_unique_finite() -> None:
    a = T.dmatrix("a")
    for loss in (T.linalg.eigh(a).eigenvalues.sum(), T.linalg.svd(a).S.sum(), T.linalg.norm(a, "nuc")):
        np.testing.assert_allclose(scanopt.interpret(T.grad(loss, a), {a: np.eye(3)}), np.eye(3), atol=1e-12)


# Laws and loops


def test_parts_are_computed_once() -> None:
    a = T.dmatrix("a")
    f = scanopt.function([a], [*T.linalg.svd(a, False), T.grad(T.linalg.svd(a, False).U.sum(), a)])
    assert str(f.program).count(" svd(") == 1


def test_a_decomposition_of_what_stays_leaves_the_loop() -> None:
    a, x, n = T.dmatrix("a"), T.dvector("x"), T.lscalar("n")
    states, _ = scanopt.scan(lambda s, a: T.tanh(T.linalg.eigh(a).eigenvectors @ s), None, x, a, n_steps=n)
    f = scanopt.function([a, x, n], states[-1:])
    before, inside = str(f.program).split("\nloop ")
    assert "eigh" in before
    assert "eigh" not in inside
    close(f(SYMMETRIC, TALL[0], 3), f.unoptimized(SYMMETRIC, TALL[0], 3))


def test_rows_are_one_batched_call() -> None:
    rows = T.dtensor3("rows")
    f = scanopt.function([rows], scanopt.map(T.linalg.svdvals, rows)[0])
    assert "loop" not in str(f.program)
    close(f(STACK), LA.svdvals(STACK))


# Errors and names


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda a, v: T.linalg.svd(v), ValueError, "found an array of shape (?,) (arguments: 'v'"),
        (lambda a, v: T.linalg.eig(T.dmatrix("m", shape=(2, 3))), ValueError, "eig: expected a square matrix"),
        (lambda a, v: T.linalg.eigh(a, "X"), ValueError, "UPLO is 'L' or 'U', found 'X'"),
        (lambda a, v: T.linalg.qr(a, "raw"), ValueError, "mode is 'reduced', 'complete' or 'r', found 'raw'"),
        (lambda a, v: T.linalg.matrix_power(a, T.lscalar("n")), TypeError, "takes an int, found 'n' int64[]: a power"),
        (lambda a, v: T.linalg.matrix_power(a, 0.5), TypeError, "matrix_power takes an int, found 0.5"),
        (lambda a, v: T.linalg.matrix_power(v, 2), ValueError, "matrix_power takes square matrices, found 'v'"),
        (lambda a, v: T.linalg.multi_dot([a]), ValueError, "multi_dot takes two or more arrays, found 1"),
        (lambda a, v: T.linalg.multi_dot([a, v, a]), ValueError, "found 'v' float64[?] at place 1"),
        (lambda a, v: T.linalg.norm(a, "max"), ValueError, "norm of order 'max' of matrices: expected None, 'fro'"),
        (lambda a, v: T.linalg.norm(v, "fro"), ValueError, "norm of order 'fro' of vectors"),
        (lambda a, v: T.linalg.norm(a, 1, axis=(0, 0)), ValueError, "expected one axis, or two different ones"),
        (lambda a, v: T.linalg.norm(T.dtensor3("t"), 1), ValueError, "name one or two in axis ('t'"),
        (lambda a, v: T.linalg.cond(v), ValueError, "cond takes matrices with elements, found 'v'"),
        (lambda a, v: T.linalg.pinv(v), ValueError, "pinv takes a matrix or a stack of them, found 'v'"),
        (lambda a, v: T.linalg.pinv(a, 0.1, rtol=0.1), ValueError, "rcond or rtol, not both"),
        (lambda a, v: T.linalg.lstsq(T.dtensor3("t"), v), ValueError, "expected a matrix and a vector or matrix"),
        (lambda a, v: T.linalg.outer(a, v), ValueError, "linalg.outer takes vectors, found 'a'"),
        (lambda a, v: T.linalg.cross(T.dmatrix("m", shape=(2, 2)), v), ValueError, "of 3 numbers along axis -1"),
        (lambda a, v: T.linalg.tensorinv(a, 0), ValueError, "an ind from 1 to the number of axes, found 0 for 'a'"),
        (lambda a, v: T.linalg.tensorsolve(v, a), ValueError, "more axes than its right side"),
        (lambda a, v: T.linalg.matrix_transpose(v), ValueError, "a matrix or a stack of them, found 'v'"),
        (lambda a, v: T.linalg.svd(T.matrix("h", "float16")), TypeError, "single and double precision, found float16"),
    ],
)  # fmt: skip
def test_errors(build: Callable[..., Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        build(T.dmatrix("a"), T.dvector("v"))


def test_what_does_not_converge_raises() -> None:
    a = T.dmatrix("a")
    f = scanopt.function([a], T.linalg.svdvals(a))
    for run in (f, f.unoptimized):
        with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
            run(np.full((2, 2), np.nan))


def test_all_names_of_numpy_are_there() -> None:
    names = set(np.linalg.__all__) - {"LinAlgError"}
    assert {name for name in names if not hasattr(T.linalg, name)} == set()
    assert {name for name in names if f"linalg.{name}" not in NUMPY_FUNCTIONS} == set()
