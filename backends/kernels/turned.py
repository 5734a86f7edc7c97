"""Decides by trials how to multiply by a transposed factor, as the transpose of weights, without copying it.

Array steps of exact programs copy such a factor to C order.  NumPy's loop can also pass it to BLAS with its own
strides; BLAS then packs elements in another way, and for some sizes adds them up in another order.  That depends on
lengths and strides, never on values: a trial finds out whether the bits are those of packed factors (`as_it_lies`).

If they are not, and only the right factor is transposed, its columns, which are contiguous, may be multiplied by panels
of the left factor: tiles whose result is stored transposed (`across`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from scanopt.backends.kernels.tiles import SPACE, TiledProduct, address
from scanopt.backends.kernels.trials import PlainProduct, call_of, least_seconds, same_bits, values_of

__all__ = ["across", "as_it_lies"]

_LONGEST = 1 << 27
"""The most multiplications of a product that is tried."""
_SLOWER, _FASTER = 1.1, 0.95
"""How much longer a product without a copy may take than one with copies; how long at most if it takes more memory."""
_TURNS = 3
"""How often two ways are timed at most, because other work on the machine may slow one of them down."""


@lru_cache(maxsize=1_000)
def as_it_lies(product: TiledProduct) -> bool:
    """Whether NumPy's loop, for factors with their own strides, has the bits of packed ones and is about as fast."""
    (m, k, n), alike = product.dims, product.left == product.right[::-1]
    of_itself = alike and m == n and not product.apart  # it may be x @ x.T, of which NumPy computes one half
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

    return _takes(turned.plain, copied, _SLOWER)


def _takes(way: Callable[[], None], other: Callable[[], None], most: float) -> bool:
    """Whether one way takes at most this part of the time of the other."""
    return any(least_seconds(way) <= most * least_seconds(other) for _ in range(_TURNS if most > 1 else 1))


@lru_cache(maxsize=1_000)
def across(product: TiledProduct, large: bool = False) -> bool:
    """Whether tiles of the columns of the right factor have the bits of packed factors and are about as fast.

    large: whether their panels take more memory than copies would.  The library of tiles must be compiled.
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
    return _takes(made, packed.plain, _FASTER if large else _SLOWER)


def _packed(product: TiledProduct) -> PlainProduct:
    (_, k, n), item = product.dims, np.dtype(product.dtype).itemsize
    return PlainProduct(product.dtype, product.dims, (k * item, item), (n * item, item))
