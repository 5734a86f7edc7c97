"""The programs of models.py as loops that a careful NumPy user writes: arrays made once, results by `out=`."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["ar2", "lstm", "polynomial", "power", "rnn"]

Array = np.ndarray[Any, Any]


def power(A: Array, k: Array) -> Array:
    out = np.ones_like(A)
    for _ in range(int(k)):
        np.multiply(out, A, out=out)
    return out


def polynomial(c: Array, x: Array) -> Array:
    terms = np.empty_like(c)
    for i in range(len(c)):
        terms[i] = c[i] * x**i
    return np.asarray(terms.sum())


def ar2(a: Array, b: Array, e: Array, start: Array) -> Array:
    out = np.empty_like(e)
    two_ago, one_ago = start
    for t in range(len(e)):
        out[t] = a * one_ago + b * two_ago + e[t]
        two_ago, one_ago = one_ago, out[t]
    return out


def rnn(u: Array, x0: Array, y0: Array, W: Array, V1: Array, V2: Array, F: Array, O: Array) -> list[Array]:  # noqa: E741
    steps, hidden = len(u) - 4, x0.shape[1]
    xs = np.empty((3 + steps, hidden))
    xs[:3] = x0
    ys = np.empty((1 + steps, len(y0)))
    ys[0] = y0
    part = np.empty(hidden)
    for t in range(steps):
        x = xs[t + 3]
        np.dot(xs[t + 2], W, out=x)
        for value, weights in ((u[t + 4], V1), (u[t], V2), (ys[t], F)):
            np.dot(value, weights, out=part)
            np.add(x, part, out=x)
        np.tanh(x, out=x)
        np.dot(xs[t], O, out=ys[t + 1])
    return [xs[3:], ys[1:]]


def lstm(X: Array, h: Array, c: Array, *weights: Array) -> Array:
    out = np.empty((len(X), len(h)))
    i, f, o, g, part = (np.empty(len(h)) for _ in range(5))
    c = c.copy()
    one = np.ones(())
    for t in range(len(X)):
        for n, gate in enumerate((i, f, o, g)):
            np.dot(X[t], weights[n], out=gate)
            np.dot(h, weights[n + 4], out=part)
            np.add(gate, part, out=gate)
        for gate in (i, f, o):
            np.negative(gate, out=gate)
            np.exp(gate, out=gate)
            np.add(gate, one, out=gate)
            np.reciprocal(gate, out=gate)
        np.tanh(g, out=g)
        np.multiply(i, g, out=i)
        np.multiply(f, c, out=f)
        np.add(f, i, out=c)
        h = out[t]
        np.tanh(c, out=h)
        np.multiply(o, h, out=h)
    return out
