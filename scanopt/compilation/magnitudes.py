"""Sizes of calls by their order of magnitude: calls of one region are so alike that one program serves all of them.

A length is rounded to the nearest power of two.  Lengths that differ by one or two keep their difference, since a
program may need one length to be another one plus such a number: x[1:] + y runs only where lengths fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isqrt
from typing import Any

import numpy as np

from scanopt.array.op import Operand
from scanopt.array.types import TensorType
from scanopt.records import dataclass

__all__ = ["Magnitudes", "Region", "representatives"]

NEAR = 2
"""Lengths that differ by no more than this keep their difference."""

_MOST = 2**63 - 1

Region = tuple[int, ...]
"""The rounded lengths, then the rounded numbers, that all calls of one region have."""


def magnitude(n: int) -> int:
    """The power of two nearest to n > 0, by ratio; 0 for 0.

    >>> [magnitude(n) for n in (0, 1, 2, 3, 5, 6, 64, 90, 91)]
    [0, 0, 1, 2, 2, 3, 6, 6, 7]
    """
    return (n * n).bit_length() // 2


def bounds(n: int) -> tuple[int, int]:
    """The least and greatest number with the same magnitude as n.

    >>> bounds(64), bounds(1), bounds(-3)
    ((46, 90), (0, 1), (-5, -3))
    """
    if n < 0:
        low, high = bounds(-n)
        return -high, -max(low, 1)
    m = magnitude(n)
    return (isqrt((1 << 2 * m - 1) - 1) + 1 if m else 0), isqrt((1 << 2 * m + 1) - 1)


def representatives(lengths: Iterable[int]) -> dict[int, int]:
    """The rounded length for each of the lengths of one call.

    >>> representatives([1000, 1001, 10])
    {10: 8, 1000: 1024, 1001: 1025}
    """
    out: dict[int, int] = {}
    first = -NEAR - 1
    for n in sorted({*lengths}):
        if n - first > NEAR:
            first = n
        out[n] = (1 << magnitude(first)) + n - first if n else 0
    return out


@dataclass(frozen=True)
class Magnitudes:
    """The sizes of a call's arguments that matter for the choice of a program.

    types: of the inputs and shared variables.  numbers: which of these are scalars whose values decide lengths or
    steps.  shaped: which of them are arrays with lengths that their types leave open.
    """

    types: tuple[TensorType, ...]
    numbers: tuple[int, ...]
    shaped: tuple[int, ...]

    @staticmethod
    def of(types: Mapping[str, TensorType], counting: Iterable[str]) -> Magnitudes:
        """types, counting: by the keys of the encoder."""
        known = tuple(types[f"{i}"] for i in range(len(types)))
        shaped = tuple(i for i, t in enumerate(known) if None in t.shape)
        return Magnitudes(known, tuple(sorted(map(int, counting))), shaped)

    def __bool__(self) -> bool:
        """Whether calls can differ."""
        return bool(self.numbers or self.shaped)

    def exactly(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The sizes of a call that matter, as they are."""
        return *[values[i].shape for i in self.shaped], *[int(values[i]) for i in self.numbers]

    def region(self, values: Sequence[Any]) -> Region:
        """The region of a call: its rounded sizes, which similar calls share."""
        lengths = [n for i in self.shaped for n in self._open(i, values[i].shape)]
        near = representatives(lengths)
        return *[near[n] for n in lengths], *[self._number(i, int(values[i])) for i in self.numbers]

    def limits(self, values: Sequence[Any]) -> dict[int, tuple[int, int]]:
        """For each number, by its argument's position, the least and the greatest value of its region."""
        out: dict[int, tuple[int, int]] = {}
        for i in self.numbers:
            low, high = bounds(int(values[i]))
            out[i] = max(low, -_MOST - 1), min(high, _MOST)
        return out

    def operands(self, region: Region, first: Mapping[str, Operand]) -> dict[str, Operand]:
        """Operands that represent a region.  first: those of the first program, for arguments that do not matter."""
        left = iter(region)
        out = dict(first)
        for i in self.shaped:
            t = self.types[i]
            out[f"{i}"] = Operand(t.dtype, tuple(next(left) if n is None else n for n in t.shape))
        for i in self.numbers:
            t = self.types[i]
            out[f"{i}"] = Operand(t.dtype, (), np.array(next(left), t.dtype))
        return out

    def _open(self, i: int, shape: Sequence[int]) -> list[int]:
        """The lengths of an argument that its type leaves open."""
        return [n for n, known in zip(shape, self.types[i].shape, strict=True) if known is None]

    def _number(self, i: int, n: int) -> int:
        if not n:
            return 1
        most = int(np.iinfo(self.types[i].dtype).max) // 2 + 1
        return min(1 << magnitude(abs(n)), most) * (1 if n > 0 else -1)
