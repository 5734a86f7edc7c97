"""The type of a symbolic array: its dtype and the known part of its shape."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from operator import index
from typing import Any

import numpy as np

from scanopt import features
from scanopt.config import config
from scanopt.records import dataclass

__all__ = [
    "COMPLEX", "DTYPES", "FLOATS", "LONGEST", "MOST_AXES", "Dim", "TensorType", "array_of", "dtype_name", "lengths",
]  # fmt: skip

Dim = int | None
"""The length of one axis: an int when it is known before the run, else None."""

DTYPES = frozenset({
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
})  # fmt: skip
"""The dtypes that saved files may use and that all machines have."""

FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")

LONGEST, MOST_AXES = 2**63 - 1, 64
"""The greatest length of an axis and the greatest number of axes that NumPy allows."""


@dataclass(frozen=True, init=False)
class TensorType:
    """Dtype (NumPy's name for it) and shape (one int, or None where unknown, per axis).

    Called with a name, it makes a variable.  broadcastable: the shape as Theano writes it, True for axes of length 1.

    >>> str(TensorType("float64", (3, None)))
    'float64[3, ?]'
    """

    dtype: str
    shape: tuple[Dim, ...]

    def __init__(self, dtype: Any, shape: Any = None, *, broadcastable: Any = None) -> None:
        given = broadcastable if shape is None else shape
        object.__setattr__(self, "dtype", dtype_name(dtype))
        if not (type(given) is tuple and all(n is None or (type(n) is int and n >= 0) for n in given)):
            given = lengths(given)
        object.__setattr__(self, "shape", given)

    def __call__(self, name: str | None = None) -> Any:
        """A new variable of this type."""
        return features.Variable(self, name)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """For each axis whether its length is known to be 1."""
        return tuple(n == 1 for n in self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return np.dtype(self.dtype).itemsize

    def row(self) -> TensorType:
        """The type of one entry along the first axis."""
        return TensorType(self.dtype, self.shape[1:])

    def rows(self, n: Dim) -> TensorType:
        """The type of `n` such arrays stacked along a new first axis."""
        return TensorType(self.dtype, (n, *self.shape))

    def accepts(self, other: TensorType) -> bool:
        """Whether every array of type `other` may stand where this type is expected."""
        return (
            self.dtype == other.dtype
            and self.ndim == other.ndim
            and all(a is None or a == b for a, b in zip(self.shape, other.shape, strict=True))
        )

    def compatible(self, other: TensorType) -> bool:
        """Whether some array is of both types (unknown axes may turn out equal)."""
        return (
            self.dtype == other.dtype
            and self.ndim == other.ndim
            and all(a is None or b is None or a == b for a, b in zip(self.shape, other.shape, strict=True))
        )

    def __str__(self) -> str:
        return self.text()

    def text(self, axes: tuple[str, ...] = ()) -> str:
        """The type as text, with the names of its axes if they have names.

        >>> TensorType("float64", (3, None)).text(("time", "unit"))
        'float64[time: 3, unit: ?]'
        """
        lengths = ["?" if n is None else str(n) for n in self.shape]
        named = [f"{name}: {n}" for name, n in zip(axes, lengths, strict=True)] if axes else lengths
        return f"{self.dtype}[{', '.join(named)}]"


def array_of(value: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """A value as an array.  Raises TypeError for a masked array, whose masked entries `np.asarray` would expose.

    Raises ValueError for rows of different lengths.

    >>> array_of([1.5, 2.0])
    array([1.5, 2. ])
    """
    if type(value) is not np.ndarray and isinstance(value, np.ndarray) and np.any(getattr(value, "mask", False)):
        raise TypeError("a masked array has entries without values: write x.filled(value), or take x.data and x.mask")
    try:
        return np.asarray(value, dtype)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        text = "rows of different lengths make no array: pad them to one length, and give the lengths beside them"
        raise ValueError(text) from None


def lengths(shape: Any) -> tuple[Dim, ...]:
    """A user's shape in normal form; it may have any kind of integers, be a list, or have Theano's broadcastable flags.

    Raises TypeError, ValueError for anything that is no length.

    >>> lengths([np.int64(3), None, True, False])
    (3, None, 1, None)
    """
    if not isinstance(shape, Iterable) or isinstance(shape, str):
        raise TypeError(f"a shape is a tuple with a length, or None, for each axis, found {shape!r}")
    return tuple(_length(n) for n in shape)


def _length(n: Any) -> Dim:
    if n is None or isinstance(n, bool | np.bool_):
        return 1 if n else None
    try:
        length = index(n)
    except TypeError:
        raise TypeError(f"a length is an integer, or None where it is not known before the run, found {n!r}") from None
    if length < 0:
        raise ValueError(f"a length is at least 0, or None where it is not known before the run, found {length}")
    return length


def dtype_name(dtype: Any) -> str:
    """NumPy's name of a dtype; "floatX" is `config.floatX`, as in Theano.  Raises TypeError for anything else.

    Symbolic arrays hold numbers and truth values: texts, dates, records and Python objects are refused, too.

    >>> dtype_name(np.float32), dtype_name("i8"), dtype_name("floatX")
    ('float32', 'int64', 'float64')
    """
    return config.floatX if isinstance(dtype, str) and dtype == "floatX" else _name(dtype)


@cache
def _name(dtype: Any) -> str:
    """The name of a dtype, cached, as NumPy composes it anew at each access.  Raises TypeError for other kinds."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        if not isinstance(dtype, str):
            raise
        raise TypeError(f"NumPy has no dtype named {dtype!r}") from None
    if found.kind in "USTMmVO":
        raise TypeError(f"a symbolic array holds numbers or truth values, found the dtype {str(found.name)!r}")
    return str(found.name)
