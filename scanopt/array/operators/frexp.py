"""The parts of floats, exact, from their bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanopt.array.constants import as_variable
from scanopt.array.operators.bits import bitcast
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.operators.gradient import disconnected_grad
from scanopt.array.registry import public
from scanopt.array.variable import Variable, describe

__all__ = ["frexp"]

_BITS = {"float16": ("int16", 10, 15), "float32": ("int32", 23, 127), "float64": ("int64", 52, 1023)}
"""For each dtype the integer dtype of its size, the number of fraction bits, and the bias of the exponent."""


@public("frexp", numpy=("frexp",))
def frexp(x: Any) -> tuple[Variable, Variable]:
    """m and e, int32, with x = m * 2**e and 0.5 <= abs(m) < 1; 0 for e where x is 0 or not finite.

    A gradient takes e for a constant.  Raises TypeError for complex numbers.

    >>> [part.eval().tolist() for part in frexp([3.0, 0.125])]
    [[0.75, 0.5], [2, -2]]
    """
    v = as_variable(x)
    if np.dtype(v.dtype).kind == "c":
        raise TypeError(f"frexp needs real numbers, found {describe(v)}")
    v = cast(v, np.frexp.resolve_dtypes((np.dtype(v.dtype), None, None))[0].name)
    integers, fraction, bias = _BITS[v.dtype]
    small = elementwise("less", elementwise("absolute", v), float(np.finfo(v.dtype).smallest_normal))
    large = where(small, elementwise("ldexp", v, fraction), v)
    word = elementwise("right_shift", bitcast(disconnected_grad(large), integers), fraction)
    stored = cast(elementwise("bitwise_and", word, 2 * bias + 1), "int32")
    e = elementwise(
        "subtract", elementwise("subtract", stored, bias - 1), where(small, np.int32(fraction), np.int32(0))
    )
    e = where(elementwise("logical_and", elementwise("isfinite", v), elementwise("not_equal", v, 0)), e, np.int32(0))
    return elementwise("ldexp", v, elementwise("negative", e)), e
