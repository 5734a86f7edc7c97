"""ONNX operators for reductions, cumulative operations and sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.batching import dim
from scanopt.array.operators.reductions import reduce as reduce_axes
from scanopt.array.shapes import axis_of
from scanopt.array.variable import Variable
from scanopt.bridges.onnx_models.elementwise import number
from scanopt.bridges.onnx_models.reading import OnnxNode, ints, rule


def _sum(x: Variable, axes: tuple[int, ...], keep: bool) -> Variable:
    return reduce_axes("sum", x, axes, keep, x.dtype)


def _log_sum_exp(x: Variable, axes: tuple[int, ...], keep: bool) -> Variable:
    top = reduce_axes("max", x, axes, True)
    top = T.where(T.isfinite(top), top, number(0, x))
    found = T.log(_sum(T.exp(x - top), axes, keep))
    return found + (top if keep else T.squeeze(top, axes))


_REDUCED: dict[str, Callable[[Variable, tuple[int, ...], bool], Variable]] = {
    "ReduceSum": _sum,
    "ReduceMean": lambda x, axes, keep: T.cast(reduce_axes("mean", x, axes, keep), x.dtype),
    "ReduceMax": lambda x, axes, keep: reduce_axes("max", x, axes, keep),
    "ReduceMin": lambda x, axes, keep: reduce_axes("min", x, axes, keep),
    "ReduceProd": lambda x, axes, keep: reduce_axes("prod", x, axes, keep, x.dtype),
    "ReduceL1": lambda x, axes, keep: _sum(abs(x), axes, keep),
    "ReduceL2": lambda x, axes, keep: T.sqrt(_sum(T.square(x), axes, keep)),
    "ReduceLogSum": lambda x, axes, keep: T.log(_sum(x, axes, keep)),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceSumSquare": lambda x, axes, keep: _sum(T.square(x), axes, keep),
}


@rule(*_REDUCED)
def _reduce(node: OnnxNode) -> Variable:
    x, axes, keep = node.x(), node.known(1), bool(node.get("keepdims", 1))
    if axes is None or not len(ints(axes)):
        if node.get("noop_with_empty_axes", 0):
            return x
        return _REDUCED[node.op](x, tuple(range(x.ndim)), keep)
    return _REDUCED[node.op](x, tuple(a % x.ndim for a in ints(axes)), keep)


@rule("ArgMax", "ArgMin")
def _arg(node: OnnxNode) -> Variable:
    x = node.x()
    axis, find = axis_of(node.get("axis", 0), x), T.argmax if node.op == "ArgMax" else T.argmin
    if node.get("select_last_index", 0):
        found = T.cast(dim(x, axis) - 1 - find(T.flip(x, axis), axis), "int64")
    else:
        found = find(x, axis)
    return T.expand_dims(found, axis) if node.get("keepdims", 1) else found


@rule("CumSum")
def _cumsum(node: OnnxNode) -> Variable:
    x, (axis,) = node.x(), ints(node.known(1))
    axis = axis_of(axis, x)
    turned = T.flip(x, axis) if node.get("reverse", 0) else x
    found = T.cast(T.cumsum(turned, axis), x.dtype)
    if node.get("exclusive", 0):
        before = (slice(None),) * axis
        found = T.concatenate([T.zeros_like(turned[(*before, slice(1))]), found[(*before, slice(-1))]], axis)
    return T.flip(found, axis) if node.get("reverse", 0) else found


@rule("TopK")
def _top_k(node: OnnxNode) -> list[Variable]:
    """The k greatest (or least) entries and their indices; of equal entries the one with the lower index is first."""
    x, (k,) = node.x(), ints(node.known(1))
    axis = axis_of(node.get("axis", -1), x)
    if node.get("largest", 1):
        backwards = T.argsort(T.flip(x, axis), axis, kind="stable")
        order = dim(x, axis) - 1 - T.flip(backwards, axis)
    else:
        order = T.argsort(x, axis, kind="stable")
    order = order[(*(slice(None),) * axis, slice(k))]
    return [T.take_along_axis(x, order, axis), T.cast(order, "int64")]


@rule("Softmax", "LogSoftmax", "Hardmax")
def _softmax(node: OnnxNode) -> Variable:
    x, axis = node.x(), node.get("axis", -1)
    if node.op == "Hardmax":
        axis = axis_of(axis, x)
        best = T.expand_dims(T.argmax(x, axis), axis)
        line = T.expand_dims(T.arange(dim(x, axis)), [i for i in range(x.ndim) if i != axis])
        return T.cast(T.eq(best, line), x.dtype)
    found: Any = T.nnet.softmax(x, axis) if node.op == "Softmax" else None
    if found is None:
        shifted = x - T.max(x, axis=axis, keepdims=True)
        found = shifted - T.log(T.sum(T.exp(shifted), axis=axis, keepdims=True))
    return found  # type: ignore[no-any-return]


def kind(x: Variable) -> str:
    """The kind of the dtype of x, as in NumPy."""
    return np.dtype(x.dtype).kind
