"""Products with a factor that lies turned, as the transpose of weights does: NumPy's loop tells BLAS so, and copies
nothing.

BLAS then moves elements into panels of its own in another way, and for some sizes adds them up in another order.  That
depends on lengths and strides, never on values: a trial finds out whether the bits are those of packed factors.

Where they are not, and the right factor is the one that lies turned, the product may be made as that of its columns,
which lie one after the other, by panels of the left factor: tiles, of which the result is turned.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from scanopt.backends.kernels.tiles import SPACE, TiledProduct, address
from scanopt.backends.kernels.trials import PlainProduct, call_of, least_seconds, same_bits, values_of

__all__ = ["across", "as_it_lies"]

_LONGEST = 1 << 27
"""Multiplications, at most, of a product that is tried."""
_SLOWER = 1.1
"""A product as it lies may take so much longer than that of copies."""


@lru_cache(maxsize=1_000)
def as_it_lies(product: TiledProduct) -> bool:
    """Whether NumPy's loop gives the bits for factors as they lie that it gives for packed ones, about as fast."""
    (m, k, n), alike = product.dims, product.left == product.right[::-1]
    of_itself = alike and m == n and not product.apart  # perhaps: then NumPy computes one half
    if of_itself or m * k * n > _LONGEST or min(m, k, n) < 2:
        return False
    turned = PlainProduct(product.dtype, product.dims, product.left, product.right)
    packed = _packed(product)
    for values in values_of(product.dtype, product.dims):
        if not same_bits(turned.product(*values), packed.product(*values)):
            return False

    def copied() -> None:
        if not product.once:
            np.copyto(packed.a, turned.a)
        packed.plain()

    return least_seconds(turned.plain) <= _SLOWER * least_seconds(copied)


@lru_cache(maxsize=1_000)
def across(product: TiledProduct) -> bool:
    """Whether tiles of the columns of the right factor give the bits of packed factors, about as fast.

    The library of tiles must be there.
    """
    (m, k, n), dtype = product.dims, product.dtype
    if m * k * n > _LONGEST or min(m, k, n) < 2:
        return False
    packed, item = _packed(product), np.dtype(dtype).itemsize
    turned = PlainProduct(dtype, product.dims, product.left, product.right)
    panels = np.empty(k * (m + SPACE // item), dtype)
    arrays, strides = (turned.b, panels, turned.out, turned.a), (*product.right[::-1], *product.left[::-1])
    made = call_of(address("across", dtype), arrays, product.dims, strides)
    for values in values_of(dtype, product.dims):
        turned.put(*values)
        made()
        if not same_bits(turned.out, packed.product(*values)):
            return False
    return least_seconds(made) <= _SLOWER * least_seconds(packed.plain)


def _packed(product: TiledProduct) -> PlainProduct:
    (_, k, n), item = product.dims, np.dtype(product.dtype).itemsize
    return PlainProduct(product.dtype, product.dims, (k * item, item), (n * item, item))
