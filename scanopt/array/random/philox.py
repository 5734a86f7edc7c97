"""Philox 4x64-10 in plain array code: random words as a pure function of key, draw and place.

A state is three uint64 words (key 0, key 1, draw number n).  Word i of draw n is word i % 4 of the
block with the counter (i // 4 + 1, attempt, n, lane): exactly what
`numpy.random.Philox(key=[key 0, key 1], counter=[0, attempt, n, lane]).random_raw()` gives in call
i, as NumPy adds 1 to the counter before it makes a block.  `attempt` counts the tries of samplers
that reject; `lane` tells apart the several words that one element needs.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from scanopt.array.random.on_device import blocks_on_device, can_launch

__all__ = ["FOLD", "blocks_at", "multiply_high", "philox", "unit", "word_rows"]

Array = Any  # an array of NumPy or of another array module
Words = tuple[Array, Array, Array, Array]

FOLD = 2**64 - 1
"""The lane in which `fold_in` makes keys; samplers count theirs from 0."""

_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_ROUNDS = 10
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_CHUNK = 1 << 13  # blocks at once: what fits the cache
_FEW = 64  # fewer blocks than this are faster one by one, by NumPy's own generator


def multiply_high(a: Array, b: Array) -> Array:
    """The upper 64 bits of the 128 of a * b, uint64 each (an array among them).

    >>> multiply_high(np.array([2**63], np.uint64), np.uint64(6))
    array([3], dtype=uint64)
    """
    a0, a1, b0, b1 = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    t = a1 * b0 + (a0 * b0 >> _HALF)
    u = a0 * b1 + (t & _LOW)
    return a1 * b1 + (t >> _HALF) + (u >> _HALF)


def philox(key: tuple[Array, Array], counter: Words) -> Words:
    """Four words per key and counter: uint64 arrays (not scalars) that broadcast.

    >>> one = np.ones(1, np.uint64)
    >>> [int(w[0]) for w in philox((one, one), (one, one, one, one))][0]
    15183462903859007182
    """
    (k0, k1), (c0, c1, c2, c3) = key, counter
    m0, m1 = (np.uint64(m) for m in _MULTIPLIERS)
    s0, s1 = (np.uint64(s) for s in _STEPS)
    for i in range(_ROUNDS):
        if i:
            k0, k1 = k0 + s0, k1 + s1
        high0, high1 = multiply_high(c0, m0), multiply_high(c2, m1)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, c2 * m1, high0 ^ c3 ^ k1, c0 * m0
    return c0, c1, c2, c3


def word_rows(xp: Any, states: Array, count: int, lane: int = 0, attempt: int = 0) -> Array:
    """The first `count` words of each state: (R, 3) -> (R, count).

    >>> word_rows(np, np.array([[7, 8, 5]], np.uint64), 3)
    array([[ 3774266099839823244, 15859426037644613742, 16329696317333307884]],
          dtype=uint64)
    """
    rows = states.shape[0]
    if xp is np and rows and (count >= _FEW or rows < _FEW):
        if rows == 1:
            return _native(states[0], 0, count, lane, attempt)[None]
        return np.stack([_native(row, 0, count, lane, attempt) for row in states])
    each = -(-count // 4)
    first = xp.arange(1, each + 1, dtype="uint64")
    made = blocks_at(xp, xp.repeat(states, each, axis=0), xp.tile(first, rows), lane, attempt)
    return made.reshape(rows, 4 * each)[:, :count]


def blocks_at(xp: Any, states: Array, first: Array, lane: int = 0, attempt: int = 0) -> Array:
    """The words of P single blocks: states (P, 3) and first words of the counter (P,) -> words (P, 4)."""
    total = first.shape[0]
    if xp is np and total < _FEW:
        parts = [_native(s, int(f) - 1, 4, lane, attempt) for s, f in zip(states, first, strict=True)]
        return np.stack(parts) if parts else np.zeros((0, 4), np.uint64)
    if can_launch(xp):
        return blocks_on_device(xp, states, first, lane, attempt)
    out = xp.empty((total, 4), dtype="uint64")
    fixed = [xp.full(1, x, dtype="uint64") for x in (attempt, lane)]
    step = _CHUNK if xp is np else max(total, 1)
    for i in range(0, total, step):
        part = slice(i, i + step)
        k0, k1, n = (xp.ascontiguousarray(states[part, j]) for j in range(3))
        for j, words in enumerate(philox((k0, k1), (first[part], fixed[0], n, fixed[1]))):
            out[part, j] = words
    return out


_here = threading.local()
_NOTHING = np.zeros(4, np.uint64)


def _native(state: Array, before: int, count: int, lane: int, attempt: int) -> Array:
    """The first `count` words of one state, made by NumPy; before: the counter's first word, less 1."""
    if not hasattr(_here, "philox"):
        _here.philox = np.random.Philox(0)
    counter = np.empty(4, np.uint64)
    counter[0], counter[1], counter[2], counter[3] = before % 2**64, attempt, state[2], lane
    if before < 0:  # NumPy would carry into the next word
        return np.stack(philox((state[:1], state[1:2]), _counter_words(counter)), axis=1)[0, :count]
    _here.philox.state = {
        "bit_generator": "Philox", "state": {"counter": counter, "key": np.ascontiguousarray(state[:2])},
        "buffer": _NOTHING, "buffer_pos": 4, "has_uint32": 0, "uinteger": 0,
    }  # fmt: skip
    return _here.philox.random_raw(count)


def _counter_words(before: Array) -> Words:
    c0, c1, c2, c3 = (before[j : j + 1] for j in range(4))
    return c0 + np.uint64(1), c1, c2, c3


def unit(words: Array, dtype: str = "float64") -> Array:
    """Words as floats in [0, 1), multiples of 2**-53 (float64), 2**-24 (float32), 2**-11 (float16).

    >>> unit(np.array([0, 2**63, 2**64 - 1], np.uint64), "float32")
    array([0.       , 0.5      , 0.99999994], dtype=float32)
    """
    bits = np.finfo(dtype).nmant + 1
    return (words >> np.uint64(64 - bits)).astype(dtype) * np.dtype(dtype).type(2.0**-bits)
