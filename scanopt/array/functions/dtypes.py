"""Questions about dtypes, answered before the run: result_type, can_cast, common_type, iscomplexobj, isrealobj."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanopt.array.constants import as_variable
from scanopt.array.registry import public
from scanopt.array.variable import Variable

__all__: list[str] = []


def _as_numpy(x: Any) -> Any:
    return np.dtype(x.dtype) if isinstance(x, Variable) else x


@public("result_type", numpy=("result_type",))
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that arrays, dtypes and numbers are promoted to.

    >>> result_type(np.float32(1), "int8").name
    'float32'
    """
    return np.result_type(*map(_as_numpy, arrays_and_dtypes))


@public("can_cast", numpy=("can_cast",))
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether arrays of one dtype can be cast to another, by NumPy's rules."""
    return np.can_cast(_as_numpy(from_), _as_numpy(to), casting)


@public("common_type", numpy=("common_type",))
def common_type(*arrays: Any) -> Any:
    """The floating point or complex type that holds arrays of these dtypes."""
    return np.common_type(*(np.zeros((), as_variable(x).dtype) for x in arrays))


@public("iscomplexobj", numpy=("iscomplexobj",))
def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return np.dtype(as_variable(x).dtype).kind == "c"


@public("isrealobj", numpy=("isrealobj",))
def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)
