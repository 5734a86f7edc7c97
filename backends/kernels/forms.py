"""Decides how a ufunc runs in a kernel, by dtypes: as an operation of C, a call of NumPy's inner loop, or not at all.

Everything rounds as NumPy does: an operation is written in C only if it rounds once or not at all, so there is only one
possible result; all others call NumPy's own inner loops.
"""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from scanopt.backends.kernels.complex_operations import is_known
from scanopt.backends.kernels.numpy_loops import inner_loop, loop_dtypes

__all__ = ["cast_is_known", "in_c", "needs_whole", "through_numpy"]

COMPARED = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
LOGIC = {"logical_and", "logical_or", "logical_xor", "logical_not"}
BITS = {"bitwise_and", "bitwise_or", "bitwise_xor", "invert"}
KEPT = {"positive", "floor", "ceil", "trunc", "rint"}
"""Operations that leave an integer unchanged; only the first leaves floats unchanged."""
TESTED = {"isnan", "isinf", "isfinite"}

_ANY = COMPARED | LOGIC | TESTED
_NUMBERS = _ANY | KEPT | {"add", "subtract", "multiply", "negative", "absolute", "square", "maximum", "minimum", "sign"}
_ANGLES = {"deg2rad", "radians", "rad2deg", "degrees"}
_OF_COMPLEX = {
    "equal", "not_equal", "positive", "negative", "conjugate", "add", "subtract", "multiply", "square", "divide",
    "reciprocal", "absolute",
}  # fmt: skip
OF_KIND = {
    "b": COMPARED | LOGIC | BITS | {"add", "multiply", "maximum", "minimum", "absolute"},
    "i": _NUMBERS | BITS | {"floor_divide", "remainder", "left_shift", "right_shift"},
    "u": _NUMBERS | BITS | {"floor_divide", "remainder", "left_shift", "right_shift"},
    "f": _NUMBERS | {"divide", "fabs", "sqrt", "reciprocal", "signbit", "copysign", "heaviside"} | _ANGLES,
    "c": LOGIC | TESTED | _OF_COMPLEX,
}
"""The ufuncs that are one operation of C, by the kind of dtype in which they compute."""

RAISING = {"power", "float_power"}
"""NumPy's inner loops of these raise errors for signed integers, for which they need Python."""
X86 = platform.machine().lower() in ("x86_64", "amd64")


def in_c(name: str, dtypes: tuple[str, ...]) -> tuple[str, ...] | None:
    """The dtypes in which a ufunc is written in C, its result last; None if it is not.

    >>> in_c("add", ("int8", "float32"))
    ('float32', 'float32', 'float32')
    >>> in_c("exp", ("float64",)) is None
    True
    """
    found = loop_dtypes(name, dtypes)
    if found is None or len(set(found[:-1])) != 1:
        return None
    kind = np.dtype(found[0]).kind
    if name in ("maximum", "minimum") and kind == "f" and not X86:
        return None  # only on x86 do 0.0 and -0.0 give the second
    known = name in OF_KIND.get(kind, ()) and (kind != "c" or is_known(name, found[0]))
    return found if known else None


def through_numpy(name: str, dtypes: tuple[str, ...]) -> tuple[str, ...] | None:
    """The dtypes in which an inner loop of NumPy computes a ufunc, its result last; None if none may be called."""
    found = loop_dtypes(name, dtypes)
    if found is None or inner_loop(name, found) is None:
        return None
    return None if name in RAISING and np.dtype(found[0]).kind not in "fuc" else found


def needs_whole(op: Any, dtype: str) -> bool:
    """Whether NumPy's rounding depends on the number of elements, so that its inner loops get all elements at once."""
    return not op.batch_exact(dtype)


def cast_is_known(old: str, new: str) -> bool:
    """Whether C casts one dtype to another as NumPy does, for all values.

    >>> cast_is_known("int64", "int8"), cast_is_known("float64", "uint8")
    (True, False)
    """
    before, after = np.dtype(old).kind, np.dtype(new).kind
    if before == "c":
        return after in "cb"
    return before != "f" or after in "fcb" or (X86 and new in ("int32", "int64"))
