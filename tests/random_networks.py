"""Random recurrent networks: a batch, fixed weights on either side of products, gates, reductions, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T

__all__ = ["network"]


def network(seed: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Inputs, outputs and values of a network: one row or up to 20, one unit or up to 9, no step or up to 5."""
    rng = np.random.default_rng(seed)
    dtype = str(rng.choice(["float32", "float64"]))
    batch, units, inputs = (int(rng.choice(n)) for n in ([1, 2, 7, 8, 20], [1, 2, 5, 9], [1, 3, 4]))
    steps = int(rng.choice([0, 1, 2, 3, 5, 5]))
    matrix, cube = T.TensorType(dtype, (None, None)), T.TensorType(dtype, (None, None, None))
    X, h0, c0, W, U, V, b = cube("X"), *(matrix(n) for n in ("h0", "c0", "W", "U", "V")), matrix("b")
    makers: list[Any] = [
        lambda x, h, c: T.dot(h, W), lambda x, h, c: T.dot(x, U) + b, lambda x, h, c: T.dot(h * c, V),
        lambda x, h, c: T.dot(V, h.T).T, lambda x, h, c: T.dot(T.dot(h, V), W),
        lambda x, h, c: T.dot(h, W.T) - x[:, :1],
        lambda x, h, c: h - h.mean(axis=1, keepdims=True), lambda x, h, c: c[:, ::-1] * 0.5,
    ]  # fmt: skip
    gates: list[Any] = [T.tanh, T.sigmoid, lambda z: T.maximum(z, 0.1 * z), lambda z: z * 0.5]
    chosen = [(makers[rng.integers(8)], makers[rng.integers(8)], gates[rng.integers(4)]) for _ in range(2)]

    def step(x: Any, h: Any, c: Any) -> tuple[Any, Any]:
        (f, g, gate), (p, q, other) = chosen
        new = gate(f(x, h, c) + g(x, h, c)) * 0.5
        return new, other(p(x, new, c) + q(x, h, c)) * 0.25 + c * 0.5

    (h, c), _ = scanopt.scan(step, X, [h0, c0])
    outs = [h, c[-1]] if steps else [h, c]
    if rng.random() < 0.5:
        outs = T.grad((h**2).sum() + c.sum(), [W, U, V, h0], disconnected_inputs="ignore")
    shapes = [
        (steps, batch, inputs),
        *[(batch, units)] * 2,
        (units, units),
        (inputs, units),
        (units, units),
        (1, units),
    ]
    values = [(rng.normal(size=s) / 2).astype(dtype) for s in shapes]
    return [X, h0, c0, W, U, V, b], outs, values
