"""The programs of models.py as a JAX user writes them: the peer of bench_compile.py.

A twin takes the inputs of the scanopt program, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from peer_jax import taps as rnn

__all__ = ["TWINS", "gated"]

jax.config.update("jax_enable_x64", True)


def power(A: Any, k: Any) -> Any:
    return lax.fori_loop(0, k, lambda _, prior: prior * A, jnp.ones_like(A))


def lstm_pair(X: Any, *args: Any) -> Any:
    half = len(args) // 2
    return [_lstm(X, args[:half]), _lstm(X, args[half:])]


def lstm_pair_gradient(*args: Any) -> Any:
    def cost(*args: Any) -> Any:
        return sum((x**2).sum() for x in lstm_pair(*args))

    return jax.grad(cost, argnums=tuple(range(len(args))))(*args)


def _lstm(X: Any, args: Any) -> Any:
    layers = len(args) // 10
    starts, weights = args[: 2 * layers], args[2 * layers :]

    def step(states: Any, x: Any) -> Any:
        new: list[Any] = []
        for n in range(layers):
            h, c = states[2 * n : 2 * n + 2]
            W = weights[8 * n : 8 * n + 8]
            i, f, o, g = (x @ W[j] + h @ W[j + 4] for j in range(4))
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            x = jax.nn.sigmoid(o) * jnp.tanh(c)
            new += [x, c]
        return tuple(new), x

    return lax.scan(step, tuple(starts), X)[1]


def gated(X: Any, *args: Any) -> Any:
    layers = len(args) // 4
    starts, weights = args[:layers], args[layers:]

    def step(states: Any, x: Any) -> Any:
        new = []
        for n, h in enumerate(states):
            W, U, V = weights[3 * n : 3 * n + 3]
            gate = jax.nn.sigmoid(x @ W + h @ U)
            x = h + gate * (jnp.tanh(x @ V + x) - h)
            new.append(x)
        return tuple(new), x

    return lax.scan(step, tuple(starts), X)[1]


TWINS: dict[str, Callable[..., Any]] = {
    "A**k": power, "RNN": rnn, "LSTM pair": lstm_pair, "its gradient": lstm_pair_gradient,
}  # fmt: skip
"""By the names of `models.MODELS`."""
