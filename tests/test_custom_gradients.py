"""custom_vjp and custom_jvp: gradients are those of the rules, programs those of the functions."""

import pickle
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt import custom_jvp, custom_vjp, grad


@custom_vjp
def product(x: Any, y: Any) -> Any:
    return np.sin(x) * y


def _forward(x: Any, y: Any) -> Any:
    return product.fun(x, y), (np.cos(x), np.sin(x), y)


product.defvjp(_forward, lambda r, g: (10 * r[0] * r[2] * g, r[1] * g))


@custom_jvp
def moved(x: Any, y: Any) -> Any:
    return np.sin(x) * y


@moved.defjvp
def _moves(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    return moved(x, y), 10 * np.cos(x) * dx * y + np.sin(x) * dy


@pytest.mark.parametrize("f", [product, moved])
def test_gradients_are_those_of_the_rule(f: Any) -> None:
    gx, gy = grad(f, argnums=(0, 1))(2.0, 3.0)
    assert (gx, gy) == pytest.approx((30 * np.cos(2.0), np.sin(2.0)))
    assert f(2.0, 3.0) == np.sin(2.0) * 3.0


@pytest.mark.parametrize("f", [product, moved])
def test_derivatives_forwards_follow(f: Any) -> None:
    value, tangent = scanopt.jvp(f, (2.0, 3.0), (1.0, 0.0))
    assert (value, tangent) == pytest.approx((3 * np.sin(2.0), 30 * np.cos(2.0)))


def test_derivatives_of_the_rule_are_those_of_what_it_computes() -> None:
    assert grad(grad(lambda x: moved(x, 2.0)))(0.3) == pytest.approx(-20 * np.sin(0.3))


@pytest.mark.parametrize("f", [product, moved])
def test_in_a_loop(f: Any) -> None:
    x = T.dvector("x")
    h, _ = scanopt.scan(f, x, np.float64(1.0))
    g = scanopt.function([x], scanopt.tensor.grad(h[-1], x))
    values = np.array([1.0, 2.0, 0.5])
    expected = [10 * np.cos(v) * np.prod(np.sin(np.delete(values, i))) for i, v in enumerate(values)]
    np.testing.assert_allclose(g(values), expected, rtol=1e-12)
    np.testing.assert_allclose(g.unoptimized(values), expected, rtol=1e-12)
    plain = scanopt.function([x], scanopt.scan(lambda v, s: np.sin(v) * s, x, np.float64(1.0))[0][-1])
    assert str(scanopt.function([x], h[-1]).program) == str(plain.program)


def test_structures_and_arguments_that_do_not_move() -> None:
    @custom_vjp
    def scaled(power: int, tree: Any) -> Any:
        return {"a": tree[0] ** power, "b": tree[1]}

    scaled.still = (0,)
    scaled.defvjp(
        lambda power, tree: (scaled.fun(power, tree), tree[0]),
        lambda power, x, g: ((g["a"] * power * x ** (power - 1) * 100, g["b"] * 7),),
    )

    def loss(x: Any, y: Any) -> Any:
        out = scaled(3, (x, y))
        return out["a"] * 2 + out["b"]

    assert [float(v) for v in grad(loss, argnums=(0, 1))(2.0, 1.0)] == pytest.approx([2400.0, 7.0])


def test_argument_by_argument() -> None:
    @custom_jvp
    def f(x: Any, y: Any = 2.0) -> Any:
        return x * y

    f.defjvps(lambda t, out, x, y: 5 * t, None)
    assert grad(f, argnums=(0, 1))(1.0, 3.0) == (5.0, 0.0)
    assert grad(f)(1.0) == 5.0


def test_compiled_functions_are_pickled() -> None:
    x = T.dscalar("x")
    f = scanopt.function([x], product(x, 2.0))
    assert pickle.loads(pickle.dumps(f))(1.0) == f(1.0) == 2 * np.sin(1.0)


def bare(x: Any) -> Any:
    return x * 2.0


@pytest.mark.parametrize(
    ("made", "error", "text"),
    [
        (lambda f: custom_vjp(f), AttributeError, r"bare has no gradient yet: call bare.defvjp\(forward, backward\)"),
        (lambda f: custom_jvp(f), AttributeError, r"bare has no derivative yet: call bare.defjvp\(rule\)"),
        (lambda f: _with(f, lambda x: x, lambda r, g: (g,)), TypeError, r"forward rule of bare returns \(result, res"),
        (lambda f: _with(f, lambda x: (x, x), lambda r, g: g), TypeError, "tuple of 1 gradients, one for each arg"),
        (lambda f: _with(f, lambda x: (x, x), lambda r, g: ([g],)), TypeError, "gives .* for argument 0"),
        (lambda f: _with(f, lambda x: (x, x), lambda r, g: (T.stack([g]),)), TypeError, "has the shape of its arg"),
    ],
)
def test_what_is_wrong_is_said(made: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        grad(made(bare))(1.0)


def _with(f: Any, forward: Any, backward: Any) -> Any:
    made = custom_vjp(f)
    made.defvjp(forward, backward)
    return made


def test_what_is_no_function() -> None:
    with pytest.raises(TypeError, match="custom_vjp takes a Python function of arrays, found 3"):
        custom_vjp(3)  # type: ignore[arg-type]
