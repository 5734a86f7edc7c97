"""The cases that bench_peers.py compares, and the values that every peer is given."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["CASES", "Case", "known_case"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """A loop that all peers run.

    values: makes its arguments from one of its sizes.  random: whether results are drawn, so that peers differ.
    """

    title: str
    small: tuple[int, ...]
    large: tuple[int, ...]
    values: Callable[..., list[Any]]
    random: bool = False


def normal(*shape: int, scale: float = 1.0) -> Array:
    return scale * np.random.default_rng(sum(shape) + len(shape)).normal(size=shape)


def uniform(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).uniform(size=shape)


def scalar(x: float) -> Array:
    return np.array(x)


def positions(n: int, side: int) -> list[Any]:
    return [np.random.default_rng(0).integers(0, side, (n, 2)), normal(n), np.zeros((side, side))]


def gibbs(steps: int, batch: int, seen: int, hidden: int) -> list[Any]:
    return [
        np.round(uniform(batch, seen)),
        normal(seen, hidden, scale=0.1),
        normal(hidden),
        normal(seen),
        scalar(steps),
    ]


def taps(steps: int, units: int) -> list[Any]:
    weights = [normal(*s, scale=0.1) for s in ((units, units), (8, units), (8, units), (4, units), (units, 4))]
    return [normal(steps + 4, 8), np.zeros((3, units)), np.zeros(4), *weights]


def rnn(steps: int, batch: int, units: int) -> list[Any]:
    shape = (batch, units) if batch > 1 else (units,)
    return [normal(steps, *shape), normal(*shape), normal(units, units, scale=1 / units)]


def lstm(steps: int, batch: int, units: int) -> list[Any]:
    shape = (batch, units) if batch > 1 else (units,)
    weights = [normal(units, 4 * units, scale=1 / units), normal(units, 4 * units, scale=0.5 / units)]
    return [normal(steps, *shape), np.zeros(shape), np.zeros(shape), *weights]


def linear(steps: int, lanes: int) -> list[Any]:
    return [normal(steps, lanes), normal(lanes), 0.5 + 0.5 * uniform(lanes)]


def kalman(steps: int) -> list[Any]:
    F, H = np.eye(4) + np.eye(4, k=2), np.eye(2, 4)
    return [normal(steps, 2), np.zeros(4), 10 * np.eye(4), F, H, 0.1 * np.eye(4), np.eye(2)]


def viterbi(steps: int, states: int) -> list[Any]:
    return [normal(steps, states), normal(states, states), normal(states)]


def tree(levels: int) -> list[Any]:
    up = np.exp(0.3 * np.sqrt(1.0 / levels))
    discount = np.exp(-0.05 / levels)
    chance = (1 / discount - 1 / up) / (up - 1 / up)
    return [100.0 * up ** np.arange(levels, -levels - 1.0, -2), scalar(up), scalar(discount), scalar(chance)]


def particles(steps: int, count: int) -> list[Any]:
    return [5 + normal(steps), normal(count), normal(steps, count, scale=3.0), uniform(steps)]


def lanes(steps: int, count: int) -> list[Any]:
    return [0.1 + 0.8 * uniform(count), scalar(3.7), np.array(steps)]


def points(count: int, steps: int) -> list[Any]:
    return [4 * uniform(count) - 2, 4 * uniform(count + 1)[:count] - 2, np.array(steps)]


CASES: dict[str, Case] = {
    "power": Case("A**k", (1000, 10), (1000, 1000), lambda n, k: [np.linspace(0.9, 1.0, n), np.array(k)]),
    "polynomial": Case("polynomial", (10,), (10_000,), lambda n: [np.linspace(-1.0, 1.0, n), scalar(0.99)]),
    "cumsum": Case("cumulative sum", (1000,), (1_000_000,), lambda n: [normal(n)]),
    "positions": Case("positions set in a matrix", (10, 5), (1000, 32), positions),
    "gibbs": Case("Gibbs chain", (10, 1, 32, 16), (100, 16, 256, 128), gibbs, random=True),
    "taps": Case("RNN of several taps", (10, 16), (1000, 32), taps),
    "doubling": Case("doubling until", (1000,), (10**300,), lambda n: [scalar(float(n))]),
    "rnn1": Case("RNN, batch 1", (10, 1, 16), (1000, 1, 32), rnn),
    "rnn32": Case("RNN, batch 32", (10, 32, 16), (200, 32, 64), rnn),
    "rnn1_gradient": Case("RNN, batch 1, gradient", (10, 1, 16), (1000, 1, 32), rnn),
    "rnn32_gradient": Case("RNN, batch 32, gradient", (10, 32, 16), (200, 32, 64), rnn),
    "lstm1": Case("LSTM, batch 1", (10, 1, 16), (100, 1, 128), lstm),
    "lstm32": Case("LSTM, batch 32", (10, 32, 16), (100, 32, 64), lstm),
    "lstm1_gradient": Case("LSTM, batch 1, gradient", (10, 1, 16), (100, 1, 128), lstm),
    "lstm32_gradient": Case("LSTM, batch 32, gradient", (10, 32, 16), (100, 32, 64), lstm),
    "logistic": Case("logistic map", (1000,), (1_000_000,), lambda n: [scalar(0.3), scalar(3.7), np.array(n)]),
    "logistic_lanes": Case("logistic map, lanes", (10, 1000), (1000, 1000), lanes),
    "linear1": Case("linear recurrence", (100,), (100_000,), lambda n: [normal(n), scalar(0.2), scalar(0.9)]),
    "linear16": Case("linear recurrence, 16 lanes", (100, 16), (10_000, 16), linear),
    "linear256": Case("linear recurrence, 256 lanes", (100, 256), (2000, 256), linear),
    "ar2": Case("AR(2)", (100,), (10_000,), lambda n: [normal(n), np.zeros(2), scalar(1.4), scalar(-0.7)]),
    "kalman": Case("Kalman filter", (10,), (1000,), kalman),
    "pid": Case("PID control", (100,), (10_000,), lambda n: [normal(n), scalar(0.1)]),
    "lorenz": Case("Runge-Kutta, Lorenz", (10,), (1000,), lambda n: [np.array([1.0, 2.0, 3.0]), np.array(n)]),
    "viterbi": Case("Viterbi", (10, 8), (1000, 32), viterbi),
    "mandelbrot": Case("Mandelbrot", (100, 10), (10_000, 100), points),
    "tree": Case("binomial option tree", (10,), (500,), tree),
    "particles": Case("particle filter", (10, 100), (100, 1000), particles),
}  # fmt: skip


def known_case(name: str) -> str:
    """The name of a case, as an argument of a command.  Raises ArgumentTypeError for others."""
    if name not in CASES:
        near = difflib.get_close_matches(name, CASES, 3)
        raise argparse.ArgumentTypeError(f"no case is named {name!r}{'; near: ' * bool(near)}{', '.join(near)}")
    return name
