"""Turns NumPy's ufuncs into entries of the operator table and functions of symbolic arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial as given
from functools import reduce
from typing import Any

import numpy as np

from scanopt.array.batching import elementwise as batch_elementwise
from scanopt.array.constants import as_tensor_variable, is_weak, promoted, with_dtypes
from scanopt.array.derivatives import Partial, elementwise_gradient
from scanopt.array.op import Gradient, Op, Operand, OpSpec, Traits, register
from scanopt.array.parameters import FLAG, optional
from scanopt.array.registry import public
from scanopt.array.shapes import broadcast, ufunc_dtypes
from scanopt.array.types import COMPLEX, FLOATS, TensorType
from scanopt.array.variable import Constant, Variable, apply, describe
from scanopt.array.weak import Weak, weak_result

__all__ = ["binary", "elementwise", "unary"]


def _bind_ufunc(name: str) -> Callable[..., Any]:
    if name in ("maximum", "minimum"):  # these take `out` by keyword only
        return lambda xp: lambda x, y, out=None: getattr(xp, name)(x, y, out=out)
    return lambda xp, checked=False: getattr(xp, name)


def _infer_ufunc(name: str) -> Callable[..., TensorType]:
    def infer(*operands: Operand, checked: bool = False) -> TensorType:
        dtype = ufunc_dtypes(name, tuple(x.dtype for x in operands))[-1]
        if name == "square" and np.dtype(dtype).kind == "c":
            raise TypeError("square of complex numbers: multiply them by themselves")
        return TensorType(dtype, broadcast(*(x.shape for x in operands)))

    return infer


_COMPARISONS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}


def _weak_dtype(name: str, x: Any, dtype: str) -> str:
    """The dtype for a Python number beside `dtype`; as in NumPy, comparisons accept integers that do not fit it."""
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
    if any(isinstance(x, Weak) for x in args):
        open_dtype = weak_result(name, args, given(elementwise, name))
        if open_dtype is not None:
            return open_dtype
    xs = [x if is_weak(x) else as_tensor_variable(x) for x in args]
    kinds = tuple(x.dtype if isinstance(x, Variable) and not isinstance(x, Weak) else _number(x) for x in xs)
    try:
        dtypes = ufunc_dtypes(name, kinds)
    except TypeError as error:
        found = ", ".join(describe(x) if isinstance(x, Variable) else str(x) for x in xs)
        raise TypeError(f"{error} (arguments: {found})") from None
    operands = with_dtypes(xs, (_weak_dtype(name, x, dtype) for x, dtype in zip(xs, dtypes, strict=False)))
    if name == "power":
        return _power(*operands)
    if name == "square" and dtypes[-1].startswith("complex"):
        return apply(Op.make("multiply"), *operands * 2)  # np.square rounds scalars differently
    return apply(Op.make(name), *operands)


def _weak_beside(*xs: Any) -> tuple[Any, ...]:
    """The operands; two or more leading Python numbers become constants of the dtype beside the first array."""
    weak = next((i for i, x in enumerate(xs) if not is_weak(x)), 0)
    return (*promoted(*xs[: weak + 1]), *xs[weak + 1 :]) if weak > 1 else xs


def _number(x: Any) -> type:
    if isinstance(x, Weak):
        return x.kind
    return int if isinstance(x, int) else float if isinstance(x, float) else complex


def _power(x: Variable, y: Variable) -> Variable:
    """x ** y: x ** 2 is a square, as in NumPy; an integer x raises for exponents that may be negative."""
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


# When NumPy's ufuncs round differently [tried for all ufuncs, dtypes, lengths and layouts: tests/test_layouts.py].
# Power has other code for a scalar exponent; fmax and fmin of 0.0 and -0.0 depend on the number of elements; a single
# complex number times one with another number of axes is rounded by other code than many numbers.  Functions like exp
# of float16 compute in float32, with other code for a whole vector than for one number.  Functions like exp, and
# products of complex numbers, have other code for reversed arrays, but in an array in C order the place of an element
# does not matter.  All other ufuncs are one operation, rounded once.
_INEXACT = {
    "power": (*FLOATS, *COMPLEX), "float_power": (*FLOATS, *COMPLEX), "fmax": (*FLOATS, *COMPLEX),
    "fmin": (*FLOATS, *COMPLEX), "multiply": COMPLEX,
}  # fmt: skip
_SEVERAL_OPERATIONS = {"multiply", "divide", "reciprocal", "square", "absolute"}
"""Ufuncs whose arithmetic on complex numbers rounds more than once."""


def _ufunc(name: str, names: tuple[str, ...], arity: int, cost: str, gradient: Gradient, traits: Traits) -> None:
    register(
        OpSpec(
            name,
            numpy=_bind_ufunc(name),
            infer=_infer_ufunc(name),
            batch=batch_elementwise,
            batch_exact=True,
            inexact=_INEXACT.get(name, ("float16",) if cost == "transcendental" else ()),
            traits=traits,
            cost=cost,
            out=True,
            by_layout=arity if cost == "transcendental" or name in _SEVERAL_OPERATIONS else 0,
            layout_kinds="biufc" if cost == "transcendental" else "c",
            can_raise=(lambda op: op.options.get("checked", False)) if name == "power" else False,
            ufunc=name,
            gradient=gradient,
            doc=f"np.{name}",
            params={"checked": optional(FLAG)} if name == "power" else {},
        )
    )

    def one(x: Any) -> Variable:
        return elementwise(name, x)

    def two(x: Any, y: Any) -> Variable:
        return elementwise(name, x, y)

    def many(x: Any, *more: Any) -> Variable:
        return reduce(two, _weak_beside(x, *more)) if more else as_tensor_variable(x)

    f = one if arity == 1 else many if traits.associative else two
    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"np.{name} of symbolic arrays, element by element; shapes broadcast and dtypes promote\n"
        "    as NumPy's, bare Python numbers take the dtype of the other operand.\n"
        + ("    Of more than two operands the first two first, then the result with the third.\n" * traits.associative)
        + "\n    Raises TypeError for dtypes it does not take, ValueError for shapes that do not fit."
    )
    public(name, *names, numpy=(name,))(f)


def unary(
    name: str,
    *names: str,
    partial: Partial = None,
    gradient: Gradient | None = None,
    cost: str = "arith",
    **traits: Any,
) -> None:
    """Add a ufunc of one operand to the table and its function, under all its names, to `scanopt.tensor`.

    partial: its derivative (see `elementwise_gradient`).  gradient: the whole rule, in place of `partial`.
    """
    _ufunc(name, names, 1, cost, gradient or elementwise_gradient(partial), Traits(**traits))


def binary(
    name: str,
    *names: str,
    partial: tuple[Partial, Partial] = (None, None),
    gradient: Gradient | None = None,
    cost: str = "arith",
    **traits: Any,
) -> None:
    """As `unary`, for a ufunc of two operands, with a derivative by each."""
    _ufunc(name, names, 2, cost, gradient or elementwise_gradient(*partial), Traits(**traits))
