"""Gradients checked against central differences, optimized and not."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from shares import EVERYTHING

import scanopt
import scanopt.tensor as T
from scanopt.array.variable import Variable
from scanopt.gradient import Rop, grad

Array = np.ndarray[Any, Any]


def differences(f: Callable[[Sequence[Array]], float], values: Sequence[Array], i: int, step: float = 1e-5) -> Array:
    """The derivatives of f with respect to values[i]."""
    out = np.zeros(values[i].shape)
    for index in np.ndindex(*values[i].shape):
        ends: list[float] = []
        for sign in (1, -1):
            moved = [v.copy() for v in values]
            moved[i][index] += sign * step
            ends.append(f(moved))
        out[index] = (ends[0] - ends[1]) / (2 * step)
    return out


def check(
    cost: Variable,
    inputs: Sequence[Variable],
    values: Sequence[Array],
    order: int = 2,
    rng: np.random.Generator | None = None,
    wrt: Sequence[Variable] | None = None,
    optimized: bool = True,
) -> None:
    """The gradient of a float64 cost: by differences, optimized, forwards; and so on to the given order.

    Gradients of gradients, of which programs are large, are optimized in `make test-all`.
    """
    rng = rng or np.random.default_rng(0)
    wrt = list(inputs) if wrt is None else list(wrt)
    gradients = grad(cost, wrt, disconnected_inputs="ignore")
    known = dict(zip(inputs, values, strict=True))
    found = scanopt.interpret(gradients, known)
    for x, g in zip(wrt, found, strict=True):
        i = next(i for i, v in enumerate(inputs) if v is x)
        assert g.shape == values[i].shape
        expected = differences(lambda v: float(scanopt.interpret(cost, dict(zip(inputs, v, strict=True)))), values, i)
        np.testing.assert_allclose(g, expected, rtol=1e-5, atol=1e-6, err_msg=f"gradient with respect to {x}")
    if optimized:
        compiled = scanopt.function(list(inputs), gradients, on_unused_input="ignore")
        for a, b in zip(compiled(*values), found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)
    tangents = [rng.normal(size=g.shape) for g in found]
    along = Rop(cost, wrt, [T.constant(t) for t in tangents], "ignore")
    expected = sum(float((g * t).sum()) for g, t in zip(found, tangents, strict=True))
    np.testing.assert_allclose(scanopt.interpret(along, known), expected, rtol=1e-9, atol=1e-10)
    if order > 1:
        weights = [T.constant(rng.normal(size=g.shape)) for g in found]
        total = sum(((g * w).sum() for g, w in zip(gradients, weights, strict=True)), T.constant(0.0, dtype="float64"))
        check(total, inputs, values, order - 1, rng, wrt, optimized and EVERYTHING)
