"""Primitives of JAX for reductions, cumulative operations, sorting and pooling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.operators.reductions import reduce as reduce_axes
from scanopt.array.operators.windows import windows
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.jaxprs.reading import JaxprEquation, rule
from scanopt.bridges.jaxprs.shapes import padded
from scanopt.lax import cumulative

_REDUCED = {
    "reduce_sum": "sum", "reduce_prod": "prod", "reduce_max": "max", "reduce_min": "min", "reduce_and": "all",
    "reduce_or": "any",
}  # fmt: skip


@rule(*_REDUCED)
def _reduce(eq: JaxprEquation) -> Variable:
    x, axes = eq.inputs[0], tuple(int(d) for d in eq.params["axes"])
    if eq.name in ("reduce_and", "reduce_or") and x.dtype != "bool":
        raise eq.refused(f"{eq.name} of the bits of {x.dtype}")
    if not axes:
        return x
    if eq.name in ("reduce_sum", "reduce_prod"):
        return reduce_axes(_REDUCED[eq.name], x, axes, False, x.dtype)
    return reduce_axes(_REDUCED[eq.name], x, axes, False)


@rule("argmax", "argmin")
def _arg(eq: JaxprEquation) -> Variable:
    (axis,) = eq.params["axes"]
    found: Variable = (T.argmax if eq.name == "argmax" else T.argmin)(eq.inputs[0], int(axis))
    return found


@rule("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
def _cumulative(eq: JaxprEquation) -> Variable:
    run: Callable[..., Variable] = getattr(cumulative, eq.name)
    return run(eq.inputs[0], int(eq.params["axis"]), bool(eq.params["reverse"]))


@rule("sort")
def _sort(eq: JaxprEquation) -> list[Variable]:
    axis, keys = int(eq.params["dimension"]), int(eq.params["num_keys"])
    if len(eq.inputs) == 1:
        return [T.sort(eq.inputs[0], axis)]
    order: Variable | None = None
    for key in reversed(eq.inputs[:keys]):
        sorted_ = key if order is None else T.take_along_axis(key, order, axis)
        step = T.argsort(sorted_, axis, kind="stable")
        order = step if order is None else T.take_along_axis(order, step, axis)
    return [T.take_along_axis(x, order, axis) for x in eq.inputs]


@rule("top_k")
def _top_k(eq: JaxprEquation) -> list[Variable]:
    """The k greatest entries in descending order, and their places; of equal ones the first comes first."""
    x, k = eq.inputs[0], int(eq.params["k"])
    n = int(x.type.shape[-1] or 0)
    backwards = T.argsort(T.flip(x, -1), -1, kind="stable")
    order = (n - 1 - T.flip(backwards, -1))[..., :k]
    return [T.take_along_axis(x, order, -1), order]


# Windows


_POOLED = {"reduce_window_sum": "sum", "reduce_window_max": "max", "reduce_window_min": "min"}


@rule(*_POOLED)
def _window(eq: JaxprEquation) -> Variable:
    x, p = eq.inputs[0], eq.params
    sizes, steps = (tuple(int(n) for n in p[k]) for k in ("window_dimensions", "window_strides"))
    inner, outer = (tuple(int(n) for n in p[k]) for k in ("base_dilation", "window_dilation"))
    config = [(int(a), int(b), d - 1) for (a, b), d in zip(p["padding"], inner, strict=True)]
    if any(c != (0, 0, 0) for c in config):
        x = padded(x, Constant(_neutral(_POOLED[eq.name], x.dtype)), config)
    axes = [k for k in range(x.ndim) if (sizes[k], steps[k]) != (1, 1)]
    for k in axes:
        x = windows(x, k, sizes[k], steps[k], outer[k])
    if not axes:
        return x
    last = tuple(range(x.ndim - len(axes), x.ndim))
    more: tuple[Any, ...] = (x.dtype,) if eq.name == "reduce_window_sum" else ()
    return reduce_axes(_POOLED[eq.name], x, last, False, *more)


def _neutral(f: str, dtype: str) -> Any:
    d = np.dtype(dtype)
    if f == "sum":
        return np.zeros((), d)
    if d.kind == "f":
        return np.asarray(-np.inf if f == "max" else np.inf, d)
    if d.kind == "b":
        return np.asarray(f == "min")
    return np.asarray(np.iinfo(d).min if f == "max" else np.iinfo(d).max, d)
