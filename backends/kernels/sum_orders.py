"""In which blocks BLAS adds up the products of long sums: found out by trials, for each product of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from scanopt.backends.kernels.tile_sums import order_number
from scanopt.backends.kernels.tiles import SPACE, TiledProduct, address
from scanopt.backends.kernels.trials import PlainProduct, call_of, same_bits, values_of

__all__ = ["order_of"]

_BLOCKS = (128, 192, 224, 240, 256, 288, 320, 352, 384, 448, 512, 640, 768, 1024)
_UNITS = (0, 16, 4, 8)
"""Half of what is left is rounded up to a multiple of one of these; 0: to a whole number."""
_LONGEST = 1 << 24
"""Multiplications, at most, of a product that is tried."""
_MOST = 1 << 16
"""Bytes of the sums, at most, which each step brings from a cache: else one product takes less time."""


@lru_cache(maxsize=1_000)
def order_of(product: TiledProduct) -> int:
    """The order in which a product is summed, as `tile_sums` takes it; 0 where it is not known, or sums are large.

    The library of tiles must be there.
    """
    m, k, n = product.dims
    if min(m, k, n) < 2 or m * k * n > _LONGEST or min(*product.left, *product.right) < 1:
        return 0
    if m * n * np.dtype(product.dtype).itemsize > _MOST:
        return 0
    trial = _Trial(product)
    return next((x for x in _orders(k) if trial.agrees(x, some=True) and trial.agrees(x)), 0)


def _orders(k: int) -> Iterator[int]:
    """The orders in which so many products may be added."""
    for from_zero in (False, True):
        yield order_number(k, 0, from_zero)
        for most in (x for x in _BLOCKS if x < k):
            rest = k if k < 2 * most else k - (k // most - 1) * most
            for unit in _UNITS if rest > most else _UNITS[:1]:
                yield order_number(most, unit, from_zero)


class _Trial(PlainProduct):
    """A product, made by BLAS and of rows that are added up."""

    def __init__(self, product: TiledProduct) -> None:
        super().__init__(product.dtype, product.dims, product.left, product.right)
        m, k, n = product.dims
        self.values = list(values_of(product.dtype, product.dims))
        self.expected = [self.product(*x) for x in self.values]
        self.left, self.right = np.empty((k, m), product.dtype), np.empty((k, n), product.dtype)
        self.sums, item = np.empty((m, n + SPACE // self.out.itemsize), product.dtype), self.out.itemsize
        self.arrays, self.strides = (self.left, self.right, self.sums, self.out), (item, m * item, n * item)
        self.adding, self.dims = address("adding", product.dtype), (m, k, n, 0, k)

    def agrees(self, order: int, some: bool = False) -> bool:
        """Whether both give the same bits.  some: for the first values alone."""
        added = call_of(self.adding, self.arrays, (*self.dims, order, 0), self.strides)
        for (a, b), expected in zip(self.values[: 1 if some else None], self.expected, strict=False):
            self.left[...], self.right[...] = a.T, b
            added()
            if not same_bits(self.out, expected):
                return False
        return True
