"""Convolution and correlation of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanopt.array.batching import dim
from scanopt.array.constants import as_arrays
from scanopt.array.functions.arguments import expect_axes, is_zero, minus, plus
from scanopt.array.operators.axes import atleast_1d
from scanopt.array.operators.convolve import CONVOLVE
from scanopt.array.operators.elementwise import elementwise, where
from scanopt.array.operators.selecting import flip
from scanopt.array.operators.subtensor import getitem
from scanopt.array.registry import public
from scanopt.array.variable import Variable, apply

__all__ = ["convolve", "correlate"]


def _shorter(n: Any, m: Any) -> Any:
    return min(n, m) if isinstance(n, int) and isinstance(m, int) else elementwise("minimum", n, m)


def _longer(n: Any, m: Any) -> Any:
    return max(n, m) if isinstance(n, int) and isinstance(m, int) else elementwise("maximum", n, m)


def _half(n: Any) -> Any:
    return n // 2 if isinstance(n, int) else elementwise("floor_divide", n, 2)


def _convolved(function: str, a: Variable, v: Variable, mode: str, turned: bool) -> Variable:
    """The part of the full convolution that `mode` asks for.

    turned: for a correlation: if v is longer than a, NumPy exchanges the two, which reverses the result, so the odd one
    of the entries left out is at the other end.
    """
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"the mode of {function} is 'full', 'same' or 'valid', found {mode!r}")
    n, m = dim(a, 0), dim(v, 0)
    if is_zero(n) or is_zero(m):
        raise ValueError(f"{function} of a vector of length 0")
    found = apply(CONVOLVE, a, v)
    if mode == "full":
        return found
    least, most = _shorter(n, m), _longer(n, m)
    if mode == "valid":
        return getitem(found, slice(minus(least, 1), most))
    start = minus(minus(least, 1), _half(least))
    if turned:
        other = _half(least)
        if isinstance(n, int) and isinstance(m, int):
            start = start if n >= m else other
        else:
            start = where(elementwise("greater_equal", n, m), start, other)
    return getitem(found, slice(start, plus(start, most)))


@public("convolve", numpy=("convolve",))
def convolve(a: Any, v: Any, mode: str = "full") -> Variable:
    """The discrete convolution of two vectors: sums of a[k] v[n - k].

    mode: "full", "same" (as long as the longer one) or "valid" (where they overlap completely).
    Raises ValueError for more axes, a known length 0, or another mode.

    >>> convolve([1.0, 2.0, 3.0], [0.0, 1.0, 0.5]).eval()
    array([0. , 1. , 2.5, 4. , 1.5])
    """
    x, y = (expect_axes("convolve", atleast_1d(u), 1, 1) for u in as_arrays(a, v))
    return _convolved("convolve", x, y, mode, turned=False)


@public("correlate", numpy=("correlate",))
def correlate(a: Any, v: Any, mode: str = "valid") -> Variable:
    """The correlation of two vectors: sums of a[n + k] conj(v[n]); modes as of `convolve`.

    >>> correlate([1.0, 2.0, 3.0], [0.0, 1.0, 0.5]).eval()
    array([3.5])
    """
    x, y = (expect_axes("correlate", atleast_1d(u), 1, 1) for u in as_arrays(a, v))
    y = elementwise("conjugate", y) if np.dtype(y.dtype).kind == "c" else y
    return _convolved("correlate", x, flip(y), mode, turned=True)
