"""The random words of one draw, element by element, from which samplers compute values.

Element i of a draw (i counts in C order over the size) depends only on the state and on i, not on
the number of elements, nor on other elements: rejected tries are counted for each element
separately.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, prod
from typing import Any

import numpy as np

from scanopt.array.random.philox import blocks_at, unit, word_rows
from scanopt.forks import once
from scanopt.records import dataclass

__all__ = ["Draws", "Try"]

Array = Any
Shape = tuple[int, ...]


def _radius(words: Array) -> Array:
    """The length of a vector of two normals, from uniforms in (0, 1], so that the logarithm is finite."""
    return np.sqrt(-2.0 * np.log(unit(words) + 2.0**-53))


def _angle(words: Array) -> Array:
    return unit(words) * (2 * pi)


@dataclass(frozen=True)
class Draws:
    """One draw of an array of shape `lead + size`, for states with as many leading axes.

    lead: the lengths of the batch axes; each row has its own state, or rows share one along an axis of length 1.
    """

    xp: Any
    state: Array
    lead: Shape
    size: Shape

    @property
    def shape(self) -> Shape:
        """The shape of the whole draw."""
        return self.lead + self.size

    @property
    def count(self) -> int:
        """Elements per state."""
        return prod(self.size)

    def sized(self, size: Shape) -> Draws:
        """A draw of another size from the same states."""
        return Draws(self.xp, self.state, self.lead, size)

    def words(self, lane: int = 0, extra: int = 0, attempt: int = 0) -> Array:
        """One uint64 word per element; axes that rows share have length 1.

        extra: if not 0, the size is flattened to one axis with this many more elements.
        """
        own = self.state.shape[:-1]
        rows = word_rows(self.xp, self.state.reshape(-1, 3), self.count + extra, lane, attempt)
        return rows.reshape(own + ((self.count + extra,) if extra else self.size))

    def uniform(self, lane: int = 0, dtype: str = "float64", attempt: int = 0) -> Array:
        """Uniform in [0, 1)."""
        return unit(self.words(lane, 0, attempt), dtype)

    def normal(self, lane: int = 0, attempt: int = 0) -> Array:
        """Standard normal: elements 2 j and 2 j + 1 are the coordinates of one random vector (Box, Muller)."""
        if self.count == 0:
            return self.uniform(lane)
        odd = self.count % 2
        words = self.words(lane, odd, attempt).reshape(*self.state.shape[:-1], self.count + odd)
        radius, angle = _radius(words[..., 0::2]), _angle(words[..., 1::2])
        pairs = self.xp.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
        flat = pairs.reshape(*words.shape)
        return flat[..., : self.count].reshape(self.state.shape[:-1] + self.size)

    def spread(self, x: Array, dtype: str = "float64") -> Array:
        """A parameter broadcast to one entry per element, flattened."""
        return self.xp.broadcast_to(self.xp.asarray(x, dtype=dtype), self.shape).reshape(-1)

    @once
    def _rows(self) -> Array:
        return self.xp.broadcast_to(self.state, (*self.lead, 3)).reshape(-1, 3)

    def blocks(self, places: Array, lane: int, attempt: int) -> Array:
        """For each of these elements the block of four words that contains its word."""
        row, i = places // self.count, places % self.count
        return blocks_at(self.xp, self._rows[row], (i // 4 + 1).astype("uint64"), lane, attempt)

    def accepted(self, propose: Callable[[Try], tuple[Array, Array]], places: Array = None, attempt: int = 0) -> Array:
        """The values of the elements at `places` (default: all), each from its first accepted try.

        propose: takes a `Try`; returns values for its elements, and whether each is accepted.
        """
        if places is None:
            places = self.xp.arange(prod(self.shape))
        where = self.xp.arange(places.size)
        out = None
        while where.size or out is None:
            values, good = propose(Try(self, places[where], attempt))
            out = self.xp.zeros(places.shape, values.dtype) if out is None else out
            out[where[good]] = values[good]
            where, attempt = where[~good], attempt + 1
        return out


@dataclass(frozen=True)
class Try:
    """One try for some elements of a draw (flat places)."""

    draws: Draws
    places: Array
    attempt: int

    @property
    def _all(self) -> bool:
        return bool(self.places.size == prod(self.draws.shape))

    def _flat(self, x: Array) -> Array:
        return self.draws.xp.broadcast_to(x, self.draws.shape).reshape(-1)

    def words(self, lane: int = 0) -> Array:
        """One word per element."""
        if self._all:
            return self._flat(self.draws.words(lane, 0, self.attempt))
        blocks = self.draws.blocks(self.places, lane, self.attempt)
        place = self.places % self.draws.count % 4
        return self.draws.xp.take_along_axis(blocks, place[:, None], axis=1)[:, 0]

    def uniform(self, lane: int = 0) -> Array:
        """Uniform in [0, 1)."""
        return unit(self.words(lane))

    def normal(self, lane: int = 0) -> Array:
        """Standard normal, as `Draws.normal`."""
        if self._all:
            return self._flat(self.draws.normal(lane, self.attempt))
        blocks = self.draws.blocks(self.places, lane, self.attempt)
        i = self.places % self.draws.count
        pair = (i % 4 // 2 * 2)[:, None]
        first, second = (self.draws.xp.take_along_axis(blocks, pair + j, axis=1)[:, 0] for j in (0, 1))
        angle = _angle(second)
        return _radius(first) * self.draws.xp.where(i % 2 == 0, np.cos(angle), np.sin(angle))
