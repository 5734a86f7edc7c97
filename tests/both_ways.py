"""Graphs computed in both ways: by the interpreter, and optimized."""

from typing import Any

import numpy as np

from scanopt import function, interpret
from scanopt.array.variable import Variable

__all__ = ["both"]


def both(inputs: list[Variable], outputs: list[Variable], values: list[Any]) -> list[Any]:
    """The values of the outputs: the interpreter's, which the optimized program must have, too."""
    expected = interpret(outputs, dict(zip(inputs, values, strict=True)))
    found = function(inputs, outputs)(*values)
    for a, b in zip(found, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-12)
    return list(expected)
