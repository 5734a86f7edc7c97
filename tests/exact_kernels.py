"""Functions that one kernel runs, compared with the interpreter bit by bit."""

from typing import Any

import numpy as np

from scanopt.compilation.compiled_function import Function

__all__ = ["exact_kernel"]


def exact_kernel(f: Function, values: list[Any]) -> str:
    """The text of the only kernel of f, after a call that gives the bits of the interpreter."""
    with np.errstate(all="ignore"):
        found, expected = f(*values), f.unoptimized(*values)
    assert "1 of 1 kernels" in str(f.kernels[0]), f.kernels
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)
        if x.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(x) & ~np.isnan(x), np.signbit(y) & ~np.isnan(y))
    return str(f.kernels[0])
