"""Samplers of counts: integers of a range, binomial, Poisson and multinomial.

Small means by inversion, large ones by transformed rejection (W. Hörmann: The generation of
binomial random variates, 1993; The transformed rejection method for generating Poisson random
variables, 1993).  Which of them serves an element depends on its own parameters alone.
"""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np

from scanopt.array.random.draws import Draws, Try
from scanopt.array.random.philox import multiply_high

__all__ = ["binomial", "integers", "multinomial", "poisson"]

Array = Any

_SMALL = 10.0  # means below are inverted
_MOST = 110  # no 53-bit uniform reaches a count above, for means below _SMALL
_TAIL = (
    0.08106146679532726, 0.04134069595540929, 0.02767792568499834, 0.02079067210376509,
    0.01664469118982119, 0.01387612882307075, 0.01189670994589177, 0.01041126526197209,
    0.009255462182712733, 0.008330563433362871,
)  # fmt: skip


def integers(draws: Draws, span: Array, *, dtype: str) -> Array:
    """Uniform integers in [0, span), without bias (D. Lemire, 2019)."""
    xp, shape = draws.xp, draws.shape or (1,)
    s = xp.maximum(xp.atleast_1d(xp.asarray(span, dtype="int64")), 1).astype("uint64")
    words = xp.atleast_1d(draws.words())
    out = xp.broadcast_to(multiply_high(words, s), shape).astype("int64").reshape(-1)
    low, flat = (xp.broadcast_to(x, shape).reshape(-1) for x in (words * s, s))
    unsure = xp.nonzero(low < flat)[0]
    again = unsure[low[unsure] < _uneven(flat[unsure])]

    def propose(t: Try) -> tuple[Array, Array]:
        w, s_ = t.words(), flat[t.places]
        return multiply_high(w, s_).astype("int64"), w * s_ >= _uneven(s_)

    if again.size:
        out[again] = draws.accepted(propose, again, 1)
    return out.reshape(draws.shape)


def _uneven(span: Array) -> Array:
    """2**64 modulo span."""
    return (~span + np.uint64(1)) % span


def _log_factorial_tail(xp: Any, k: Array) -> Array:
    """log k! less Stirling's log sqrt(2 pi) + (k + 1/2) log(k + 1) - (k + 1)."""
    square = (k + 1.0) ** 2
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
    known = xp.asarray(_TAIL)[xp.clip(k, 0, 9).astype("int64")]
    return xp.where(k <= 9, known, series)


def binomial(draws: Draws, n: Array, p: Array, *, dtype: str, lane: int = 0) -> Array:
    """How many of n trials succeed, each with probability p.  One trial: whether uniform < p."""
    xp = draws.xp
    once = xp.asarray(draws.uniform(lane) < p)
    if bool((xp.asarray(n) == 1).all()):
        return once
    n_, p_ = xp.maximum(draws.spread(n), 0), xp.clip(draws.spread(p), 0, 1)
    p_ = xp.where(np.isnan(p_), 0.0, p_)
    rare = xp.minimum(p_, 1 - p_)
    large = n_ * rare >= _SMALL
    u = xp.broadcast_to(draws.uniform(lane), draws.shape).reshape(-1)
    k = _binomial_inverse(xp, 1 - u, xp.where(large, 0.0, n_), rare)
    places = xp.nonzero(large)[0]
    if places.size:
        k[places] = draws.accepted(_BinomialTry(n_, rare, lane), places)
    k = xp.where(p_ > 0.5, n_ - k, k)
    return xp.where(n_ == 1, xp.broadcast_to(once, draws.shape).reshape(-1), k).reshape(draws.shape)


def _binomial_inverse(xp: Any, v: Array, n: Array, p: Array) -> Array:
    """The smallest k with v <= P(count <= k), found by summing probabilities."""
    part = np.exp(n * np.log1p(-p))
    total, k, odds = part, xp.zeros_like(v), p / (1 - p)
    for j in range(1, _MOST):
        more = v > total
        if not more.any():
            break
        k = k + more
        part = part * xp.maximum(n - j + 1, 0) / j * odds
        total = total + part
    return xp.minimum(k, n)


class _BinomialTry:
    """Hörmann's BTRS for p <= 1/2, n p >= 10."""

    def __init__(self, n: Array, p: Array, lane: int) -> None:
        self.n, self.p, self.lane = n, p, lane

    def __call__(self, t: Try) -> tuple[Array, Array]:
        n, p = self.n[t.places], self.p[t.places]
        sd = np.sqrt(n * p * (1 - p))
        b = 1.15 + 2.53 * sd
        a = -0.0873 + 0.0248 * b + 0.01 * p
        u, v = t.uniform(self.lane) - 0.5, 1 - t.uniform(self.lane + 1)
        us = 0.5 - abs(u)
        k = np.floor((2 * a / us + b) * u + n * p + 0.5)
        inside = (k >= 0) & (k <= n)
        k = t.draws.xp.where(inside, k, 0.0)
        height = np.log(v * (2.83 + 5.1 / b) * sd / (a / (us * us) + b))
        good = (us >= 0.07) & (v <= 0.92 - 4.2 / b) | (height <= self._density(t.draws.xp, k, n, p))
        return k, inside & good

    @staticmethod
    def _density(xp: Any, k: Array, n: Array, p: Array) -> Array:
        """The logarithm of the probability of k, relative to that of the mode."""
        r = p / (1 - p)
        m = np.floor((n + 1) * p)
        tails = [_log_factorial_tail(xp, x) for x in (m, n - m, k, n - k)]
        return (
            (m + 0.5) * np.log((m + 1) / (r * (n - m + 1)))
            + (n + 1) * np.log((n - m + 1) / (n - k + 1))
            + (k + 0.5) * np.log(r * (n - k + 1) / (k + 1))
            + (tails[0] + tails[1] - tails[2] - tails[3])
        )


def poisson(draws: Draws, lam: Array, *, dtype: str) -> Array:
    """Counts with mean lam."""
    xp, mean = draws.xp, draws.spread(lam)
    mean = xp.where(mean >= 0, mean, 0.0)
    large = mean >= _SMALL
    u = xp.broadcast_to(draws.uniform(), draws.shape).reshape(-1)
    k = _poisson_inverse(xp, 1 - u, xp.where(large, 0.0, mean))
    places = xp.nonzero(large)[0]
    if places.size:
        k[places] = draws.accepted(lambda t: _poisson_try(t, mean[t.places]), places)
    return k.reshape(draws.shape)


def _poisson_inverse(xp: Any, v: Array, lam: Array) -> Array:
    part = np.exp(-lam)
    total, k = part, xp.zeros_like(v)
    for j in range(1, _MOST):
        more = v > total
        if not more.any():
            break
        k = k + more
        part = part * lam / j
        total = total + part
    return k


def _poisson_try(t: Try, lam: Array) -> tuple[Array, Array]:
    """Hörmann's PTRS for lam >= 10."""
    xp = t.draws.xp
    b = 0.931 + 2.53 * np.sqrt(lam)
    a = -0.059 + 0.02483 * b
    u, v = t.uniform(0) - 0.5, 1 - t.uniform(1)
    us = 0.5 - abs(u)
    k = np.floor((2 * a / us + b) * u + lam + 0.43)
    inside = (k >= 0) & np.isfinite(k)
    k = xp.where(inside, k, 0.0)
    height = np.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b))
    x = (lam - k - 1) / (k + 1)
    density = k * (np.log1p(x) - x) - x - 0.5 * (np.log(k + 1) + log(2 * pi)) - _log_factorial_tail(xp, k)
    good = (us >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2)) | (height <= density)
    return k, inside & good


def multinomial(draws: Draws, n: Array, p: Array, *, dtype: str) -> Array:
    """How many of n trials fall into each place of the last axis of p."""
    xp, k = draws.xp, p.shape[-1]
    p_ = xp.broadcast_to(xp.asarray(p, dtype="float64"), (*draws.shape, k)).reshape(-1, k)
    n_ = draws.spread(n)
    u = xp.broadcast_to(draws.uniform(), draws.shape).reshape(-1)
    below = xp.cumsum(p_[:, : max(k - 1, 0)], axis=-1)
    one = (u[:, None] >= below).sum(-1)[:, None] == xp.arange(k)
    if not bool((n_ == 1).all()):
        one = xp.where((n_ == 1)[:, None], one, _one_by_one(draws, n_, p_))
    return one.reshape(*draws.shape, k)


def _one_by_one(draws: Draws, n: Array, p: Array) -> Array:
    """Multinomial counts place by place: each is a binomial of the trials and the probability that are left."""
    xp, k = draws.xp, p.shape[-1]
    out = xp.zeros(p.shape)
    rest, left = xp.maximum(n, 0), xp.ones_like(n)
    for j in range(k - 1):
        part = xp.clip(p[:, j] / xp.where(left > 0, left, 1.0), 0.0, 1.0)
        got = binomial(draws, rest.reshape(draws.shape), part.reshape(draws.shape), dtype="int64", lane=2 * j)
        out[:, j] = got.reshape(-1)
        rest = rest - out[:, j]
        left = left - p[:, j]
    if k:
        out[:, k - 1] = rest
    return out
