"""Elementwise operators that are not ufuncs (where, clip, cast, round, real, imag, sigmoid) and functions of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.batching import elementwise as batch_elementwise
from scanopt.array.constants import as_variable, promoted
from scanopt.array.derivatives import elementwise_gradient, unspread
from scanopt.array.op import Op, Operand, OpSpec, Traits, register
from scanopt.array.parameters import DTYPE, integer
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import broadcast, common_dtype, probe_dtype, ufunc_dtypes
from scanopt.array.types import TensorType, dtype_name
from scanopt.array.ufuncs import elementwise
from scanopt.array.variable import Constant, Variable, apply

__all__ = ["as_float", "cast", "elementwise", "where"]


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


def _unsigned(op: Op) -> bool:
    """Whether an op casts to unsigned integers: floats out of their range give other results in an array than alone."""
    return np.dtype(op.options["dtype"]).kind == "u"


def _bind_clip(xp: Any) -> Callable[..., Any]:
    """The function np.clip, made to treat bounds that are arrays like bounds that are numbers.

    An element equal to a bound, as -0.0 is to 0.0, stays as it is; with array bounds np.clip would replace it.
    """

    def clip(x: Any, low: Any, high: Any) -> Any:
        if not low.ndim and not high.ndim:
            return xp.clip(x, low, high)
        dtype = xp.result_type(x, low, high)
        for bounded, bound in ((xp.maximum, low), (xp.minimum, high)):
            found = bounded(x, bound, dtype=dtype)
            x = xp.where(found == x, x, found)
        return x

    return clip


def _entry(name: str, infer: Callable[..., TensorType], numpy: Callable[..., Any], **more: Any) -> None:
    register(OpSpec(name, numpy, infer, batch_elementwise, **{"batch_exact": True, **more}))


def _gradient_where(op: Op, args: Sequence[Variable], out: Variable, g: Variable) -> list[Variable | None]:
    """g for the argument that was chosen and 0 for the other one, even where g is NaN."""
    return [None, unspread(where(args[0], g, 0), args, 1), unspread(where(args[0], 0, g), args, 2)]


def _below(x: Variable, low: Variable, high: Variable, out: Variable) -> Variable:
    return elementwise("less", x, low) & elementwise("less_equal", low, high)


def _inside(x: Variable, low: Variable, high: Variable, out: Variable) -> Variable:
    """Whether x is within the bounds (inclusive), so that the gradient is that of x."""
    outside = elementwise("less", x, low) | elementwise("greater", x, high)
    return elementwise("logical_not", outside)


def _above(x: Variable, low: Variable, high: Variable, out: Variable) -> Variable:
    return elementwise("greater", x, high) | elementwise("greater", low, high)


_entry("where", _infer_where, lambda xp: xp.where, doc="x where a bool condition holds, else y",
       gradient=_gradient_where)  # fmt: skip
_entry("clip", _infer_clip, _bind_clip, doc="minimum(maximum(x, low), high)",
       gradient=elementwise_gradient(_inside, _below, _above))  # fmt: skip
_entry("cast", _infer_cast, _bind_cast, batch_exact=lambda op: not _unsigned(op), by_layout=_unsigned, layout_kinds="f",
       view=True, doc="the same values in another dtype",
       gradient=elementwise_gradient(1), params={"dtype": DTYPE})  # fmt: skip
_entry("round", _infer_round, lambda xp, decimals: lambda x: xp.round(x, decimals),
       doc="rounded to so many decimals", gradient=elementwise_gradient(0),
       params={"decimals": integer(-9999, 9999)})  # fmt: skip
_entry("real", _infer_part, lambda xp: xp.real, cost="free", view=True, doc="the real part",
       traits=Traits(idempotent=True), gradient=elementwise_gradient(1))  # fmt: skip
_entry("imag", _infer_part, lambda xp: xp.imag, cost="free", view=True, doc="the imaginary part",
       gradient=elementwise_gradient(-1j))  # fmt: skip
_entry("sigmoid", _infer_sigmoid, _bind_sigmoid, cost="transcendental", out=True, by_layout=1, inexact=("float16",),
       doc="1 / (1 + exp(-x))", gradient=elementwise_gradient(lambda x, out: out * (1 - out)))  # fmt: skip


@public("cast", "astype")
def cast(x: Any, dtype: Any) -> Variable:
    """x with another dtype, as `astype`; x itself where it has that dtype.

    Raises TypeError for a cast of complex numbers to real ones.

    >>> cast(3, "float32").dtype
    'float32'
    """
    v, name = as_variable(x), dtype_name(dtype)
    return v if v.dtype == name else apply(Op.make("cast", dtype=name), v)


def where(condition: Any, x: Any, y: Any) -> Variable:
    """x where the condition holds (is not 0), y elsewhere; shapes broadcast.

    >>> where(np.array([True, False]), 1.0, np.float32(2)).dtype
    'float32'
    """
    return apply(Op.make("where"), as_condition(condition), *promoted(x, y))


@public("switch")
def switch(cond: Any, ift: Any, iff: Any) -> Variable:
    """Theano's name for `where(cond, ift, iff)`."""
    return where(cond, ift, iff)


def as_condition(x: Any) -> Variable:
    """x as bool: itself, or x != 0."""
    v = as_variable(x)
    return v if v.dtype == "bool" else elementwise("not_equal", v, 0)


def _within(x: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The bounds, with None for a Python integer that no integer of x's dtype exceeds, as NumPy accepts it."""
    dtype = np.dtype(getattr(x, "dtype", bool))
    if dtype.kind not in "iu":
        return low, high
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    return None if type(low) is int and low <= least else low, None if type(high) is int and high >= most else high


@public("clip", numpy=("clip",))
def clip(x: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """x limited to [a_min, a_max]; either may be None (`min` and `max` are NumPy's new names).

    >>> clip(np.arange(3.0), 0, 1).type.shape
    (3,)
    """
    low, high = _within(x, a_min if min is None else min, a_max if max is None else max)
    if low is None or high is None:
        if low is None and high is None:
            return elementwise("positive", x)
        return elementwise("maximum", x, low) if high is None else elementwise("minimum", x, high)
    return apply(Op.make("clip"), *promoted(x, low, high))


@public("round", "around", "round_half_to_even", numpy=("round", "around"))
def round_(x: Any, decimals: Any = 0, mode: str | None = None) -> Variable:
    """x rounded to a number of decimals, halves to even.

    mode: "half_to_even" or, without decimals, "half_away_from_zero"; as in Theano, it may stand in place of decimals.
    """
    if isinstance(decimals, str):
        decimals, mode = 0, decimals
    if mode == "half_away_from_zero" and decimals == 0:
        return FUNCTIONS["round_half_away_from_zero"](x)  # type: ignore[no-any-return]
    if mode not in (None, "half_to_even"):
        raise ValueError(f"mode must be 'half_to_even' or, of 0 decimals, 'half_away_from_zero', found {mode!r}")
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
