"""scanopt.jit: structures, dtypes, caching, static arguments, inlining, errors, threads."""

import pickle
import threading
import warnings
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shares import tries

import scanopt
from scanopt import function, jit, loop, shared
from scanopt import tensor as T

X = np.array([1.0, -2.0, 3.0])


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Model:
    w: Any
    b: Any


def same(found: Any, expected: Any) -> None:
    """Equal structures of arrays of equal dtypes and shapes."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for k in expected:
            same(found[k], expected[k])
    elif isinstance(expected, tuple | list):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    elif isinstance(expected, Model):
        same([found.w, found.b], [expected.w, expected.b])
    elif expected is None:
        assert found is None
    else:
        assert isinstance(found, np.ndarray)
        b = np.asarray(expected)
        assert (found.dtype, found.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(found, b, rtol=1e-12)


FUNCTIONS = {
    "one array": (lambda x: np.tanh(x) + 1, (X,)),
    "two, broadcast": (lambda x, y: x * y, (np.ones((3, 1)), np.arange(4.0))),
    "structures": (
        lambda p, q: {"b": (p["w"] * q[0], None), "a": [p["b"], Point(q[1], -q[1])]},
        ({"w": 2.0, "b": X}, [X, np.float32(3)]),
    ),
    "dataclass": (lambda m, x: Model(m.w @ x, m.b + x), (Model(np.eye(3), np.ones(3)), X)),
    "numbers": (lambda a, b, c, d: (a + b, b * 2, c, np.conj(d)), (1, 2.5, True, 1 + 2j)),
    "dtypes": (lambda a, b, c: (a + b, a * c, c), (np.int8([1, 2]), np.float32([0.5, 1]), np.array([True, False]))),
    "constants": (lambda x: [1.5, np.arange(3), x, True], (X,)),
    "nothing": (lambda x: {}, (X,)),
    "no arguments": (lambda: np.arange(3.0) * 2, ()),
    "empty": (lambda x: (x.sum(), x * 2), (np.zeros((0, 3)),)),
    "axes of length 1": (lambda x: np.squeeze(x), (np.ones((1, 3, 1)),)),
    "ordered": (lambda d: d, (OrderedDict(b=1.0, a=2.0),)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_structures(name: str) -> None:
    f, args = FUNCTIONS[name]
    g = jit(f)
    same(g(*args), f(*args))
    same(g.unoptimized(*args), f(*args))
    same(g(*args), f(*args))
    assert repr(g).endswith("1 traced>")


@settings(max_examples=tries(40), deadline=None)
@given(st.data())
def test_random_lengths_through_one_function(data: Any) -> None:
    """Lengths of 1 broadcast, as do others: one cache for all of them."""
    shapes = data.draw(st.tuples(*[st.lists(st.sampled_from([1, 1, 2, 0, 3]), min_size=0, max_size=2)] * 2))
    x, y = (np.arange(1.0, 1 + np.prod(s)).reshape(s) for s in shapes)
    try:
        expected = SUM_AND_PRODUCT[0](x, y)
    except ValueError:
        with pytest.raises(ValueError, match=r"broadcast|shape"):
            SUM_AND_PRODUCT[1](x, y)
        return
    same(SUM_AND_PRODUCT[1](x, y), expected)


def _sum_and_product(x: Any, y: Any) -> Any:
    return x + y, (x * y).sum(), np.squeeze(x)


SUM_AND_PRODUCT = (_sum_and_product, jit(_sum_and_product))


def test_gradients_of_what_broadcasts_at_run_time() -> None:
    f = scanopt.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))
    for shapes in (((3,), (3,)), ((3,), (1,)), ((1,), (3,)), ((2, 1), (1, 3)), ((), (3,))):
        x, y = (np.ones(s) * 2 for s in shapes)
        dx, dy = f(x, y)
        assert (dx.shape, dy.shape) == shapes
        np.testing.assert_allclose([dx.sum(), dy.sum()], [2 * np.broadcast(x, y).size] * 2)


def test_traced_once_for_each_kind() -> None:
    calls: list[str] = []

    @jit
    def f(x: Any, k: int = 2) -> Any:
        calls.append(str(x.type))
        return x * k

    for n in (2, 3, 5):
        f(np.ones(n))
    assert calls == ["float64[?]"]
    f(np.ones(1))
    f(x=np.ones(4))
    f(np.ones((2, 2)))
    f(np.ones(2, "float32"))
    f(np.ones(2), 3)
    f(np.ones(2), k=5)
    assert calls[1:] == ["float64[1]", "float64[?, ?]", "float32[?]", "float64[?]"]
    f.clear_cache()
    f(np.ones(2))
    assert len(calls) == 6


def test_least_recently_used_is_forgotten() -> None:
    calls: list[int] = []

    def f(x: Any, n: int) -> Any:
        calls.append(n)
        return x + n

    g = jit(f, static_argnums=1, cache_size=2)
    for n in (1, 2, 1, 3, 1, 2):
        assert g(1.0, n) == 1 + n
    assert calls == [1, 2, 3, 2]


def test_static_arguments() -> None:
    @jit(static_argnames=("n", "kind"), fp="exact")
    def power(x: Any, n: int, *, kind: Any = None, scale: float = 1.0) -> Any:
        for _ in range(n):
            x = x * x if kind is None else x + x
        return x * scale

    assert power(2.0, 3) == 256
    assert power(2.0, n=2, kind=("double", 1)) == 8
    assert power(2.0, 1, scale=10.0) == 40
    assert power.compiled().fp == "exact"
    by_number = jit(lambda *args: args[0] * len(args[1]), static_argnums=1)
    assert by_number(2.0, (1, 2, 3)) == 6
    last = jit(lambda a, n: a * range(n)[-1], static_argnums=-1)
    assert last(2.0, 4) == 6


def test_options_of_jax_that_change_no_value() -> None:
    assert jit(lambda x: 2 * x, donate_argnums=0, inline=True, keep_unused=False)(2.0) == 4


def test_names_are_static_by_nature() -> None:
    f = jit(lambda x, how, d: getattr(np, how)(x).astype(d))
    same(f(X, "exp", "float32"), np.exp(X).astype("float32"))
    same(f(X, "sin", np.dtype("float64")), np.sin(X))
    same(jit(lambda g, x: g(x))(np.cos, X), np.cos(X))


def test_bare_floats_have_the_precision_of_the_arrays_beside_them() -> None:
    f = jit(lambda x, k, p: (x["a"] * k, p * k))
    for dtype, number in (
        ("float32", "float32"),
        ("float64", "float64"),
        ("float16", "float16"),
        ("complex64", "float32"),
    ):
        x = np.ones(2, dtype)
        same(f({"a": x}, 0.1, 2.0), ((x * 0.1), np.asarray(2 * np.dtype(number).type(0.1), number)))
        assert f.lower({"a": x}, 0.1, Point(1, 2)).inputs[1].dtype == number
    assert f({"a": np.float32(1)}, np.float64(0.1), 1)[0].dtype == "float64"
    assert f({"a": np.int32(1)}, 0.1, 1)[0].dtype == "float64"
    assert f({"a": np.float32(1)}, 0.1, np.ones(1))[0].dtype == "float64"
    assert scanopt.grad(lambda w, lr: (w * lr).sum())(np.ones(2, "float32"), 0.5).dtype == "float32"


def test_shapes_known_where_asked() -> None:
    @jit(static_shapes=True)
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(x.shape[0]):
            total = total + x[i] * i
        return total, np.eye(len(x))

    same(f(X), (np.asarray(4.0), np.eye(3)))
    same(f(np.ones(4))[1], np.eye(4))


def test_parts_of_other_graphs() -> None:
    f = jit(lambda x: {"a": np.tanh(x)})
    x = T.dvector("x")
    np.testing.assert_allclose(function([x], f(x)["a"])(X), np.tanh(X))
    outer = jit(lambda x: f(f(x)["a"])["a"] + f(np.ones(3))["a"])
    np.testing.assert_allclose(outer(X), np.tanh(np.tanh(X)) + np.tanh(1))
    steps = jit(lambda xs: loop(lambda c, v: (c + f(v)["a"], None), 0.0, xs)[0])
    np.testing.assert_allclose(steps(X), np.tanh(X).sum())
    np.testing.assert_allclose(scanopt.grad(lambda x: f(x)["a"].sum())(X), 1 - np.tanh(X) ** 2)
    free = T.dscalar("free")
    assert function([free], jit(lambda a: a * free)(3.0))(2.0) == 6


def test_shared_variables_and_streams() -> None:
    w = shared(2.0, "w")
    f = jit(lambda x: x * w)
    assert f(3.0) == 6
    w.set_value(5.0)
    assert f(3.0) == 15
    nested = jit(lambda x: f(3.0) + x)
    assert nested(1.0) == 16
    w.set_value(1.0)
    assert nested(1.0) == 4
    stream = T.shared_randomstreams.RandomStreams(3)
    noise = jit(lambda x: x + stream.normal((2,)))
    assert not np.array_equal(noise(0.0), noise(0.0))


def test_methods_and_pickling() -> None:
    class Scale:
        k = 3.0
        times = jit(lambda self, x: self.k * x, static_argnums=0)

    assert Scale().times(2.0) == 6
    assert pickle.loads(pickle.dumps(DOUBLE)) is DOUBLE


@jit
def DOUBLE(x: Any) -> Any:  # noqa: N802
    """Twice x."""
    return 2 * x


DOUBLE.__qualname__ = "DOUBLE"


def test_what_compiled_functions_tell() -> None:
    f = jit(lambda x: scanopt.vmap(np.exp)(x) * 1.0)
    f(X)
    assert "exp(x)" in str(f.program())
    assert f.lower(X).as_text() == str(f.program())
    assert len(f.explain().steps) >= 1
    assert f.compiled() is f.compiled(X) is f.lower(X).compile()
    assert str(f.lower(np.ones((2, 2))).types) == "float64[?, ?]"
    assert "def program" in f.source()
    assert f.report().cost <= f.report().cost_before
    assert "right_identity" in str(f.why_not("right_identity"))
    assert f.__name__ == "<lambda>"
    assert str(f.lower(T.TensorType("float32", (None,))).types) == "float32[?]"


def test_threads() -> None:
    calls: list[int] = []

    @jit
    def f(x: Any) -> Any:
        calls.append(1)
        return loop(lambda c, v: (c + v, c), x.sum() * 0, x)

    found: list[Any] = []
    threads = [threading.Thread(target=lambda n=n: found.append((n, f(np.arange(n + 2.0))[0]))) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(calls) == 1
    assert sorted(found) == [(n, sum(range(n + 2))) for n in range(8)]


def test_inner_tracing_does_not_leak() -> None:
    """After an error in a traced function nothing is traced any more."""
    bad = jit(lambda x: x.no_such_thing)
    with pytest.raises(AttributeError) as info:
        bad(X)
    assert "while tracing <lambda> with x float64[?]" in info.value.__notes__
    scanopt.check(True, "fine")
    same(jit(np.sin)(X), np.sin(X))


def test_drawn_numbers_are_told() -> None:
    with pytest.warns(UserWarning, match=r"draws numbers by np.random.*same in every call"):
        jit(lambda x: x + np.random.normal())(1.0)  # noqa: NPY002


def test_a_warning_made_an_error_leaves_nothing_behind() -> None:
    """Of a loop that is given up between two calls of its step, too, nothing is traced any more."""
    generator = np.random.default_rng(0)
    x = T.matrix("x", shape=(3, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="draws numbers by generator") as info:
            scanopt.scan(lambda row, s: s + row * generator.normal(), sequences=x, outputs_info=T.zeros(4))
    with pytest.raises(IndexError, match="out of bounds"):  # while info keeps the loop's frames alive
        x[3]
    assert info.tb
