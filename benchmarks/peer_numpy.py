"""The cases of peer_values.py as plain NumPy loops, one array operation after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["LOOPS", "lstm", "lstm_gradient", "positions", "rnn", "rnn_gradient", "taps"]

Array = Any


def power(A: Array, k: Array) -> Array:
    out = np.ones_like(A)
    for _ in range(int(k)):
        out = out * A
    return out


def polynomial(c: Array, x: Array) -> Array:
    x, total = float(x), 0.0
    for i, a in enumerate(c.tolist()):
        total += a * x**i
    return np.array(total)


def cumsum(x: Array) -> Array:
    out, s = np.empty_like(x), 0.0
    for i, v in enumerate(x.tolist()):
        s = out[i] = s + v
    return out


def positions(at: Array, values: Array, model: Array) -> Array:
    out = np.zeros((len(at), *model.shape))
    for t in range(len(at)):
        out[t, at[t, 0], at[t, 1]] = values[t]
    return out


def gibbs(v: Array, W: Array, bh: Array, bv: Array, n: Array) -> Array:
    rng = np.random.default_rng(1)
    for _ in range(int(n)):
        h = (rng.random((len(v), len(bh))) < 1 / (1 + np.exp(-(v @ W + bh)))).astype("float64")
        v = (rng.random((len(h), len(bv))) < 1 / (1 + np.exp(-(h @ W.T + bv)))).astype("float64")
    return v


def taps(u: Array, x0: Array, y0: Array, W: Array, V1: Array, V2: Array, F: Array, O: Array) -> Any:  # noqa: E741
    steps = len(u) - 4
    xs, ys = np.empty((steps + 3, W.shape[0])), np.empty((steps + 1, len(y0)))
    xs[:3], ys[0] = x0, y0
    for t in range(steps):
        xs[t + 3] = np.tanh(xs[t + 2] @ W + u[t + 4] @ V1 + u[t] @ V2 + ys[t] @ F)
        ys[t + 1] = xs[t] @ O
    return xs[3:], ys[1:]


def doubling(limit: Array) -> Array:
    out, p, limit = [], 1.0, float(limit)
    while not out or p <= limit:
        p *= 2.0
        out.append(p)
    return np.array(out)


def rnn(u: Array, x: Array, W: Array) -> Array:
    out = np.empty_like(u)
    for t in range(len(u)):
        x = np.tanh(x @ W + u[t])
        out[t] = x
    return out


def rnn_gradient(u: Array, x: Array, W: Array) -> Array:
    """Of the sum of squares, by W."""
    ys = rnn(u, x, W)
    back, found, turned = np.zeros_like(x), np.zeros_like(W), np.ascontiguousarray(W.T)
    rows = x.size // x.shape[-1]
    for t in range(len(u) - 1, -1, -1):
        back = (back + 2 * ys[t]) * (1 - ys[t] ** 2)
        before = ys[t - 1] if t else x
        found += before.reshape(rows, -1).T @ back.reshape(rows, -1)
        back = back @ turned
    return found


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm(X: Array, h: Array, c: Array, W: Array, U: Array) -> Array:
    out, n = np.empty_like(X), U.shape[0]
    for t in range(len(X)):
        z = X[t] @ W + h @ U
        i, f, o = sigmoid(z[..., :n]), sigmoid(z[..., n : 2 * n]), sigmoid(z[..., 2 * n : 3 * n])
        c = f * c + i * np.tanh(z[..., 3 * n :])
        h = o * np.tanh(c)
        out[t] = h
    return out


def lstm_gradient(X: Array, h: Array, c: Array, W: Array, U: Array) -> Any:
    """Of the sum of squares, by W and U."""
    n, steps = U.shape[0], len(X)
    batch = h.size // n
    X, h, c = X.reshape(steps, batch, n), h.reshape(batch, n), c.reshape(batch, n)
    hs, cs, gates = np.empty((steps + 1, batch, n)), np.empty((steps + 1, batch, n)), np.empty((steps, batch, 4 * n))
    hs[0], cs[0] = h, c
    for t in range(steps):
        z = X[t] @ W + hs[t] @ U
        gates[t, :, : 3 * n] = 1 / (1 + np.exp(-z[:, : 3 * n]))
        gates[t, :, 3 * n :] = np.tanh(z[:, 3 * n :])
        i, f, o, g = gates[t, :, :n], gates[t, :, n : 2 * n], gates[t, :, 2 * n : 3 * n], gates[t, :, 3 * n :]
        cs[t + 1] = f * cs[t] + i * g
        hs[t + 1] = o * np.tanh(cs[t + 1])
    dh, dc, dW, dU = np.zeros_like(h), np.zeros_like(c), np.zeros_like(W), np.zeros_like(U)
    turned, dz = np.ascontiguousarray(U.T), np.empty((batch, 4 * n))
    for t in range(steps - 1, -1, -1):
        i, f, o, g = gates[t, :, :n], gates[t, :, n : 2 * n], gates[t, :, 2 * n : 3 * n], gates[t, :, 3 * n :]
        th = np.tanh(cs[t + 1])
        dh = dh + 2 * hs[t + 1]
        dc = dc + dh * o * (1 - th * th)
        dz[:, :n] = dc * g * i * (1 - i)
        dz[:, n : 2 * n] = dc * cs[t] * f * (1 - f)
        dz[:, 2 * n : 3 * n] = dh * th * o * (1 - o)
        dz[:, 3 * n :] = dc * i * (1 - g * g)
        dW += X[t].T @ dz
        dU += hs[t].T @ dz
        dh, dc = dz @ turned, dc * f
    return dW, dU


def logistic(x: Array, r: Array, n: Array) -> Array:
    out, x, r = np.empty(int(n)), float(x), float(r)
    for t in range(int(n)):
        x = out[t] = r * x * (1 - x)
    return out


def logistic_lanes(x: Array, r: Array, n: Array) -> Array:
    out = np.empty((int(n), len(x)))
    for t in range(int(n)):
        x = out[t] = r * x * (1 - x)
    return out


def linear(u: Array, x: Array, a: Array) -> Array:
    out = np.empty_like(u)
    for t in range(len(u)):
        x = out[t] = a * x + u[t]
    return out


def ar2(e: Array, start: Array, a: Array, b: Array) -> Array:
    out, (y2, y1), a, b = np.empty_like(e), start.tolist(), float(a), float(b)
    for t, x in enumerate(e.tolist()):
        out[t] = y = a * y1 + b * y2 + x
        y2, y1 = y1, y
    return out


def kalman(z: Array, x: Array, P: Array, F: Array, H: Array, Q: Array, R: Array) -> Any:
    xs = np.empty((len(z), len(x)))
    for t in range(len(z)):
        x, P = F @ x, F @ P @ F.T + Q
        K = np.linalg.solve(H @ P @ H.T + R, H @ P).T
        x, P = x + K @ (z[t] - H @ x), P - K @ H @ P
        xs[t] = x
    return xs, P


def pid(target: Array, x: Array) -> Array:
    out, s, total, last = np.empty(len(target)), float(x), 0.0, 0.0
    for t, wanted in enumerate(target.tolist()):
        error = wanted - s
        total = min(max(total + error, -10.0), 10.0)
        force = 0.8 * error + 0.1 * total + 0.05 * (error - last)
        s = out[t] = s + 0.1 * (min(max(force, -1.0), 1.0) - 0.2 * s)
        last = error
    return out


def lorenz(s: Array, n: Array) -> Array:
    def field(s: Array) -> Array:
        return np.array([10.0 * (s[1] - s[0]), s[0] * (28.0 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])

    out = np.empty((int(n), 3))
    for t in range(int(n)):
        k1 = field(s)
        k2 = field(s + 0.005 * k1)
        k3 = field(s + 0.005 * k2)
        k4 = field(s + 0.01 * k3)
        s = out[t] = s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return out


def viterbi(seen: Array, change: Array, score: Array) -> Any:
    before = np.empty(seen.shape, "int64")
    for t in range(len(seen)):
        scores = score[:, None] + change
        before[t] = scores.argmax(0)
        score = scores.max(0) + seen[t]
    states, state = np.empty(len(seen), "int64"), score.argmax()
    for t in range(len(seen)):
        state = states[t] = before[len(seen) - 1 - t, state]
    return np.max(score), states


def mandelbrot(a: Array, b: Array, n: Array) -> Array:
    x, y, k = np.zeros_like(a), np.zeros_like(a), np.zeros(len(a), "int64")
    for _ in range(int(n)):
        inside = x * x + y * y < 4.0
        x, y = np.where(inside, x * x - y * y + a, x), np.where(inside, 2.0 * x * y + b, y)
        k += inside
    return k


def tree(prices: Array, up: Array, discount: Array, chance: Array) -> Array:
    values = np.maximum(100.0 - prices, 0.0)
    for _ in range(len(prices) - 1):
        prices = prices[:-1] / up
        values = np.maximum(discount * (chance * values[:-1] + (1 - chance) * values[1:]), 100.0 - prices)
    return values[0]


def particles(seen: Array, x: Array, noise: Array, starts: Array) -> Array:
    means, count = np.empty(len(seen)), len(x)
    for t, y in enumerate(seen):
        x = x / 2 + 25 * x / (1 + x**2) + 8 * np.cos(1.2 * t) + noise[t]
        logs = -0.5 * (y - x**2 / 20) ** 2
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        means[t] = weights @ x
        places = (starts[t] + np.arange(count)) / count
        x = x[np.minimum(np.searchsorted(np.cumsum(weights), places), count - 1)]
    return means


LOOPS: dict[str, Callable[..., Any]] = {
    "power": power, "polynomial": polynomial, "cumsum": cumsum, "positions": positions, "gibbs": gibbs, "taps": taps,
    "doubling": doubling, "rnn1": rnn, "rnn32": rnn, "rnn1_gradient": rnn_gradient, "rnn32_gradient": rnn_gradient,
    "lstm1": lstm, "lstm32": lstm, "lstm1_gradient": lstm_gradient, "lstm32_gradient": lstm_gradient,
    "logistic": logistic, "logistic_lanes": logistic_lanes, "linear1": linear, "linear16": linear,
    "linear256": linear, "ar2": ar2, "kalman": kalman, "pid": pid, "lorenz": lorenz, "viterbi": viterbi,
    "mandelbrot": mandelbrot, "tree": tree, "particles": particles,
}  # fmt: skip
