"""Finds out by trials how NumPy solves small systems of equations, and solves them in the same way.

LAPACK eliminates column by column, with the largest pivot.  How it substitutes then depends on the processor: whether
it divides by pivots or multiplies by their reciprocals, and in which blocks.  Here small systems are solved in all of
these ways and compared with NumPy's results, bit for bit, so that a kernel can solve them without a call
(`small_systems.py`).  The same code works on Python's floats, for the trials, and on expressions of the kernel
language.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from operator import gt, mul, neg, sub
from typing import Any, Generic, TypeVar

import numpy as np

from scanopt.backends.kernels.orders import fused_sum
from scanopt.records import dataclass

__all__ = ["LARGEST", "LEAST", "Do", "Way", "solved", "way_of"]

LEAST, LARGEST = float(np.finfo("float64").tiny), float(np.finfo("float64").max)
"""The range of pivots: LAPACK handles smaller ones in another way, and larger ones are infinite."""
_TRIES = 30
X = TypeVar("X")
Rows = list[list[X]]
Blocks = tuple[tuple[int, int], ...]
Do = Callable[..., X]
"""Does a scalar operation, by its name in the table of operators; only "where" reads the result of a comparison."""


@dataclass(frozen=True)
class Way:
    """How a system is solved once its columns are eliminated.

    forward, back: the blocks of rows of both substitutions; the contributions of other blocks are added up first, and
    then subtracted.  divides: whether it divides by pivots, rather than multiplying by their reciprocals.
    """

    forward: Blocks
    back: Blocks
    divides: bool


@dataclass
class _Elimination(Generic[X]):
    """An elimination in progress.  a: rows of the matrix; b: rows of the right side."""

    a: Rows[X]
    b: Rows[X]
    do: Do[X]
    zero: X

    def columns(self) -> list[X]:
        """Eliminate all columns: the lower triangle of `a` becomes the factors; return the reciprocals of pivots."""
        do, a, inverses = self.do, self.a, list[X]()
        for j in range(len(a)):
            for i in range(1, len(a)):
                k = min(i, j)
                if k:
                    a[i][j] = do("subtract", a[i][j], self._sum(a[i][:k], [row[j] for row in a[:k]]))
            self._largest_first(j)
            inverses.append(do("reciprocal", a[j][j]))
            for row in a[j + 1 :]:
                row[j] = do("multiply", row[j], inverses[j])
        return inverses

    def _largest_first(self, j: int) -> None:
        """Exchange row j with the first row, from j on, that has the largest element in column j."""
        do, n = self.do, len(self.a)
        largest, found = do("absolute", self.a[j][j]), list[X]()
        for i in range(j + 1, n):
            size = do("absolute", self.a[i][j])
            found.append(do("greater", size, largest))
            largest = do("where", found[-1], size, largest)
        for rows in (self.a, self.b):
            for column in range(len(rows[0])):
                first = top = rows[j][column]
                for i, test in enumerate(found, j + 1):
                    top = do("where", test, rows[i][column], top)
                for i, test in enumerate(found, j + 1):
                    stays = rows[i][column]
                    moved = do("where", test, first, stays)
                    for later in found[i - j :]:
                        moved = do("where", later, stays, moved)
                    rows[i][column] = moved
                rows[j][column] = top

    def substituted(self, x: list[X], way: Way, inverses: Sequence[X]) -> list[X]:
        """Solve for one column of the right side."""
        do, a, n = self.do, self.a, len(self.a)
        for start, end in way.forward:
            for k in range(start, end) if start else ():
                x[k] = do("subtract", x[k], self._sum(a[k][:start], x[:start]))
            for k in range(start, end):
                for i in range(k + 1, end):
                    x[i] = do("fma", do("negative", a[i][k]), x[k], x[i])
        for start, end in reversed(way.back):
            for k in range(start, end) if end < n else ():
                x[k] = do("subtract", x[k], self._sum(a[k][end:], x[end:]))
            for k in range(end - 1, start - 1, -1):
                x[k] = do("divide", x[k], a[k][k]) if way.divides else do("multiply", x[k], inverses[k])
                for i in range(start, k):
                    x[i] = do("fma", do("negative", a[i][k]), x[k], x[i])
        return x

    def _sum(self, x: Sequence[X], y: Sequence[X]) -> X:
        found = self.zero
        for a, b in zip(x, y, strict=True):
            found = self.do("fma", a, b, found)
        return found


def solved(a: Rows[X], b: Rows[X], way: Way, do: Do[X], zero: X) -> tuple[Rows[X], list[X]]:
    """Solve a system; return the rows of the solution, and the pivots.

    The solution has LAPACK's bits if all pivots have sizes from LEAST to LARGEST and no number of it is NaN.
    """
    work = _Elimination([[*row] for row in a], [[*row] for row in b], do, zero)
    inverses = work.columns()
    columns = [work.substituted([*x], way, inverses) for x in zip(*work.b, strict=True)]
    return [[*row] for row in zip(*columns, strict=True)], [row[i] for i, row in enumerate(work.a)]


def _of_floats() -> Do[float]:
    """Operations on Python's numbers."""
    ways: dict[str, Callable[..., float]] = {
        "fma": fused_sum("float64"), "subtract": sub, "multiply": mul, "negative": neg, "absolute": abs, "greater": gt,
        "divide": lambda a, b: a / b if b else math.nan, "reciprocal": lambda a: 1.0 / a if a else math.nan,
        "where": lambda test, a, b: a if test else b,
    }  # fmt: skip
    return lambda op, *args: ways[op](*args)


@lru_cache(maxsize=100)
def way_of(inverse: bool, n: int, columns: int) -> Way | None:
    """How NumPy inverts matrices of n rows, or solves systems of `columns` columns (0: a vector); None if unknown."""
    if fused_sum("float64") is None:
        return None
    samples = [*_samples(inverse, n, columns)]
    do = _of_floats()
    whole, cut = ((0, n),), _cut(n)
    ways = (Way(*found) for found in dict.fromkeys(product((whole, cut), (whole, cut), (True, False))))
    return next((way for way in ways if all(_same(way, sample, do) for sample in samples)), None)


def _cut(n: int) -> Blocks:
    """Blocks of four rows, then of two, then of one.

    >>> _cut(7)
    ((0, 4), (4, 6), (6, 7))
    """
    found: list[tuple[int, int]] = []
    at = 0
    for size in (4, 2, 1):
        while at + size <= n:
            found.append((at, at + size))
            at += size
    return tuple(found)


def _samples(inverse: bool, n: int, columns: int) -> Iterator[tuple[Rows[float], Rows[float], Rows[float]]]:
    """Yield systems and NumPy's solutions: elements of all sizes, small integers, zeros, infinities, symmetry."""
    rng = np.random.default_rng(0)
    shape = (n, columns) if columns else (n,)
    for i in range(_TRIES):
        a, b = rng.normal(size=(n, n)), rng.normal(size=shape)
        yield from _sample(inverse, a, b)
        yield from _sample(inverse, a * 10.0 ** rng.integers(-6, 7, a.shape), b * 10.0 ** rng.integers(-6, 7, shape))
        small = (
            rng.integers(-1 - i % 3, 2 + i % 3, a.shape),
            rng.integers(-1, 2, shape) * rng.choice([1.0, -0.0], shape),
        )
        yield from _sample(inverse, small[0] * rng.choice([1.0, -0.0, 1.0], a.shape), small[1])
        yield from _sample(inverse, a @ a.T, b)
        yield from _sample(inverse, np.where(rng.random(a.shape) < 0.2, np.inf, a), b)


def _sample(inverse: bool, a: Any, b: Any) -> Iterator[tuple[Rows[float], Rows[float], Rows[float]]]:
    right = np.eye(len(a)) if inverse else b.reshape(len(a), -1)
    try:
        with np.errstate(all="ignore"):
            found = np.linalg.inv(a) if inverse else np.linalg.solve(a, b).reshape(right.shape)
    except np.linalg.LinAlgError:
        return
    yield a.tolist(), right.tolist(), found.tolist()


def _same(way: Way, sample: tuple[Rows[float], Rows[float], Rows[float]], do: Do[float]) -> bool:
    """Whether a way gives NumPy's bits, or has pivots or NaN for which a kernel calls LAPACK anyway."""
    a, b, expected = sample
    found, pivots = solved(a, b, way, do, 0.0)
    if any(math.isnan(x) for row in found for x in row) or not all(LEAST <= abs(p) <= LARGEST for p in pivots):
        return True
    pairs = ((x, y) for row, other in zip(found, expected, strict=True) for x, y in zip(row, other, strict=True))
    return all(x == y and math.copysign(1.0, x) == math.copysign(1.0, y) for x, y in pairs)
