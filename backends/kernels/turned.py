"""Products with a factor that lies turned, as the transpose of weights does: NumPy's loop tells BLAS so, and copies
nothing.

BLAS then moves elements into panels of its own in another way, and for some sizes adds them up in another order.  That
depends on lengths and strides, never on values: a trial finds out whether the bits are those of packed factors.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from scanopt.backends.kernels.tiles import TiledProduct
from scanopt.backends.kernels.trials import PlainProduct, least_seconds, same_bits, values_of

__all__ = ["as_it_lies"]

_LONGEST = 1 << 27
"""Multiplications, at most, of a product that is tried."""
_SLOWER = 1.1
"""A product as it lies may take so much longer than that of copies."""


@lru_cache(maxsize=1_000)
def as_it_lies(product: TiledProduct) -> bool:
    """Whether NumPy's loop gives the bits for factors as they lie that it gives for packed ones, about as fast."""
    (m, k, n), item = product.dims, np.dtype(product.dtype).itemsize
    syrk = product.left == product.right[::-1] and m == n  # perhaps of a matrix and itself: one half is computed
    if syrk or m * k * n > _LONGEST or min(m, k, n) < 2:
        return False
    turned = PlainProduct(product.dtype, product.dims, product.left, product.right)
    packed = PlainProduct(product.dtype, product.dims, (k * item, item), (n * item, item))
    for values in values_of(product.dtype, product.dims):
        if not same_bits(turned.product(*values), packed.product(*values)):
            return False
    return least_seconds(turned.plain) <= _SLOWER * least_seconds(packed.plain)
