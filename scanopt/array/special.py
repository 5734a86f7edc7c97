"""Special functions of symbolic arrays: `scanopt.tensor.special`, by the names of scipy.special.

They need SciPy, which is imported when one is first used.  A ufunc of scipy.special called on a symbolic array
does the same: `scipy.special.erf(x)`.

>>> from scanopt import function, tensor as T
>>> x = T.dvector("x")
>>> function([x], T.special.erf(x))([0.0])
array([0.])
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.array.constants import as_tensor_variable, as_variable
from scanopt.array.functions import elements
from scanopt.array.numerics.scipy_special import special_dtypes
from scanopt.array.operators import nnet as ops_nnet
from scanopt.array.operators.elementwise import as_float, cast, elementwise, where
from scanopt.array.operators.elementwise import sigmoid as _sigmoid
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.reductions import softmax as _softmax
from scanopt.array.operators.shaping import squeeze
from scanopt.array.operators.special import SPECIAL, special
from scanopt.array.registry import NUMPY_FUNCTIONS, public
from scanopt.array.shapes import axes_of
from scanopt.array.variable import Variable

__all__ = [
    "digamma", "expit", "log_expit", "log_softmax", "logsumexp", "polygamma", "sinc", "softmax", "softplus",
]  # fmt: skip


def __getattr__(name: str) -> Callable[..., Variable]:
    """The ufuncs of scipy.special that the operator table has."""
    if name in SPECIAL:
        return SPECIAL[name]
    raise AttributeError(f"scanopt.tensor.special has no {name!r}; it has {', '.join(__dir__())}")


def __dir__() -> list[str]:
    return sorted({*SPECIAL, *__all__})


def _in_floats(x: Any, like: str) -> Variable:
    """x cast to the dtype to which the function `like` of scipy.special converts it."""
    v = as_variable(x)
    return cast(v, special_dtypes(like, (v.dtype,))[-1])


def digamma(x: Any) -> Variable:
    """The derivative of the logarithm of the gamma function, as scipy.special.digamma (psi)."""
    return special("psi", x)


def polygamma(n: Any, x: Any) -> Variable:
    """Derivative number n of the digamma function, as scipy.special.polygamma.

    n: an int, or an array of integers.  The gradient is with respect to x only.

    >>> polygamma(1, np.ones(3)).type.shape
    (3,)
    """
    if isinstance(n, int):
        order = as_tensor_variable(float(n), dtype="float64")
        factor = (-1.0) ** (n + 1) * math.factorial(max(n, 0))
        return cast(special("psi", x), "float64") if n == 0 else factor * special("zeta", order + 1, x)
    order = cast(as_variable(n), "float64")
    sign = where(elementwise("equal", order % 2, 0), -1.0, 1.0)
    others = sign * special("gamma", order + 1) * special("zeta", order + 1, x)
    return where(elementwise("equal", order, 0), special("psi", x), others)


def expit(x: Any) -> Variable:
    """The logistic function 1 / (1 + exp(-x)), as scipy.special.expit.

    >>> expit(np.zeros(2, "float32")).dtype
    'float32'
    """
    return _sigmoid(_in_floats(x, "expit"))


def log_expit(x: Any) -> Variable:
    """log(expit(x)) without underflow, as scipy.special.log_expit."""
    return elementwise("negative", softplus(elementwise("negative", _in_floats(x, "log_expit"))))


def softplus(x: Any) -> Variable:
    """log(1 + exp(x)) without overflow, as scipy.special.softplus."""
    return ops_nnet.softplus(x)


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """log(sum(b * exp(a))) over axis without overflow, as scipy.special.logsumexp.

    b: factors, ones if None; they may be negative with return_sign, which gives the logarithm of the size of the
    sum, and its sign.  Integers count as float64.  Raises TypeError for complex numbers.

    >>> logsumexp(np.ones((3, 4)), axis=0).type.shape
    (4,)
    """
    x = as_variable(a)
    if np.dtype(x.dtype).kind == "c":
        raise TypeError(f"logsumexp takes real numbers, found {x!r}: write T.log(T.sum(T.exp(x)))")
    x = cast(x, "float64") if np.dtype(x.dtype).kind in "biu" else x
    if b is None and not return_sign:
        return ops_nnet.logsumexp(x, axis, keepdims)
    if b is not None:
        factor = as_tensor_variable(b)
        x = where(elementwise("equal", factor, 0), -np.inf, x)
    top = reduce("max", x, axis, True)
    top = where(elementwise("isfinite", top), top, 0.0)
    parts = elementwise("exp", x - top)
    total = reduce("sum", parts if b is None else factor * parts, axis, True)
    sign = elementwise("sign", total)
    found = elementwise("log", elementwise("absolute", total) if return_sign else total) + top
    results = [v if keepdims else squeeze(v, axes_of(axis, v)) for v in (found, sign)]
    return tuple(results) if return_sign else results[0]


def softmax(x: Any, axis: Any = None) -> Variable:
    """exp(x) divided by its sum over axis (all axes if None), as scipy.special.softmax."""
    v = as_float(x)
    if isinstance(axis, int):
        return _softmax(v, axis)
    powers = elementwise("exp", v - reduce("max", v, axis, True))
    return powers / reduce("sum", powers, axis, True)


def log_softmax(x: Any, axis: Any = None) -> Variable:
    """The logarithm of `softmax`, without underflow, as scipy.special.log_softmax."""
    v = as_float(x)
    return v - ops_nnet.logsumexp(v, axis, True)


@public(numpy=("sinc",))
def sinc(x: Any) -> Variable:
    """sin(pi x) / (pi x), and 1 at 0, as np.sinc."""
    return elements.sinc(x)


@public(numpy=("i0",))
def i0(x: Any) -> Variable:
    """The modified Bessel function of order 0, as np.i0: of the dtype of x; integers count as float64."""
    v = as_variable(x)
    v = cast(v, "float64") if np.dtype(v.dtype).kind in "biu" else v
    return cast(special("i0", v), v.dtype)


NUMPY_FUNCTIONS.update({f"special.{f.__name__}": f for f in (expit, log_expit)})
NUMPY_FUNCTIONS["special._zeta"] = SPECIAL["zeta"]  # the ufunc that scipy.special.zeta calls
