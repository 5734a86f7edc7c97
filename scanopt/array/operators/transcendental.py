"""Operator table entries of ufuncs: exponentials, logarithms, trigonometry (name, other public names, derivatives).

A derivative given as a pair is a fraction.  The derivatives hold on the principal branches of complex numbers too.
"""

from __future__ import annotations

import math
from typing import Any

from scanopt.array.derivatives import Partial
from scanopt.array.registry import FUNCTIONS
from scanopt.array.ufuncs import binary, elementwise, unary
from scanopt.array.variable import Variable

__all__: list[str] = []


def _smooth(name: str, *names: str, partial: Partial) -> None:
    unary(name, *names, cost="transcendental", partial=partial)


def _radius(x: Variable, out: Variable) -> Any:
    """x / hypot(x, y), and 0 at the origin."""
    return x, FUNCTIONS["where"](FUNCTIONS["eq"](out, 0), 1, out)


def _like(x: Variable, out: Variable) -> Any:
    """x in the dtype of the result, in which its square does not overflow as an integer square would."""
    return FUNCTIONS["cast"](x, out.dtype)


def _turn(x: Variable, y: Variable, out: Variable) -> Any:
    """x / (x^2 + y^2)."""
    return _like(x, out), _like(x, out) ** 2 + _like(y, out) ** 2


def _sigmoid(x: Variable) -> Any:
    """The derivative of log(exp(x) + 1), without the difference of infinities that exp(x - out) may have."""
    return FUNCTIONS["sigmoid"](x)


def _of(name: str) -> Partial:
    return lambda x, out: elementwise(name, x)


# exponentials and logarithms
_smooth("exp", partial=lambda x, out: out)
_smooth("exp2", partial=lambda x, out: math.log(2) * out)
_smooth("expm1", partial=_of("exp"))
_smooth("log", partial=lambda x, out: (1, x))
_smooth("log2", partial=lambda x, out: (1 / math.log(2), x))
_smooth("log10", partial=lambda x, out: (1 / math.log(10), x))
_smooth("log1p", partial=lambda x, out: (1, 1 + x))
binary("logaddexp", cost="transcendental",
       partial=(lambda x, y, out: _sigmoid(x - y), lambda x, y, out: _sigmoid(y - x)))  # fmt: skip
binary("logaddexp2", cost="transcendental",
       partial=(lambda x, y, out: _sigmoid(math.log(2) * (x - y)),
                lambda x, y, out: _sigmoid(math.log(2) * (y - x))))  # fmt: skip
# trigonometry
_smooth("sin", partial=_of("cos"))
_smooth("cos", partial=lambda x, out: -elementwise("sin", x))
_smooth("tan", partial=lambda x, out: 1 + out**2)
_smooth("sinh", partial=_of("cosh"))
_smooth("cosh", partial=_of("sinh"))
_smooth("tanh", partial=lambda x, out: 1 - out**2)
_smooth("arcsin", "asin", partial=lambda x, out: (1, elementwise("sqrt", (1 - x) * (1 + x))))
_smooth("arccos", "acos", partial=lambda x, out: (-1, elementwise("sqrt", (1 - x) * (1 + x))))
_smooth("arctan", "atan", partial=lambda x, out: (1, 1 + x**2))
_smooth("arcsinh", "asinh", partial=lambda x, out: (1, elementwise("sqrt", 1 + x**2)))
_smooth("arccosh", "acosh", partial=lambda x, out: (1, elementwise("sqrt", x - 1) * elementwise("sqrt", x + 1)))
_smooth("arctanh", "atanh", partial=lambda x, out: (1, (1 - x) * (1 + x)))
binary("arctan2", "atan2", cost="transcendental",
       partial=(lambda y, x, out: _turn(x, y, out), lambda y, x, out: _turn(-_like(y, out), x, out)))  # fmt: skip
binary("hypot", cost="transcendental",
       partial=(lambda x, y, out: _radius(x, out), lambda x, y, out: _radius(y, out)))  # fmt: skip
unary("degrees", partial=180 / math.pi)
unary("radians", partial=math.pi / 180)
unary("deg2rad", partial=math.pi / 180)
unary("rad2deg", partial=180 / math.pi)
