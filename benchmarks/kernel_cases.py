"""Loops for which kernels matter, with the loop that a careful NumPy user writes by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import models
import numpy as np
import peer_numpy
import peer_scanopt

import scanopt
import scanopt.tensor as T

__all__ = ["Case", "cases"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """A loop: its name, its graph with values, the same by hand, the result of which is the last output."""

    name: str
    graph: models.Graph
    by_hand: Callable[..., Any]


def _normal(*shape: int) -> Array:
    return np.random.default_rng(0).normal(size=shape)


def logistic(steps: int) -> Case:
    x, r, n = T.dscalar("x"), T.dscalar("r"), T.lscalar("n")
    ys, _ = scanopt.scan(lambda s, r: r * s * (1 - s), outputs_info=[x], non_sequences=[r], n_steps=n)

    def by_hand(x: Array, r: Array, n: Array) -> Array:
        out, s, a = np.empty(int(n)), float(x), float(r)
        for t in range(int(n)):
            s = out[t] = a * s * (1 - s)
        return out

    return Case(f"logistic map, {steps:,} steps", models.Graph([x, r, n], [ys], [0.3, 3.7, steps]), by_hand)


def lanes(steps: int) -> Case:
    u, x = T.dmatrix("u"), T.dvector("x")
    ys, _ = scanopt.scan(lambda u, s: T.tanh(0.5 * s + u), sequences=[u], outputs_info=[x])

    def by_hand(u: Array, x: Array) -> Array:
        out = np.empty_like(u)
        for t, row in enumerate(u):
            x = np.tanh(0.5 * x + row, out=out[t])
        return out

    values = [_normal(steps, 16), _normal(16)]
    return Case(f"recurrence, 16 lanes, {steps:,} steps", models.Graph([u, x], [ys], values), by_hand)


def ar2(steps: int) -> Case:
    e, start, a = T.dvector("e"), T.dvector("start"), T.dscalar("a")

    def step(e: Any, y1: Any, y2: Any, a: Any) -> Any:
        return a * y1 - 0.3 * T.sin(y2) + e

    info = [dict(initial=start, taps=[-1, -2])]
    ys, _ = scanopt.scan(step, sequences=[e], outputs_info=info, non_sequences=[a])

    def by_hand(e: Array, start: Array, a: Array) -> Array:
        out, (y2, y1) = np.empty(len(e)), start
        for t in range(len(e)):
            out[t] = a * y1 - 0.3 * np.sin(y2) + e[t]
            y1, y2 = out[t], y1
        return out

    values = [_normal(steps), _normal(2), 0.5]
    return Case(f"AR(2) with a sine, {steps:,} steps", models.Graph([e, start, a], [ys], values), by_hand)


def pid(steps: int) -> Case:
    inputs, xs, _ = peer_scanopt.pid()
    return Case(f"PID control, {steps:,} steps", models.Graph(inputs, [xs], [_normal(steps), 0.1]), peer_numpy.pid)


def lorenz(steps: int) -> Case:
    s, n = T.dvector("s"), T.lscalar("n")

    def field(s: Any) -> list[Any]:
        return [10.0 * (s[1] - s[0]), s[0] * (28.0 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]]

    def step(s: Any, stack: Any = T.stack) -> Any:
        k1 = stack(field(s))
        k2 = stack(field(s + 0.005 * k1))
        k3 = stack(field(s + 0.005 * k2))
        k4 = stack(field(s + 0.01 * k3))
        return s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    ys, _ = scanopt.scan(step, outputs_info=[s], n_steps=n)

    def by_hand(s: Array, n: Array) -> Array:
        out = np.empty((int(n), 3))
        for t in range(int(n)):
            s = out[t] = step(s, np.array)
        return out

    return Case(f"Runge-Kutta, Lorenz, {steps:,} steps", models.Graph([s, n], [ys], [_normal(3), steps]), by_hand)


def mandelbrot(points: int, steps: int) -> Case:
    a, b = T.dvector("a"), T.dvector("b")

    def step(x: Any, y: Any, k: Any, a: Any, b: Any) -> list[Any]:
        inside = x * x + y * y < 4.0
        return [T.where(inside, x * x - y * y + a, x), T.where(inside, 2.0 * x * y + b, y), k + T.cast(inside, "int64")]

    start = [T.zeros_like(a), T.zeros_like(a), T.zeros_like(a, dtype="int64")]
    (_, _, ks), _ = scanopt.scan(step, outputs_info=start, non_sequences=[a, b], n_steps=steps)

    def by_hand(a: Array, b: Array) -> Array:
        x, y, k = np.zeros_like(a), np.zeros_like(a), np.zeros(len(a), "int64")
        for _ in range(steps):
            inside = x * x + y * y < 4.0
            x, y = np.where(inside, x * x - y * y + a, x), np.where(inside, 2.0 * x * y + b, y)
            k += inside
        return k

    values = [*np.random.default_rng(0).uniform(-2, 2, (2, points))]
    return Case(f"Mandelbrot, {points:,} points, {steps} steps", models.Graph([a, b], [ks[-1]], values), by_hand)


def rnn(steps: int, units: int) -> Case:
    u, x, W = T.dmatrix("u"), T.dvector("x"), T.dmatrix("W")
    ys, _ = scanopt.scan(lambda u, s, W: T.tanh(T.dot(s, W) + u), sequences=[u], outputs_info=[x], non_sequences=[W])

    def by_hand(u: Array, x: Array, W: Array) -> Array:
        out = np.empty_like(u)
        for t, row in enumerate(u):
            x = np.tanh(x @ W + row, out=out[t])
        return out

    values = [_normal(steps, units), _normal(units), _normal(units, units) / units]
    return Case(f"RNN, batch 1, {units} units, {steps:,} steps", models.Graph([u, x, W], [ys], values), by_hand)


def lstm(steps: int, units: int) -> Case:
    X, h, c, W, U = T.dmatrix("X"), T.dvector("h"), T.dvector("c"), T.dmatrix("W"), T.dmatrix("U")

    def step(x: Any, h: Any, c: Any, W: Any, U: Any) -> list[Any]:
        z = T.dot(x, W) + T.dot(h, U)
        i, f, o, g = (z[k * units : (k + 1) * units] for k in range(4))
        c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
        return [T.sigmoid(o) * T.tanh(c), c]

    (hs, _), _ = scanopt.scan(step, sequences=[X], outputs_info=[h, c], non_sequences=[W, U])

    def by_hand(X: Array, h: Array, c: Array, W: Array, U: Array) -> Array:
        out = np.empty((len(X), units))
        for t, x in enumerate(X @ W):
            z = x + h @ U
            i, f, o = (1 / (1 + np.exp(-z[k * units : (k + 1) * units])) for k in range(3))
            c = f * c + i * np.tanh(z[3 * units :])
            h = out[t] = o * np.tanh(c)
        return out

    values = [_normal(steps, units), *_normal(2, units), *(_normal(2, units, 4 * units) / units)]
    return Case(f"LSTM, batch 1, {units} units, {steps} steps", models.Graph([X, h, c, W, U], [hs], values), by_hand)


def doubling(limit: float) -> Case:
    x = T.dscalar("limit")
    ys, _ = scanopt.scan(
        lambda p, m: (p * 2.0, scanopt.until(p * 2.0 > m)), outputs_info=[T.constant(1.0, dtype="float64")],
        non_sequences=[x], n_steps=1024,
    )  # fmt: skip

    def by_hand(x: Array) -> Array:
        out, p = [], 1.0
        while not out or p <= x:
            p *= 2.0
            out.append(p)
        return np.array(out)

    return Case(f"doubling until {limit:g}", models.Graph([x], [ys], [limit]), by_hand)


def cases(scale: float) -> list[Case]:
    """All loops.  scale: of their numbers of steps."""

    def size(n: int) -> int:
        return max(int(n * scale), 5)

    return [
        logistic(size(1_000_000)), lanes(size(1000)), ar2(size(10_000)), pid(size(10_000)), lorenz(size(1000)),
        mandelbrot(1000, size(100)), rnn(size(1000), 32), lstm(size(100), 128), doubling(1000.0), doubling(1e300),
    ]  # fmt: skip
