"""Finds out by trials in which order NumPy adds up the products of small matrices and vectors.

BLAS adds the products of an element in an order that depends on lengths and strides, never on values: one after the
other, in blocks of four, or in several sums side by side.  Here each element of a product is computed in all of these
orders, for factors of all sizes, and compared with NumPy's result.  So a kernel can write small products out
(`small_products.py`), with the same bits and without a call.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import product
from typing import Any

import numpy as np

from scanopt.backends.kernels.trials import PlainProduct, values_of
from scanopt.records import dataclass

__all__ = ["EmptySum", "FusedSum", "OneProduct", "Order", "SumOfTwo", "UnlessZero", "fused_sum", "orders_of"]


@dataclass(frozen=True)
class OneProduct:
    """One product, rounded."""

    place: int


@dataclass(frozen=True)
class EmptySum:
    """The zero from which sums start."""


@dataclass(frozen=True)
class FusedSum:
    """A product added to a sum, rounded once."""

    place: int
    sum: Order


@dataclass(frozen=True)
class SumOfTwo:
    """Two sums added up."""

    left: Order
    right: Order


@dataclass(frozen=True)
class UnlessZero:
    """A sum, or 0 where the factor that is one number is 0: `np.dot` then adds nothing, not even infinite products."""

    sum: Order
    left: bool


Order = OneProduct | EmptySum | FusedSum | SumOfTwo | UnlessZero
_Sample = tuple[list[float], list[float], float]
_SEEDS, _TRIES = 4, 40
"""The numbers of trials: with ordinary numbers, another order gives other bits in about half of them."""
_Block = Callable[[Sequence[int]], Order]


def _chain(places: Sequence[int]) -> Order:
    found: Order = OneProduct(places[0])
    for i in places[1:]:
        found = FusedSum(i, found)
    return found


def _second_first(places: Sequence[int]) -> Order:
    return _chain([places[1], places[0], *places[2:]]) if len(places) > 1 else OneProduct(places[0])


def _pairs(a: int, b: int, c: int, d: int) -> _Block:
    """A block that adds four products in two sums of two."""
    return lambda x: SumOfTwo(_chain([x[a], x[b]]), _chain([x[c], x[d]]))


def _four_sums(a: int, b: int, c: int, d: int) -> _Block:
    """A block that adds every fourth product to one of four sums, and these by pairs."""

    def order(x: Sequence[int]) -> Order:
        sums = [_chain(x[i::4]) for i in range(4)]
        return SumOfTwo(SumOfTwo(sums[a], sums[b]), SumOfTwo(sums[c], sums[d]))

    return order


_BY_FOURS: tuple[_Block, ...] = (_second_first, _pairs(1, 0, 3, 2), _pairs(0, 2, 1, 3), _chain)
_TOGETHER: tuple[_Block, ...] = (_four_sums(0, 2, 1, 3), _four_sums(0, 1, 2, 3))
_HEADS: tuple[tuple[_Block, bool] | None, ...] = (
    None, *((block, False) for block in _BY_FOURS), *((block, True) for block in _TOGETHER),
)  # fmt: skip
_TAILS: tuple[tuple[_Block, int] | None, ...] = (None, (_second_first, 2), (_chain, 2), (_second_first, 3))


def _orders(count: int) -> Iterator[Order]:
    """Yield the orders in which `count` products may be added: the first by fours, the rest together or one by one."""
    seen: set[Order] = set()
    for start, end, head, tail, fused in product((False, True), (False, True), _HEADS, _TAILS, (True, False)):
        found = _order(count, head, tail, fused)
        found = _from_zero(found) if start else found
        found = SumOfTwo(EmptySum(), found) if end else found
        if found not in seen:
            seen.add(found)
            yield found


def _order(count: int, head: tuple[_Block, bool] | None, tail: tuple[_Block, int] | None, fused: bool) -> Order:
    fours = count - count % 4 if head is not None else 0
    sums: list[Order] = []
    if head is not None and fours:
        block, together = head
        size = fours if together else 4
        sums = [block(range(i, i + size)) for i in range(0, fours, size)]
    at = fours
    if tail is not None:
        block, size = tail
        while at + size <= count:
            sums.append(block(range(at, at + size)))
            at += size
    found: Order | None = None
    for one in sums:
        found = one if found is None else SumOfTwo(found, one)
    for i in range(at, count):
        found = OneProduct(i) if found is None else FusedSum(i, found) if fused else SumOfTwo(found, OneProduct(i))
    assert found is not None
    return found


def _from_zero(order: Order) -> Order:
    """The order with each of its sums started from zero."""
    match order:
        case OneProduct(place=i):
            return FusedSum(i, EmptySum())
        case FusedSum(place=i, sum=rest):
            return FusedSum(i, _from_zero(rest))
        case SumOfTwo(left=a, right=b):
            return SumOfTwo(_from_zero(a), _from_zero(b))
    return order


@lru_cache(maxsize=1_000)
def orders_of(
    dtype: str, dims: tuple[int, int, int], left: tuple[int, int], right: tuple[int, int]
) -> tuple[Order, ...] | None:
    """For each element of a product of matrices, the order in which NumPy adds its products; None if unknown.

    dims: m, k and n.  left, right: strides in bytes.
    """
    if fused_sum(dtype) is None or min(*left, *right) < 1 or left == right[::-1]:  # x @ x.T: BLAS computes half of it
        return None
    samples = _samples(dtype, dims, left, right)
    found: list[Order] = []
    for mine in samples:
        tried = (*dict.fromkeys(found), *_orders(dims[1]))
        order = next((x for x in tried if all(_same(x, sample, dtype) for sample in mine)), None)
        if order is None:
            return None
        found.append(order)
    return tuple(found)


def _samples(
    dtype: str, dims: tuple[int, int, int], left: tuple[int, int], right: tuple[int, int]
) -> list[list[_Sample]]:
    """For each element of a product, samples: the factors of its sum, and NumPy's result."""
    m, k, n = dims
    trial = PlainProduct(dtype, dims, left, right)
    rng = np.random.default_rng(0)
    given = [values for seed in range(_SEEDS) for values in values_of(dtype, dims, seed)]
    given += [(rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)) for _ in range(_TRIES)]
    runs = [(a.tolist(), b.T.tolist(), trial.product(a, b).tolist()) for a, b in given]
    return [[(a[i], b[j], out[i][j]) for a, b, out in runs] for i, j in product(range(m), range(n))]


def _same(order: Order, sample: _Sample, dtype: str) -> bool:
    """Whether an order gives NumPy's bits; NaNs count as equal."""
    x, y, expected = sample
    found = _sum(order, x, y, _rounded(dtype), fused_sum(dtype))
    if math.isnan(found):
        return math.isnan(expected)
    return found == expected and math.copysign(1.0, found) == math.copysign(1.0, expected)


def _sum(order: Order, x: list[float], y: list[float], rounded: Any, fused: Any) -> float:
    match order:
        case OneProduct(place=i):
            return float(rounded(x[i] * y[i]))
        case FusedSum(place=i, sum=rest):
            return float(fused(x[i], y[i], _sum(rest, x, y, rounded, fused)))
        case SumOfTwo(left=a, right=b):
            return float(rounded(_sum(a, x, y, rounded, fused) + _sum(b, x, y, rounded, fused)))
    return 0.0


def _rounded(dtype: str) -> Any:
    """The function that rounds to a dtype what was computed of two of its numbers in double precision."""
    return (lambda x: ctypes.c_float(x).value) if dtype == "float32" else float


@cache
def fused_sum(dtype: str) -> Any:
    """The function of the C library that rounds a product and a sum once; None where there is none."""
    name, kind = ("fmaf", ctypes.c_float) if dtype == "float32" else ("fma", ctypes.c_double)
    try:
        found = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return None
    found.restype, found.argtypes = kind, [kind] * 3
    return found
