"""Reductions, running sums, products and extrema, sorting, softmax: operators along axes.

Every entry names its axes counted from the front; the batched form adds one to each.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scanopt.array.constants import as_variable
from scanopt.array.derivatives import no_gradient
from scanopt.array.gradients import reductions as gradients
from scanopt.array.op import Gradient, Op, Operand, OpSpec, register
from scanopt.array.operators.elementwise import as_condition, as_float, cast
from scanopt.array.parameters import AXES, AXIS, DTYPE, FLAG, NUMBER, Parameter, one_of, optional
from scanopt.array.registry import public
from scanopt.array.shapes import axes_of, axis_of, probe_dtype
from scanopt.array.types import COMPLEX, Dim, TensorType, dtype_name
from scanopt.array.ufuncs import elementwise
from scanopt.array.variable import Variable, apply

__all__ = ["reduce", "shift_axis"]

Flags = Sequence[bool]
Args = Sequence[Variable]


def _reduced(shape: Sequence[Dim], axes: Sequence[int], keepdims: bool) -> tuple[Dim, ...]:
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def shift_axis(op: Op, batched: Flags, args: Args) -> Variable:
    """The batched form of operators along axes: the same operator, with each axis counted one further."""
    options = op.options
    axis = options["axis"]
    moved = axis + 1 if isinstance(axis, int) else tuple(i + 1 for i in axis)
    return apply(Op.make(op.name, **{**options, "axis": moved}), args[0])


def _check_axis(x: Operand, axis: Any) -> None:
    for i in (axis,) if isinstance(axis, int) else axis:
        axis_of(i, x)


def _probe(name: str, **options: Any) -> Callable[[str], str]:
    def f(x: Any) -> Any:
        return getattr(np, name)(x, **options)

    return lambda dtype: probe_dtype(f, dtype)


def _infer_reduction(name: str) -> Callable[..., TensorType]:
    probe = _probe(name)
    nonempty = name in ("max", "min")

    def infer(
        x: Operand, axis: tuple[int, ...], keepdims: bool, dtype: str | None = None, ddof: float = 0
    ) -> TensorType:
        _check_axis(x, axis)
        shape = _reduced(x.shape, axis, keepdims)
        if nonempty and 0 not in shape and any(x.shape[i] == 0 for i in axis):
            raise ValueError(f"{name} over an axis of length 0 has no value")
        return TensorType(dtype or probe(x.dtype), shape)

    return infer


def _bind_reduction(name: str) -> Callable[..., Any]:
    def bind(xp: Any, **options: Any) -> Callable[..., Any]:
        f = getattr(xp, name)
        if name not in ("mean", "var", "std"):
            return lambda x, out=None: f(x, out=out, **options)

        def average(x: Any, out: Any = None) -> Any:
            if out is not None and x.dtype == "float16":  # without `out`, NumPy divides before it rounds
                out[...] = average(x)
                return out
            if math.prod(x.shape[i] for i in options["axis"]) > options.get("ddof", 0):
                return f(x, out=out, **options)
            with warnings.catch_warnings():  # the mean of no elements is NaN, as 0 / 0 is: no warning for either
                warnings.simplefilter("ignore", RuntimeWarning)
                return f(x, out=out, **options)

        return average

    return bind


_TYPED = {"dtype": optional(DTYPE)}
_MORE: dict[str, dict[str, Parameter]] = {
    "sum": _TYPED, "prod": _TYPED, "mean": _TYPED, "var": {"ddof": NUMBER}, "std": {"ddof": NUMBER},
}  # fmt: skip


def _reduction(name: str, gradient: Gradient, exact: bool = False) -> None:
    register(
        OpSpec(
            name,
            _bind_reduction(name),
            _infer_reduction(name),
            shift_axis,
            batch_exact=exact,
            cost="reduction",
            out=True,
            by_layout=0 if exact else 1,
            gradient=gradient,
            doc=f"np.{name} over axes",
            params={"axis": AXES, "keepdims": FLAG, **_MORE.get(name, {})},
        )
    )


# the order of additions depends on the memory layout, so these are not exact
_reduction("sum", gradients.of_sum)
_reduction("prod", gradients.of_prod)
_reduction("mean", gradients.of_mean)
_reduction("var", gradients.of_var)
_reduction("std", gradients.of_std)
# which of 0.0 and -0.0 is found depends on the memory layout
_reduction("max", gradients.of_extremum)
_reduction("min", gradients.of_extremum)
_reduction("any", no_gradient, exact=True)
_reduction("all", no_gradient, exact=True)


def reduce(name: str, x: Any, axis: Any, keepdims: bool, dtype: Any = None, **more: Any) -> Variable:
    """The reduction `name` of x over axis (int, ints, or None for all)."""
    v = as_variable(x)
    options = more if dtype is None else {**more, "dtype": dtype_name(dtype)}
    found = apply(Op.make(name, axis=axes_of(axis, v), keepdims=bool(keepdims), **options), v)
    return found if axes_of(axis, v) else _of_each(name, v, found)


def _of_each(name: str, v: Variable, found: Variable) -> Variable:
    """A reduction over no axis, found, in operators of elements; a sum begins at 0, so that of -0.0 is 0.0."""
    kind = np.dtype(found.dtype).kind
    if name in ("any", "all"):
        return as_condition(v)
    if name in ("max", "min"):
        return v
    if (v.dtype in COMPLEX and kind != "c") or name in ("var", "std") or (kind == "c" and name != "sum"):
        return found
    if name == "prod" or kind not in "fc":
        return cast(v, found.dtype)
    return elementwise("add", 0, cast(v, found.dtype))


# One axis: cumulative operators, sorting, the place of the extremum, softmax


def _infer_keep(name: str) -> Callable[..., TensorType]:
    probe = _probe(name) if name not in ("maximum", "minimum") else str

    def infer(x: Operand, axis: int, dtype: str | None = None, kind: str | None = None) -> TensorType:
        _check_axis(x, axis)
        return TensorType(dtype or probe(x.dtype), x.shape)

    return infer


def _infer_arg(x: Operand, axis: int) -> TensorType:
    _check_axis(x, axis)
    if x.shape[axis] == 0:
        raise ValueError("argmax and argmin over an axis of length 0 have no value")
    return TensorType("int64", _reduced(x.shape, (axis,), False))


def _infer_softmax(x: Operand, axis: int) -> TensorType:
    _check_axis(x, axis)
    if np.dtype(x.dtype).kind not in "f":
        raise TypeError(f"softmax of {x.dtype}: cast it to floating point")
    return x.type


def _bind_softmax(xp: Any, axis: int) -> Callable[..., Any]:
    def softmax(x: Any) -> Any:
        if x.shape[axis] == 0:
            return xp.exp(x)
        e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
        return e / xp.sum(e, axis=axis, keepdims=True)

    return softmax


def _bind_plain(name: str) -> Callable[..., Any]:
    def bind(xp: Any, **options: Any) -> Callable[..., Any]:
        f = getattr(xp, name)
        return lambda x: f(x, **options)

    return bind


_SORTS = {"kind": optional(one_of("quicksort", "mergesort", "heapsort", "stable"))}


def _along_axis(
    name: str, bind: Any, infer: Any, gradient: Gradient, takes: Mapping[str, Parameter] | None = None, **more: Any
) -> None:
    params, doc = {"axis": AXIS, **(takes or {})}, f"np.{name} along an axis"
    given = {"doc": doc, "batch_exact": True, "params": params, **more}
    register(OpSpec(name, bind, infer, shift_axis, gradient=gradient, **given))


def _like_numpy(
    name: str, infer: Any, gradient: Gradient, cost: str, takes: Mapping[str, Parameter] | None = None
) -> None:
    _along_axis(name, _bind_plain(name), infer, gradient, takes, cost=cost)


def _bind_extreme(ufunc: str) -> Callable[..., Any]:
    """A binder of a running extremum: np's `accumulate`, or on a device, where ufuncs have none, by doubling."""

    def bind(xp: Any, axis: int) -> Callable[..., Any]:
        f = getattr(xp, ufunc)

        def double(x: Any) -> Any:
            out, step = xp.array(xp.moveaxis(x, axis, 0)), 1
            while step < out.shape[0]:
                out[step:] = f(out[:-step], out[step:])
                step *= 2
            return xp.moveaxis(out, 0, axis)

        return (lambda x: f.accumulate(x, axis=axis)) if xp is np else double

    return bind


def _running(name: str, gradient: Gradient) -> None:
    _along_axis(
        name, _bind_reduction(name), _infer_keep(name), gradient, _TYPED, cost="reduction", out=True,
        by_layout=1, layout_kinds="c",
    )  # fmt: skip


_running("cumsum", gradients.of_cumsum)
_running("cumprod", gradients.of_cumprod)
for _name, _ufunc in (("cummax", "maximum"), ("cummin", "minimum")):
    _along_axis(
        _name, _bind_extreme(_ufunc), _infer_keep(_ufunc), gradients.of_running_extremum, cost="reduction",
        inexact=COMPLEX, doc=f"np.{_ufunc}.accumulate along an axis",
    )  # fmt: skip
_like_numpy("argmax", _infer_arg, no_gradient, "reduction")
_like_numpy("argmin", _infer_arg, no_gradient, "reduction")
_like_numpy("sort", _infer_keep("sort"), gradients.of_sort, "sort", _SORTS)
_like_numpy("argsort", _infer_keep("argsort"), no_gradient, "sort", _SORTS)
_along_axis("softmax", _bind_softmax, _infer_softmax, gradients.of_softmax,
            batch_exact=False, by_layout=1, cost="transcendental",
            doc="exp(x - max x) / its sum along an axis")  # fmt: skip


@public()
def softmax(x: Any, axis: int = -1) -> Variable:
    """exp(x) normalised to sum 1 along axis.

    >>> softmax(np.zeros((2, 4), "float32")).type
    TensorType(dtype='float32', shape=(2, 4))
    """
    v = as_float(x)
    return apply(Op.make("softmax", axis=axis_of(axis, v)), v)
