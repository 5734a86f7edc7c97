"""Window functions: weights that fade out towards both ends."""

from __future__ import annotations

import math
from typing import Any

from scanopt.array.constants import as_variable
from scanopt.array.functions.arguments import length_of, limited, minus
from scanopt.array.operators.creation import arange
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.variable import Variable

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def _from_middle(M: Any) -> Variable:
    """M places at equal distances from -1 to 1; the middle, 0, if M is 1."""
    n = length_of(M, "the number of points")
    doubled = elementwise("subtract", elementwise("multiply", arange(n), 2), minus(n, 1))
    return elementwise("divide", doubled, cast(as_variable(limited(minus(n, 1), 1)), "float64"))


def _cosine(M: Any, *weights: float) -> Variable:
    """The sum of weights[k] cos(k pi x) at M places x from -1 to 1."""
    places = _from_middle(M)
    waves = [w * elementwise("cos", k * math.pi * places) for k, w in enumerate(weights[1:], 1)]
    return sum(waves, start=weights[0] + 0.0 * places)


@public("bartlett")
def bartlett(M: Any) -> Variable:
    """The triangular window of M points, an int or an integer scalar."""
    places = _from_middle(M)
    return where(elementwise("less_equal", places, 0), 1 + places, 1 - places)


@public("hanning")
def hanning(M: Any) -> Variable:
    """The Hann window of M points, an int or an integer scalar.

    >>> hanning(3).eval()
    array([0., 1., 0.])
    """
    return _cosine(M, 0.5, 0.5)


@public("hamming")
def hamming(M: Any) -> Variable:
    """The Hamming window of M points, an int or an integer scalar."""
    return _cosine(M, 0.54, 0.46)


@public("blackman")
def blackman(M: Any) -> Variable:
    """The Blackman window of M points, an int or an integer scalar."""
    return _cosine(M, 0.42, 0.5, 0.08)


@public("kaiser")
def kaiser(M: Any, beta: Any) -> Variable:
    """The Kaiser window of M points, an int or an integer scalar; beta: a number, how narrow it is."""
    places = _from_middle(M)
    shape = as_variable(beta)
    inner = elementwise("sqrt", 1 - elementwise("square", places))
    window: Variable = FUNCTIONS["i0"](shape * inner) / FUNCTIONS["i0"](cast(shape, "float64"))
    return window
