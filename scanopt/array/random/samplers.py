"""Samplers of real numbers and of arrangements: they turn the random words of a draw into values."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from scanopt.array.random.draws import Draws, Try
from scanopt.array.random.philox import unit

__all__ = ["beta", "choice", "exponential", "gamma", "normal", "permutation", "uniform"]

Array = Any


def uniform(draws: Draws, dtype: str) -> Array:
    """Uniform in [0, 1): the upper bits of one word."""
    return draws.uniform(0, dtype)


def normal(draws: Draws, dtype: str) -> Array:
    """Standard normal."""
    return draws.normal()


def exponential(draws: Draws, dtype: str) -> Array:
    """Standard exponential, by inversion."""
    return -np.log1p(-draws.uniform())


def _gamma(draws: Draws, shape: Array, lane: int) -> tuple[Array, Array]:
    """Flat arrays (v, e) with the gamma variates v * exp(e); e is not 0 only for shapes < 1, where exp may underflow.

    The method of Marsaglia and Tsang (2000); for a shape below 1 it draws for shape + 1 and multiplies
    by u ** (1 / shape).
    """
    a = draws.spread(shape)
    small = a < 1
    d = draws.xp.where(small, a + 1, a) - 1 / 3
    c = 1 / np.sqrt(9 * d)

    def propose(t: Try) -> tuple[Array, Array]:
        d_, c_ = d[t.places], c[t.places]
        x, u = t.normal(lane), 1 - t.uniform(lane + 1)
        v = (1 + c_ * x) ** 3
        good = np.log(u) < 0.5 * x * x + d_ - d_ * v + d_ * np.log(v)
        return d_ * v, (v > 0) & good | ~np.isfinite(d_)

    value = draws.accepted(propose)
    if not small.any():
        return value, 0.0
    power = np.log(1 - Try(draws, draws.xp.arange(a.size), 0).uniform(lane + 2)) / draws.xp.where(small, a, 1)
    return value, draws.xp.where(small, power, 0.0)


def gamma(draws: Draws, shape: Array, *, dtype: str) -> Array:
    """Gamma with scale 1."""
    value, power = _gamma(draws, shape, 0)
    return (value * np.exp(power)).reshape(draws.shape)


def beta(draws: Draws, a: Array, b: Array, *, dtype: str) -> Array:
    """Beta: the share of the first of two gamma variates in their sum, from logarithms, as both may underflow."""
    first, second = _gamma(draws, a, 0), _gamma(draws, b, 3)
    ratio = np.log(second[0]) + second[1] - np.log(first[0]) - first[1]
    return (1 / (1 + np.exp(ratio))).reshape(draws.shape)


def permutation(draws: Draws, dtype: str) -> Array:
    """The numbers 0, 1, ... along the last axis in random order: the order that sorts random words."""
    words = draws.xp.broadcast_to(draws.words(), draws.shape)
    return draws.xp.argsort(words, axis=-1, kind="stable")


def choice(draws: Draws, p: Array, *, replace: bool, dtype: str) -> Array:
    """Random places in the last axis of p, with the probabilities p."""
    xp, k = draws.xp, p.shape[-1]
    rows = xp.broadcast_to(xp.asarray(p, dtype="float64").reshape(*_leading(p, draws), k), (*draws.lead, k))
    if not replace:
        return _without_replacement(draws, rows)
    below = xp.cumsum(rows.reshape(prod(draws.lead), k), axis=-1)
    u = xp.broadcast_to(draws.uniform(), draws.shape).reshape(prod(draws.lead), draws.count)
    if draws.count and k == 0:
        raise ValueError("choice: there is nothing to choose from")
    found = [xp.searchsorted(c / c[-1], x, side="right") for c, x in zip(below, u, strict=True) if k]
    return xp.stack(found).reshape(draws.shape) if found else xp.zeros(draws.shape, "int64")


def _leading(p: Array, draws: Draws) -> tuple[int, ...]:
    return tuple(p.shape[: -1 - len(draws.size)])


def _without_replacement(draws: Draws, p: Array) -> Array:
    """Distinct places, each drawn with its share of the remaining p: sort exponential waiting times of rates p."""
    wanted, xp = draws.count, draws.xp
    if prod(draws.lead) and bool(((p > 0).sum(-1) < wanted).any()):
        raise ValueError(f"choice without replacement: {wanted} places wanted, fewer have a positive probability")
    words = draws.sized((p.shape[-1],)).words()
    times = xp.where(p > 0, -np.log1p(-unit(words)) / xp.where(p > 0, p, 1), np.inf)
    return xp.argsort(times, axis=-1, kind="stable")[..., :wanted].reshape(draws.shape)
