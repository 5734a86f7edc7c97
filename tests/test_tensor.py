"""The functions and variables of `scanopt.tensor`, as a user writes them, compared with NumPy."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt.tensor as T
from scanopt import function, interpret, shared
from scanopt.array.types import TensorType
from scanopt.array.variable import Apply, Constant, SharedVariable, Variable
from scanopt.config import config

A = np.arange(24.0).reshape(2, 3, 4) - 7
M = np.array([[3.0, -1.0, 2.0], [0.5, 4.0, -2.5]])
V = np.array([1.0, -2.0, 0.25])
I = np.array([2, 0, 1, 1])  # noqa: E741
B = np.array([True, False, True])


def evaluate(x: Variable, known: dict[Variable, Any]) -> Any:
    if x in known:
        return known[x]
    if isinstance(x, Constant):
        return x.data
    assert isinstance(x.owner, Apply)
    args = [evaluate(y, known) for y in x.owner.inputs]
    result = np.asarray(x.owner.op.bind(np)(*args))
    assert x.type.accepts(TensorType(result.dtype.name, result.shape)), (x, result)
    return result


def check(f: Callable[..., Any], *arrays: Any, known_shapes: bool = True) -> None:
    """f of symbolic arrays gives what f of the arrays gives: value, dtype and shape."""
    want = f(*arrays)
    for known in (True, False):
        types = [TensorType(a.dtype.name, a.shape if known else (None,) * a.ndim) for a in map(np.asarray, arrays)]
        xs = [Variable(t) for t in types]
        out = f(*xs)
        pairs = zip(out, want, strict=True) if isinstance(want, tuple) else [(out, want)]
        for x, w in pairs:
            got = evaluate(x, dict(zip(xs, map(np.asarray, arrays), strict=True)))
            assert got.dtype == np.asarray(w).dtype
            np.testing.assert_allclose(got, w, rtol=1e-13, atol=1e-13)


PLAIN_NUMPY: dict[str, tuple[Any, ...]] = {
    "operators": (lambda x, w: -(2 * x + 1) / 3 - x**2 + (x @ w) ** 3, V, np.eye(3)),
    "left operands": (lambda x: np.float32(2) * x + np.ones(3) @ x - M @ x[:, None], V),
    "integers": (lambda i: (i // 2, i % 3, i << 1, i >> 1, i & 1, i | 4, i ^ 5, ~i, abs(-i), 7 // (i + 1)), I),
    "comparisons": (lambda x: ((x < 0), (x <= 1), (x > 0), (x >= 1), np.equal(x, 1), np.not_equal(x, 1)), V),
    "ufuncs": (lambda x: np.tanh(x) + np.exp(x) * np.maximum(x, 0) - np.hypot(x, 2), V),
    "divmod and modf": (lambda x: (*np.divmod(x, 2), *np.modf(x)), V),
    "where": (lambda x: np.where(x > 0, x, 0), V),
    "clip": (lambda x: (np.clip(x, -1, 0.5), np.clip(x, None, 0), x.clip(0, 1)), V),
    "sums": (lambda a: (a.sum(), a.mean(0), np.prod(a, axis=(0, 2)), np.sum(a, axis=1, keepdims=True)), A),
    "typed sum": (lambda i: (i.sum(dtype="float32"), np.cumsum(i, dtype="int32")), I),
    "extrema": (lambda a: (a.max(-1), np.min(a), np.argmax(a), a.argmin(1), np.argmax(a, 1, keepdims=True)), A),
    "spread": (lambda a: (np.var(a, axis=1), a.std(ddof=1), np.ptp(a, axis=0)), A),
    "logic": (lambda b: (np.any(b), b.all(), np.logical_not(b), b & ~b), B),
    "cumulative": (lambda a: (np.cumsum(a), a.cumprod(1), np.diff(a, axis=1), np.diff(a, 2)), A),
    "sorting": (lambda m: (np.sort(m), np.argsort(m, axis=0), np.sort(m, axis=None)), M),
    "shapes": (lambda a: (a.T, np.reshape(a, (4, -1)), a.reshape(6, 4), a.ravel(), np.transpose(a, (1, 0, 2))), A),
    "axes": (
        lambda a: (
            np.expand_dims(a, (0, -1)), np.squeeze(a[:, :1], 1), np.swapaxes(a, 0, 2), np.moveaxis(a, 0, -1),
            np.broadcast_to(a, (5, 2, 3, 4)), a.flatten(),
        ),
        A,
    ),
    "joining": (
        lambda m, v: (
            np.concatenate([m, m * 2], 1), np.stack([v, v], -1), np.vstack([m, v]), np.hstack([v, v]),
            np.concatenate([m, m], axis=None), np.tile(m, (2, 1)), np.repeat(m, 3, axis=0), np.repeat(m, 2),
        ),
        M, V,
    ),
    "products": (
        lambda m, v: (
            np.dot(m, v), np.outer(v, v), np.inner(m, v), np.vdot(m, m), np.matmul(m, m.T), m.dot(2.0),
            np.tensordot(m, m, ((0, 1), (0, 1))), np.vecdot(m, v),
        ),
        M, V,
    ),
    "products in many axes": (
        lambda a, v: (np.dot(a, a[0].T), a @ a[0].T, np.tensordot(a, a, 1 - 1), np.dot(v, a[0])),
        A, V,
    ),
    "basic indexing": (
        lambda a: (a[1:], a[-1], a[..., 0], a[:, None, ::-2], a[0, 1, 2], a[:, -2:, 1:3], a[()], a[:], a[1, ..., None]),
        A,
    ),
    "advanced indexing": (
        lambda a, i: (
            a[:, i % 3], a[i % 2, i % 3], a[0, :, i], a[:, 0, i], a[[0, 1]], a[a > 0], a[:, [True, False, True]],
            np.take(a, i, axis=2), a.take(i), np.take_along_axis(a, np.argsort(a, axis=1), 1), a[i % 2, ..., 0],
        ),
        A, I,
    ),
    "symbolic bounds": (lambda a, k: (a[k:], a[:, :k], a[k], a[::k]), A, np.int64(1)),
    "diagonals": (
        lambda m: (np.diag(m), np.diag(m, 1), m.trace(), np.diagonal(m, -1), np.tril(m),
            np.triu(m, 1), np.diag(m[0], -2)),
        M,
    ),
    "rolling": (lambda m: (np.roll(m, 1, 0), np.roll(m, -5, 1), np.roll(m, 2), np.flip(m), np.flip(m, 0)), M),
    "like": (lambda m: (np.zeros_like(m), np.ones_like(m, dtype="int8"), np.full_like(m, 7)), M),
    "complex": (lambda m: ((m + 1j).real, (m * 2j).imag, np.conj(m + 1j), abs(m + 1j), (m + 1j) ** 2, m.imag), M),
    "casts": (lambda m: (m.astype("float32"), m.astype("bool"), np.round(m, 1), np.rint(m)), M),
    "norms": (lambda v, m: (np.linalg.norm(v), np.linalg.norm(m, axis=1), np.linalg.norm(v, 1)), V, M),
    "sizes": (lambda a: (a.shape[1] * a.size, np.shape(a)[0] + 0 * a.size, np.size(a, 2) + a.size * 0), A),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN_NUMPY)
def test_plain_numpy(name: str) -> None:
    f, *arrays = PLAIN_NUMPY[name]
    check(f, *arrays)


THEANO: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "arithmetic": (
        lambda x, y: (T.add(x, y), T.sub(x, y), T.mul(x, y), T.true_div(x, y), T.pow(x, 2), T.sqr(x), T.neg(x),
            T.sgn(x)),
        lambda x, y: (x + y, x - y, x * y, x / y, x**2, x**2, -x, np.sign(x)),
        (V, M),
    ),
    "comparison": (
        lambda x: (T.lt(x, 0), T.le(x, 1), T.gt(x, 0), T.ge(x, 1), T.eq(x, 1), T.neq(x, 1), x.eq(1),
            T.switch(x, 1.0, x)),
        lambda x: (x < 0, x <= 1, x > 0, x >= 1, x == 1, x != 1, x == 1, np.where(x != 0, 1.0, x)),
        (V,),
    ),
    "bits": (
        lambda i: (T.and_(i, 1), T.or_(i, 2), T.xor(i, 3), T.invert(i), T.int_div(i, 2), T.mod(i, 2),
            T.cast(i, "int8")),
        lambda i: (i & 1, i | 2, i ^ 3, ~i, i // 2, i % 2, i.astype("int8")),
        (I,),
    ),
    "dimshuffle": (
        lambda m: (m.dimshuffle(1, "x", 0), T.shape_padleft(m, 2), T.shape_padright(m), m[:1].dimshuffle(1),
            T.join(1, m, m)),
        lambda m: (m.T[:, None], m[None, None], m[..., None], m[0], np.concatenate([m, m], 1)),
        (M,),
    ),
    "batched": (
        lambda a: (T.batched_dot(a, a.transpose(0, 2, 1)), T.batched_tensordot(a, a, [[1, 2], [1, 2]])),
        lambda a: (a @ a.transpose(0, 2, 1), (a * a).sum((1, 2))),
        (A,),
    ),
    "nnet": (
        lambda m: (T.nnet.sigmoid(m), T.nnet.softmax(m), T.nnet.relu(m), T.nnet.softplus(m), T.nnet.logsoftmax(m)),
        lambda m: (
            1 / (1 + np.exp(-m)), np.exp(m) / np.exp(m).sum(-1, keepdims=True), np.maximum(m, 0), np.log1p(np.exp(m)),
            m - np.log(np.exp(m).sum(-1, keepdims=True)),
        ),
        (M,),
    ),
    "creation": (
        lambda v, n: (
            T.zeros((2, n)), T.ones(n, "int8"), T.full((n,), v[0]), T.eye(3, n, 1), T.arange(n), T.arange(1, 2, 0.25),
            T.fill(v, 1.5), T.alloc(v, 2, 3), T.identity_like(T.zeros((n, n))), T.zeros_like(v), T.ones_like(v, "bool"),
        ),
        lambda v, n: (
            np.zeros((2, n)), np.ones(n, "int8"), np.full(n, v[0]), np.eye(3, n, 1), np.arange(n),
            np.arange(1, 2, 0.25), np.full(3, 1.5), np.tile(v, (2, 1)), np.eye(n), np.zeros(3), np.ones(3, "bool"),
        ),
        (V, np.int64(4)),
    ),
    "updates": (
        lambda v, i: (
            T.set_subtensor(v[1:], 0), T.inc_subtensor(v[i % 3], 1.0), v[i[0]].set(9), v[::-1].inc(v), v[v > 0].set(-1),
        ),
        lambda v, i: (
            np.array([v[0], 0, 0]), v + np.bincount(i % 3, minlength=3), np.where(np.arange(3) == i[0], 9, v),
            v + v[::-1], np.where(v > 0, -1, v),
        ),
        (V, I),
    ),
    "updates of all of a part": (
        lambda v, m: (
            v[1:][:].set(7), v[1:][...].inc(v[1:]), v[:].inc(v), m[...].set(v), v[0][()].set(3), v[1][...].inc(v[0]),
        ),
        lambda v, m: (np.full(2, 7.0), 2 * v[1:], 2 * v, np.tile(v, (2, 1)), np.float64(3), v[0] + v[1]),
        (V, M),
    ),
    "reshape by a vector": (
        lambda m, s: (T.reshape(m, s, ndim=2), m.reshape((s[0], -1)), m.flatten(2)),
        lambda m, s: (m.reshape(s), m.reshape(s[0], -1), m),
        (M, np.array([3, 2])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", THEANO)
def test_theano_names(name: str) -> None:
    symbolic, plain, arrays = THEANO[name]
    check(lambda *xs: (symbolic if isinstance(xs[0], Variable) else plain)(*xs), *arrays)


# Variables


@pytest.mark.parametrize(
    ("name", "dtype", "ndim"),
    [
        ("scalar", "float64", 0), ("vector", "float64", 1), ("matrix", "float64", 2), ("tensor3", "float64", 3),
        ("tensor4", "float64", 4), ("bscalar", "int8", 0), ("wvector", "int16", 1), ("imatrix", "int32", 2),
        ("ltensor3", "int64", 3), ("ftensor4", "float32", 4), ("dscalar", "float64", 0), ("cvector", "complex64", 1),
        ("zmatrix", "complex128", 2),
    ],
)  # fmt: skip
def test_constructors(name: str, dtype: str, ndim: int) -> None:
    x = getattr(T, name)("x")
    assert (x.name, x.dtype, x.ndim, x.type.shape) == ("x", dtype, ndim, (None,) * ndim)


def test_constructor_arguments() -> None:
    assert T.matrix("m", dtype="float32", shape=(3, None)).type == TensorType("float32", (3, None))
    assert T.tensor("bool", (None, 2), "b").type == TensorType("bool", (None, 2))
    assert T.row().broadcastable == (True, False)
    assert [v.name for v in T.vectors("x y")] == ["x", "y"]
    assert [v.dtype for v in T.lmatrices("x", "y", "z")] == ["int64"] * 3
    assert len(T.scalars(2)) == 2
    assert T.TensorType("float32", (False, True))("q").type.shape == (None, 1)
    with pytest.raises(TypeError, match="fvector makes float32"):
        T.fvector("x", dtype="float64")
    with pytest.raises(ValueError, match="2 axes"):
        T.matrix(shape=(3,))
    assert [v.name for v in T.dvectors(["a", "b"])] == [v.name for v in T.dvectors("a b")] == ["a", "b"]
    length = T.tensor("float64", [np.int64(3), None], "x").type.shape[0]
    assert type(length) is int


def test_masked_arrays_are_refused() -> None:
    """What a mask hides would be computed with."""
    hidden, shown = np.ma.masked_array([1.0, 2.0], [True, False]), np.ma.masked_array([1.0, 2.0])
    w = shared(np.zeros(2))
    x = T.dvector("x")
    f = function([x], x + 1)
    for take in (w.set_value, T.constant, shared, lambda a: x + a, f, f.unoptimized):
        take(shown)
        with pytest.raises(TypeError, match="masked"):
            take(hidden)


def test_float_x() -> None:
    config.floatX = "float32"
    try:
        assert T.vector().dtype == "float32"
        assert T.zeros(3).dtype == "float32"
        assert sys.modules["scanopt.config"].floatX == "float32"  # type: ignore[attr-defined]
    finally:
        sys.modules["scanopt.config"].floatX = "float64"  # type: ignore[attr-defined]
    assert config.floatX == "float64"
    with pytest.raises(ValueError, match=r"config\.floatX"):
        config.floatX = "int8"


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (0, "int8"), (-129, "int16"), (40000, "int32"), (2**40, "int64"), (0.5, "float32"), (0.1, "float64"),
        (True, "bool"),
        (1j, "complex128"), (np.float64(0.5), "float64"), (np.int64(1), "int64"), ([1, 2], "int64"),
        (np.zeros(2, "uint8"), "uint8"), (float("nan"), "float32"),
    ],
)  # fmt: skip
def test_as_tensor_variable(value: Any, dtype: str) -> None:
    x = T.as_tensor_variable(value)
    assert x.dtype == dtype
    assert isinstance(x, Constant)


def test_as_tensor_variable_of_variables() -> None:
    x = T.vector("x")
    assert T.as_tensor_variable(x) is x
    assert T.as_tensor_variable([x, x]).ndim == 2
    assert T.as_tensor_variable([x[0], 2.0]).type.shape == (2,)
    with pytest.raises(ValueError, match="'x'"):
        T.as_tensor_variable(x, ndim=2)
    with pytest.raises(TypeError, match="symbolic array"):
        T.as_tensor_variable("text")


def test_constants_are_read_only() -> None:
    a = np.zeros(2)
    c = T.constant(a)
    a[0] = 1
    assert c.data[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        c.data[0] = 1
    with pytest.raises(TypeError, match="needs a value"):
        T.constant(T.vector())


def test_shared() -> None:
    s = T.shared(np.zeros(3), "s")
    assert isinstance(s, SharedVariable)
    assert T.shared(1).dtype == "int64"
    assert T.shared(1.0).dtype == "float64"
    s.get_value()[0] = 1
    assert s.get_value()[0] == 0
    s.set_value(np.ones(5, "float32"))
    assert s.get_value().dtype == np.float64
    with pytest.raises(TypeError, match="s: expected"):
        s.set_value(np.ones((2, 2)))
    kept = np.ones(2)
    assert T.shared(kept, borrow=True).get_value(borrow=True) is kept
    assert (s + 1).dtype == "float64"


# Weak numbers


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float32", "float64", "complex64", "bool"])
@pytest.mark.parametrize("number", [2, 2.5, 2j, True, np.float32(2), np.int64(2)])
@pytest.mark.parametrize("f", [np.add, np.multiply, np.divide, np.maximum, np.less])
def test_promotion_is_that_of_numpy(dtype: str, number: Any, f: Any) -> None:
    a = np.ones(2, dtype)
    try:
        want = f(a, number).dtype
    except TypeError:
        with pytest.raises(TypeError):
            f(T.tensor(dtype, (2,)), number)
        return
    for out in (f(T.tensor(dtype, (2,)), number), f(number, T.tensor(dtype, (2,)))):
        assert out.dtype == want


def test_weak_numbers() -> None:
    x = T.tensor("uint8", (3,), "small")
    with pytest.raises(OverflowError, match=r"300 .*uint8.*'small'"):
        x + 300
    check(lambda a: (a < 300, a > -1, np.not_equal(a, 2**70), a < 255), np.array([1, 255], "uint8"))
    assert T.where(x > 1, x, 0).dtype == "uint8"
    assert T.fvector() ** 2 is not None
    assert (T.fvector() * 1e300).dtype == "float32"
    assert T.add(2, 3).dtype == "int64"
    assert T.exp(T.as_tensor_variable(np.int32(1))).dtype == "float64"


def test_static_lengths_are_numbers() -> None:
    x = T.matrix("x", shape=(3, None))
    n, m = x.shape
    assert isinstance(n, Constant)
    assert not isinstance(m, Constant)
    assert n.dtype == m.dtype == "int64"
    assert range(n) == range(3)
    assert len(list(x)) == 3


# Normal forms


def test_index_normal_form() -> None:
    x = T.tensor3("x")

    def index(v: Variable) -> Any:
        assert isinstance(v.owner, Apply)
        return v.owner.op.options["index"]

    assert index(x[:]) == index(x[...]) == index(x[0:]) == (("slice", None, None, None),)
    assert index(x[-1]) == (-1,)
    assert index(x[-3:]) == (("slice", -3, None, None),)
    assert index(x[0:2, :, :]) == (("slice", None, 2, None),)
    assert index(x[..., 1]) == (("slice", None, None, None),) * 2 + (1,)
    assert index(x[T.iscalar() :, 0]) == (("slice", "in", None, None), 0)
    assert index(x[np.array([0, 1])]) == ("array",)
    assert index(x[T.constant(2)]) == (2,)
    assert index(x[x > 0]) == ("mask",)
    assert x[None].owner.op.name == "expand_dims"


@pytest.mark.parametrize("index", ["[:, i, ..., i, :]", "[::2, n, None, i, ..., i]", "[:, :, 1, ..., i]"])
def test_an_ellipsis_of_no_axes_keeps_arrays_apart(index: str) -> None:
    x, i, n = T.dtensor4("x"), T.lvector("i"), T.lscalar("n")
    given = np.arange(120.0).reshape(3, 4, 5, 2), np.array([1, -1]), np.array(-1)
    expected = eval(f"x{index}", dict(zip("xin", given, strict=True)))
    key = eval(f"np.s_{index}", {"np": np} | dict(zip("in", given[1:], strict=True)))
    part, values = eval(f"x{index}"), dict(zip([x, i, n], given, strict=True))
    np.testing.assert_array_equal(interpret(part, values), expected, strict=True)
    for y in (np.arange(float(expected.size)).reshape(expected.shape), np.arange(float(expected.shape[-1])), 7.0):
        new, more = given[0].copy(), given[0].copy()
        new[key] = y
        np.add.at(more, key, y)
        np.testing.assert_array_equal(interpret(T.set_subtensor(part, y), values), new)
        np.testing.assert_array_equal(interpret(T.inc_subtensor(part, y), values), more)


def test_parts_with_axes_in_another_order_are_set() -> None:
    x, y = T.dmatrix("x"), T.dmatrix("y")
    given = {x: np.arange(12.0).reshape(3, 4), y: np.arange(6.0).reshape(3, 2)}
    expected = given[x].copy()
    expected[:2, 1:].T[...] = given[y]
    np.testing.assert_array_equal(interpret(T.set_subtensor(x[:2, 1:].T, y), given), expected)
    with pytest.raises(TypeError, match="takes a part"):
        T.set_subtensor(x.T, y)


def test_parameters_are_normalised() -> None:
    x = T.tensor3("x")
    assert x.sum().owner.op.key == 'sum{"axis":[0,1,2],"keepdims":false}'
    assert x.sum(-1).owner.op == x.sum((2,)).owner.op
    assert x.argmax(-1).owner.op.options == {"axis": 2}
    assert x.astype("float64") is x
    assert (x**2).owner.op.name == "square"
    assert T.concatenate([x, x], -1).owner.op.options == {"axis": 2}


# Errors


def _x() -> Variable:
    return T.matrix("x", shape=(3, 4))


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: _x() + np.ones(3), ValueError, r"\(3, 4\) and \(3,\)"),
    (lambda: _x() @ _x(), ValueError, r"\(3, 4\) and \(3, 4\).*: 4 and 3"),
    (lambda: _x().reshape((5, -1)), ValueError, "cannot reshape"),
    (lambda: _x()[3], IndexError, "index 3 is out of bounds for axis 0 with length 3"),
    (lambda: _x()[0, -5], IndexError, "-5 is out of bounds for axis 1"),
    (lambda: _x()[np.array([0, 7])], IndexError, "index 7"),
    (lambda: _x()[0, 0, 0], IndexError, "too many indices"),
    (lambda: _x()[1.5], TypeError, "index"),
    (lambda: _x()[True], TypeError, "mask"),
    (lambda: _x()[::0], ValueError, "step cannot be zero"),
    (lambda: _x().sum(2), ValueError, "axis 2"),
    (lambda: bool(_x()), TypeError, "neither true nor false"),
    (lambda: len(T.vector()), TypeError, r"x\.shape\[0\]"),
    (lambda: float(_x()), TypeError, "Python number"),
    (lambda: list(T.vector("v")), TypeError, "scan"),
    (lambda: np.asarray(_x()), TypeError, "no values before the function runs"),
    (lambda: np.hypot.reduce(_x()), TypeError, r"np\.hypot\.reduce"),
    (lambda: np.packbits(_x()), TypeError, r"np\.packbits"),
    (lambda: np.unpackbits(_x()), TypeError, r"np\.unpackbits"),
    (lambda: np.add(_x(), 1, dtype="int32"), TypeError, "np.add of the symbolic.*cast"),
    (lambda: T.set_subtensor(_x(), 0), TypeError, r"x\[\.\.\.\]"),
    (lambda: T.set_subtensor(T.lvector("k")[0], 0.5), TypeError, "0.5.*'k'"),
    (lambda: T.set_subtensor(T.lvector("k")[:1], T.vector("y")), TypeError, "'y'.*'k'"),
    (lambda: T.set_subtensor(_x()[0], np.ones(3)), ValueError, r"\(3,\) into \(4,\)"),
    (lambda: T.bitwise_and(_x(), 1), TypeError, "not defined"),
    (lambda: T.cast(_x() * 1j, "float64"), TypeError, "imaginary"),
    (lambda: _x().max(axis=0) + T.zeros((0, 3)).max(0), ValueError, "length 0"),
    (lambda: T.concatenate([_x(), _x().T], 0), ValueError, "differ"),
    (lambda: T.stack([]), ValueError, "at least one"),
    (lambda: T.dimshuffle(_x(), 0), ValueError, "squeeze"),
    (lambda: T.nothing_of_the_kind, AttributeError, "nothing_of_the_kind"),
    (lambda: T.arange(1, 2, 0), ZeroDivisionError, "step 0"),
    (lambda: T.reshape(_x(), T.lvector()), ValueError, "ndim"),
]


@pytest.mark.parametrize("i", range(len(ERRORS)))
def test_errors(i: int) -> None:
    f, error, match = ERRORS[i]
    with pytest.raises(error, match=match):
        f()


def test_warning_free_build() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = T.fvector("x")
        np.maximum(x, 1e300) + x / 0


# The facade


@pytest.mark.parametrize(
    "code",
    [
        "import scanopt.tensor as T; assert 'tanh' in dir(T)",
        "from scanopt import tensor as T; T.nnet.sigmoid(T.vector())",
        "from scanopt.array.constants import shared; assert (shared(1.0) + 1).dtype == 'float64'",
        "from scanopt.array.op import Op; assert Op.parse('tanh').spec.ufunc == 'tanh'",
        "import sys, scanopt; assert 'scanopt.array.operators.elementwise' not in sys.modules",
        "import scanopt; scanopt.config.floatX = 'float32'; from scanopt.tensor import row; assert '32' in row().dtype",
    ],
)
def test_imports(code: str) -> None:
    subprocess.run([sys.executable, "-P", "-c", code], check=True, timeout=60)
