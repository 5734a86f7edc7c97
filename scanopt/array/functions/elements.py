"""Functions of each element: nan_to_num, sinc, fix, angle, real_if_close."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scanopt.array.constants import as_variable
from scanopt.array.operators.elementwise import cast, elementwise, imag, real, where
from scanopt.array.registry import public
from scanopt.array.variable import Variable, describe

__all__ = ["nan_to_num"]


@public("nan_to_num", numpy=("nan_to_num",))
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Variable:
    """x with numbers in place of NaN and infinities (by default 0 and the largest and least that there are).

    Of complex numbers both parts are replaced.  nan, posinf, neginf: numbers or arrays.

    >>> nan_to_num([1.0, np.nan]).eval()
    array([1., 0.])
    """
    v = as_variable(x)
    kind = np.dtype(v.dtype).kind
    if kind == "c":
        parts = [nan_to_num(part, copy, nan, posinf, neginf) for part in (real(v), imag(v))]
        return elementwise("add", parts[0], elementwise("multiply", parts[1], 1j))
    if kind != "f":
        return v
    limits = np.finfo(v.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    found = v
    cases = (
        (elementwise("isnan", v), nan),
        (elementwise("equal", v, np.inf), high),
        (elementwise("equal", v, -np.inf), low),
    )
    for condition, value in cases:
        found = where(condition, cast(as_variable(value), v.dtype), found)
    return found


@public("sinc", numpy=("sinc",))
def sinc(x: Any) -> Variable:
    """sin(pi x) / (pi x), and 1 at 0, as np.sinc."""
    turns = elementwise("multiply", math.pi, as_variable(x))
    zero = elementwise("equal", turns, 0)
    near = 1 - turns * turns / 6  # whose derivatives at 0 are right
    return where(zero, near, elementwise("sin", turns) / where(zero, 1, turns))


@public("fix", numpy=("fix",))
def fix(x: Any) -> Variable:
    """x rounded towards 0."""
    return elementwise("trunc", as_variable(x))


@public("angle", numpy=("angle",))
def angle(z: Any, deg: bool = False) -> Variable:
    """The angle of complex numbers in the plane, in radians (or degrees): pi for negative real ones.

    >>> angle(1j, deg=True).eval()
    array(90.)
    """
    v = as_variable(z)
    complex_ = np.dtype(v.dtype).kind == "c"
    found = elementwise("arctan2", imag(v) if complex_ else 0, real(v))
    return elementwise("multiply", found, 180 / math.pi) if deg else found


@public("real_if_close", numpy=("real_if_close",))
def real_if_close(a: Any, tol: float = 100) -> Variable:
    """a itself, if real.  Raises TypeError for complex numbers: NumPy's dtype depends on the values, ours cannot."""
    v = as_variable(a)
    if np.dtype(v.dtype).kind == "c":
        raise TypeError(
            f"real_if_close of complex numbers has a dtype that depends on their values, found {describe(v)}: "
            "use T.real(x), or look at T.abs(T.imag(x)).max() first"
        )
    return v
