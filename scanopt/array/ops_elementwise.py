"""Elementwise operators: NumPy's ufuncs, where, clip, cast, round, sigmoid, and what they make.

One line per ufunc: name, other public names, class of cost, algebraic traits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.array.batching import elementwise as batch_elementwise
from scanopt.array.constants import as_tensor_variable, as_variable, is_weak, promoted, weak_constant
from scanopt.array.op import Op, Operand, OpSpec, Traits, register
from scanopt.array.shapes import broadcast, common_dtype, probe_dtype, ufunc_dtypes
from scanopt.array.types import TensorType
from scanopt.array.variable import Constant, Variable, apply, describe, public

__all__ = ["cast", "elementwise", "where"]

INF = math.inf


def _bind_ufunc(name: str) -> Callable[..., Any]:
    if name in ("maximum", "minimum"):  # which take `out` by keyword only
        return lambda xp: lambda x, y, out=None: getattr(xp, name)(x, y, out=out)
    return lambda xp, **params: getattr(xp, name)


def _infer_ufunc(name: str) -> Callable[..., TensorType]:
    def infer(*operands: Operand, **params: Any) -> TensorType:
        dtype = ufunc_dtypes(name, tuple(x.dtype for x in operands))[-1]
        if name == "square" and np.dtype(dtype).kind == "c":
            raise TypeError("square of complex numbers: multiply them by themselves")
        return TensorType(dtype, broadcast(*(x.shape for x in operands)))

    return infer


_COMPARISONS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}


def _weak_dtype(name: str, x: Any, dtype: str) -> str:
    """The dtype of a Python number: comparisons take any integer, as NumPy's do."""
    if name in _COMPARISONS and isinstance(x, int) and np.dtype(dtype).kind in "iu":
        for wide in (dtype, "int64", "uint64"):
            if np.iinfo(wide).min <= x <= np.iinfo(wide).max:
                return wide
        return "float64"
    return dtype


def elementwise(name: str, *args: Any) -> Variable:
    """The ufunc `name` of operands; bare Python numbers become constants of NumPy's dtype.

    Raises TypeError for dtypes that the ufunc does not take, ValueError for shapes that do not
    broadcast, OverflowError for a Python integer that does not fit.
    """
    xs = [x if is_weak(x) else as_tensor_variable(x) for x in args]
    kinds = tuple(x.dtype if isinstance(x, Variable) else _number(x) for x in xs)
    try:
        dtypes = ufunc_dtypes(name, kinds)
    except TypeError as error:
        found = ", ".join(describe(x) if isinstance(x, Variable) else str(x) for x in xs)
        raise TypeError(f"{error} (arguments: {found})") from None
    operands = tuple(
        x if isinstance(x, Variable) else weak_constant(x, _weak_dtype(name, x, dtype), xs)
        for x, dtype in zip(xs, dtypes, strict=False)
    )
    if name == "power":
        return _power(*operands)
    if name == "square" and dtypes[-1].startswith("complex"):
        return apply(Op.make("multiply"), *operands * 2)  # np.square rounds scalars in another way
    return apply(Op.make(name), *operands)


def _number(x: Any) -> type:
    return int if isinstance(x, int) else float if isinstance(x, float) else complex


def _power(x: Variable, y: Variable) -> Variable:
    """Powers: x ** 2 is a square, as in NumPy; integers raise for exponents that may be negative."""
    if isinstance(y, Constant) and y.ndim == 0 and y.data == 2 and x.dtype == y.dtype != "bool":
        return elementwise("square", x)
    if np.dtype(x.dtype).kind not in "biu" or np.dtype(y.dtype).kind not in "i":
        return apply(Op.make("power"), x, y)
    if not isinstance(y, Constant):
        return apply(Op.make("power", checked=True), x, y)
    if (y.data < 0).any():
        raise ValueError(
            f"integers to negative integer powers are not allowed: {describe(x)} ** {describe(y)}; "
            "cast the base to floating point"
        )
    return apply(Op.make("power"), x, y)


# NumPy's power has other code for an exponent that is one number; its fmax and fmin of 0.0 and -0.0
# depend on how many there are.  All others are equal bit for bit in any layout [tried].
_INEXACT = {"power", "float_power", "fmax", "fmin"}


def _ufunc(name: str, *names: str, cost: str = "arith", arity: int = 1, **traits: Any) -> None:
    """Add a ufunc to the table and its function, under all its names, to `scanopt.tensor`."""
    register(
        OpSpec(
            name,
            numpy=_bind_ufunc(name),
            infer=_infer_ufunc(name),
            batch=batch_elementwise,
            batch_exact=name not in _INEXACT,
            traits=Traits(**traits),
            cost=cost,
            out=True,
            can_raise=(lambda op: op.options.get("checked", False)) if name == "power" else False,
            ufunc=name,
            doc=f"np.{name}",
        )
    )

    def one(x: Any) -> Variable:
        return elementwise(name, x)

    def two(x: Any, y: Any) -> Variable:
        return elementwise(name, x, y)

    f = one if arity == 1 else two
    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"np.{name} of symbolic arrays, element by element; shapes broadcast and dtypes promote\n"
        "    as NumPy's, bare Python numbers take the dtype of the other operand.\n\n"
        "    Raises TypeError for dtypes it does not take, ValueError for shapes that do not fit."
    )
    public(name, *names, numpy=(name,))(f)


def _two(name: str, *names: str, cost: str = "arith", **traits: Any) -> None:
    _ufunc(name, *names, cost=cost, arity=2, **traits)


# Elements for every kind of dtype: bool, signed, unsigned, floating, complex.
_NIL, _INT = {"b": False, "i": 0, "u": 0}, {"i": 0, "u": 0}
_ONE = {"i": 1, "u": 1, "f": 1.0}
_ADD = {**_NIL, "f": -0.0, "c": complex(-0.0, -0.0)}  # x + 0.0 is not x where x is -0.0
_SUB = {**_INT, "f": 0.0, "c": 0j}
_FLOATS = {"f": 0.0, "c": 0j}
_ALL = {"b": True, "i": -1}
_AC: dict[str, Any] = {"commutative": True, "associative": True}
_LOW, _HIGH = {"f": -INF}, {"f": INF}

# arithmetic
_two("add", identity=_ADD, left_identity=_ADD, fast_identity=_FLOATS, inverse="subtract", **_AC)
_two("subtract", "sub", identity=_SUB, self_inverse=_INT, fast_self_inverse=_FLOATS,
     inverse="add")  # fmt: skip
_two("multiply", "mul", identity={**_ONE, "b": True}, left_identity={**_ONE, "b": True},
     annihilator=_NIL, fast_annihilator=_FLOATS, but="c", **_AC)  # fmt: skip
_two("divide", "true_div", "true_divide", cost="division", identity={"f": 1.0})
_two("floor_divide", "int_div", "floor_div", cost="division", identity=_INT | {"i": 1, "u": 1})
_two("remainder", "mod", cost="division")
_two("fmod", cost="division")
_two("power", "pow", cost="transcendental", identity={"i": 1, "u": 1})  # powf(x, 1) rounds
_two("float_power", cost="transcendental")
_ufunc("negative", "neg", involution=True)
_ufunc("positive", idempotent=True, involution=True)
_ufunc("absolute", "abs", "abs_", idempotent=True)
_ufunc("fabs", idempotent=True)
_ufunc("sign", "sgn", idempotent=True, but="c")
_ufunc("square", "sqr")
_ufunc("sqrt", cost="division")
_ufunc("cbrt", cost="transcendental")
_ufunc("reciprocal", "inv", cost="division")
_ufunc("conjugate", "conj", involution=True)
# rounding
_ufunc("rint", idempotent=True)
_ufunc("floor", idempotent=True)
_ufunc("ceil", idempotent=True)
_ufunc("trunc", idempotent=True)
# exponentials and logarithms
for _name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"):
    _ufunc(_name, cost="transcendental")
_two("logaddexp", cost="transcendental")
_two("logaddexp2", cost="transcendental")
# trigonometry
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
    _ufunc(_name, cost="transcendental")
    _ufunc("arc" + _name, "a" + _name, cost="transcendental")
_two("arctan2", "atan2", cost="transcendental")
_two("hypot", cost="transcendental")
_ufunc("degrees")
_ufunc("radians")
_ufunc("deg2rad")
_ufunc("rad2deg")
# comparison and logic
_two("less", "lt")
_two("less_equal", "le")
_two("greater", "gt")
_two("greater_equal", "ge")
_two("equal", "eq", commutative=True)
_two("not_equal", "neq", commutative=True)
_two("logical_and", identity={"b": True}, left_identity={"b": True}, annihilator={"b": False},
     idempotent=True, **_AC)  # fmt: skip
_two("logical_or", identity={"b": False}, left_identity={"b": False}, annihilator={"b": True},
     idempotent=True, **_AC)  # fmt: skip
_two("logical_xor", identity={"b": False}, left_identity={"b": False}, self_inverse={"b": False},
     **_AC)  # fmt: skip
_ufunc("logical_not", involution=True)
# extrema: of 0.0 and -0.0 NumPy returns one by its place, so floats do not commute bit for bit
_two("maximum", identity=_LOW, left_identity=_LOW, idempotent=True, but="fc", **_AC)
_two("minimum", identity=_HIGH, left_identity=_HIGH, idempotent=True, but="fc", **_AC)
_two("fmax", idempotent=True, but="fc", **_AC)
_two("fmin", idempotent=True, but="fc", **_AC)
# bits and integers
_two("bitwise_and", "and_", identity=_ALL, left_identity=_ALL, annihilator=_NIL,
     idempotent=True, **_AC)  # fmt: skip
_two("bitwise_or", "or_", identity=_NIL, left_identity=_NIL, annihilator=_ALL,
     idempotent=True, **_AC)  # fmt: skip
_two("bitwise_xor", "xor", identity=_NIL, left_identity=_NIL, self_inverse=_NIL,
     inverse="bitwise_xor", **_AC)  # fmt: skip
_ufunc("invert", "bitwise_not", "bitwise_invert", involution=True)
_two("left_shift", "bitwise_left_shift", identity=_INT)
_two("right_shift", "bitwise_right_shift", identity=_INT)
_ufunc("bitwise_count")
_two("gcd", cost="division", commutative=True)
_two("lcm", cost="division", commutative=True)
# floating point
_ufunc("isfinite")
_ufunc("isinf")
_ufunc("isnan")
_ufunc("signbit")
_ufunc("spacing")
_two("copysign")
_two("nextafter")
_two("heaviside")
_two("ldexp")


# Elementwise operators that are no ufuncs


def _infer_where(c: Operand, x: Operand, y: Operand) -> TensorType:
    if c.dtype != "bool":
        raise TypeError(f"the condition must be bool, found {c.dtype}")
    return TensorType(common_dtype((x.dtype, y.dtype)), broadcast(c.shape, x.shape, y.shape))


def _infer_clip(x: Operand, low: Operand, high: Operand) -> TensorType:
    dtype = common_dtype((x.dtype, low.dtype, high.dtype))
    return TensorType(dtype, broadcast(x.shape, low.shape, high.shape))


def _infer_cast(x: Operand, dtype: str) -> TensorType:
    if np.dtype(x.dtype).kind == "c" and np.dtype(dtype).kind not in "cb":
        raise TypeError(f"a cast from {x.dtype} to {dtype} loses the imaginary part: use T.real")
    return TensorType(dtype, x.shape)


def _infer_round(x: Operand, decimals: int) -> TensorType:
    if x.dtype == "bool" and decimals:
        raise TypeError("bool has no decimals to round to")
    return TensorType(probe_dtype(np.round, x.dtype), x.shape)


def _infer_part(x: Operand) -> TensorType:
    return TensorType(common_dtype((x.dtype,)).replace("complex64", "float32").replace(
        "complex128", "float64"), x.shape)  # fmt: skip


def _infer_sigmoid(x: Operand) -> TensorType:
    if np.dtype(x.dtype).kind not in "fc":
        raise TypeError(f"sigmoid of {x.dtype}: cast it to floating point")
    return x.type


def _bind_sigmoid(xp: Any) -> Callable[..., Any]:
    """1 / (1 + exp(-x)); where exp overflows to inf the result is 0, as it should be."""

    def sigmoid(x: Any, out: Any = None) -> Any:
        with np.errstate(over="ignore"):
            t = xp.exp(xp.negative(x, out), out)
            return xp.reciprocal(xp.add(t, t.dtype.type(1), out), out)

    return sigmoid


def _bind_cast(xp: Any, dtype: str) -> Callable[..., Any]:
    return lambda x: xp.asarray(x).astype(dtype, copy=False)


def _entry(name: str, infer: Callable[..., TensorType], numpy: Callable[..., Any], **more: Any) -> None:
    register(OpSpec(name, numpy, infer, batch_elementwise, batch_exact=True, **more))


_entry("where", _infer_where, lambda xp: xp.where, doc="x where a bool condition holds, else y")
_entry("clip", _infer_clip, lambda xp: xp.clip, doc="minimum(maximum(x, low), high)",
       traits=Traits())  # fmt: skip
_entry("cast", _infer_cast, _bind_cast, view=True, doc="the same values in another dtype")
_entry("round", _infer_round, lambda xp, decimals: lambda x: xp.round(x, decimals),
       doc="rounded to so many decimals")  # fmt: skip
_entry("real", _infer_part, lambda xp: xp.real, cost="free", view=True, doc="the real part",
       traits=Traits(idempotent=True))  # fmt: skip
_entry("imag", _infer_part, lambda xp: xp.imag, cost="free", view=True, doc="the imaginary part")
_entry("sigmoid", _infer_sigmoid, _bind_sigmoid, cost="transcendental", out=True,
       doc="1 / (1 + exp(-x))")  # fmt: skip


@public("cast", "astype")
def cast(x: Any, dtype: Any) -> Variable:
    """x with another dtype, as `astype`; x itself where it has that dtype.

    Raises TypeError for a cast of complex numbers to real ones.

    >>> cast(3, "float32").dtype
    'float32'
    """
    v, name = as_variable(x), np.dtype(dtype).name
    return v if v.dtype == name else apply(Op.make("cast", dtype=name), v)


@public("where", numpy=("where",))
def where(condition: Any, x: Any, y: Any) -> Variable:
    """x where the condition holds (is not 0), y elsewhere; shapes broadcast.

    >>> where(np.array([True, False]), 1.0, np.float32(2)).dtype
    'float32'
    """
    return apply(Op.make("where"), as_condition(condition), *promoted(x, y))


public("switch")(where)


def as_condition(x: Any) -> Variable:
    """x as bool: itself, or x != 0."""
    v = as_variable(x)
    return v if v.dtype == "bool" else elementwise("not_equal", v, 0)


@public("clip", numpy=("clip",))
def clip(x: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """x limited to [a_min, a_max]; either may be None (`min` and `max` are NumPy's new names).

    >>> clip(np.arange(3.0), 0, 1).type.shape
    (3,)
    """
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if low is None or high is None:
        if low is None and high is None:
            return elementwise("positive", x)
        return elementwise("maximum", x, low) if high is None else elementwise("minimum", x, high)
    return apply(Op.make("clip"), *promoted(x, low, high))


@public("round", "around", numpy=("round", "around"))
def round_(x: Any, decimals: int = 0) -> Variable:
    """x rounded to a number of decimals, halves to even."""
    return apply(Op.make("round", decimals=int(decimals)), as_variable(x))


def as_float(x: Any) -> Variable:
    """x as a floating point (or complex) array: the dtype that np.exp gives it."""
    v = as_variable(x)
    return cast(v, ufunc_dtypes("exp", (v.dtype,))[-1])


@public("sigmoid")
def sigmoid(x: Any) -> Variable:
    """The logistic function 1 / (1 + exp(-x)).

    >>> sigmoid(np.float32(0)).dtype
    'float32'
    """
    return apply(Op.make("sigmoid"), as_float(x))


@public("real", numpy=("real",))
def real(x: Any) -> Variable:
    """The real part; x itself where it is real."""
    v = as_variable(x)
    return apply(Op.make("real"), v) if np.dtype(v.dtype).kind == "c" else v


@public("imag", numpy=("imag",))
def imag(x: Any) -> Variable:
    """The imaginary part; zeros where x is real."""
    v = as_variable(x)
    if np.dtype(v.dtype).kind == "c":
        return apply(Op.make("imag"), v)
    return apply(Op.make("full_like"), v, Constant(np.zeros((), v.dtype)))


@public("divmod", numpy=("divmod",))
def divmod_(x: Any, y: Any) -> tuple[Variable, Variable]:
    """The pair (x // y, x % y)."""
    return elementwise("floor_divide", x, y), elementwise("remainder", x, y)


@public("modf", numpy=("modf",))
def modf(x: Any) -> tuple[Variable, Variable]:
    """Fractional and integral parts, both with the sign of x."""
    v = as_float(x)
    whole = elementwise("trunc", v)
    fraction = where(elementwise("isinf", v), 0.0, elementwise("subtract", v, whole))
    return elementwise("copysign", fraction, v), whole
