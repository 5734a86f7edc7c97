"""Gradients where one graph asks for several things at once, and what they are given wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.gradient import (
    DisconnectedInputError,
    DisconnectedInputWarning,
    Lop,
    NullTypeGradError,
    Rop,
    VerifyGradError,
    grad,
    hessian,
    jacobian,
    verify_grad,
)

pytestmark = pytest.mark.usefixtures("brief_search")

X, W = T.dmatrix("X"), T.dmatrix("W")
h = T.dvector("h")
KNOWN = {X: np.array([[0.3, -0.2], [0.1, 0.5]]), h: np.array([0.4, -0.6]), W: np.array([[0.2, 0.7], [-0.3, 0.1]])}


def scan(*args: Any, **kwargs: Any) -> Any:
    return scanopt.scan(*args, return_updates=False, **kwargs)


def two_deep(y: Any, z: Any) -> Any:
    """A loop in a loop that uses y and z, which it was not passed."""
    step = lambda x, p: scan(lambda q: T.tanh(q * z + x * y), None, [p], n_steps=2)[-1]  # noqa: E731
    return (scan(step, X, [h]) ** 2).sum()


@pytest.mark.parametrize("turned", [False, True])
def test_two_variables_that_a_step_computes_one_from_the_other(turned: bool) -> None:
    y = T.tanh(W) @ h
    z = y**2
    asked = [z, y] if turned else [y, z]
    gy, gz = grad(two_deep(y, z), asked)[:: -1 if turned else 1]
    free_y, free_z = T.dvector("free_y"), T.dvector("free_z")
    at = np.tanh(KNOWN[W]) @ KNOWN[h]
    alone = {**KNOWN, free_y: at, free_z: at**2}
    through = grad(two_deep(free_y, free_y**2), free_y)
    direct = grad(two_deep(free_y, free_z), [free_y, free_z])
    found = scanopt.interpret([gy, gz], KNOWN)
    expected = scanopt.interpret([through, direct[1]], alone)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b)
    held = scanopt.interpret(grad(two_deep(y, z), y, consider_constant=[z]), KNOWN)
    np.testing.assert_allclose(held, scanopt.interpret(direct[0], alone))


def test_a_known_gradient_is_all_of_it() -> None:
    x = T.dscalar("x")
    y = x**2
    z = T.sin(y)
    seven, two = T.constant(7.0), T.constant(2.0)
    at = {x: 1.5}
    assert scanopt.interpret(grad(z, x, known_grads={y: seven}), at) == 7 * 3.0
    assert scanopt.interpret(grad(None, [x, y], known_grads={y: seven, z: two}), at) == [21.0, 7.0]
    assert scanopt.interpret(grad(z, [z, x], known_grads={z: two}), at) == pytest.approx([2, 2 * np.cos(2.25) * 3])
    assert scanopt.interpret(grad(z, x, known_grads={x: seven}), at) == 7


def test_known_gradients_one_layer_after_the_other() -> None:
    """The gradients of any layer, given as known, lead to those of the inputs."""
    y = T.tanh(W) @ h
    trace = scan(lambda x, p: T.tanh(p * y + x), X, [h])
    cost = (trace**2).sum() + (y * h).sum()
    expected = scanopt.interpret(grad(cost, [X, W]), KNOWN)
    for layer in ([cost], [trace, y], [y, X], [trace, y, X]):
        known = dict(zip(layer, grad(cost, layer), strict=True))
        for a, b in zip(scanopt.interpret(grad(None, [X, W], known_grads=known), KNOWN), expected, strict=True):
            np.testing.assert_allclose(a, b)


def test_rows_from_several_arrays_are_summed() -> None:
    x = T.dvector("x")
    y = x**2
    g = Lop([y, y * x], x, [T.ones_like(x), T.ones_like(x)])
    assert scanopt.interpret(g, {x: [1.0, 2.0]}).tolist() == [5.0, 16.0]
    assert scanopt.interpret(Rop(y, [x, h], [T.ones_like(x), None]), {x: [1.0, 2.0]}).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("f", [grad, jacobian, hessian])
def test_a_warning_stands_at_the_call(f: Any) -> None:
    v = T.dvector("v")
    with pytest.warns(DisconnectedInputWarning, match="'v'") as caught:
        f((h**2).sum(), v, disconnected_inputs="warn")
    assert [w.filename for w in caught] == [__file__]


def test_what_is_disconnected_says_so() -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    zeros = hessian((x * n).sum(), n, disconnected_inputs="ignore")
    assert scanopt.interpret(zeros, {n: 3}) == 0
    with pytest.raises(DisconnectedInputError, match="'n' int64"):
        Rop(x * n, n, 1)
    with pytest.raises(NullTypeGradError, match=r"random_gamma has no gradient.*test_gradient_edges.py"):
        grad(T.random.gamma(T.random.key(3), (3,), x).sum(), x)
    assert jacobian(x, []) == hessian(x.sum(), []) == []


def test_a_constant_of_the_graph_has_a_gradient() -> None:
    c = T.constant(np.array([1.0, 2.0]))
    assert scanopt.interpret(grad((c**3).sum(), c)).tolist() == [3, 12]
    with pytest.raises(DisconnectedInputError, match="this very constant"):
        grad((h**2).sum(), c)


def test_differences_that_are_not_finite_confirm_nothing() -> None:
    with pytest.raises(VerifyGradError, match="nan"):
        verify_grad(lambda x: T.sqrt(x) * T.disconnected_grad(x), [np.array([-1.0, 1.0])])
    with pytest.raises(VerifyGradError):
        verify_grad(lambda x: x * 2, [np.ones(2)], abs_tol=0.0, rel_tol=0.0)


def test_names_of_theano_and_pytensor() -> None:
    assert (T.pullback, T.pushforward) == (Lop, Rop)
    assert [scanopt.gradient.disconnected_grad, scanopt.gradient.zero_grad, scanopt.gradient.grad_clip] == [
        T.disconnected_grad,
        T.zero_grad,
        T.grad_clip,
    ]


def test_a_check_draws_the_same_numbers_each_time() -> None:
    stream = T.shared_randomstreams.RandomStreams(3)
    verify_grad(lambda x: T.tanh(x * stream.normal((2,))), [np.array([0.2, -0.4])])
    verify_grad(lambda x: scanopt.scan(lambda s: s * stream.normal((2,)), None, [x], n_steps=3)[0], [np.ones(2)])


def test_nothing_to_start_from() -> None:
    assert Rop([], h, h) == []
    with pytest.raises(ValueError, match="f is an empty list"):
        Lop([], h, [])
    with pytest.raises(NullTypeGradError, match=r"no derivative forwards \(at .*test_gradient_edges.py"):
        Rop(T.grad_clip(h, -1, 1), h, h)


def test_what_does_not_move() -> None:
    """Like gradients that do not exist, an output that does not move is told of."""
    with pytest.raises(DisconnectedInputError, match=r"'h' .* does not move smoothly with 'X'"):
        Rop(h, X, X)
    with pytest.warns(DisconnectedInputWarning, match="disconnected_outputs='ignore'"):
        still = Rop(h, X, X, "warn")
    assert scanopt.interpret(still, {h: [1.0, 2.0]}).tolist() == [0, 0]
    assert Rop([h], X, X, "ignore", "none") == [None]


LOOP = scan(lambda u, s: T.tanh(u + s), h, [T.constant(0.0, dtype="float64")], name="rnn")
TWICE = T.concatenate([h, h])
VECTORS: dict[str, tuple[Any, int]] = {
    "Rop": (lambda v: Rop(LOOP, h, v), 4),
    "Lop": (lambda v: Lop(LOOP, h, v), 4),
    "of an operator": (lambda v: Lop(h**2, h, v), 4),
    "along an operator": (lambda v: Rop(h.sum(), h, v), 4),
    "known": (lambda v: grad(None, h, known_grads={LOOP: v}), 4),
    "known of an input": (lambda v: grad(None, h, known_grads={h: v}), 4),
    "known of a join": (lambda v: grad(None, h, known_grads={TWICE: v}), 8),
}


@pytest.mark.parametrize("mode", ["unoptimized", None])
@pytest.mark.parametrize("name", VECTORS)
def test_vectors_of_another_length(name: str, mode: str | None) -> None:
    make, right = VECTORS[name]
    v = T.dvector("v")
    f = scanopt.function([h, v], make(v), mode=mode, on_unused_input="ignore")
    assert f(np.zeros(4), np.ones(right)).shape in ((), (4,))
    for wrong in (1, 3, 6):
        with pytest.raises(ValueError, match=rf"'v' float64\[\?\] with {wrong} entries, but .* has {right} \("):
            f(np.zeros(4), np.ones(wrong))


def test_a_value_of_a_step_is_told_from_others() -> None:
    leaked: list[Any] = []
    out = scan(lambda u: leaked.append(u) or T.sin(u), h)
    with pytest.raises(DisconnectedInputError, match=r"'h\[t\]' .* is a value of one step of a loop"):
        grad(out.sum(), leaked[0])
