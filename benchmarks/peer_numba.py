"""The cases of peer_values.py as loops that Numba compiles: over elements, as a user of Numba writes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba  # type: ignore[import-not-found]
import numpy as np
import peer_numpy

__all__ = ["LOOPS"]

Array = Any
njit = numba.njit


@njit  # type: ignore[untyped-decorator]
def power(A: Array, k: Array) -> Array:
    out = np.ones_like(A)
    for i in range(len(A)):
        for _ in range(k.item()):
            out[i] *= A[i]
    return out


@njit  # type: ignore[untyped-decorator]
def polynomial(c: Array, x: Array) -> Array:
    total, p = 0.0, 1.0
    for i in range(len(c)):
        total += c[i] * p
        p *= x.item()
    return total


@njit  # type: ignore[untyped-decorator]
def cumsum(x: Array) -> Array:
    out, s = np.empty_like(x), 0.0
    for i in range(len(x)):
        s += x[i]
        out[i] = s
    return out


@njit  # type: ignore[untyped-decorator]
def gibbs(v: Array, W: Array, bh: Array, bv: Array, n: Array) -> Array:
    turned = np.ascontiguousarray(W.T)
    for _ in range(n.item()):
        h = v @ W  # Numba's own generator is the legacy one
        for i in range(h.shape[0]):
            for j in range(h.shape[1]):
                h[i, j] = 1.0 if np.random.random() < 1 / (1 + math.exp(-(h[i, j] + bh[j]))) else 0.0  # noqa: NPY002
        v = h @ turned
        for i in range(v.shape[0]):
            for j in range(v.shape[1]):
                v[i, j] = 1.0 if np.random.random() < 1 / (1 + math.exp(-(v[i, j] + bv[j]))) else 0.0  # noqa: NPY002
    return v


@njit  # type: ignore[untyped-decorator]
def doubling(limit: Array) -> Array:
    out, p, n = np.empty(1024), 1.0, 0
    while n == 0 or p <= limit.item():
        p *= 2.0
        out[n] = p
        n += 1
    return out[:n].copy()


@njit  # type: ignore[untyped-decorator]
def logistic(x: Array, r: Array, n: Array) -> Array:
    out, s, a = np.empty(n.item()), x.item(), r.item()
    for t in range(n.item()):
        s = a * s * (1 - s)
        out[t] = s
    return out


@njit  # type: ignore[untyped-decorator]
def logistic_lanes(x: Array, r: Array, n: Array) -> Array:
    out, s, a = np.empty((n.item(), len(x))), x.copy(), r.item()
    for t in range(n.item()):
        for i in range(len(s)):
            s[i] = a * s[i] * (1 - s[i])
            out[t, i] = s[i]
    return out


@njit  # type: ignore[untyped-decorator]
def linear1(u: Array, x: Array, a: Array) -> Array:
    out, s, b = np.empty_like(u), x.item(), a.item()
    for t in range(len(u)):
        s = b * s + u[t]
        out[t] = s
    return out


@njit  # type: ignore[untyped-decorator]
def linear(u: Array, x: Array, a: Array) -> Array:
    out, s = np.empty_like(u), x.copy()
    for t in range(len(u)):
        for i in range(len(s)):
            s[i] = a[i] * s[i] + u[t, i]
            out[t, i] = s[i]
    return out


@njit  # type: ignore[untyped-decorator]
def ar2(e: Array, start: Array, a: Array, b: Array) -> Array:
    out, y2, y1 = np.empty_like(e), start[0], start[1]
    for t in range(len(e)):
        y = a.item() * y1 + b.item() * y2 + e[t]
        out[t] = y
        y2, y1 = y1, y
    return out


@njit  # type: ignore[untyped-decorator]
def kalman(z: Array, x: Array, P: Array, F: Array, H: Array, Q: Array, R: Array) -> Any:
    xs, turned, across = np.empty((len(z), len(x))), np.ascontiguousarray(F.T), np.ascontiguousarray(H.T)
    for t in range(len(z)):
        x = F @ x
        P = F @ P @ turned + Q
        HP = H @ P
        S = HP @ across + R
        K = np.ascontiguousarray(np.linalg.solve(S, HP).T)
        x = x + K @ (z[t] - H @ x)
        P = P - K @ HP
        xs[t] = x
    return xs, P


@njit  # type: ignore[untyped-decorator]
def pid(target: Array, x: Array) -> Array:
    out, s, total, last = np.empty(len(target)), x.item(), 0.0, 0.0
    for t in range(len(target)):
        error = target[t] - s
        total = min(max(total + error, -10.0), 10.0)
        force = 0.8 * error + 0.1 * total + 0.05 * (error - last)
        s = s + 0.1 * (min(max(force, -1.0), 1.0) - 0.2 * s)
        out[t] = s
        last = error
    return out


@njit  # type: ignore[untyped-decorator]
def field(x: float, y: float, z: float) -> tuple[float, float, float]:
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z


@njit  # type: ignore[untyped-decorator]
def lorenz(s: Array, n: Array) -> Array:
    out, x, y, z = np.empty((n.item(), 3)), s[0], s[1], s[2]
    for t in range(n.item()):
        a1, b1, c1 = field(x, y, z)
        a2, b2, c2 = field(x + 0.005 * a1, y + 0.005 * b1, z + 0.005 * c1)
        a3, b3, c3 = field(x + 0.005 * a2, y + 0.005 * b2, z + 0.005 * c2)
        a4, b4, c4 = field(x + 0.01 * a3, y + 0.01 * b3, z + 0.01 * c3)
        x += 0.01 / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        y += 0.01 / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
        z += 0.01 / 6 * (c1 + 2 * c2 + 2 * c3 + c4)
        out[t, 0], out[t, 1], out[t, 2] = x, y, z
    return out


@njit  # type: ignore[untyped-decorator]
def viterbi(seen: Array, change: Array, first: Array) -> Any:
    steps, n = seen.shape
    before, score, new = np.empty((steps, n), np.int64), first.copy(), np.empty(n)
    for t in range(steps):
        for j in range(n):
            new[j], before[t, j] = score[0] + change[0, j], 0
        for i in range(1, n):
            for j in range(n):
                value = score[i] + change[i, j]
                if value > new[j]:
                    new[j], before[t, j] = value, i
        for j in range(n):
            score[j] = new[j] + seen[t, j]
    states, state = np.empty(steps, np.int64), np.argmax(score)
    for t in range(steps):
        state = before[steps - 1 - t, state]
        states[t] = state
    return np.max(score), states


@njit  # type: ignore[untyped-decorator]
def mandelbrot(a: Array, b: Array, n: Array) -> Array:
    k = np.zeros(len(a), np.int64)
    for i in range(len(a)):
        x, y = 0.0, 0.0
        for _ in range(n.item()):
            if not x * x + y * y < 4.0:
                break
            x, y = x * x - y * y + a[i], 2.0 * x * y + b[i]
            k[i] += 1
    return k


@njit  # type: ignore[untyped-decorator]
def tree(prices: Array, up: Array, discount: Array, chance: Array) -> Array:
    u, d, p = up.item(), discount.item(), chance.item()
    prices, values = prices.copy(), np.maximum(100.0 - prices, 0.0)
    for level in range(len(prices) - 1, 0, -1):
        for i in range(level):
            prices[i] /= u
            values[i] = max(d * (p * values[i] + (1 - p) * values[i + 1]), 100.0 - prices[i])
    return values[0]


@njit  # type: ignore[untyped-decorator]
def particles(seen: Array, x: Array, noise: Array, starts: Array) -> Array:
    means, count = np.empty(len(seen)), len(x)
    x, new, weights = x.copy(), np.empty(count), np.empty(count)
    for t in range(len(seen)):
        most, shift = -np.inf, 8 * math.cos(1.2 * t)
        for i in range(count):
            x[i] = x[i] / 2 + 25 * x[i] / (1 + x[i] * x[i]) + shift + noise[t, i]
            weights[i] = -0.5 * (seen[t] - x[i] * x[i] / 20) ** 2
            most = max(most, weights[i])
        total = 0.0
        for i in range(count):
            weights[i] = math.exp(weights[i] - most)
            total += weights[i]
        mean, below, k = 0.0, weights[0] / total, 0
        for i in range(count):
            mean += weights[i] / total * x[i]
        for i in range(count):
            while below < (starts[t] + i) / count and k < count - 1:
                k += 1
                below += weights[k] / total
            new[i] = x[k]
        x, new = new, x
        means[t] = mean
    return means


@njit  # type: ignore[untyped-decorator]
def rnn(u: Array, x: Array, W: Array) -> Array:
    out = np.empty_like(u)
    for t in range(len(u)):
        x = np.tanh(x @ W + u[t])
        out[t] = x
    return out


@njit  # type: ignore[untyped-decorator]
def rnn_gradient(u: Array, x: Array, W: Array) -> Array:
    ys = rnn(u, x, W)
    back, found, turned = np.zeros_like(x), np.zeros_like(W), np.ascontiguousarray(W.T)
    for t in range(len(u) - 1, -1, -1):
        back = (back + 2 * ys[t]) * (1 - ys[t] ** 2)
        before = ys[t - 1] if t else x
        for i in range(len(x)):
            for j in range(len(x)):
                found[i, j] += before[i] * back[j]
        back = back @ turned
    return found


@njit  # type: ignore[untyped-decorator]
def rnn_batch_gradient(u: Array, x: Array, W: Array) -> Array:
    ys = rnn(u, x, W)
    back, found, turned = np.zeros_like(x), np.zeros_like(W), np.ascontiguousarray(W.T)
    for t in range(len(u) - 1, -1, -1):
        back = (back + 2 * ys[t]) * (1 - ys[t] ** 2)
        before = ys[t - 1] if t else x
        found += np.ascontiguousarray(before.T) @ back
        back = back @ turned
    return found


@njit  # type: ignore[untyped-decorator]
def gate(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@njit  # type: ignore[untyped-decorator]
def lstm(X: Array, h: Array, c: Array, W: Array, U: Array) -> Array:
    """batch 1: the products of the sequence at once, the gates in one loop."""
    out, n, z0 = np.empty_like(X), U.shape[0], X @ W
    h, c = h.copy(), c.copy()
    for t in range(len(X)):
        z = z0[t] + h @ U
        for j in range(n):
            c[j] = gate(z[n + j]) * c[j] + gate(z[j]) * math.tanh(z[3 * n + j])
            h[j] = gate(z[2 * n + j]) * math.tanh(c[j])
            out[t, j] = h[j]
    return out


@njit  # type: ignore[untyped-decorator]
def lstm_batch(X: Array, h: Array, c: Array, W: Array, U: Array) -> Array:
    out, n = np.empty_like(X), U.shape[0]
    h, c = h.copy(), c.copy()
    for t in range(len(X)):
        z = X[t] @ W + h @ U
        for b in range(len(h)):
            for j in range(n):
                c[b, j] = gate(z[b, n + j]) * c[b, j] + gate(z[b, j]) * math.tanh(z[b, 3 * n + j])
                h[b, j] = gate(z[b, 2 * n + j]) * math.tanh(c[b, j])
                out[t, b, j] = h[b, j]
    return out


@njit  # type: ignore[untyped-decorator]
def lstm_back(X: Array, h: Array, c: Array, W: Array, U: Array) -> Any:
    steps, batch, n = X.shape
    hs, cs, G = np.empty((steps + 1, batch, n)), np.empty((steps + 1, batch, n)), np.empty((steps, batch, 4 * n))
    hs[0], cs[0] = h, c
    for t in range(steps):
        z = X[t] @ W + hs[t] @ U
        for b in range(batch):
            for j in range(n):
                i, f, o = gate(z[b, j]), gate(z[b, n + j]), gate(z[b, 2 * n + j])
                g = math.tanh(z[b, 3 * n + j])
                G[t, b, j], G[t, b, n + j], G[t, b, 2 * n + j], G[t, b, 3 * n + j] = i, f, o, g
                cs[t + 1, b, j] = f * cs[t, b, j] + i * g
                hs[t + 1, b, j] = o * math.tanh(cs[t + 1, b, j])
    dh, dc, dW, dU = np.zeros_like(h), np.zeros_like(c), np.zeros_like(W), np.zeros_like(U)
    turned, dz = np.ascontiguousarray(U.T), np.empty((batch, 4 * n))
    for t in range(steps - 1, -1, -1):
        for b in range(batch):
            for j in range(n):
                i, f, o, g = G[t, b, j], G[t, b, n + j], G[t, b, 2 * n + j], G[t, b, 3 * n + j]
                th, d = math.tanh(cs[t + 1, b, j]), dh[b, j] + 2 * hs[t + 1, b, j]
                e = dc[b, j] + d * o * (1 - th * th)
                dz[b, j] = e * g * i * (1 - i)
                dz[b, n + j] = e * cs[t, b, j] * f * (1 - f)
                dz[b, 2 * n + j] = d * th * o * (1 - o)
                dz[b, 3 * n + j] = e * i * (1 - g * g)
                dc[b, j] = e * f
        dW += np.ascontiguousarray(X[t].T) @ dz
        dU += np.ascontiguousarray(hs[t].T) @ dz
        dh = dz @ turned
    return dW, dU


def lstm_gradient(X: Array, h: Array, c: Array, W: Array, U: Array) -> Any:
    return lstm_back(X[:, None], h[None], c[None], W, U)


LOOPS: dict[str, Callable[..., Any]] = {
    "power": power, "polynomial": polynomial, "cumsum": cumsum, "positions": njit(peer_numpy.positions),
    "gibbs": gibbs, "taps": njit(peer_numpy.taps), "doubling": doubling, "rnn1": rnn, "rnn32": rnn,
    "rnn1_gradient": rnn_gradient, "rnn32_gradient": rnn_batch_gradient, "lstm1": lstm, "lstm32": lstm_batch,
    "lstm1_gradient": lstm_gradient, "lstm32_gradient": lstm_back, "logistic": logistic,
    "logistic_lanes": logistic_lanes, "linear1": linear1, "linear16": linear, "linear256": linear, "ar2": ar2,
    "kalman": kalman, "pid": pid, "lorenz": lorenz, "viterbi": viterbi, "mandelbrot": mandelbrot, "tree": tree,
    "particles": particles,
}  # fmt: skip
