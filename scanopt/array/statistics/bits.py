"""`accumulate` and `reduce` of the ufuncs of bits and of truth values, as in `np.bitwise_xor.reduce(x, axis)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.array.batching import dims_of
from scanopt.array.constants import as_variable
from scanopt.array.functions.arguments import on_axis
from scanopt.array.operators.elementwise import as_condition
from scanopt.array.operators.recurrences import accumulator, folder
from scanopt.array.operators.shaping import expand_dims
from scanopt.array.registry import FUNCTIONS, NUMPY_FUNCTIONS
from scanopt.array.shapes import axis_of
from scanopt.array.variable import Variable, apply

__all__: list[str] = []


def _before(identity: int, x: Variable) -> Variable:
    """The initial row of a recurrence over x: the identity of the ufunc, which changes no row."""
    value = np.array(identity).astype(x.dtype)
    return FUNCTIONS["full"]((1, *dims_of(x)[1:]), value, x.dtype)  # type: ignore[no-any-return]


def _methods(ufunc: str, bits: str, identity: int, taken: Callable[[Any], Variable]) -> None:
    """Add `accumulate` and `reduce` of a ufunc: those of the ufunc `bits` on arrays converted by `taken`."""

    def accumulate(a: Any, axis: int | None = None) -> Variable:
        x, i = on_axis(taken(a), axis)
        rows = FUNCTIONS["moveaxis"](x, i, 0)
        return FUNCTIONS["moveaxis"](apply(accumulator(bits), _before(identity, rows), rows), 0, i)  # type: ignore[no-any-return]

    def reduce(a: Any, axis: Any = None, keepdims: bool = False) -> Variable:
        x = taken(a)
        given = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = sorted(axis_of(i, x) for i in given)
        for i in reversed(axes):
            rows = FUNCTIONS["moveaxis"](x, i, 0)
            x = apply(folder(bits), _before(identity, rows), rows)
        return expand_dims(x, tuple(axes)) if keepdims else x

    NUMPY_FUNCTIONS[f"{ufunc}.accumulate"] = accumulate
    NUMPY_FUNCTIONS.setdefault(f"{ufunc}.reduce", reduce)


for _name, _identity in (("and", -1), ("or", 0), ("xor", 0)):
    _methods(f"bitwise_{_name}", f"bitwise_{_name}", _identity, as_variable)
    _methods(f"logical_{_name}", f"bitwise_{_name}", _identity, as_condition)
