"""Arrays of few elements, which are variables: with the bits of the interpreter."""

from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.plans import Plan

RNG = np.random.default_rng(17)


def turned(x: Any, a: Any) -> Any:
    """Products from which one number is taken away and to which another one is added: compilers may see a pattern."""
    return T.stack([x[0] * a[0] - x[1], x[1] * a[1] + x[0]])


def test_differences_and_sums_of_products_are_not_contracted() -> None:
    w, q = T.dmatrix("w"), T.dvector("q")
    states, _ = scanopt.scan(lambda w, q: 0.5 * turned(q, w), sequences=w, outputs_info=q)
    rows, _ = scanopt.scan(lambda w: turned(w, w[::-1] / 3.0), sequences=w)
    for found in (states, rows):
        f = scanopt.function([w, q], found, fp="exact", backend="c", on_unused_input="ignore")
        exact_kernel(f, [RNG.normal(size=(400, 2)), RNG.normal(size=2)])


@pytest.mark.parametrize("count", [2, 4])
def test_columns_of_rows_are_not_contracted(count: int) -> None:
    w = T.dtensor3("w")
    x = T.stack([w[..., 0] * w[..., 1] - w[..., 0], w[..., 0] * w[..., 1] + w[..., 1]] * (count // 2), axis=2)
    f = scanopt.function([w], x, fp="exact", backend="c")
    exact_kernel(f, [RNG.normal(size=(30, 5, 2))])


LAYOUTS = {
    "matrices": lambda x, a: T.dot(a, x),
    "a row by a matrix": lambda x, a: T.dot(x[0], a) * x,
    "a matrix by a column": lambda x, a: T.dot(a, x[:, 0])[:, None] * x,
    "a matrix turned": lambda x, a: T.dot(a.T, x),
    "rows": lambda x, a: T.dot(x[0], x[-1]) * a,
    "a matrix and itself": lambda x, a: T.dot(x, x) + T.dot(x, x.T),
    "of sums": lambda x, a: T.dot(x + a, x - a),
}


@pytest.mark.share(6)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_small_products_are_written_out(layout: str, n: int, dtype: str) -> None:
    x, a, steps = T.matrix("x", dtype), T.tensor3("a", dtype), T.lscalar("n")
    found, _ = scanopt.scan(lambda a, x: x / 2 + LAYOUTS[layout](x, a), sequences=a, outputs_info=x, n_steps=steps)
    f = scanopt.function([x, a, steps], found, fp="exact", backend="c")
    values = [RNG.normal(size=shape).astype(dtype) for shape in ((n, n), (20, n, n))]
    exact_kernel(f, [*values, 20])
    values[0][0] = -0.0
    values[1][:, 1] = RNG.choice(np.array([0.0, -0.0, 1.0, np.inf, np.nan], dtype), (20, n))
    exact_kernel(f, [*values, 20])


@pytest.mark.parametrize("turned", [False, True])
def test_small_products_of_arrays_that_are_not_packed(turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rounding is free, what a call is given lies as it does: a kernel has the bits of array steps for all."""
    ran: list[bool] = []
    run = Plan.run
    monkeypatch.setattr(Plan, "run", lambda *args: ran.append((found := run(*args)) is not None) or found)
    x, a, n = T.dvector("x"), T.dmatrix("a"), T.lscalar("n")
    found, _ = scanopt.scan(lambda x, a: T.dot(a, x) / T.sum(x), outputs_info=x, non_sequences=a, n_steps=n)
    f, plain = (scanopt.function([x, a, n], found, backend=b, cost="numpy") for b in ("c", "numpy"))
    a_value = RNG.normal(size=(4, 4)) ** 2
    values = [RNG.normal(size=4) ** 2, a_value.T if turned else a_value, 30]
    np.testing.assert_array_equal(f(*values), plain(*values))
    assert ran == [True]


def test_orders_that_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where NumPy adds in an order that is not among those tried, its loop is called."""
    monkeypatch.setattr("scanopt.backends.kernels.small_products.orders_of", lambda *_: None)
    x, a = T.dmatrix("x"), T.dtensor3("a")
    found, _ = scanopt.scan(lambda a, x: T.dot(a, x), sequences=a, outputs_info=x)
    f = scanopt.function([x, a], found, fp="exact", backend="c")
    assert "F[0]" in exact_kernel(f, [RNG.normal(size=(3, 3)), RNG.normal(size=(10, 3, 3))])


def test_states_of_few_elements_are_variables() -> None:
    a, b, n = T.dvector("a"), T.dvector("b"), T.lscalar("n")

    def step(a: Any, b: Any) -> list[Any]:
        return [b, T.stack([a[1] - b[0], a[0] * b[1]]) / 2, T.cast(a[::-1] * 3, "int64")]

    (xs, ys, zs), _ = scanopt.scan(step, outputs_info=[a, b, None], n_steps=n)
    for results in ([xs[-1], ys[-1]], [xs, zs], [ys, xs[-3:], zs[-1]]):
        f = scanopt.function([a, b, n], results, fp="exact", backend="c")
        exact_kernel(f, [RNG.normal(size=2), RNG.normal(size=2), 9])


def test_states_of_few_elements_that_change_their_place() -> None:
    """Each state becomes the other one, and one of them is read as an array, not by its elements."""
    a, b, w = T.dvector("a"), T.dvector("b"), T.dmatrix("w")

    def step(w: Any, a: Any, b: Any) -> list[Any]:
        return [b + 0.0, T.where(w > 0, a, T.max(b * w)), T.concatenate([a, b])]

    (xs, ys, zs), _ = scanopt.scan(step, sequences=w, outputs_info=[a, b, None])
    f = scanopt.function([a, b, w], [xs, ys, zs], fp="exact", backend="c")
    exact_kernel(f, [RNG.normal(size=3), RNG.normal(size=3), RNG.normal(size=(12, 3))])


@pytest.mark.share(6)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "bool"])
@pytest.mark.parametrize("shape", [(2,), (7,), (8,), (3, 3)])
def test_reductions_of_few_elements(shape: tuple[int, ...], dtype: str) -> None:
    x, w = T.TensorType(dtype, (None,) * len(shape))("x"), T.TensorType(dtype, (None,) * (len(shape) + 1))("w")

    def step(w: Any, x: Any) -> list[Any]:
        y = x + w
        rest = [T.mean(y * w)] if dtype[0] == "f" else [T.all(y)]
        return [T.where(w > 1, y, w), T.sum(y), T.prod(y), T.any(w), T.max(y), *rest]

    found, _ = scanopt.scan(step, sequences=w, outputs_info=[x, None, None, None, None, None])
    f = scanopt.function([x, w], found, fp="exact", backend="c")
    values = [RNG.normal(size=n) * 3 for n in (shape, (15, *shape))]
    values[1][3:6] = RNG.choice([0.0, -0.0, np.inf, -1.0], (3, *shape)) if dtype[0] == "f" else 0
    exact_kernel(f, [v.astype(dtype) for v in values])


@pytest.mark.share(4)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("k", [2, 4, 8, 9])
def test_short_rows_are_put_together_as_variables(dtype: str, k: int) -> None:
    x, c = T.TensorType(dtype, (None, k))("x"), T.TensorType(dtype, (None, k))("c")

    def step(c: Any, x: Any) -> Any:
        d = (x[:, None, :] - c[None, :, :]) ** 2
        return [c[::-1] * 3 - T.min(d.sum(axis=2), axis=0)[:, None], d.sum(axis=(0, 2)), d.mean(axis=-1)]

    found, _ = scanopt.scan(step, outputs_info=[c, None, None], non_sequences=x, n_steps=3)
    f = scanopt.function([x, c], found if dtype != "int64" else found[:2], fp="exact", backend="c")
    rng = np.random.default_rng(0)
    exact_kernel(f, [(rng.normal(size=(n, k)) * 9).astype(dtype) for n in (11, 5)])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("k", [2, 3, 4, 7, 9])
def test_extremes_of_few_that_are_zero(k: int, dtype: str) -> None:
    """With zeros of one sign or of both, and NaN."""
    x = T.TensorType(dtype, (None, k))("x")
    s0 = T.constant(0.0, dtype=dtype)
    found, _ = scanopt.scan(lambda x, s: [s + T.max(x), T.max(x), T.min(x), T.max(s - x)], x, [s0, None, None, None])
    f = scanopt.function([x], found, fp="exact", backend="c")
    values = RNG.choice([0.0, -0.0, 1.0, -1.0, np.nan], (300, k), p=[0.4, 0.35, 0.1, 0.1, 0.05]).astype(dtype)
    text = exact_kernel(f, [values])
    assert "signbit" in text
    for zero in (0.0, -0.0):
        exact_kernel(f, [np.where(values == 0, zero, values).astype(dtype)])


@pytest.mark.parametrize("k", [6, 8, 16])
def test_extremes_of_rows_and_columns_of_few(k: int) -> None:
    """With NaN and zeros of both signs; and choices by two conditions, one of which waits for the step before."""
    x, y = T.dmatrix("x"), T.dvector("y")
    m = T.dmatrix("m")

    def step(x: Any, wait: Any, s: Any, y: Any, m: Any) -> list[Any]:
        apart = T.abs(y[:, None] - x[None, :])
        rises = (x[0] > y[0]) & (wait <= 0)
        s = T.where(rises, T.clip(s - x[0], -1.0, 1.0), s * 0.5)
        ways = x[:, None] + m
        return [T.where(rises, 3, wait - 1), s, T.argmin(apart, axis=1), T.max(ways, axis=0), T.argmax(ways, axis=0)]

    zero = [T.constant(0, dtype="int64"), T.constant(0.5, dtype="float64"), None, None, None]
    found, _ = scanopt.scan(step, x, zero, [y, m])
    f = scanopt.function([x, y, m], found, fp="exact", backend="c")
    odd = np.array([0.0, -0.0, 1.0, -1.0, np.inf, np.nan])
    for draw in (lambda *n: RNG.normal(size=n), lambda *n: RNG.choice(odd, n)):
        exact_kernel(f, [draw(30, k), draw(40), draw(k, k)])
