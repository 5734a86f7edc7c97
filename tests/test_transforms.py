"""Derivatives and maps of Python functions: values against formulas and differences, structures, nesting."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scanopt
from scanopt import (
    function,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    lax,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from scanopt import tensor as T
from scanopt.array.variable import Variable

RNG = np.random.default_rng(5)
X = RNG.normal(size=5)
A = RNG.normal(size=(4, 5))


def rnn(p: Any, xs: Any) -> Any:
    return (lax.scan(lambda h, x: (np.tanh(p["w"] * h + x), h), p["h"], xs)[0] ** 2).sum()


COSTS: dict[str, Any] = {
    "sum of squares": (lambda x: (x**2).sum(), (X,)),
    "loop": (rnn, ({"w": np.array(0.7), "h": np.array(0.1)}, X)),
    "fori_loop": (lambda x: lax.fori_loop(0, 4, lambda i, v: np.sin(v) * (i + 1.0), x).sum(), (X,)),
    "computed bounds": (lambda x: lax.fori_loop(0, x.shape[0], lambda i, v: v * x[i], np.float64(1)), (X,)),
    "cond": (lambda x: lax.cond(x[0] > 0, lambda v: (v**2).sum(), lambda v: np.sin(v).sum(), x), (X,)),
    "switch": (lambda x: lax.switch(1, [np.sin, np.exp, np.cos], x).sum(), (X,)),
    "cummax": (lambda x: (lax.cummax(x) * np.arange(5.0)).sum(), (X,)),
    "cumlogsumexp": (lambda x: (lax.cumlogsumexp(x, reverse=True) ** 2).sum(), (X,)),
    "associative_scan": (lambda x: (lax.associative_scan(lambda a, b: a * b, x) ** 2).sum(), (X,)),
    "slices": (lambda x: (lax.dynamic_slice(x, (np.int64(3),), (3,)) ** 3).sum(), (X,)),
    "update": (lambda x: (lax.dynamic_update_slice(x, x[:2] ** 2, (np.int64(2),)) ** 2).sum(), (X,)),
    "map": (lambda x: vmap(lambda v: np.exp(v) * v)(x).sum(), (X,)),
    "matrix": (lambda w, x: np.tanh(w @ x).sum(), (A, X)),
}


def differences(f: Any, x: Any) -> Any:
    out = np.empty(np.shape(x))
    for i in np.ndindex(np.shape(x)):
        step = np.zeros(np.shape(x))
        step[i] = 1e-6
        out[i] = (f(x + step) - f(x - step)) / 2e-6
    return out


@pytest.mark.share(6)
@pytest.mark.parametrize("name", COSTS)
def test_gradients_against_differences(name: str) -> None:
    f, args = COSTS[name]
    value, found = value_and_grad(f)(*args)
    plain = jit(f)
    np.testing.assert_allclose(value, plain(*args), rtol=1e-12)
    first, rest = args[0], args[1:]
    parts = first if isinstance(first, dict) else {"": first}
    for k in parts:
        g = found[k] if k else found
        assert g.shape == np.shape(parts[k])
        expected = differences(lambda v, k=k: float(plain({**parts, k: v} if k else v, *rest)), parts[k])
        np.testing.assert_allclose(g, expected, rtol=1e-5, atol=1e-7)
    for a, b in zip(scanopt.tree.leaves(jacrev(f)(*args)), scanopt.tree.leaves(found), strict=True):
        np.testing.assert_allclose(a, b)


def test_arguments_and_what_is_beside() -> None:
    def f(a: Any, b: Any, *, k: float = 1.0) -> Any:
        return (a["u"] * b).sum() * k, {"seen": b, "word": [a["u"].shape[0] * 1]}

    args = {"u": X}, np.arange(5.0)
    g, aux = grad(f, has_aux=True)(*args)
    np.testing.assert_array_equal(g["u"], np.arange(5.0))
    np.testing.assert_array_equal(aux["seen"], np.arange(5.0))
    ((value, _), (da, db)) = value_and_grad(f, (0, -1), True)(*args, k=2.0)
    np.testing.assert_allclose(value, 2 * (X * np.arange(5)).sum())
    np.testing.assert_allclose(da["u"], 2 * np.arange(5.0))
    np.testing.assert_allclose(db, 2 * X)
    assert grad(lambda x, y: y * 2.0)(3.0, 4.0) == 0
    assert grad(lambda x: np.float32(2) * x)(np.float32(1)).dtype == "float32"


def test_the_argument_alone_is_differentiated() -> None:
    """What else the function reads is constant, also where it is computed from the same array."""
    assert grad(lambda x: x * grad(lambda y: x + y)(x))(2.0) == 1
    assert grad(lambda x: grad(lambda y: x * y)(x))(2.0) == 1
    assert grad(grad(grad(np.sin)))(1.0) == pytest.approx(-np.cos(1))
    assert grad(lambda x: x * stop_gradient(x))(3.0) == 3
    x = T.dscalar("x")
    f = function([x], grad(lambda y: x * y**2)(x))
    assert f(3.0) == 18


def test_inside_loops_and_graphs() -> None:
    def newton(f: Any, x: Any) -> Any:
        return lax.fori_loop(0, 6, lambda i, v: v - f(v) / grad(f)(v), x)

    assert jit(lambda a: newton(lambda v: v**2 - a, a))(2.0) == pytest.approx(np.sqrt(2))
    assert grad(lambda a: newton(lambda v: v**2 - a, a * 0 + 1.5))(2.0) == pytest.approx(0.5 / np.sqrt(2), rel=1e-6)
    x = T.dvector("x")
    made = grad(lambda v: (v**3).sum())(x)
    assert isinstance(made, Variable)
    np.testing.assert_allclose(function([x], made)(X), 3 * X**2)
    np.testing.assert_allclose(scanopt.grad((x**3).sum(), x).eval({x: X}), 3 * X**2)


def test_jacobians() -> None:
    def f(x: Any, p: Any) -> Any:
        return {"y": np.cumsum(x) * p["k"], "z": x[0] * p["k"]}

    p = {"k": 3.0}
    for jacobian in (jacfwd, jacrev):
        found = jacobian(f)(X, p)
        np.testing.assert_allclose(found["y"], 3 * np.tri(5))
        np.testing.assert_allclose(found["z"], [3, 0, 0, 0, 0])
        both = jacobian(f, argnums=(0, 1))(X, p)
        np.testing.assert_allclose(both["y"][1]["k"], np.cumsum(X))
        assert both["z"][1]["k"] == X[0]
        assert jacobian(lambda x: x * 0 + np.ones(0))(X[:1]).shape == (0, 1)
        assert jacobian(np.sin)(np.zeros((2, 3))).shape == (2, 3, 2, 3)
    np.testing.assert_allclose(hessian(lambda x: (x**3).sum() * x[0])(X), _hessian(X), atol=1e-9)
    blocks = hessian(lambda p: (p["a"] ** 2 * p["b"]).sum())({"a": X, "b": 3.0})
    np.testing.assert_allclose(blocks["a"]["a"], 6 * np.eye(5))
    np.testing.assert_allclose(blocks["a"]["b"], 2 * X)


def _hessian(x: Any) -> Any:
    out = np.diag(6 * x * x[0])
    out[0] += 3 * x**2
    out[:, 0] += 3 * x**2
    return out


def test_directions() -> None:
    f = lambda x, n, p: {"y": np.sin(x) * p["k"], "n": n + 1}  # noqa: E731
    primals, tangents = (X, 3, {"k": 2.0}), (np.ones(5), 0, {"k": 1.0})
    value, speed = jvp(f, primals, tangents)
    np.testing.assert_allclose(value["y"], 2 * np.sin(X))
    np.testing.assert_allclose(speed["y"], 2 * np.cos(X) + np.sin(X))
    assert (value["n"], speed["n"]) == (4, 0)
    again, push = linearize(f, *primals)
    np.testing.assert_allclose(push(*tangents)["y"], speed["y"])
    np.testing.assert_allclose(again["y"], value["y"])
    value, pull = vjp(f, *primals)
    dx, dn, dp = pull({"y": np.ones(5), "n": np.int64(0)})
    np.testing.assert_allclose(dx, 2 * np.cos(X))
    np.testing.assert_allclose(dp["k"], np.sin(X).sum())
    assert dn == 0
    symbolic = jit(lambda x: vjp(np.sin, x)[1](x)[0] + jvp(np.sin, (x,), (x,))[1])
    np.testing.assert_allclose(symbolic(X), 2 * X * np.cos(X))
    assert vjp(lambda x: (x * 2, x + 1), 3.0, has_aux=True)[2] == 4
    assert jvp(lambda x: (x * 2, x + 1), (3.0,), (1.0,), has_aux=True)[2] == 4


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_maps_are_loops_in_python(data: Any) -> None:
    """vmap over any axes, against stacking what the function gives of each entry."""
    n = data.draw(st.integers(0, 3))
    axes = data.draw(st.tuples(*[st.sampled_from([0, 1, -1, None])] * 2).filter(lambda a: a != (None, None)))
    out = data.draw(st.sampled_from([0, 1, -1]))
    shapes = [(2, n) if a in (1, -1) else (n, 2) if a == 0 else (2,) for a in axes]
    x, y = (RNG.normal(size=s) for s in shapes)
    rows = [
        np.outer(x if axes[0] is None else np.take(x, i, axes[0]), y if axes[1] is None else np.take(y, i, axes[1]))
        for i in range(n)
    ]
    expected = np.moveaxis(np.stack(rows) if n else np.zeros((0, 2, 2)), 0, out)
    found = vmap(lambda a, b: a[:, None] * b, axes, out)(x, y)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected)


def test_maps_of_structures_and_of_other_transformations() -> None:
    f = vmap(lambda p, x: {"s": p["w"] * x, "c": p["b"]}, ({"w": 0, "b": None}, 1), {"s": 1, "c": None})
    found = f({"w": np.arange(3.0), "b": 7.0}, np.ones((2, 3)))
    np.testing.assert_array_equal(found["s"], np.tile(np.arange(3.0), (2, 1)))
    assert found["c"] == 7
    product = vmap(vmap(np.dot, (None, 1)), (0, None))
    np.testing.assert_allclose(product(A, A.T), A @ A.T)
    assert "loop" not in str(product.program())
    per_row = vmap(grad(lambda w, x: np.tanh(x @ w)), (None, 0))
    np.testing.assert_allclose(per_row(X, A), A * (1 - np.tanh(A @ X) ** 2)[:, None])
    assert "loop" not in str(per_row.program())
    loops = vmap(lambda x: lax.scan(lambda c, v: (c + v, c), 0.0, x)[0])
    np.testing.assert_allclose(loops(A), A.sum(axis=1))
    np.testing.assert_allclose(
        grad(lambda a: (vmap(np.sum)(a) ** 2).sum())(A), np.repeat(2 * A.sum(1), 5).reshape(4, 5)
    )
    chosen = vmap(lambda x: lax.cond(x > 0, np.exp, lambda v: v * 2, x))
    np.testing.assert_allclose(chosen(X), np.where(X > 0, np.exp(X), 2 * X))
    np.testing.assert_allclose(vmap(lambda x, *, k: x * k)(X, k=X), X * X)
    assert vmap(lambda x: x * 2, None, axis_size=3)(1.5).tolist() == [3, 3, 3]
    M = T.dmatrix("M")
    np.testing.assert_allclose(function([M], vmap(np.sum)(M))(A), A.sum(1))
