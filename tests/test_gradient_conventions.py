"""What gradients are at corners, zeros and ties, where one has to be chosen; and what must not leak."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.array.variable import Apply
from scanopt.gradient import Lop, grad
from scanopt.loops.graph import schedule

NAN, INF = np.nan, np.inf


def slopes(f: Callable[..., Any], *values: Any) -> list[Any]:
    """The gradient of sum(f) at some values."""
    arrays = [np.asarray(v) for v in values]
    xs = [T.tensor(a.dtype.name, (None,) * a.ndim) for a in arrays]
    smooth = [x for x, a in zip(xs, arrays, strict=True) if a.dtype.kind in "fc"]
    total = f(*xs)
    gradients = grad(T.real(total).sum(), smooth, disconnected_inputs="ignore")
    with np.errstate(all="ignore"):
        return [g.tolist() for g in scanopt.interpret(gradients, dict(zip(xs, arrays, strict=True)))]


@pytest.mark.parametrize(
    ("f", "values", "expected"),
    [
        (abs, [[-2.0, 0.0, 3.0]], [[-1, 0, 1]]),
        (abs, [0j], [0]),
        (T.sgn, [[-2.0, 0.0]], [[0, 0]]),
        (T.floor, [[1.0, 1.5]], [[0, 0]]),
        (T.maximum, [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]], [[0, 0.5, 1], [1, 0.5, 0]]),
        (T.minimum, [[1.0, 2.0], [2.0, 2.0]], [[1, 0.5], [0, 0.5]]),
        (T.fmax, [[NAN, 1.0], [2.0, NAN]], [[0, 1], [1, 0]]),
        (T.fmin, [[NAN, 1.0, NAN], [2.0, NAN, NAN]], [[0, 1, 0], [1, 0, 0]]),
        (T.maximum, [[NAN, 1.0, -INF, 0.0], [2.0, NAN, -INF, -0.0]], [[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]]),
        (T.minimum, [[NAN, 1.0, INF, 0.0], [2.0, NAN, INF, -0.0]], [[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]]),
        (lambda x: T.max(x, 0), [[1.0, 4.0, 4.0, 4.0, 4.0]], [[0, 0.25, 0.25, 0.25, 0.25]]),
        (lambda x: T.min(x), [[[1.0, 4.0], [1.0, 5.0]]], [[[0.5, 0], [0.5, 0]]]),
        (T.hypot, [[0.0, 3.0], [0.0, 4.0]], [[0, 0.6], [0, 0.8]]),
        (lambda x: T.std(x), [[2.0, 2.0]], [[0, 0]]),
        (lambda x: T.norm(x), [[3.0, 4.0]], [[0.6, 0.8]]),
        (T.clip, [[0.0, 1.0, 1.5, 2.0, 3.0], 1.0, 2.0], [[0, 1, 1, 1, 0], 1, 1]),
        (T.clip, [[0.0, 1.5, 3.0], 2.0, 1.0], [[0, 0, 0], 0, 3]),
        (T.pow, [[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]], [[0, 1, 0], [0, 0, 0]]),
        (lambda x: x**0.0, [[0.0, 2.0]], [[0, 0]]),
        (lambda x: x**1, [[0.0, -2.0]], [[1, 1]]),
        (lambda x: x**3, [[0.0, -2.0]], [[0, 12]]),
        (T.pow, [[2.0, -2.0], np.array([-128, 3], "int8")], [[-128 * 2.0**-129, 12]]),
        (T.pow, [[2.0, 0.0], np.array([0, 1], "uint8")], [[0, 1]]),
        (lambda x, y: T.copysign(x, y), [[2.0, -2.0, 0.0], [-1.0, 1.0, -1.0]], [[-1, -1, 0], [0, 0, 0]]),
        (T.heaviside, [[0.0, 1.0], [0.5, 0.5]], [[0, 0], [1, 0]]),
        (T.arctan2, [[1.0], np.array([100], "int8")], [[100 / 10001]]),
        (T.logaddexp, [[-INF, INF], [0.0, 0.0]], [[0, 1], [1, 0]]),
        (T.softplus, [[-1e4, 0.0, 1e4]], [[0, 0.5, 1]]),
        (T.relu, [[-1.0, 2.0]], [[0, 1]]),
        (T.elu, [[0.0, -0.0, 2.0, -INF]], [[1, 1, 1, 0]]),
        (lambda x: T.elu(x, 0.5), [[0.0]], [[0.5]]),
        (T.nnet.celu, [[0.0, 1e3]], [[1, 1]]),
        (lambda x: T.sort(x), [[3.0, 1.0, 2.0]], [[1, 1, 1]]),
        (lambda x: x.real, [[1 + 2j]], [[1]]),
        (lambda x: x.imag, [[1 + 2j]], [[1j]]),
        (lambda x: x * x, [[1 + 2j]], [[2 - 4j]]),
        (lambda x: x * (2 + 3j), [[1.0]], [[2]]),
        (lambda x: T.cast(T.cast(x, "int64"), "float64"), [[1.5]], [[0]]),
        (lambda x: T.cast(x > 1, "float64"), [[1.5]], [[0]]),
    ],
)
def test_corners(f: Any, values: list[Any], expected: list[Any]) -> None:
    for found, wanted in zip(slopes(f, *values), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "second"),
    [
        (T.sinc, -(np.pi**2) / 3),
        (T.special.sinc, -(np.pi**2) / 3),
        (lambda x: T.sigmoid_binary_crossentropy(x, 0.3), 0.25),
        (lambda x: T.nnet.sigmoid_binary_crossentropy(x, 0.3), 0.25),
        (lambda x: (2.0 + x) ** x, np.log(2.0) ** 2 + 1.0),
    ],
)
def test_second_derivatives_at_zero_of_what_is_smooth_there(f: Any, second: float) -> None:
    x = T.dscalar("x")
    found = scanopt.interpret(grad(grad(f(x), x), x), {x: 0.0})
    np.testing.assert_allclose(found, second, rtol=1e-12)


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_an_extremum_is_not_needed_for_its_own_gradient(name: str) -> None:
    """Where a kernel rounds the extremum of computed arguments otherwise than these, a gradient would be lost."""
    x, y = T.dvector("x"), T.dvector("y")
    (part,) = grad(getattr(T, name)(T.tanh(x), y).sum(), [x])
    assert name not in scanopt.pp(part)


@pytest.mark.parametrize(
    ("f", "values", "expected"),
    [
        (lambda x: T.where(x > 0, x, 0.0), [[NAN, 1.0]], [[0, 1]]),
        (lambda x: T.where(x > 0, T.sqrt(T.where(x > 0, x, 1.0)), 0.0), [[0.0, 4.0]], [[0, 0.25]]),
        (lambda x: T.where(x > 0, x, 0.0) * np.array([INF, 1.0]), [[-1.0, 1.0]], [[0, 1]]),
        (lambda x: T.clip(x, 0.0, 1.0) * np.array([INF, 1.0]), [[-1.0, 0.5]], [[0, 1]]),
        (lambda x: T.floor(x) * np.array([INF]), [[1.5]], [[0]]),
    ],
)
def test_nothing_leaks_from_where_nothing_flows(f: Any, values: list[Any], expected: list[Any]) -> None:
    for found, wanted in zip(slopes(f, *values), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("x", [[2.0, 0.0, 3.0], [0.0, 0.0, 3.0, 5.0], [0.0, 0.0, 0.0], [2.0], []])
def test_products_with_zeros(x: list[float], order: int) -> None:
    """Products are linear in every factor: each derivative is a product of the others."""
    a, v = np.array(x), T.dvector()
    for name, last in (("prod", len(x) - 1), ("cumprod", len(x) // 2)):
        if last < 0:
            continue
        for picks in itertools.permutations(range(len(x)), order):
            y = T.prod(v) if name == "prod" else T.cumprod(v)[last]
            for i in picks:
                y = grad(y, v)[i]
            rest = [a[i] for i in range(last + 1) if i not in picks]
            expected = np.prod(rest) if set(picks) <= set(range(last + 1)) else 0.0
            assert scanopt.interpret(y, {v: a}) == expected


@pytest.mark.parametrize("axis", [(), 0, -1, (0, 2), (-1, 0), None])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max"])
def test_axes(name: str, axis: Any, keepdims: bool) -> None:
    """Axes in any order and from either end, as those of NumPy."""
    x, rng = T.dtensor3(), np.random.default_rng(0)
    a = rng.normal(size=(2, 3, 4))
    f = getattr(np, name)
    w = rng.normal(size=f(a, axis=axis, keepdims=keepdims).shape)
    found = scanopt.interpret(Lop(getattr(T, name)(x, axis=axis, keepdims=keepdims), x, T.constant(w)), {x: a})
    for index in np.ndindex(*a.shape):
        up, down = a.copy(), a.copy()
        up[index] += 1e-5
        down[index] -= 1e-5
        change = f(up, axis=axis, keepdims=keepdims) - f(down, axis=axis, keepdims=keepdims)
        np.testing.assert_allclose(found[index], (w * change).sum() / 2e-5, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "shapes", [((1,), (3,)), ((3,), (1,)), ((1, 3), (2, 1)), ((2, 3), (3,)), ((1,), (0,)), ((), (1, 2))]
)
def test_broadcasting_that_only_the_run_shows(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (np.arange(1.0, np.prod(s, dtype=int) + 1).reshape(s) for s in shapes)
    x, y = (T.tensor("float64", (None,) * len(s)) for s in shapes)
    gx, gy = scanopt.interpret(grad((x * y).sum(), [x, y]), {x: a, y: b})
    ones = np.ones(np.broadcast_shapes(*shapes))
    for g, mine, other in ((gx, a, b), (gy, b, a)):
        assert g.shape == mine.shape
        for index in np.ndindex(*mine.shape):
            unit = np.zeros(mine.shape)
            unit[index] = 1
            assert g[index] == (unit * other * ones).sum()


def test_a_sum_in_another_dtype_gives_gradients_in_the_first() -> None:
    x = T.fvector()
    for y in (
        T.sum(x, dtype="float64"),
        T.prod(x, dtype="float64"),
        T.mean(x, dtype="float64"),
        T.cumsum(x, dtype="float64"),
    ):
        g = grad(y.sum(), x)
        assert (y.dtype, g.dtype) == ("float64", "float32")
        assert scanopt.interpret(g, {x: np.ones(2, "float32")}).dtype == "float32"


def test_no_length_is_asked_of_values_that_need_not_be_computed() -> None:
    """What broadcasting may have spread has the length of what it comes from."""
    x, b = T.dvectors("x", "b")
    W = T.dmatrix("W")
    g = grad((T.exp(T.dot(x, W)) * b).sum(), b)
    nodes = [n for n in schedule([g]) if isinstance(n, Apply)]
    (summed,) = (n for n in nodes if n.op.name == "sum_to")
    assert [v.owner.inputs for v in summed.inputs[1:]] == [(b,)]
    unspread = schedule([grad((T.tanh(T.dot(x, W)) * T.dot(b, W)).sum(), x)])
    assert not {"sum_to", "shape_i"} & {n.op.name for n in unspread if isinstance(n, Apply) and n.inputs[0] is not W}


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x**2).sum(),
        lambda x: T.tanh(x).mean(),
        lambda x: ((T.exp(x) - 1.0) ** 2).sum(axis=1).sum(),
        lambda x: (2.0 * T.maximum(x, 0.0) ** 3).sum(),
        lambda x: T.log(x**2 + 1.0).sum(),
        lambda x: -T.sqrt(x**2 + 1.0).mean(),
    ],
)
def test_a_number_is_not_repeated_for_a_product(f: Callable[..., Any]) -> None:
    """The gradient of a sum is one number everywhere, and broadcasts by itself."""
    x = T.dmatrix("x")
    g = scanopt.function([x], grad(f(x), x))
    assert "broadcast_to" not in str(g.program)
    value = np.array([[0.5, -1.0, 2.0]])
    np.testing.assert_allclose(g(value), scanopt.interpret(grad(f(x), x), {x: value}), rtol=1e-15)
    assert g(np.zeros((0, 3))).shape == (0, 3)


def test_a_number_is_repeated_where_shapes_may_differ() -> None:
    x, y = T.dmatrices("x", "y")
    gx = grad((x * y).sum(), x)
    one_row = {x: np.ones((1, 3)), y: np.ones((2, 3))}
    assert scanopt.interpret(gx, one_row).tolist() == [[2.0, 2.0, 2.0]]
