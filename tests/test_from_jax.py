"""Programs written with JAX give JAX's numbers here, and given back to JAX."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed (the extra 'jax')")

import jax.numpy as jnp  # noqa: E402
from jax_programs import PROGRAMS  # noqa: E402

import scanopt  # noqa: E402
import scanopt.tensor as T  # noqa: E402

pytestmark = pytest.mark.usefixtures("brief_search")


def plain(x: Any) -> Any:
    if str(getattr(x, "dtype", "")).startswith("key<"):
        return np.asarray(jax.random.key_data(x))
    return np.asarray(x)


def same(found: Any, expected: Any) -> None:
    """The same pytree, the same dtypes, numbers equal up to rounding."""
    mine, theirs = jax.tree_util.tree_flatten(found), jax.tree_util.tree_flatten(expected)
    assert mine[1] == theirs[1]
    for a, b in zip(map(plain, mine[0]), map(plain, theirs[0]), strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        if b.dtype.kind in "biu":
            np.testing.assert_array_equal(a, b)
        else:
            tol = 2e-5 if b.dtype.itemsize == 4 else 1e-10
            np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


@cache
def of_jax(name: str) -> Any:
    f, args, _ = PROGRAMS[name]
    return jax.jit(f)(*args)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gives_the_numbers_of_jax(name: str) -> None:
    f, args, _ = PROGRAMS[name]
    same(scanopt.from_jax(f)(*args), of_jax(name))


@pytest.mark.parametrize("name", PROGRAMS)
def test_goes_back_to_jax(name: str) -> None:
    f, args, _ = PROGRAMS[name]
    same(jax.jit(scanopt.from_jax(f).to_jax())(*args), of_jax(name))


SMOOTH = [name for name, p in PROGRAMS.items() if p.smooth]


def widened(tree: Any) -> Any:
    return jax.tree_util.tree_map(lambda v: v.astype("float64") if v.dtype == np.float32 else v, tree)


def total(leaves: Any) -> Any:
    """A scalar of all leaves that are floats, whichever library they are of."""
    return sum((x * x).sum() for x in leaves if np.dtype(x.dtype).kind == "f")


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_on_either_side(name: str) -> None:
    f, (x, *rest), _ = PROGRAMS[name]

    def cost(x: Any) -> Any:
        more = rest if jax.tree_util.tree_leaves(x)[0].dtype == np.float32 else widened(rest)
        return total(jax.tree_util.tree_leaves(f(x, *more)))

    with jax.enable_x64(True):
        wide = widened(x)
        expected = jax.jit(jax.grad(cost))(wide)
        ours = scanopt.from_jax(cost)
        graph = ours.lower(wide)
        gradients = T.grad(graph.outputs[0], graph.inputs)
        found = scanopt.function(graph.inputs, gradients)(*jax.tree_util.tree_leaves(wide))
        same(jax.tree_util.tree_leaves(found), jax.tree_util.tree_leaves(expected))
        same(scanopt.from_jax(jax.grad(cost))(wide), expected)
    same(jax.jit(jax.grad(scanopt.from_jax(cost).to_jax()))(x), jax.jit(jax.grad(cost))(x))


@pytest.mark.parametrize("name", ["rnn", "lookups", "draws", "elementwise", "random_walk", "sorting"])
def test_64_bits(name: str) -> None:
    with jax.enable_x64(True):
        f, args, _ = PROGRAMS[name]
        wide = widened(args)
        expected = jax.jit(f)(*wide)
        same(scanopt.from_jax(f)(*wide), expected)
        same(jax.jit(scanopt.from_jax(f).to_jax())(*wide), expected)


def test_symbolic_arguments_are_part_of_a_graph() -> None:
    f = scanopt.from_jax(lambda x, y: {"s": jnp.sin(x) * y})
    x = T.tensor("float32", shape=(3,), name="x")
    y = f(x, np.float32(2.0))["s"]
    assert np.allclose(scanopt.function([x], y)(np.ones(3, "float32")), 2 * np.sin(1))
    with pytest.raises(TypeError, match=r"'x'.*has lengths that are not"):
        f(T.fvector("x"), 1.0)
    g = scanopt.grad(lambda x: f(x, np.float32(2.0))["s"].sum(), static_shapes=True)
    assert np.allclose(g(np.zeros(3, "float32")), 2)


def test_gradients_of_random_programs() -> None:
    def cost(s: Any, key: Any) -> Any:
        return (s * jax.random.uniform(key, (3,)) + jax.random.normal(key, (3,)) ** 2).sum()

    key = jax.random.key(3)
    graph = scanopt.from_jax(cost).lower(np.float32(2), key)
    found = scanopt.function(graph.inputs, T.grad(graph.outputs[0], graph.inputs[0]), on_unused_input="ignore")
    words = np.asarray(jax.random.key_data(key)).astype(np.uint64)
    value = found(np.float32(2), words[0] << np.uint64(32) | words[1])
    np.testing.assert_allclose(value, jax.grad(cost)(jnp.float32(2), key), rtol=1e-5)


def test_bare_numbers_and_keywords() -> None:
    f = scanopt.from_jax(lambda x, *, n: x * n)
    same(f(2.0, n=3), jax.jit(lambda x, n: x * n)(2.0, 3))
    assert f.compiled() is f.compiled(2.0, n=3)
    assert "args[0]" in str(f.program())


def test_what_it_does_not_know_is_named_with_its_line() -> None:
    def f(x: Any) -> Any:
        return jax.pure_callback(lambda x: x, x, x)

    with pytest.raises(NotImplementedError, match=r"'pure_callback'.*test_from_jax\.py:\d+"):
        scanopt.from_jax(f)(jnp.ones(2))
    with pytest.raises(NotImplementedError, match="bfloat16"):
        scanopt.from_jax(lambda x: x.astype(jnp.bfloat16))(jnp.ones(2))
    with pytest.raises(NotImplementedError, match="rbg"):
        scanopt.from_jax(jax.random.uniform)(jax.random.key(0, impl="rbg"))
    with pytest.raises(TypeError, match="takes a function"):
        scanopt.from_jax(3)


def test_rows_that_xla_cannot_keep() -> None:
    x = T.fvector("x")
    rows, _ = scanopt.scan(lambda s: (s + 1, scanopt.until(s > 3)), outputs_info=x.sum(), n_steps=10)
    with pytest.raises(NotImplementedError, match=r"XLA must know .*before"):
        scanopt.function([x], rows).to_jax()(jnp.ones(2))


def test_compiled_functions_go_to_jax() -> None:
    x, w = T.fmatrix("x"), T.fmatrix("w")
    h, _ = scanopt.scan(lambda x, h, w: T.tanh(x + h @ w), x, T.zeros(3, "float32"), [w])
    f = scanopt.function([x, w], [h, h[-1]])
    a, b = np.ones((4, 3), "float32"), np.eye(3, dtype="float32") / 2
    same(list(jax.jit(f.to_jax())(a, b)), f(a, b))
