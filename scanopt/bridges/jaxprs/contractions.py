"""Products of JAX: dot_general and convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.jaxprs.reading import JaxprEquation, rule
from scanopt.bridges.jaxprs.shapes import padded


@rule("dot_general")
def _dot_general(eq: JaxprEquation) -> Variable:
    (of_x, of_y), (batch_x, batch_y) = (
        tuple(tuple(int(d) for d in axes) for axes in pair) for pair in eq.params["dimension_numbers"]
    )
    x, y = (T.cast(v, eq.types[0].dtype) for v in eq.inputs)
    if not batch_x:
        if not of_x and x.ndim and y.ndim:
            return T.reshape(x, (*x.type.shape, *(1,) * y.ndim)) * y
        if len(of_x) == 1 and x.ndim <= 2 and y.ndim <= 2:
            return T.dot(_last(x, of_x[0]), _first(y, of_y[0]))
        return T.tensordot(x, y, (of_x, of_y)) if of_x else x * y
    free_x = [d for d in range(x.ndim) if d not in (*of_x, *batch_x)]
    free_y = [d for d in range(y.ndim) if d not in (*of_y, *batch_y)]
    a, b = T.transpose(x, (*batch_x, *free_x, *of_x)), T.transpose(y, (*batch_y, *of_y, *free_y))
    batch = a.type.shape[: len(batch_x)]
    rows, columns = (tuple(v.type.shape[d] for d in axes) for v, axes in ((x, free_x), (y, free_y)))
    inner = _count([int(x.type.shape[d] or 0) for d in of_x])
    left = T.reshape(a, (*batch, _count(rows), inner))
    right = T.reshape(b, (*batch, inner, _count(columns)))
    return T.reshape(T.matmul(left, right), (*batch, *rows, *columns))


def _count(lengths: Any) -> int:
    return int(np.prod(lengths, dtype=np.int64))


def _last(x: Variable, axis: int) -> Variable:
    return T.transpose(x) if x.ndim == 2 and axis == 0 else x


def _first(y: Variable, axis: int) -> Variable:
    return T.transpose(y) if y.ndim == 2 and axis == 1 else y


_CONVOLUTIONS = {1: "conv1d", 2: "conv2d", 3: "conv3d"}


@rule("conv_general_dilated")
def _convolution(eq: JaxprEquation) -> Variable:
    p, (x, w) = eq.params, eq.inputs
    numbers = p["dimension_numbers"]
    count = x.ndim - 2
    groups, of_batch = int(p["feature_group_count"]), int(p["batch_group_count"])
    if count not in _CONVOLUTIONS or (of_batch != 1 and groups != 1):
        raise eq.refused(f"a convolution along {count} axes with groups of the batch and of channels")
    x, w = T.transpose(x, tuple(numbers.lhs_spec)), T.transpose(w, tuple(numbers.rhs_spec))
    if of_batch != 1:  # each group of the batch has its own filters, as a group of channels has
        n, channels, *lengths = (int(m or 0) for m in x.type.shape)
        x = T.reshape(x, (of_batch, n // of_batch, channels, *lengths))
        x = T.reshape(T.moveaxis(x, 0, 1), (n // of_batch, of_batch * channels, *lengths))
        groups = of_batch
    zero = Constant(np.zeros((), x.dtype))
    sides = [(int(a), int(b), int(d) - 1) for (a, b), d in zip(p["padding"], p["lhs_dilation"], strict=True)]
    x = padded(x, zero, [(0, 0, 0), (0, 0, 0), *sides])
    convolve = getattr(T.nnet, _CONVOLUTIONS[count], None) or getattr(T, _CONVOLUTIONS[count])
    steps, dilation = (tuple(int(n) for n in p[k]) for k in ("window_strides", "rhs_dilation"))
    found = convolve(x, w, subsample=steps, filter_flip=False, filter_dilation=dilation, num_groups=groups)
    order = list(numbers.out_spec)
    return T.transpose(found, [order.index(d) for d in range(found.ndim)])
