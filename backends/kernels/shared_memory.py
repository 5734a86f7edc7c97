"""Plans the shared memory of a block on a device: which factors, vectors and scratch memory lie there, and where."""

from __future__ import annotations

import re

import numpy as np

from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.ir import Expr
from scanopt.records import dataclass

__all__ = ["FOLDING", "HELD", "HeldFactor", "Holding", "Staged", "declared"]

HELD = "extern __shared__ __align__(16) char held[];"
FOLDING = 512 * 8
"""Bytes of shared memory in which a block adds up a reduction."""


@dataclass(frozen=True)
class HeldFactor:
    """A factor of a product that may be held in shared memory.

    name: of the number that says where (-1: it is not held); rows, columns: of the factor; item: bytes of an element.
    """

    name: str
    rows: Expr
    columns: Expr
    item: int


@dataclass(frozen=True)
class Staged:
    """A vector of each row of a block: its number of elements, and the bytes of an element."""

    length: Expr
    item: int


@dataclass(frozen=True)
class Holding:
    """The offsets of things in shared memory, in bytes; -1 where there is no room.

    places: of the factors; stage: of the vectors that the rows of a block multiply; own: of scratch memory.  taken: the
    bytes used; fits: whether there is room for everything that must lie there.
    """

    places: tuple[int, ...] = ()
    stage: int = 0
    own: int = -1
    taken: int = 0
    fits: bool = True

    @staticmethod
    def of(free: int, stage: int, factors: tuple[int, ...], own: int = -1) -> Holding:
        """Place what fits into `free` bytes.  stage, factors, own: the bytes that each needs; own: -1 for none.

        >>> Holding.of(100, 16, (64, 64), 16)
        Holding(places=(16, -1), stage=0, own=80, taken=96, fits=True)
        """
        taken = -(-stage // 16) * 16
        places: list[int] = []
        for size in (*factors, own):
            aligned = -(-size // 16) * 16
            room = size >= 0 and taken + aligned <= free
            places.append(taken if room else -1)
            taken += aligned if room else 0
        return Holding(tuple(places[:-1]), 0, places[-1], taken, stage <= free)


def declared(text: str) -> int:
    """The bytes of shared memory that a kernel declares in its own text.

    >>> declared("__global__ void f() { __shared__ float64 x[9]; __shared__ char *to[ROWS]; }")
    136
    """
    found = re.findall(r"__shared__ (\w+) \*?(\w+)\[(\d+|ROWS)\]", text[text.find("__global__") :])
    return sum(64 if n == "ROWS" else int(n) * _ITEMS[t] for t, _, n in found)


_ITEMS = {text: np.dtype(dtype).itemsize for dtype, text in TYPES.items()}
