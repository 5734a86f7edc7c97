"""Operator table entries of ufuncs: arithmetic, rounding, extrema and floating point.

One entry per ufunc: name, other public names, class of cost, derivatives, algebraic traits.  Where a
function has a corner, its gradient is that of one side, or the mean of both; the entry says which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from scanopt.array.derivatives import no_gradient, zero_gradient
from scanopt.array.op import Op
from scanopt.array.registry import FUNCTIONS
from scanopt.array.ufuncs import binary, elementwise, unary
from scanopt.array.variable import Constant, Variable

__all__ = ["ASSOCIATIVE", "INT", "NIL"]

# The same element for every kind of dtype: bool, signed, unsigned, floating, complex.
NIL, INT = {"b": False, "i": 0, "u": 0}, {"i": 0, "u": 0}
_ONE = {"i": 1, "u": 1, "f": 1.0}
_ADD = {**NIL, "f": -0.0, "c": complex(-0.0, -0.0)}  # x + 0.0 is not x where x is -0.0
_SUB = {**INT, "f": 0.0, "c": 0j}
_FLOATS = {"f": 0.0, "c": 0j}
ASSOCIATIVE: dict[str, Any] = {"commutative": True, "associative": True}
_LEAST = {f"int{n}": -(2 ** (n - 1)) for n in (8, 16, 32, 64)}
_GREATEST = {f"int{n}": 2 ** (n - 1) - 1 for n in (8, 16, 32, 64)} | {f"uint{n}": 2**n - 1 for n in (8, 16, 32, 64)}
_LOW, _HIGH = {"b": False, "u": 0, "f": -math.inf, **_LEAST}, {"b": True, "f": math.inf, **_GREATEST}

Args = Sequence[Variable]
Parts = list[Variable | None]


def _complex(x: Variable) -> bool:
    return x.dtype.startswith("complex")


def _power_by_base(x: Variable, y: Variable, out: Variable, **_: Any) -> Variable:
    """y x^(y-1), and 0 where y is 0, also at x = 0; for x != 0 its own derivative by y is right at y = 0."""
    if isinstance(y, Constant) and y.data.all():
        data = y.data.astype(out.dtype)
        return Constant(data) * elementwise("power", x, Constant(data - data.dtype.type(1)))
    flat = FUNCTIONS["eq"](y, 0)
    if not isinstance(y, Constant) and y.dtype.startswith(("float", "complex")):
        flat = flat & FUNCTIONS["eq"](x, 0)
    y = FUNCTIONS["cast"](y, out.dtype)
    return y * elementwise("power", x, FUNCTIONS["where"](flat, 1, y) - 1)


def _power_by_exponent(x: Variable, y: Variable, out: Variable, **_: Any) -> Variable:
    """log(x) x^y, and 0 where x is 0."""
    base = FUNCTIONS["cast"](x, out.dtype)
    return elementwise("log", FUNCTIONS["where"](FUNCTIONS["eq"](base, 0), 1, base)) * out


def _chosen(more: str, numbers_only: bool = False) -> tuple[Any, Any]:
    """The partial derivatives of an extremum: 1 for the argument that is chosen, 1/2 for each of two equal ones.

    Arguments are compared with each other and not with the result, which a kernel may have rounded differently.  more:
    the comparison that the chosen argument fulfils with the other one.  numbers_only: NaN is never chosen.
    """

    def part(mine: Variable, other: Variable, out: Variable) -> Any:
        chosen = FUNCTIONS[more](mine, other)
        if numbers_only:
            chosen = chosen | (FUNCTIONS["isnan"](other) & ~FUNCTIONS["isnan"](mine))
        return FUNCTIONS["where"](FUNCTIONS["eq"](mine, other), 0.5, FUNCTIONS["cast"](chosen, out.dtype))

    return part, lambda x, y, out: part(y, x, out)


def _absolute(x: Variable, out: Variable) -> Variable:
    """The sign, 0 at 0; for complex x its conjugate, since |x| grows along x / |x| and derivatives are conjugated."""
    sign = elementwise("sign", x)
    return elementwise("conjugate", sign) if _complex(x) else sign


def _sign(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """0 for real numbers; for x / |x| the component of g perpendicular to x, divided by |x|; 0 at 0."""
    (x,) = args
    if not _complex(x):
        return zero_gradient(op, args, out, g)
    size = elementwise("absolute", x)
    along = out * FUNCTIONS["real"](g * elementwise("conjugate", out))
    return [(g - along) / FUNCTIONS["where"](FUNCTIONS["eq"](size, 0), math.inf, size)]


def _conjugate(op: Op, args: Args, out: Variable, g: Variable) -> Parts:
    """The conjugate: the derivative with respect to the conjugate is 1."""
    return [elementwise("conjugate", g) if _complex(args[0]) else g]


def _one_sign(x: Variable, y: Variable, out: Variable) -> Variable:
    """|x| with the sign of y: 0 at x = 0."""
    return elementwise("sign", x) * elementwise("copysign", 1.0, y)


def _scale(x: Variable, n: Variable, out: Variable) -> Variable:
    return elementwise("ldexp", FUNCTIONS["ones_like"](x), n)


# arithmetic
binary(
    "add", partial=(1, 1), identity=_ADD, left_identity=_ADD, fast_identity=_FLOATS, inverse="subtract", **ASSOCIATIVE
)
binary("subtract", "sub", partial=(1, -1), identity=_SUB, self_inverse=INT, fast_self_inverse=_FLOATS, inverse="add")
binary("multiply", "mul", partial=(lambda x, y, out: y, lambda x, y, out: x),
       identity={**_ONE, "b": True}, left_identity={**_ONE, "b": True},
       annihilator=NIL, fast_annihilator=_FLOATS, but="c", **ASSOCIATIVE)  # fmt: skip
binary("divide", "true_div", "true_divide", cost="division", identity={"f": 1.0},
       partial=(lambda x, y, out: (1, y), lambda x, y, out: (-out, y)))  # fmt: skip
binary("floor_divide", "int_div", "floor_div", cost="division", identity=INT | {"i": 1, "u": 1}, partial=(0, 0))
binary("remainder", "mod", cost="division", partial=(1, lambda x, y, out: -elementwise("floor_divide", x, y)))
binary("fmod", cost="division", partial=(1, lambda x, y, out: elementwise("rint", (out - x) / y)))
binary("power", "pow", cost="transcendental", identity={"i": 1, "u": 1},  # powf(x, 1) is not exact
       partial=(_power_by_base, _power_by_exponent))  # fmt: skip
binary("float_power", cost="transcendental", partial=(_power_by_base, _power_by_exponent))
unary("negative", "neg", partial=-1, involution=True)
unary("positive", partial=1, idempotent=True, involution=True)
unary("absolute", "abs", "abs_", partial=_absolute, idempotent=True)
unary("fabs", partial=_absolute, idempotent=True)
unary("sign", "sgn", gradient=_sign, idempotent=True, but="c")
unary("square", "sqr", partial=lambda x, out: 2 * x)
unary("sqrt", cost="division", partial=lambda x, out: (0.5, out))
unary("cbrt", cost="transcendental", partial=lambda x, out: (1, 3 * out**2))
unary("reciprocal", "inv", cost="division", partial=lambda x, out: -(out**2))
unary("conjugate", "conj", gradient=_conjugate, involution=True)
# rounding: constant between the jumps
unary("rint", partial=0, idempotent=True)
unary("floor", partial=0, idempotent=True)
unary("ceil", partial=0, idempotent=True)
unary("trunc", partial=0, idempotent=True)
# extrema: of 0.0 and -0.0 NumPy returns one depending on their order, so floats do not commute bit for bit
_extremum: dict[str, Any] = {"idempotent": True, "but": "fc", "equal_to_itself": "f", **ASSOCIATIVE}
binary("maximum", "largest", identity=_LOW, left_identity=_LOW, partial=_chosen("gt"), **_extremum)
binary("minimum", "smallest", identity=_HIGH, left_identity=_HIGH, partial=_chosen("lt"), **_extremum)
binary("fmax", partial=_chosen("gt", numbers_only=True), **_extremum)
binary("fmin", partial=_chosen("lt", numbers_only=True), **_extremum)
# floating point
unary("isfinite", gradient=no_gradient)
unary("isinf", gradient=no_gradient)
unary("isnan", gradient=no_gradient)
unary("signbit", gradient=no_gradient)
unary("spacing", partial=0)
binary("copysign", partial=(_one_sign, 0))
binary("nextafter", partial=(1, 0))
binary("heaviside", partial=(0, lambda x, y, out: FUNCTIONS["eq"](x, 0)))
binary("ldexp", partial=(_scale, None))
