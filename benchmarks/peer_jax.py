"""The cases of peer_values.py in JAX: `lax.scan` and its relatives, each under jit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

__all__ = ["LOOPS"]

jax.config.update("jax_enable_x64", True)
Array = Any


def power(A: Array, k: Array) -> Array:
    return lax.fori_loop(0, k, lambda _, p: p * A, jnp.ones_like(A))


def polynomial(c: Array, x: Array) -> Array:
    return lax.scan(lambda s, ci: (s + ci[0] * x ** ci[1], None), 0.0, (c, jnp.arange(len(c))))[0]


def cumsum(x: Array) -> Array:
    return lax.scan(lambda s, x: (s + x, s + x), 0.0, x)[1]


def positions(at: Array, values: Array, model: Array) -> Array:
    return lax.scan(lambda _, x: (None, jnp.zeros_like(model).at[x[0][0], x[0][1]].set(x[1])), None, (at, values))[1]


def gibbs(v: Array, W: Array, bh: Array, bv: Array, n: Array) -> Array:
    def step(_: Any, carry: Any) -> Any:
        v, key = carry
        key, one, two = jax.random.split(key, 3)
        h = jax.random.bernoulli(one, jax.nn.sigmoid(v @ W + bh)).astype(v.dtype)
        return jax.random.bernoulli(two, jax.nn.sigmoid(h @ W.T + bv)).astype(v.dtype), key

    return lax.fori_loop(0, n, step, (v, jax.random.key(1)))[0]


def taps(u: Array, x0: Array, y0: Array, W: Array, V1: Array, V2: Array, F: Array, O: Array) -> Any:  # noqa: E741
    def step(carry: Any, us: Any) -> Any:
        x3, x2, x1, y1 = carry
        u4, u0 = us
        x = jnp.tanh(x1 @ W + u0 @ V1 + u4 @ V2 + y1 @ F)
        y = x3 @ O
        return (x2, x1, x, y), (x, y)

    return lax.scan(step, (x0[0], x0[1], x0[2], y0), (u[:-4], u[4:]))[1]


def doubling(limit: Array) -> Array:
    def step(carry: Any) -> Any:
        out, p, n = carry
        return out.at[n].set(2 * p), 2 * p, n + 1

    out, _, n = lax.while_loop(lambda c: (c[2] == 0) | (c[1] <= limit), step, (jnp.zeros(1024), 1.0, 0))
    return out, n


def rnn(u: Array, x: Array, W: Array) -> Array:
    def step(x: Array, u: Array) -> Any:
        x = jnp.tanh(x @ W + u)
        return x, x

    return lax.scan(step, x, u)[1]


def rnn_gradient(u: Array, x: Array, W: Array) -> Array:
    return jax.grad(lambda W: (rnn(u, x, W) ** 2).sum())(W)


def lstm(X: Array, h: Array, c: Array, W: Array, U: Array) -> Array:
    def step(carry: Any, x: Array) -> Any:
        h, c = carry
        i, f, o, g = jnp.split(x + h @ U, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (h, c), X @ W)[1]


def lstm_gradient(X: Array, h: Array, c: Array, W: Array, U: Array) -> Any:
    return jax.grad(lambda W, U: (lstm(X, h, c, W, U) ** 2).sum(), argnums=(0, 1))(W, U)


def logistic(n: int, x: Array, r: Array) -> Array:
    def step(x: Array, _: Any) -> Any:
        x = r * x * (1 - x)
        return x, x

    return lax.scan(step, x, None, length=n)[1]


def linear(u: Array, x: Array, a: Array) -> Array:
    def step(x: Array, u: Array) -> Any:
        x = a * x + u
        return x, x

    return lax.scan(step, x, u)[1]


def ar2(e: Array, start: Array, a: Array, b: Array) -> Array:
    def step(carry: Any, e: Array) -> Any:
        y2, y1 = carry
        y = a * y1 + b * y2 + e
        return (y1, y), y

    return lax.scan(step, (start[0], start[1]), e)[1]


def kalman(z: Array, x: Array, P: Array, F: Array, H: Array, Q: Array, R: Array) -> Any:
    def step(carry: Any, z: Array) -> Any:
        x, P = carry
        x, P = F @ x, F @ P @ F.T + Q
        K = jnp.linalg.solve(H @ P @ H.T + R, H @ P).T
        x, P = x + K @ (z - H @ x), P - K @ H @ P
        return (x, P), x

    (_, P), xs = lax.scan(step, (x, P), z)
    return xs, P


def pid(target: Array, x: Array) -> Array:
    def step(carry: Any, target: Array) -> Any:
        x, total, last = carry
        error = target - x
        total = jnp.clip(total + error, -10.0, 10.0)
        force = 0.8 * error + 0.1 * total + 0.05 * (error - last)
        x = x + 0.1 * (jnp.clip(force, -1.0, 1.0) - 0.2 * x)
        return (x, total, error), x

    return lax.scan(step, (x, 0.0, 0.0), target)[1]


def lorenz(n: int, s: Array) -> Array:
    def field(s: Array) -> Array:
        return jnp.stack([10.0 * (s[1] - s[0]), s[0] * (28.0 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])

    def step(s: Array, _: Any) -> Any:
        k1 = field(s)
        k2 = field(s + 0.005 * k1)
        k3 = field(s + 0.005 * k2)
        k4 = field(s + 0.01 * k3)
        s = s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s, s

    return lax.scan(step, s, None, length=n)[1]


def viterbi(seen: Array, change: Array, first: Array) -> Any:
    def forward(score: Array, seen: Array) -> Any:
        scores = score[:, None] + change
        return scores.max(0) + seen, scores.argmax(0)

    def back(state: Array, before: Array) -> Any:
        return before[state], before[state]

    score, before = lax.scan(forward, first, seen)
    return score.max(), lax.scan(back, score.argmax(), before[::-1])[1]


def mandelbrot(a: Array, b: Array, n: Array) -> Array:
    def step(_: Any, carry: Any) -> Any:
        x, y, k = carry
        inside = x * x + y * y < 4.0
        return jnp.where(inside, x * x - y * y + a, x), jnp.where(inside, 2.0 * x * y + b, y), k + inside

    return lax.fori_loop(0, n, step, (jnp.zeros_like(a), jnp.zeros_like(a), jnp.zeros(a.shape, int)))[2]


def tree(prices: Array, up: Array, discount: Array, chance: Array) -> Array:
    def back(_: Any, carry: Any) -> Any:
        values, prices = carry
        prices = prices / up
        later = discount * (chance * values + (1 - chance) * jnp.concatenate([values[1:], values[-1:]]))
        return jnp.maximum(later, 100.0 - prices), prices

    return lax.fori_loop(0, len(prices) - 1, back, (jnp.maximum(100.0 - prices, 0.0), prices))[0][0]


def particles(seen: Array, x: Array, noise: Array, starts: Array) -> Array:
    count = len(x)

    def step(x: Array, given: Any) -> Any:
        y, noise, start, t = given
        x = x / 2 + 25 * x / (1 + x**2) + 8 * jnp.cos(1.2 * t) + noise
        logs = -0.5 * (y - x**2 / 20) ** 2
        weights = jnp.exp(logs - logs.max())
        weights = weights / weights.sum()
        places = (start + jnp.arange(count)) / count
        return x[jnp.minimum(jnp.searchsorted(jnp.cumsum(weights), places), count - 1)], weights @ x

    return lax.scan(step, x, (seen, noise, starts, jnp.arange(len(seen))))[1]


def _counted(f: Callable[..., Any]) -> Callable[..., Any]:
    """A loop whose number of steps, its last argument, `lax.scan` must know when it is compiled."""
    made = jax.jit(f, static_argnums=0)
    return lambda *args: made(int(args[-1]), *args[:-1])


def _doubling(limit: Array) -> Array:
    out, n = _DOUBLING(limit)
    return out[: int(n)]


_DOUBLING = jax.jit(doubling)
jit = partial(jax.jit)
LOOPS: dict[str, Callable[..., Any]] = {
    "power": jit(power), "polynomial": jit(polynomial), "cumsum": jit(cumsum), "positions": jit(positions),
    "gibbs": jit(gibbs), "taps": jit(taps), "doubling": _doubling, "rnn1": jit(rnn), "rnn32": jit(rnn),
    "rnn1_gradient": jit(rnn_gradient), "rnn32_gradient": jit(rnn_gradient), "lstm1": jit(lstm), "lstm32": jit(lstm),
    "lstm1_gradient": jit(lstm_gradient), "lstm32_gradient": jit(lstm_gradient), "logistic": _counted(logistic),
    "logistic_lanes": _counted(logistic), "linear1": jit(linear), "linear16": jit(linear), "linear256": jit(linear),
    "ar2": jit(ar2), "kalman": jit(kalman), "pid": jit(pid), "lorenz": _counted(lorenz), "viterbi": jit(viterbi),
    "mandelbrot": jit(mandelbrot), "tree": jit(tree), "particles": jit(particles),
}  # fmt: skip
