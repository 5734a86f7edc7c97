"""Arrays that need not fit into memory: references to parts of inputs, and sinks for parts of results.

An array may be one of NumPy, also mapped from a file (`np.memmap`, `np.load(path, mmap_mode="r")`), one of Zarr, or
any object with `shape` and `dtype` that returns a part when it is sliced.
"""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from scanopt.array.shapes import axes_text
from scanopt.loops.site import show
from scanopt.records import dataclass

__all__ = ["Part", "Reference", "Sink", "divided", "part_of", "value_of"]


@dataclass(frozen=True)
class Part:
    """The lanes from `start` up to, but not including, `stop`; part number `i` of `count`."""

    i: int
    count: int
    start: int
    stop: int

    @property
    def length(self) -> int:
        """The number of lanes."""
        return self.stop - self.start


@dataclass(frozen=True)
class File:
    """An array stored in a file with its memory layout, so that it can be mapped."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    fortran: bool

    def open(self, mode: Any = "r") -> Any:
        """The array, mapped into memory."""
        order: Any = "F" if self.fortran else "C"
        return np.memmap(self.path, self.dtype, mode, self.offset, self.shape, order)


@dataclass(frozen=True)
class Reference:
    """A reference to a part of an array, which is read where it is used."""

    array: Any
    axis: int
    start: int
    stop: int

    def read(self) -> Any:
        """The part, read into memory."""
        source = self.array.open() if isinstance(self.array, File) else self.array
        return np.ascontiguousarray(source[_region(source.ndim, self.axis, self.start, self.stop)])


def _region(ndim: int, axis: int, start: int, stop: int) -> tuple[slice, ...]:
    return tuple(slice(start, stop) if i == axis else slice(None) for i in range(ndim))


def file_of(x: Any) -> File | None:
    """The file of a mapped array; None for other arrays, and for parts of mapped arrays."""
    base: Any = getattr(x, "base", None)
    if not isinstance(x, np.memmap) or not isinstance(base, mmap.mmap) or x.filename is None:
        return None
    if not (x.flags.c_contiguous or x.flags.f_contiguous):
        return None
    return File(str(x.filename), x.dtype.str, x.shape, int(x.offset), not x.flags.c_contiguous)


def _travels(x: Any) -> bool:
    """Whether an array can be opened in another process because its pickle is small, as of Zarr's on disk."""
    if isinstance(x, np.ndarray):
        return False
    try:
        return len(pickle.dumps(x)) < 100_000
    except Exception:
        return False


def part_of(x: Any, axis: int, part: Part, elsewhere: bool) -> Any:
    """A part of an array to send to a worker: by reference if that saves memory.

    elsewhere: whether the worker is in another process.
    """
    file = file_of(x)
    if file is not None:
        return Reference(file, axis, part.start, part.stop)
    here = Reference(x, axis, part.start, part.stop)
    return here if not elsewhere or _travels(x) else here.read()


def whole_of(x: Any) -> Any:
    """An array that every part reads as a whole, to send to a worker: by reference if it is mapped from a file."""
    file = file_of(x)
    return x if file is None else Reference(file, 0, 0, x.shape[0] if x.ndim else 0) if x.ndim else np.asarray(x)


def value_of(x: Any) -> Any:
    """The array, read into memory if it is a reference."""
    return x.read() if isinstance(x, Reference) else x


def divided(n: int, size: int) -> list[Part]:
    """Divide n lanes into parts of `size`; the last one has the rest.

    >>> [(p.start, p.stop) for p in divided(5, 2)]
    [(0, 2), (2, 4), (4, 5)]
    """
    count = -(-n // size)
    return [Part(i, count, i * size, min(n, (i + 1) * size)) for i in range(count)]


_FEWEST_PARTS, _MOST_BYTES = 8, 1 << 24


def usual_size(arrays: Sequence[tuple[Any, int]], n: int) -> int:
    """The default number of lanes in a part: at least 8 parts, each with at most 16 MiB of inputs.

    It depends only on the arrays, not on the machine, so that the bits of combined results do not either.
    """
    size = sum(np.dtype(x.dtype).itemsize * int(np.prod(x.shape, dtype=np.int64)) for x, _ in arrays)
    return int(max(1, min(-(-n // _FEWEST_PARTS), _MOST_BYTES * n // max(size, 1))))


@dataclass(frozen=True)
class Sink:
    """An array into which an output is written part by part along an axis: mapped, of Zarr, or in memory."""

    array: Any
    axis: int

    def write(self, part: Part, x: Any) -> None:
        """Write the output x of a part of the lanes."""
        target = self.array.open("r+") if isinstance(self.array, File) else self.array
        target[_region(x.ndim, self.axis, part.start, part.stop)] = x
        if isinstance(self.array, File):
            target.flush()


def sink_of(array: Any, axis: int, what: str, dtype: str, ndim: int, lanes: int) -> Sink:
    """A sink for an output.  Raises TypeError, ValueError if the array does not fit it."""
    shape, found = getattr(array, "shape", None), getattr(array, "dtype", None)
    if shape is None or found is None or not hasattr(array, "__setitem__"):
        raise TypeError(f"out for {what} must be an array to write into, found {show(array)}")
    if np.dtype(found) != dtype or len(shape) != ndim or shape[axis] != lanes:
        raise ValueError(
            f"out for {what} is {np.dtype(found)}{list(shape)}, but it has {axes_text(ndim)}, {lanes} entries along "
            f"axis {axis}, and the dtype {dtype}"
        )
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        raise ValueError(f"out for {what} cannot be written to: map it with mode 'r+' or 'w+'")
    return Sink(file_of(array) or array, axis)


def written_apart(sink: Sink, parts: Sequence[Part]) -> bool:
    """Whether parts can be written at the same time; for Zarr, whether no two of them share a chunk."""
    chunks = getattr(sink.array, "chunks", None)
    if isinstance(sink.array, File | np.ndarray):
        return True
    if chunks is None:
        return False
    step = (getattr(sink.array, "shards", None) or chunks)[sink.axis]
    return all(p.start % step == 0 for p in parts)
