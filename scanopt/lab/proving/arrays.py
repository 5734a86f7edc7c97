"""Arrays of symbolic entries: a dtype, and a NumPy array of objects that says where each entry lies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

from scanopt.lab.proving.choices import NoProgramError
from scanopt.lab.proving.entries import cast, conjunction, same
from scanopt.records import dataclass

__all__ = ["SymbolicArray", "arranged", "array", "broadcast", "equal", "filled", "joined", "known"]

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SymbolicArray:
    """An array of entries of one dtype: numbers, or z3 terms for unknown ones."""

    dtype: str
    data: np.ndarray[Any, Any]

    @property
    def shape(self) -> Shape:
        """Its lengths."""
        return tuple(self.data.shape)

    @property
    def entries(self) -> list[Any]:
        """All entries, in C order."""
        return list(self.data.reshape(-1))

    def row(self, t: int) -> SymbolicArray:
        """A row, as an array."""
        return filled(self.dtype, self.shape[1:], self.data[t].reshape(-1) if self.data.ndim > 1 else [self.data[t]])

    def part(self, places: np.ndarray[Any, Any]) -> SymbolicArray:
        """The entries with these numbers, which count them in C order."""
        return filled(self.dtype, places.shape, [self.entries[i] for i in places.reshape(-1)])

    def written(self, places: np.ndarray[Any, Any], new: SymbolicArray) -> SymbolicArray:
        """The same with the entries of `new`, broadcast, in these places."""
        entries = self.entries
        for i, x in zip(places.reshape(-1), np.broadcast_to(new.data, places.shape).reshape(-1), strict=True):
            entries[i] = x
        return filled(self.dtype, self.shape, entries)

    def cast(self, dtype: str) -> SymbolicArray:
        """The same in another dtype."""
        if dtype == self.dtype:
            return self
        return filled(dtype, self.shape, [cast(x, self.dtype, dtype) for x in self.entries])


def filled(dtype: str, shape: Sequence[int], entries: Iterable[Any]) -> SymbolicArray:
    """An array of these entries."""
    data = np.empty(int(np.prod(shape, dtype=int)), object)
    for i, x in enumerate(entries):
        data[i] = x
    return SymbolicArray(dtype, data.reshape(shape))


def array(x: Any) -> SymbolicArray:
    """An array of known numbers."""
    made = np.asarray(x)
    return filled(made.dtype.name, made.shape, made.reshape(-1).tolist())


def known(x: SymbolicArray) -> np.ndarray[Any, Any] | None:
    """The numbers of an array; None where an entry is not known."""
    if not all(isinstance(e, (bool, int)) for e in x.entries) or x.dtype not in ("bool", "int8", "int64"):
        return None
    return np.array(x.entries, x.dtype).reshape(x.shape)


def joined(dtype: str, rows: Sequence[SymbolicArray], shape: Shape) -> SymbolicArray:
    """Rows of one shape along a new first axis.  Raises NoProgramError for rows of another shape or dtype."""
    if any(x.shape != shape or x.dtype != dtype for x in rows):
        raise NoProgramError(
            f"rows of shapes {', '.join(str(x.shape) for x in rows)}, not {shape}, or of several dtypes"
        )
    return filled(dtype, (len(rows), *shape), [e for x in rows for e in x.entries])


def broadcast(*xs: SymbolicArray) -> tuple[Shape, list[list[Any]]]:
    """The shape that some arrays broadcast to, and their entries there.  Raises NoProgramError where they do not."""
    try:
        shape = np.broadcast_shapes(*(x.shape for x in xs))
    except ValueError as error:
        raise NoProgramError(str(error)) from None
    return shape, [list(np.broadcast_to(x.data, shape).reshape(-1)) for x in xs]


def arranged(
    run: Callable[..., Any], dtype: str, data: Sequence[SymbolicArray], rest: Sequence[Any] = ()
) -> SymbolicArray:
    """The result of a NumPy function that only moves entries: it is run on the numbers of the entries."""
    numbers: list[Any] = []
    entries: list[Any] = []
    for x in data:
        numbers.append(np.arange(len(entries), len(entries) + x.data.size).reshape(x.shape))
        entries += x.cast(dtype).entries
    found = np.asarray(run(*numbers, *rest))
    return filled(dtype, found.shape, [entries[i] for i in found.reshape(-1).tolist()])


def equal(x: SymbolicArray, y: SymbolicArray) -> Any:
    """Whether two arrays are equal: a bool where that is decided already, else a z3 condition."""
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    return conjunction(*(same(a, b, x.dtype) for a, b in zip(x.entries, y.entries, strict=True)))


def places(shape: Shape) -> Iterable[Shape]:
    """The indices of all entries, in C order."""
    return product(*map(range, shape))
