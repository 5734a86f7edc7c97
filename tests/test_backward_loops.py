"""The loop of a gradient reads what the forward loop computed, and computes none of it again."""

from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.program.ir import Compute

RNG = np.random.default_rng(3)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def count(f: Any, name: str) -> int:
    return sum(isinstance(s, Compute) and s.op.name == name for s in f.program.walk())


def agrees(f: Any, *values: Any) -> None:
    found, expected = f(*values), f.unoptimized(*values)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


X, h, U, W = T.dtensor3("X"), T.dmatrix("h"), T.dmatrix("U"), T.dmatrix("W")


@pytest.mark.parametrize("back", [False, True])
def test_gradient_of_a_network(back: bool) -> None:
    states, _ = scanopt.scan(lambda x, h, U, W: T.tanh(T.dot(x, U) + T.dot(h, W)), X, [h], [U, W], go_backwards=back)
    cost = (states**2).sum()
    values = [normal(50, 3, 4), normal(3, 5), normal(4, 5), normal(5, 5)]
    inputs = [X, h, U, W]
    f = scanopt.function(inputs, [cost, *scanopt.grad(cost, inputs)], example=values)
    assert count(f, "tanh") == 1
    products = sum(count(f, name) for name in ("dot", "tensordot", "matmul"))
    assert products == 6  # the gradient's own, and the two of the network
    for n in (0, 1, 2, 7):
        agrees(f, normal(n, 3, 4), *values[1:])


def test_gradient_of_a_state_with_two_taps() -> None:
    x, y = T.dvectors("x", "y")
    states, _ = scanopt.scan(lambda v, r, s: T.tanh(s + v * r), x, [dict(initial=y[:2], taps=[-2, -1])])
    cost = (states**2).sum()
    f = scanopt.function([x, y], [cost, *scanopt.grad(cost, [x, y])], example=[normal(50), normal(2)])
    assert count(f, "tanh") == 1
    for n in (0, 1, 2, 7):
        agrees(f, normal(n), normal(2))


def test_gradient_of_a_loop_that_may_end_early() -> None:
    x, a = T.dvector("x"), T.dscalar("a")
    states, _ = scanopt.scan(lambda v, s: (T.tanh(s + v), scanopt.until(s > 0.7)), x, [a])
    cost = (states**2).sum()
    f = scanopt.function([x, a], [cost, *scanopt.grad(cost, [x, a])])
    for n in (1, 2, 7):
        agrees(f, normal(n), 0.1)
        agrees(f, np.ones(n), 0.1)


def test_values_that_are_no_mirror_images_stay() -> None:
    x, a = T.dvector("x"), T.dscalar("a")
    states, _ = scanopt.scan(lambda v, s: T.tanh(T.exp(s) + v), x, [a])
    late = T.concatenate([T.expand_dims(a, 0), states])
    for rows in (late[1:][::-1], late[:-1], late[:-1][::-1]):
        again, _ = scanopt.scan(lambda v, s, r: T.tanh(r * T.tanh(T.exp(s) + v)), [x[::-1], rows], [a])
        f = scanopt.function([x, a], [states, again])
        for n in (1, 2, 7):
            agrees(f, normal(n), 0.3)
