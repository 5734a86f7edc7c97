"""What the names in a random program mean, said with NumPy alone: for `corpus.plain`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from corpus.plain_functions import BY_NAME, FUNCTIONS, MODULES

__all__ = ["NAMES", "translated"]

Array = np.ndarray[Any, Any]


class UnknownError(Exception):
    """The program holds what is not known here: random numbers, gradients, lengths of rows that are never computed."""


class _T:
    """`scanopt.tensor`: functions that NumPy has under the same name are NumPy's."""

    sqr = np.square
    lt, le, gt, ge, eq, neq = np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal

    def __getattr__(self, name: str) -> Any:
        found = MODULES.get(name) or FUNCTIONS.get(name) or getattr(np, name, None)
        if found is None:
            raise UnknownError(name)
        return found

    @staticmethod
    def constant(x: Any, dtype: str | None = None) -> Array:
        """A bare Python number alone gets the smallest dtype that holds it; arrays and lists keep theirs."""
        if dtype is None and isinstance(x, int) and not isinstance(x, bool):
            dtype = next(d for d in ("int8", "int16", "int32", "int64") if abs(x) <= np.iinfo(d).max)
        if dtype is None and isinstance(x, float):
            dtype = "float32" if float(np.float32(x)) == x else "float64"
        return np.asarray(x, dtype)

    @staticmethod
    def sigmoid(x: Array) -> Array:
        return np.reciprocal(np.exp(-x) + x.dtype.type(1))

    @staticmethod
    def take(x: Array, i: Any, axis: int | None = None) -> Array:
        """Indexing: NumPy's own does not look at the index where there is nothing to take."""
        return x.ravel()[i] if axis is None else x[(slice(None),) * (axis % x.ndim) + (i,)]

    @staticmethod
    def arange(*bounds: Any) -> Array:
        """Bounds as Python numbers, of the dtype that NumPy gives to those that they are."""
        dtype = np.arange(
            *(np.asarray(b)[()] * 0 for b in bounds[:2]), *(np.ones_like(b)[()] for b in bounds[2:])
        ).dtype
        return np.arange(*(np.asarray(b).item() for b in bounds), dtype=dtype)

    @staticmethod
    def repeat(x: Array, counts: Any, axis: int | None = None) -> Array:
        """Counts of any integer dtype."""
        return np.repeat(x, np.asarray(counts).tolist(), axis)

    @staticmethod
    def set_at(x: Array, index: Any, value: Any) -> Array:
        """A copy of x with other values at some places."""
        new = x.copy()
        new[index] = value
        return new

    @staticmethod
    def inc_at(x: Array, index: Any, value: Any) -> Array:
        """A copy of x with a value added at some places, as often as each is named."""
        new = x.copy()
        np.add.at(new, index, np.asarray(value).astype(x.dtype))
        return new


NAMES: dict[str, Any] = {"T": _T(), "np": np, "nan": np.nan, "inf": np.inf, **BY_NAME}

_SUBTENSOR = re.compile(r"T\.(set|inc)_subtensor\((\w+)\[([^\]]+)\], (.*)\)")
_CHOICE = re.compile(r"scanopt\.ifelse\((\w+), (\w+), (\w+)\)")
_PLACES = re.compile(r"(\w+)\.at\[([^\]]+)\]\.(\w+)\(")
_UPDATE = re.compile(r"\b(u\d+)\[(a\d+)\]")


def translated(text: str) -> str:
    """The text as Python reads it: only one side of an ifelse is computed, and arrays are not changed.

    >>> translated("scanopt.ifelse(v1, v2, v3)"), translated("T.set_subtensor(v1[0], 2)"), translated("u1[a2] + 1")
    ('(v2 if v1 else v3)', 'T.set_at(v1, np.s_[0], 2)', "u1['a2'] + 1")
    """
    text = _SUBTENSOR.sub(r"T.\1_at(\2, np.s_[\3], \4)", text)
    text = _CHOICE.sub(r"(\2 if \1 else \3)", text)
    text = _PLACES.sub(r"T.at(\1, np.s_[\2], '\3', ", text)
    return _UPDATE.sub(r"\1['\2']", text)
