"""Linear algebra: values against NumPy and SciPy, errors in words, and loops that factor once.

That the entries of the operator table hold together (types, batched forms, gradients) is tested with all
others, in tests/test_ops.py and tests/test_gradients_of_ops.py; the laws in tests/test_laws.py.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from fake_device import FakeDevice

import scanopt
import scanopt.tensor as T
from scanopt.array.op import Op, Operand
from scanopt.array.variable import Variable
from scanopt.extraction.cost import Work, numpy_cost

Array = np.ndarray[Any, Any]

A, B, X, W = T.dmatrices("A", "B", "X", "W")
x, y = T.dvectors("x", "y")
S = T.dtensor3("S")
n = T.lscalar("n")


def regular(size: int, seed: int = 0, stack: tuple[int, ...] = ()) -> Array:
    """A matrix, or a stack of them, far from singular."""
    return np.asarray(np.random.default_rng(seed).normal(size=(*stack, size, size)) + 3 * np.eye(size))


def positive(size: int, seed: int = 0, stack: tuple[int, ...] = ()) -> Array:
    """A positive definite matrix, or a stack of them."""
    found = regular(size, seed, stack)
    return np.asarray(found @ np.swapaxes(found, -1, -2))


def numbers(*shape: int, seed: int = 1) -> Array:
    return np.asarray(np.random.default_rng(seed).normal(size=shape))


def by_hand(step: Callable[[Any, Any], Any], start: Array, rows: Sequence[Any]) -> Array:
    out = [start]
    for row in rows:
        out.append(step(row, out[-1]))
    return np.stack(out[1:]) if len(out) > 1 else np.zeros((0, *start.shape))


# Values


def test_systems_are_those_of_numpy_and_scipy() -> None:
    a, b, c = regular(4), numbers(4), numbers(4, 3)
    for right in (b, c):
        found = scanopt.interpret(
            [
                T.linalg.solve(a, right),
                T.linalg.lu_solve(T.linalg.lu_factor(a), right),
                T.linalg.lu_solve(T.linalg.lu_factor(a), right, trans="T"),
                T.linalg.solve_triangular(a, right),
                T.linalg.solve_triangular(a, right, trans="T", lower=True),
                T.linalg.solve_triangular(a, right, lower=True, unit_diagonal=True),
            ]
        )
        expected = [
            np.linalg.solve(a, right),
            scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), right),
            np.linalg.solve(a.T, right),
            scipy.linalg.solve_triangular(a, right),
            scipy.linalg.solve_triangular(a, right, trans="T", lower=True),
            scipy.linalg.solve_triangular(a, right, lower=True, unit_diagonal=True),
        ]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("trans", [0, 1, 2])
def test_complex_systems_with_transposes(lower: bool, trans: int) -> None:
    a = regular(5) + 1j * numbers(5, 5)
    b = numbers(5, 2) - 1j * numbers(5, 2, seed=3)
    turned = (a, a.T, a.conj().T)[trans]
    triangle = np.tril(a) if lower else np.triu(a)
    half = (triangle, triangle.T, triangle.conj().T)[trans]
    for order in ("C", "F"):
        one = np.array(a, order=order)  # type: ignore[call-overload]
        full, part = scanopt.interpret(
            [T.linalg.lu_solve(T.linalg.lu_factor(one), b, trans), T.linalg.solve_triangular(one, b, trans, lower)]
        )
        np.testing.assert_allclose(full, np.linalg.solve(turned, b), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(part, np.linalg.solve(half, b), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_factors(lower: bool) -> None:
    a = positive(4) + 1j * (numbers(4, 4) - numbers(4, 4).T)
    b = numbers(4)
    found = scanopt.interpret(
        [T.linalg.cholesky(a, upper=not lower), T.linalg.cho_solve(T.linalg.cho_factor(a, lower), b)]
    )
    np.testing.assert_allclose(found[0], scipy.linalg.cholesky(a, lower=lower), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found[1], np.linalg.solve(a, b), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("lower", [True, False])
def test_what_scipy_assumes_of_a_system(lower: bool) -> None:
    a, b = positive(3), numbers(3, 2)
    half = np.tril(a) + np.triu(numbers(3, 3), 1) if lower else np.triu(a) + np.tril(numbers(3, 3), -1)
    made = [
        T.linalg.solve(A, B, assume_a="pos", lower=lower),
        T.slinalg.cholesky(A, lower=lower),
        *(T.linalg.solve(A + A.T, B, assume_a) for assume_a in ("gen", "sym", "her")),
    ]
    expected = [np.linalg.solve(a, b), scipy.linalg.cholesky(a, lower=lower), *[np.linalg.solve(half + half.T, b)] * 3]
    f = scanopt.function([A, B], made)
    for run in (f, f.unoptimized):
        for found, want in zip(run(half, b), expected, strict=True):
            np.testing.assert_allclose(found, want, rtol=1e-9)
    with pytest.raises(ValueError, match="assume_a must be"):
        T.linalg.solve(A, B, assume_a="triangular")


def test_inverses_and_determinants() -> None:
    a = regular(3, stack=(2,))
    a[1] = -a[1]
    inverse, det, (sign, log) = T.linalg.inv(a), T.linalg.det(a), T.linalg.slogdet(a)
    found = scanopt.interpret([inverse, det, sign, log])
    expected = [np.linalg.inv(a), np.linalg.det(a), *np.linalg.slogdet(a)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_numpy_calls_them_works_on_symbols() -> None:
    a, b = positive(3), numbers(3)
    sign, log = np.linalg.slogdet(A)
    outputs = [np.linalg.solve(A, x), np.linalg.inv(A), np.linalg.det(A), np.linalg.cholesky(A), sign, log]
    found = scanopt.interpret(outputs, {A: a, x: b})
    expected = [np.linalg.solve(a, b), np.linalg.inv(a), np.linalg.det(a), np.linalg.cholesky(a), *np.linalg.slogdet(a)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_integers_are_float64_and_single_precision_stays() -> None:
    assert T.linalg.solve(np.eye(2, dtype="int8"), np.ones(2, "int32")).dtype == "float64"
    assert T.linalg.solve(np.eye(2, dtype="float32"), np.ones(2, "float32")).dtype == "float32"
    assert T.linalg.slogdet(np.eye(2, dtype="complex64")).logabsdet.dtype == "float32"


# Errors


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: T.linalg.solve(T.dmatrix("M", shape=(3, 4)), x), "solve: expected a square matrix, found one of"),
        (lambda: T.linalg.solve(x, y), "expected a square matrix or a stack of them, found an array of shape (?,)"),
        (lambda: T.linalg.solve(np.eye(3), np.ones(4)), "the right side needs a row for each row of the matrix"),
        (lambda: T.linalg.solve(np.eye(3), 1.0), "expected a right side with a row for each row of the matrix"),
        (lambda: T.linalg.lu_solve(np.eye(3), np.ones(3)), "expected factors of n + 1 rows of n, as lu_factor"),
        (lambda: T.linalg.lu_solve(T.linalg.lu_factor(A), x, 3), "trans is 0 or 'N', 1 or 'T', 2 or 'C', found 3"),
        (lambda: T.linalg.inv(T.dmatrix("M", shape=(3, 4))), "inv: expected a square matrix"),
        (lambda: T.linalg.cholesky(x, upper=True), "cholesky: expected a square matrix or a stack"),
    ],
)  # fmt: skip
def test_wrong_shapes_are_told_when_the_graph_is_built(build: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        build()


def test_wrong_kinds_of_arguments() -> None:
    with pytest.raises(TypeError, match="in single and double precision, found float16: cast it first"):
        T.linalg.solve(T.matrix("h", "float16"), x)
    with pytest.raises(TypeError, match="cho_solve takes a pair"):
        T.linalg.cho_solve(A, x)


@pytest.mark.parametrize("function", ["lu_factor", "cho_solve", "solve_triangular"])
def test_wrong_shapes_are_told_when_it_runs(function: str) -> None:
    result = {
        "lu_factor": T.linalg.lu_factor(A),
        "cho_solve": T.linalg.cho_solve((A, True), x),
        "solve_triangular": T.linalg.solve_triangular(A, x),
    }[function]
    with pytest.raises(ValueError, match=r"expected a square matrix, found one of shape \(2, 3\)"):
        scanopt.interpret(result, {A: np.ones((2, 3)), x: np.ones(3)})
    if function != "lu_factor":
        with pytest.raises(ValueError, match="expected right sides of 3 rows"):
            scanopt.interpret(result, {A: np.eye(3), x: np.ones(2)})


SINGULAR: dict[str, Variable] = {
    "solve": T.linalg.solve(A, x),
    "lu_solve": T.linalg.lu_solve(T.linalg.lu_factor(A), x),
    "solve_triangular": T.linalg.solve_triangular(A, x),
    "inv": T.linalg.inv(A).sum() + x,
    "cholesky": T.linalg.cholesky(-A @ A.T - x[0]).sum() + x,
}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular_matrices_raise_as_in_numpy(name: str) -> None:
    f = scanopt.function([A, x], SINGULAR[name])
    for run in (f, f.unoptimized):
        with pytest.raises(np.linalg.LinAlgError):
            run(np.zeros((3, 3)), np.ones(3))


def test_factors_of_a_singular_matrix_are_no_error() -> None:
    assert np.isfinite(scanopt.interpret(T.linalg.lu_factor(np.ones((3, 3))))).all()
    assert scanopt.interpret(list(T.linalg.slogdet(np.ones((3, 3)))))[1] == -np.inf


def test_pivots_that_are_none_are_harmless() -> None:
    packed = np.vstack([np.eye(3), [np.nan, 1e9, -7.0]])
    with np.errstate(invalid="ignore"):
        assert scanopt.interpret(T.linalg.lu_solve(packed, np.ones(3))).shape == (3,)


# Loops


def test_a_loop_with_one_matrix_factors_once() -> None:
    states, _ = scanopt.scan(lambda v, s, A: T.linalg.solve(A, s + v), X, x, [A])
    f = scanopt.function([A, X, x], states)
    before, inside = str(f.program).split("\nloop ")
    assert "lu_factor(A)" in before
    assert "lu_solve(" in inside
    assert "lu_factor" not in inside
    assert " solve(" not in str(f.program)
    a, rows, start = regular(40), numbers(6, 40), numbers(40, seed=2)
    expected = by_hand(lambda v, s: np.linalg.solve(a, s + v), start, list(rows))
    np.testing.assert_allclose(f(a, rows, start), expected, rtol=1e-10, atol=1e-12)


def test_of_a_small_matrix_it_does_not() -> None:
    states, _ = scanopt.scan(lambda v, s, A: T.linalg.solve(A, s + v), X, x, [A])
    f = scanopt.function([A, X, x], states, example=[np.eye(2), np.zeros((100, 2)), np.zeros(2)])
    assert "lu_factor" not in str(f.program)
    assert " solve(A, " in str(f.program)


def test_bit_for_bit_it_does_not_either() -> None:
    states, _ = scanopt.scan(lambda v, s, A: T.linalg.solve(A, s + v), X, x, [A])
    f = scanopt.function([A, X, x], states, fp="exact")
    assert "lu_factor" not in str(f.program)
    a, rows, start = regular(9), numbers(6, 9), numbers(9, seed=2)
    np.testing.assert_array_equal(f(a, rows, start), f.unoptimized(a, rows, start))


def test_the_gradient_solves_with_the_same_factors() -> None:
    states, _ = scanopt.scan(lambda v, s, A: T.tanh(T.linalg.solve(A, s + v)), X, x, [A])
    f = scanopt.function([A, X, x], T.grad(states.sum(), [A, x]))
    text = str(f.program)
    assert text.count("lu_factor") == 1
    assert "trans=0" in text
    assert "trans=1" in text
    a, rows, start = regular(12), numbers(5, 12), numbers(12, seed=2)
    for found, expected in zip(f(a, rows, start), f.unoptimized(a, rows, start), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_right_sides_that_are_a_sequence_are_columns_of_one_system() -> None:
    f = scanopt.function([A, X], scanopt.map(lambda v, A: T.linalg.solve(A, v), X, [A])[0])
    assert str(f.program).splitlines()[4:8] == [
        "    v2 = transpose(X, axes=(1, 0))              float64[?, ?]",
        "    v3 = solve(A, v2)                           float64[?, ?]",
        "    v4 = transpose(v3, axes=(1, 0))             float64[?, ?]",
        "    give v4",
    ]
    a, rows = regular(4), numbers(7, 4)
    np.testing.assert_allclose(f(a, rows), np.linalg.solve(a, rows.T).T, rtol=1e-12)


def test_matrices_that_are_a_sequence_are_one_batched_system() -> None:
    f = scanopt.function([S, X], scanopt.map(lambda M, v: T.linalg.solve(M, v), [S, X])[0])
    text = str(f.program)
    assert "loop" not in text
    assert text.count("solve(") == 1
    a, rows = regular(4, stack=(6,)), numbers(6, 4)
    np.testing.assert_allclose(f(a, rows), np.linalg.solve(a, rows[..., None])[..., 0], rtol=1e-12)
    assert f(a[:0], rows[:0]).shape == (0, 4)


def test_factors_leave_nested_loops() -> None:
    def step(v: Any, A: Any) -> Any:
        return scanopt.scan(lambda s, A: T.tanh(T.linalg.solve(A, s)), None, [v], [A], n_steps=n)[0].sum()

    f = scanopt.function([A, X, n], scanopt.map(step, X, [A])[0])
    before, *inside = str(f.program).split("loop ")
    assert "lu_factor(A)" in before
    assert "lu_factor" not in "".join(inside)
    a, rows = regular(20), numbers(3, 20)
    np.testing.assert_allclose(f(a, rows, 4), f.unoptimized(a, rows, 4), rtol=1e-10, atol=1e-12)
    assert f(np.zeros((20, 20)), rows, 0).shape == (3,)


@pytest.mark.parametrize("name", ["solve", "inv", "cholesky", "lu", "mapped", "whitened"])
def test_a_loop_of_no_steps_raises_nothing(name: str) -> None:
    steps = {
        "solve": lambda v, s, A: T.linalg.solve(A, s + v),
        "inv": lambda v, s, A: T.tanh(s * T.linalg.inv(A).sum() + v),
        "cholesky": lambda v, s, A: T.tanh(s * T.linalg.cholesky(A).sum() + v),
        "lu": lambda v, s, A: T.linalg.lu_solve(T.linalg.lu_factor(A), s + v),
        "mapped": lambda v, s, A: T.linalg.solve(A, v) + 0.0 * s,
        "whitened": lambda v, s, A: T.linalg.solve_triangular(T.linalg.cholesky(A), v, lower=True),
    }
    f = scanopt.function([A, X, x], scanopt.scan(steps[name], X, x, [A])[0])
    singular = np.zeros((3, 3))
    for run in (f, f.unoptimized):
        assert run(singular, np.zeros((0, 3)), np.ones(3)).shape == (0, 3)
        with pytest.raises(np.linalg.LinAlgError):
            run(singular, np.ones((2, 3)), np.ones(3))


def test_an_inverse_is_computed_once_for_any_number_of_steps() -> None:
    states, _ = scanopt.scan(lambda s, A: T.tanh(s * T.linalg.inv(A)), None, [B], [A], n_steps=n)
    f = scanopt.function([A, B, n], states[-1])
    before, inside = str(f.program).split("\nloop ")
    assert "linalg_or_flag(A, function='inv')" in before
    assert "inv" not in inside
    a, start = regular(5), numbers(5, 5)
    np.testing.assert_array_equal(f(a, start, 4), f.unoptimized(a, start, 4))


def test_what_may_raise_stays_in_a_loop_although_it_equals_what_may_not() -> None:
    """A product with a checked inverse leaves the loop; the system that is equal to it does not."""
    product, _ = scanopt.map(lambda v, A, B: T.tanh(v @ T.linalg.inv(B) @ A), X, [A, B])
    f = scanopt.function([A, B, X], product, example=[np.eye(20), np.eye(20), np.ones((1000, 20))])
    assert "loop" not in str(f.program)
    assert f(np.eye(3), np.zeros((3, 3)), np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(np.linalg.LinAlgError):
        f(np.eye(3), np.zeros((3, 3)), np.zeros((1, 3)))


def test_an_untaken_side_raises_nothing() -> None:
    def step(v: Any, A: Any) -> Any:
        return scanopt.ifelse(v.sum() > 0, T.linalg.inv(A).sum(), 0.0)

    f = scanopt.function([A, X], scanopt.map(step, X, [A])[0])
    for run in (f, f.unoptimized):
        np.testing.assert_array_equal(run(np.zeros((3, 3)), -np.ones((4, 3))), np.zeros(4))
        with pytest.raises(np.linalg.LinAlgError):
            run(np.zeros((3, 3)), np.ones((4, 3)))


def test_whitening_is_one_triangular_system() -> None:
    f = scanopt.function(
        [A, X], scanopt.map(lambda v, A: T.linalg.solve_triangular(T.linalg.cholesky(A), v, lower=True), X, [A])[0]
    )
    text = str(f.program)
    assert "loop" not in text
    a, rows = positive(4), numbers(7, 4)
    np.testing.assert_allclose(f(a, rows), np.linalg.solve(np.linalg.cholesky(a), rows.T).T, rtol=1e-10)


def test_two_triangular_systems_are_one_of_cholesky() -> None:
    def step(v: Any, A: Any) -> Any:
        L = T.linalg.cholesky(A)
        return T.linalg.solve_triangular(L.T, T.linalg.solve_triangular(L, v, lower=True))

    a, rows = positive(4), numbers(7, 4)
    f = scanopt.function([A, X], scanopt.map(step, X, [A])[0], example=[a, rows])
    assert "cho_solve" in str(f.program)
    assert "solve_triangular" not in str(f.program)
    np.testing.assert_allclose(f(a, rows), np.linalg.solve(a, rows.T).T, rtol=1e-9)


def kalman(v: Any, m: Any, P: Any, F: Any, H: Any) -> Any:
    """One step of a Kalman filter, with unit noise."""
    m, P = F @ m, F @ P @ F.T + T.identity_like(F)
    innovation = H @ P @ H.T + T.eye(2)
    gain = P @ H.T @ T.linalg.inv(innovation)
    return m + gain @ (v - H @ m), P - gain @ H @ P


def test_the_gain_of_a_kalman_filter_is_a_system() -> None:
    P, F, H = T.dmatrices("P", "F", "H")
    f = scanopt.function([X, x, P, F, H], scanopt.scan(kalman, X, [x, P], [F, H])[0])
    text = str(f.program)
    assert "inv(" not in text
    assert "solve(" in text
    values = numbers(8, 2), numbers(4), np.eye(4), 0.2 * regular(4), numbers(2, 4, seed=5)
    for found, expected in zip(f(*values), f.unoptimized(*values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


# Devices


class LikeCuPy(FakeDevice):
    """A stand-in by CuPy's name, with what differs from NumPy in its linear algebra."""

    __name__ = "cupy"

    def __init__(self) -> None:
        super().__init__()
        self.raises = False
        self.linalg = SimpleNamespace(
            solve=self._solve, inv=self._inv, cholesky=np.linalg.cholesky, det=np.linalg.det, slogdet=np.linalg.slogdet
        )

    @contextmanager
    def errstate(self, linalg: str) -> Iterator[None]:
        self.raises = linalg == "raise"
        yield
        self.raises = False

    def _solve(self, a: Array, b: Array) -> Array:
        assert a.dtype == b.dtype
        assert a.shape[:-1] == b.shape[: a.ndim - 1]
        try:
            return np.asarray(np.linalg.solve(a, b))
        except np.linalg.LinAlgError:
            if self.raises:
                raise
            return np.full_like(b, np.nan)

    def _inv(self, a: Array) -> Array:
        assert a.dtype == "float64"
        return self._solve(a, np.broadcast_to(np.eye(a.shape[-1]), a.shape))


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> LikeCuPy:
    found = LikeCuPy()
    monkeypatch.setitem(sys.modules, "cupyx", found)
    monkeypatch.setattr("scanopt.array.numerics.factors._on_device", lambda: scipy.linalg)
    return found


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
def test_on_a_device_its_own_functions_are_called(cupy: LikeCuPy) -> None:
    stack, one = regular(3, stack=(2,)), positive(3)
    b, c = numbers(3), numbers(4, 2, 3, 2)
    triangle = {"lower": True, "unit_diagonal": False}
    packed = Op.make("lu_factor").bind(cupy)(stack)
    for op, args in [
        (Op.make("solve"), (one, b)),
        (Op.make("solve"), (stack, b)),
        (Op.make("solve"), (stack, c)),
        (Op.make("solve"), (np.eye(3, dtype="int8"), b)),
        (Op.make("solve"), (stack, c[..., :0])),
        (Op.make("lu_factor"), (stack,)),
        *((Op.make("lu_solve", trans=k), (packed, c)) for k in range(3)),
        *((Op.make("solve_triangular", trans=k, **triangle), (stack, c)) for k in range(3)),
        (Op.make("cho_solve", lower=True), (one, b)),
        (Op.make("cho_solve", lower=False), (one + 1j * np.tri(3), b)),
        (Op.make("inv"), (stack,)),
        (Op.make("inv"), (np.eye(3, dtype="int8"),)),
        (Op.make("linalg_or_flag", function="inv"), (np.stack([one, np.zeros((3, 3))]),)),
        (Op.make("linalg_or_flag", function="cholesky"), (one,)),
        (Op.make("logabsdet"), (stack,)),
    ]:
        np.testing.assert_allclose(op.bind(cupy)(*args), op.bind(np)(*args), rtol=1e-12, atol=1e-13, err_msg=str(op))


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
def test_on_a_device_singular_matrices_raise_too(cupy: LikeCuPy) -> None:
    zeros, b = np.zeros((2, 2)), np.ones(2)
    packed = Op.make("lu_factor").bind(cupy)(zeros)
    for op, args in [
        (Op.make("solve"), (zeros, b)),
        (Op.make("inv"), (zeros,)),
        (Op.make("lu_solve", trans=0), (packed, b)),
        (Op.make("solve_triangular", lower=True, trans=0, unit_diagonal=False), (zeros, b)),
        (Op.make("unless_flagged"), (Op.make("linalg_or_flag", function="inv").bind(cupy)(zeros),)),
    ]:
        with pytest.raises(np.linalg.LinAlgError):
            op.bind(cupy)(*args)


# Costs


def test_costs_grow_with_cubes_and_squares() -> None:
    def cost(op: Op, *shapes: tuple[int, ...]) -> float:
        args = tuple(Operand("float64", s) for s in shapes)
        return numpy_cost(Work("apply", op, args, Operand("float64", tuple(k or 0 for k in op.infer(*args).shape))))

    solve, factors, with_factors = Op.make("solve"), Op.make("lu_factor"), Op.make("lu_solve", trans=0)
    small, large = (cost(solve, (k, k), (k,)) for k in (200, 400))
    assert 7 < large / small < 9
    assert cost(with_factors, (401, 400), (400,)) < 0.1 * cost(factors, (400, 400))
    assert 3.5 < cost(with_factors, (801, 800), (800,)) / cost(with_factors, (401, 400), (400,)) < 4
    assert cost(solve, (50, 200, 200), (50, 200, 1)) > 40 * small
    assert cost(factors, (0, 3, 3)) > 0
    assert cost(solve, (0, 0), (0,)) > 0
