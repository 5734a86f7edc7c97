"""Primitives of JAX that work element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.operators.bits import bitcast
from scanopt.array.operators.special import special
from scanopt.array.ufuncs import elementwise
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.jaxprs.reading import JaxprEquation, rule

UFUNCS = {
    "neg": "negative", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos",
    "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "exp": "exp", "exp2": "exp2", "log": "log", "expm1": "expm1", "log1p": "log1p",
    "sqrt": "sqrt", "cbrt": "cbrt", "floor": "floor", "ceil": "ceil", "abs": "absolute", "sign": "sign",
    "is_finite": "isfinite", "square": "square", "conj": "conjugate",
    "add": "add", "add_any": "add", "sub": "subtract", "mul": "multiply", "max": "maximum", "min": "minimum",
    "pow": "power", "atan2": "arctan2", "nextafter": "nextafter", "eq": "equal", "ne": "not_equal", "lt": "less",
    "le": "less_equal", "gt": "greater", "ge": "greater_equal", "shift_left": "left_shift",
    "shift_right_arithmetic": "right_shift",
}  # fmt: skip
"""Primitives that are NumPy's functions under another name."""

SPECIAL = {
    "erf": "erf", "erfc": "erfc", "erf_inv": "erfinv", "lgamma": "gammaln", "digamma": "psi", "bessel_i0e": "i0e",
    "bessel_i1e": "i1e", "igamma": "gammainc", "igammac": "gammaincc", "zeta": "zeta",
    "regularized_incomplete_beta": "betainc",
}  # fmt: skip
"""Primitives that are functions of scipy.special."""


def kind(x: Variable) -> str:
    """The kind of the dtype of x, as in NumPy."""
    return np.dtype(x.dtype).kind


@rule(*UFUNCS)
def _ufunc(eq: JaxprEquation) -> Variable:
    return elementwise(UFUNCS[eq.name], *eq.inputs)


@rule(*SPECIAL)
def _special(eq: JaxprEquation) -> Variable:
    return special(SPECIAL[eq.name], *eq.inputs)


@rule("and", "or", "xor", "not")
def _bitwise(eq: JaxprEquation) -> Variable:
    logical = kind(eq.inputs[0]) == "b"
    if eq.name == "not":
        return elementwise("logical_not" if logical else "invert", *eq.inputs)
    return elementwise(f"{'logical' if logical else 'bitwise'}_{eq.name}", *eq.inputs)


@rule("shift_right_logical")
def _shift_right_logical(eq: JaxprEquation) -> Variable:
    x, by = eq.inputs
    unsigned = f"uint{8 * np.dtype(x.dtype).itemsize}"
    if x.dtype == unsigned:
        return elementwise("right_shift", x, by)
    return T.cast(elementwise("right_shift", T.cast(x, unsigned), T.cast(by, unsigned)), x.dtype)


@rule("div")
def _div(eq: JaxprEquation) -> Variable:
    """Divide; a quotient of integers is rounded towards zero."""
    x, y = eq.inputs
    if kind(x) not in "iu":
        return elementwise("divide", x, y)
    down = elementwise("floor_divide", x, y)
    if kind(x) == "u":
        return down
    inexact = T.neq(down * y, x) & T.neq(T.lt(x, 0), T.lt(y, 0))
    found: Variable = T.where(inexact, down + 1, down)
    return found


@rule("rem")
def _rem(eq: JaxprEquation) -> Variable:
    return elementwise("fmod", *eq.inputs)


@rule("rsqrt")
def _rsqrt(eq: JaxprEquation) -> Variable:
    return T.reciprocal(T.sqrt(eq.inputs[0]))


@rule("logistic")
def _logistic(eq: JaxprEquation) -> Variable:
    return T.sigmoid(eq.inputs[0])


@rule("integer_pow")
def _integer_pow(eq: JaxprEquation) -> Variable:
    x, y = eq.inputs[0], int(eq.params["y"])
    if y in (0, 1, 2):
        return (T.ones_like(x), x, elementwise("square", x))[y]
    if y < 0 and kind(x) in "fc":
        return T.reciprocal(_power(x, -y))
    return _power(x, y)


def _power(x: Variable, n: int) -> Variable:
    """The n-th power by repeated squaring, in XLA's order."""
    found: Variable | None = None
    while n:
        if n & 1:
            found = x if found is None else found * x
        n >>= 1
        x = elementwise("square", x) if n else x
    assert found is not None
    return found


@rule("polygamma")
def _polygamma(eq: JaxprEquation) -> Variable:
    n, x = eq.inputs
    if not (isinstance(n, Constant) and not n.data.ndim):
        raise eq.refused("polygamma of an order that is computed")
    if n.data == 0:
        return special("psi", x)
    factor = np.asarray((-1.0) ** (float(n.data) + 1) * _factorial(int(n.data)), x.dtype)
    return Constant(factor) * special("zeta", Constant(np.asarray(n.data + 1, x.dtype)), x)


def _factorial(n: int) -> float:
    return float(n * _factorial(n - 1)) if n > 1 else 1.0


@rule("round")
def _round(eq: JaxprEquation) -> Variable:
    x = eq.inputs[0]
    if int(eq.params["rounding_method"]) == 1:  # halves to even
        return elementwise("rint", x)
    away = elementwise("floor", elementwise("absolute", x) + Constant(np.asarray(0.5, x.dtype)))
    return elementwise("copysign", away, x)


@rule("real", "imag")
def _part(eq: JaxprEquation) -> Variable:
    return T.real(eq.inputs[0]) if eq.name == "real" else T.imag(eq.inputs[0])


@rule("complex")
def _complex(eq: JaxprEquation) -> Variable:
    x, y = (T.cast(v, eq.types[0].dtype) for v in eq.inputs)
    return x + y * Constant(np.asarray(1j, eq.types[0].dtype))


@rule("clamp")
def _clamp(eq: JaxprEquation) -> Variable:
    low, x, high = eq.inputs
    return elementwise("minimum", elementwise("maximum", x, low), high)


@rule("select_n")
def _select_n(eq: JaxprEquation) -> Variable:
    which, *cases = eq.inputs
    if kind(which) == "b":
        cases = [T.where(which, cases[1], cases[0])]
    found: Variable = cases[-1]
    for i in range(len(cases) - 2, -1, -1):
        found = T.where(T.le(which, Constant(np.asarray(i, which.dtype))), cases[i], found)
    return found


@rule("convert_element_type")
def _convert(eq: JaxprEquation) -> Variable:
    x, dtype = eq.inputs[0], eq.types[0].dtype
    if dtype == "bool":
        return T.neq(x, Constant(np.zeros((), x.dtype))) if x.dtype != "bool" else x
    if kind(x) == "c" and np.dtype(dtype).kind != "c":
        x = T.real(x)
    return T.cast(x, dtype)


@rule("bitcast_convert_type")
def _bitcast(eq: JaxprEquation) -> Variable:
    """Read the bits as another dtype; as in JAX, gradients do not pass through."""
    x = eq.inputs[0]
    return bitcast(T.disconnected_grad(x) if kind(x) in "fc" else x, eq.types[0].dtype)


@rule("stop_gradient")
def _stop_gradient(eq: JaxprEquation) -> Variable:
    return T.disconnected_grad(eq.inputs[0])


@rule("copy", "copy_p", "device_put", "optimization_barrier", "sharding_constraint", "name", "pvary", "mul_identity")
def _same(eq: JaxprEquation) -> Any:
    return list(eq.inputs)


@rule("reduce_precision")
def _reduce_precision(eq: JaxprEquation) -> Variable:
    """Round to a format that NumPy has, by a cast to it and back.  Raises Refused for other formats."""
    bits = {(5, 10): "float16", (8, 23): "float32", (11, 52): "float64"}
    found = bits.get((int(eq.params["exponent_bits"]), int(eq.params["mantissa_bits"])))
    if found is None:
        raise eq.refused("reduce_precision to a format that NumPy lacks")
    return T.cast(T.cast(eq.inputs[0], found), eq.inputs[0].dtype)


@rule("population_count")
def _population_count(eq: JaxprEquation) -> Variable:
    """Count the bits of x as unsigned, since NumPy counts those of the absolute value."""
    return elementwise("bitwise_count", T.cast(eq.inputs[0], f"uint{8 * np.dtype(eq.inputs[0].dtype).itemsize}"))


@rule("lt_to", "le_to", "eq_to")
def _total_order(eq: JaxprEquation) -> Variable:
    """Compare floats in the total order, with -0.0 before 0.0, and NaN last."""
    x, y = eq.inputs
    if eq.name == "lt_to":
        return _before(x, y)
    at_most = T.logical_not(_before(y, x))
    return at_most if eq.name == "le_to" else at_most & T.logical_not(_before(x, y))


def _before(x: Variable, y: Variable) -> Variable:
    if kind(x) != "f":
        return T.lt(x, y)
    nan = T.isnan(y) & T.logical_not(T.isnan(x))
    zeros = T.eq(x, y) & T.signbit(x) & T.logical_not(T.signbit(y))
    return T.lt(x, y) | nan | zeros


@rule("clz")
def _leading_zeros(eq: JaxprEquation) -> Variable:
    """Count leading zeros: set all bits below the first one and count the bits set."""
    x, bits = eq.inputs[0], 8 * np.dtype(eq.inputs[0].dtype).itemsize
    unsigned = T.cast(x, f"uint{bits}")
    for k in (1, 2, 4, 8, 16, 32):
        if k < bits:
            unsigned = unsigned | (unsigned >> Constant(np.asarray(k, unsigned.dtype)))
    return Constant(np.asarray(bits, "int64")) - T.cast(elementwise("bitwise_count", unsigned), "int64")
