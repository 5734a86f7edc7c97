"""Gradients inside steps, with respect to what the step was given: Jacobians and Hessians by scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
from scanopt import tensor as T
from scanopt.array.variable import Variable
from scanopt.gradient import DisconnectedInputError
from scanopt.loops.node import Scan

pytestmark = pytest.mark.usefixtures("brief_search")

X = np.array([0.5, -1.25, 2.0])


def by_scan(y: Variable, x: Variable) -> Variable:
    """The Jacobian as the loops tutorial writes it."""
    rows, updates = scanopt.scan(lambda i, y, x: T.grad(y[i], x), sequences=T.arange(y.shape[0]), non_sequences=[y, x])
    assert not updates
    assert isinstance(rows, Variable)
    return rows


def same_both_ways(inputs: list[Variable], result: Variable, *values: Any) -> Any:
    """What the interpreter gives, after a look that the optimized function gives the same."""
    f = scanopt.function(inputs, result)
    expected = f.unoptimized(*values)
    np.testing.assert_allclose(f(*values), expected, rtol=1e-12, atol=1e-14)
    return expected


VECTORS: dict[str, Callable[[Variable], Variable]] = {
    "square": lambda x: x**2,
    "an input as it is": lambda x: x * 1.0,
    "product with a matrix": lambda x: T.dot(np.arange(12.0).reshape(4, 3), x),
    "every entry of every entry": lambda x: T.tanh(x) * T.sum(x**2),
    "a loop": lambda x: scanopt.scan(lambda u, s: T.tanh(u * s) + s, sequences=x, outputs_info=1.0)[0],
    "reversed": lambda x: T.exp(x)[::-1],
    "fewer": lambda x: x[1:] * x[:-1],
}


@pytest.mark.share(2)
@pytest.mark.parametrize("f", VECTORS.values(), ids=VECTORS)
def test_jacobian(f: Callable[[Variable], Variable]) -> None:
    x = T.dvector("x")
    y = f(x)
    expected = scanopt.function([x], T.jacobian(y, x))(X)
    np.testing.assert_allclose(same_both_ways([x], by_scan(y, x), X), expected, rtol=1e-12, atol=1e-14)


SCALARS: dict[str, Callable[[Variable], Variable]] = {
    "cubes": lambda x: T.sum(x**3),
    "product": lambda x: T.prod(x),
    "of a loop": lambda x: scanopt.scan(lambda u, s: T.sin(u) * s + u, sequences=x, outputs_info=1.0)[0][-1],
}


@pytest.mark.share(3)
@pytest.mark.parametrize("f", SCALARS.values(), ids=SCALARS)
def test_hessian_by_the_gradient_of_a_gradient(f: Callable[[Variable], Variable]) -> None:
    x = T.dvector("x")
    cost = f(x)
    expected = scanopt.function([x], T.hessian(cost, x))(X)
    np.testing.assert_allclose(same_both_ways([x], by_scan(T.grad(cost, x), x), X), expected, rtol=1e-11, atol=1e-13)


def test_with_respect_to_what_is_computed() -> None:
    """x itself is an expression: inside the step it is as much a variable as an input is."""
    u = T.dvector("u")
    x = T.exp(u)
    got = same_both_ways([u], by_scan(x**2 + u, x), X)
    np.testing.assert_allclose(got, np.diag(2 * np.exp(X)))


def test_with_respect_to_a_shared_variable_and_to_a_closure() -> None:
    W = scanopt.shared(np.arange(6.0).reshape(2, 3) / 7, "W")
    x = T.dvector("x")
    y = T.tanh(T.dot(W, x))
    closed, _ = scanopt.scan(lambda i: [T.grad(y[i], W), T.grad(y[i], x)], sequences=T.arange(y.shape[0]))
    passed, _ = scanopt.scan(
        lambda i, y, W: T.grad(y[i], W), sequences=T.arange(y.shape[0]), non_sequences=[y, W], strict=True
    )
    f = scanopt.function([x], [*closed, passed])
    for got in (f(X), f.unoptimized(X)):
        slope = 1 - np.tanh(W.get_value() @ X) ** 2
        np.testing.assert_allclose(got[1], slope[:, None] * W.get_value())
        for rows in (got[0], got[2]):
            np.testing.assert_allclose(rows, np.einsum("i,ij,k->ijk", slope, np.eye(2), X))


def test_a_loop_in_a_loop() -> None:
    """One Jacobian per row of a matrix: both steps are given what they differentiate."""
    A = T.dmatrix("A")

    def of_row(k: Variable, A: Variable) -> Variable:
        x = A[k]
        return by_scan(x**2 * T.sum(x), x)

    rows, _ = scanopt.scan(of_row, sequences=T.arange(A.shape[0]), non_sequences=A)
    value = np.stack([X, X + 1])
    expected = [np.diag(2 * x * x.sum()) + (x**2)[:, None] for x in value]
    np.testing.assert_allclose(same_both_ways([A], rows, value), expected)


@pytest.mark.thorough
def test_the_gradient_of_a_jacobian() -> None:
    x = T.dvector("x")
    J = by_scan(T.tanh(x) * T.sum(x), x)
    T.verify_grad(lambda x: T.sum(by_scan(T.tanh(x) * T.sum(x), x) ** 2), [X])
    assert same_both_ways([x], T.grad(T.sum(J**2), x), X).shape == (3,)


def test_no_rows() -> None:
    x = T.dvector("x")
    assert same_both_ways([x], by_scan(x**2, x), np.zeros(0)).shape == (0, 0)


def test_slots_stay_in_the_order_they_were_given_in() -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    y, k = x * 2, T.constant(3.0)
    out, _ = scanopt.scan(lambda y, x, y2, n, k: T.sum(y * x * y2) + n * k, non_sequences=[y, x, y, n, k], n_steps=2)
    owner = out.owner
    assert isinstance(owner, Scan)
    assert all(s.w_outer is v for s, v in zip(owner.non_sequences, (y, x, y, n), strict=False))
    np.testing.assert_allclose(same_both_ways([x, n], out, X, 2), [np.sum(4 * X**3) + 6] * 2)


def test_a_computed_value_is_that_before_the_loop() -> None:
    """The step changes W; the value that it was given of W does not change."""
    W = scanopt.shared(2.0, "W")
    w = W * 10
    seen, updates = scanopt.scan(lambda w: ([w, W], {W: W + 1}), non_sequences=[w], n_steps=3)
    f = scanopt.function([], seen, updates=updates)
    np.testing.assert_allclose(f.unoptimized()[0], [20, 20, 20])
    np.testing.assert_allclose(np.array(f()), [[20, 20, 20], [2, 3, 4]])
    assert W.get_value() == 5


def test_a_step_may_return_what_it_was_given() -> None:
    x = T.dvector("x")
    y = T.exp(x)
    (same, end), _ = scanopt.scan(lambda y, x: ([y, x], scanopt.until(T.sum(y) > 0)), non_sequences=[y, x], n_steps=3)
    np.testing.assert_allclose(same_both_ways([x], same, X), [np.exp(X)])
    np.testing.assert_allclose(same_both_ways([x], end, X), [X])


def test_the_error_of_a_slice_says_how_to_write_it() -> None:
    x = T.dvector("x")
    for y in (x**2, (named := T.dvector("y"))):
        with pytest.raises(DisconnectedInputError, match=r"pass y in non_sequences and T\.arange\(y\.shape\[0\]\)"):
            scanopt.scan(lambda yi, x: T.grad(yi * 2, x), sequences=y, non_sequences=x)
    assert named.name == "y"
