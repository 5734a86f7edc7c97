"""Gradients pass by what returns an array that was there, keep rows alone, and take sums of products as products."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

X, x, W = T.dmatrix("X"), T.dvector("x"), T.dmatrix("W")
VALUES = {"X": np.linspace(-1, 1, 15).reshape(5, 3), "x": np.array([0.5, -1.0, 2.0]), "W": np.eye(3)[::-1] / 2 + 0.1}

THE_SAME: dict[str, Callable[[Any], Any]] = {
    "stacked": lambda v: T.stack([v, v])[0],
    "stacked behind": lambda v: T.stack([T.exp(v), v], axis=1)[:, -1],
    "joined": lambda v: T.concatenate([v[:2], v[2:]]),
    "joined of three": lambda v: T.concatenate([v[:1], v[1:3], v[3:]]),
    "joined halves": lambda v: T.concatenate([v[: v.shape[0] // 2], v[v.shape[0] // 2 :]]),
    "complex": lambda v: T.real(T.cast(v, "complex128")),
    "reshaped": lambda v: T.reshape(T.flatten(v), v.shape),
    "with an axis": lambda v: v[None][0],
    "backwards": lambda v: v[::-1][::-1],
    "joined columns": lambda v: T.concatenate([v[:, :1], v[:, 1:]], axis=1),
    "padded": lambda v: T.concatenate([T.zeros_like(v[:1]), v])[1:],
    "padded behind": lambda v: T.concatenate([v, v[-1:]])[:-1],
    "chosen": lambda v: T.where(v > 0, v, v),
    "set": lambda v: T.set_subtensor(T.zeros_like(v)[:], v),
    "set to itself": lambda v: T.set_subtensor(v[:2], v[:2]),
    "sum of one": lambda v: v[:, None].sum(axis=1),
    "greatest of one": lambda v: v[None].max(axis=0),
    "repeated once": lambda v: T.repeat(v, 1, axis=0),
    "broadcast": lambda v: T.broadcast_to(v, v.shape),
    "first power": lambda v: v**1,
}

NOT_THE_SAME: dict[str, Callable[[Any], Any]] = {
    "the other": lambda v: T.stack([v, T.exp(v)])[-1],
    "with a gap": lambda v: T.concatenate([v[:1], v[2:]]),
    "overlapping": lambda v: T.concatenate([v[:3], v[1:2], v[2:]]),
    "in another order": lambda v: T.concatenate([v[2:], v[:2]]),
    "columns in another order": lambda v: T.concatenate([v[:, 1:], v[:, :1]], axis=1),
    "padded by two": lambda v: T.concatenate([v[:2], v])[1:],
    "chosen by rows": lambda v: T.where(v[:1] > 9, v[:1], v[:1]) + v,
    "set elsewhere": lambda v: T.set_subtensor(v[:2], v[1:3]),
    "set behind": lambda v: T.set_subtensor(T.zeros_like(v)[::-1], v),
    "added": lambda v: T.inc_subtensor(v[:2], v[:2]),
    "sum of rows": lambda v: v[:, None].sum(axis=0),
    "narrower": lambda v: T.cast(T.cast(v, "float32"), "float64"),
}


def _check(f: Any, *, rtol: float = 1e-7) -> None:
    given = [VALUES[v] for v in ("X", "x", "W")]
    np.testing.assert_allclose(f(*given), f.unoptimized(*given), rtol=rtol)


def _function(out: Any) -> Any:
    return scanopt.function([X, x, W], out, on_unused_input="ignore")


@pytest.mark.share(3)
@pytest.mark.parametrize("way", [*THE_SAME])
def test_what_is_returned_gets_the_gradient_itself(way: str) -> None:
    loss = lambda v: (T.tanh(v) ** 2).sum()  # noqa: E731
    f = _function(scanopt.grad(loss(THE_SAME[way](X)), X))
    assert f.cost <= 1.001 * _function(scanopt.grad(loss(X), X)).cost
    _check(f)


@pytest.mark.parametrize("way", [*NOT_THE_SAME])
def test_what_is_not_the_same_gets_its_own(way: str) -> None:
    out = NOT_THE_SAME[way]
    ask = scanopt.function([X], scanopt.grad((T.tanh(out(X)) ** 2).sum(), X))
    step, at = 1e-3 if way == "narrower" else 1e-6, VALUES["X"]
    loss = scanopt.function([X], (T.tanh(out(X)) ** 2).sum())
    slopes = [(loss(at + step * e) - loss(at - step * e)) / (2 * step) for e in np.eye(15).reshape(15, 5, 3)]
    np.testing.assert_allclose(ask(at).ravel(), slopes, rtol=1e-2 if way == "narrower" else 1e-6, atol=1e-4)


def test_what_lies_between_can_be_asked_for() -> None:
    both = T.stack([X, X])
    first, rest = X[:2], X[2:]
    loss = (T.tanh(both[0]) * T.concatenate([first, rest])).sum()
    _check(_function(scanopt.grad(loss, first)))
    _check(_function(scanopt.grad(loss, rest)))
    _check(_function(scanopt.grad(loss, both)[0]))
    without = _function(scanopt.grad(loss, X, consider_constant=[both]))
    np.testing.assert_allclose(without(*(VALUES[v] for v in ("X", "x", "W"))), np.tanh(VALUES["X"]))


KEPT: dict[str, Callable[[Any], Any]] = {
    "negated": lambda H: -H,
    "halved": lambda H: H * 0.5,
    "a quarter": lambda H: H / 4.0,
    "backwards": lambda H: H[:, ::-1],
    "columns": lambda H: H[:, :, None][:, :, 0],
    "transposed": lambda H: T.transpose(H[:, None], (0, 2, 1))[:, :, 0],
}


@pytest.mark.share(5)
@pytest.mark.parametrize("form", [*KEPT])
def test_a_last_row_stays_a_row(form: str) -> None:
    H = scanopt.scan(lambda v, h, W: T.tanh(v + T.dot(h, W)), X, x, [W])[0]
    f = _function(scanopt.grad((KEPT[form](H)[-1] ** 2).sum(), W))
    g = _function(scanopt.grad((KEPT[form](H[-1:])[0] ** 2).sum(), W))
    assert f.cost <= 1.05 * g.cost
    _check(f)


SUMS: dict[str, Callable[[Any, Any], Any]] = {
    "columns": lambda v, W: (v[:, None] * W).sum(axis=0),
    "columns behind": lambda v, W: (W * v[:, None]).sum(axis=0),
    "rows": lambda v, W: (v * W.T).sum(axis=1),
    "rows behind": lambda v, W: (W.T * v).sum(axis=1),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("way", [*SUMS])
def test_sums_of_products_pass_back_products(way: str) -> None:
    def slopes(product: Callable[[Any, Any], Any]) -> Any:
        H = scanopt.scan(lambda v, h, W: T.tanh(v + product(h, W)), X, x, [W])[0]
        return _function(scanopt.grad((H**2).sum(), W))

    f = slopes(SUMS[way])
    assert f.cost <= 1.01 * slopes(T.dot).cost
    _check(f)


@pytest.mark.parametrize("way", [*SUMS])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("numbers", [1, 3])
def test_lengths_that_broadcast_are_added_up(way: str, rows: int, numbers: int) -> None:
    loss = (SUMS[way](x, W) ** 2).sum()
    f = scanopt.function([x, W], list(scanopt.grad(loss, [x, W])))
    given = VALUES["x"][:numbers], VALUES["W"][:rows]
    for got, want, like in zip(f(*given), f.unoptimized(*given), given, strict=True):
        assert got.shape == like.shape
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert scanopt.grad(scanopt.grad(loss, x).sum(), W).ndim == 2


ON_THE_WAY: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "an entry": (lambda: T.stack([x, T.exp(x)]), lambda v: v[0]),
    "an array with an axis": (lambda: T.expand_dims(x, 1), lambda v: T.reshape(v, x.shape)),
    "a column": (lambda: T.expand_dims(x, 1), lambda v: (v * W).sum(axis=0)),
    "a product": (lambda: T.expand_dims(x, 1) * W, lambda v: v.sum(axis=0)),
}


@pytest.mark.parametrize("way", [*ON_THE_WAY])
def test_gradients_stop_at_constants_on_the_way(way: str) -> None:
    make, read = ON_THE_WAY[way]
    v = make()
    cost = (read(v) ** 2).sum() + (3.0 * x).sum() + W.sum()
    slopes = scanopt.grad(cost, [x, W], consider_constant=[v])
    f = scanopt.function([x, W], slopes[0], on_unused_input="ignore")
    np.testing.assert_array_equal(f(VALUES["x"], VALUES["W"]), [3.0] * 3)


@pytest.mark.parametrize("way", [*ON_THE_WAY])
def test_known_gradients_on_the_way_are_all(way: str) -> None:
    make, read = ON_THE_WAY[way]
    v = make()
    known = {v: T.ones_like(v) * 2.0}
    slopes = [scanopt.grad(cost, x, known_grads=known) for cost in ((read(v) ** 2).sum(), None)]
    f = scanopt.function([x, W], slopes, on_unused_input="ignore")
    np.testing.assert_array_equal(*f(VALUES["x"], VALUES["W"]))


def test_the_gradient_of_a_number_times_one_row() -> None:
    number = T.constant(2.0)
    row = VALUES["X"][-1].sum()
    for loss, want in ((lambda v: v * number, row), (lambda v: v / number, -row / 4)):
        f = scanopt.function([X], scanopt.grad(loss(X)[-1].sum(), number))
        np.testing.assert_allclose(f(VALUES["X"]), want)


@pytest.mark.parametrize(
    "made",
    [
        lambda x: T.where(x > 0, x, x),
        lambda x: T.reshape(x, x.shape),
        lambda x: T.set_subtensor(T.zeros_like(x)[:], x),
        lambda x: T.broadcast_to(x, x.shape),
    ],
)
def test_what_returns_an_array_is_a_variable_of_its_own(made: Any) -> None:
    """So it has a name and a gradient of its own."""
    x = T.dvector("x")
    y = made(x)
    assert y is not x
    f = scanopt.function([x], scanopt.grad((y * x).sum(), y))
    values = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(f(values), values)


def test_an_exponent_of_1_has_a_gradient() -> None:
    x, one = T.dvector("x"), T.constant(1.0, dtype="float64")
    u = T.exp(x)
    f = scanopt.function([x], scanopt.grad((u**one).sum(), one))
    values = np.array([1.0, 2.0])
    np.testing.assert_allclose(f(values), (np.exp(values) * values).sum())
