"""Gradients of what broadcasts: they cost what they cost written by hand, at lengths that only the run tells."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.array.lengths import length, origins, same_length, same_shape

Pair = tuple[Callable[..., Any], Callable[..., Any]]

PAIRS: dict[str, Pair] = {
    "bias": (lambda X, Y, w: scanopt.grad(((X + w) * Y).sum(), w), lambda X, Y, w: Y.sum(axis=0)),
    "scale": (lambda X, Y, w: scanopt.grad((X * w * Y).sum(), w), lambda X, Y, w: (X * Y).sum(axis=0)),
    "product": (lambda X, Y, w: scanopt.grad((T.dot(X, Y.T) * X).sum(), Y), lambda X, Y, w: T.dot(X.T, X)),
}


def _inputs() -> list[Any]:
    return [T.dmatrix("X"), T.dmatrix("Y"), T.dvector("w")]


@pytest.mark.parametrize("name", PAIRS)
def test_a_gradient_costs_what_it_costs_by_hand(name: str) -> None:
    found, by_hand = (scanopt.function(i := _inputs(), f(*i), on_unused_input="ignore").cost for f in PAIRS[name])
    assert found < 1.1 * by_hand


SHAPES = [((3, 4), (3, 4), (4,)), ((1, 4), (3, 4), (4,)), ((3, 4), (1, 4), (1,)), ((3, 1), (3, 4), (4,)),
          ((3, 4), (3, 1), (1,)), ((0, 4), (1, 4), (4,)), ((1, 1), (3, 4), (1,)), ((1, 4), (1, 1), (4,))]  # fmt: skip


@pytest.mark.share(3)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_gradients_of_lengths_of_one(shapes: list[tuple[int, ...]]) -> None:
    X, Y, w = inputs = _inputs()
    loss = ((X + w) * Y - T.tanh(Y * w) / (2 + X**2)).sum()
    f = scanopt.function(inputs, [loss, *scanopt.grad(loss, inputs)])
    values = [np.random.default_rng(i).uniform(0.5, 1, s) for i, s in enumerate(shapes)]
    at, *slopes = f(*values)
    for i, slope in enumerate(slopes):
        assert slope.shape == values[i].shape
        moved = [v + 1e-6 * (i == j) for j, v in enumerate(values)]
        assert np.allclose((f(*moved)[0] - at) * 1e6, slope.sum(), rtol=1e-4, atol=1e-4)


def test_shapes_that_do_not_fit_are_an_error_of_the_gradient() -> None:
    X, Y, w = inputs = _inputs()
    f = scanopt.function(inputs, scanopt.grad(((X + w) * Y).sum(), [X, w]))
    with pytest.raises(ValueError, match="broadcast"):
        f(np.ones((3, 4)), np.ones((3, 4)), np.ones(5))


def test_a_length_is_that_of_all_that_it_may_come_from() -> None:
    X, Y, w = _inputs()
    assert origins((X + w) * Y, 1) == ((X, 1), (w, 0), (Y, 1))
    assert same_shape((X + Y) * 2.0, Y * X)
    assert not same_shape(X + Y, X)
    assert same_length(X.sum(axis=0), 0, T.expand_dims(X, 0).mean(axis=1, keepdims=True), 2)
    f = scanopt.function([X, Y, w], [length((X + w) * Y, 1), length(T.broadcast_to(w, (3, X.shape[1])), 1)])
    for n, m, k in ((4, 4, 4), (1, 4, 1), (4, 1, 4), (1, 1, 4), (1, 0, 1), (0, 1, 0)):
        common, asked = f(np.ones((2, n)), np.ones((2, m)), np.ones(k))
        assert (common, asked) == (max({n, m, k} - {1}, default=1), n)
