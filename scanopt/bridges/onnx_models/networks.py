"""ONNX operators of neural networks: products, normalizations, convolutions, pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.variable import Variable
from scanopt.bridges.onnx_models.elementwise import number
from scanopt.bridges.onnx_models.reading import OnnxNode, rule


@rule("MatMul")
def _matmul(node: OnnxNode) -> Variable:
    x, y = node.x(0), node.x(1)
    found: Variable = T.dot(x, y) if x.ndim <= 2 and y.ndim <= 2 else T.matmul(x, y)
    return found


@rule("Gemm")
def _gemm(node: OnnxNode) -> Variable:
    a, b, c = node.x(0), node.x(1), node.optional(2)
    a = T.transpose(a) if node.get("transA", 0) else a
    b = T.transpose(b) if node.get("transB", 0) else b
    found: Variable = T.dot(a, b)
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    found = found if alpha == 1 else number(alpha, found) * found
    if c is None or beta == 0:
        return found
    return found + (c if beta == 1 else number(beta, c) * c)


@rule("Einsum")
def _einsum(node: OnnxNode) -> Variable:
    found: Variable = T.einsum(node.get("equation"), *(node.x(i) for i in range(len(node.inputs))))
    return found


@rule("Det")
def _det(node: OnnxNode) -> Variable:
    found: Variable = T.linalg.det(node.x())
    return found


@rule("LayerNormalization")
def _layer_normalization(node: OnnxNode) -> list[Variable]:
    x, scale, bias = node.x(0), node.x(1), node.optional(2)
    first = node.get("axis", -1) % x.ndim
    axes = tuple(range(first, x.ndim))
    mean = T.mean(x, axis=axes, keepdims=True)
    centered = x - mean
    inverse = T.reciprocal(T.sqrt(T.mean(T.square(centered), axis=axes, keepdims=True) + number(node.get("epsilon", 1e-5), x)))  # fmt: skip  # noqa: E501
    found = centered * inverse * scale
    return [found if bias is None else found + bias, mean, inverse]


@rule("BatchNormalization")
def _batch_normalization(node: OnnxNode) -> Variable:
    if node.get("training_mode", 0):
        raise node.refused("training_mode")
    x = node.x()
    scale, bias, mean, var = (_by_channel(node.x(i), x.ndim) for i in range(1, 5))
    return (x - mean) / T.sqrt(var + number(node.get("epsilon", 1e-5), var)) * scale + bias


def _by_channel(v: Variable, ndim: int) -> Variable:
    found: Variable = T.expand_dims(v, tuple(range(1, ndim - 1)))
    return found


# Convolutions and pooling


def _sides(node: OnnxNode, x: Variable, sizes: list[int], steps: list[int], dilations: list[int]) -> list[Any]:
    """The padding before and after each axis."""
    count, auto = len(sizes), node.get("auto_pad", "NOTSET")
    if auto in ("NOTSET", ""):
        pads = node.get("pads", [0] * (2 * count))
        return [(pads[i], pads[i + count]) for i in range(count)]
    if auto == "VALID":
        return [(0, 0)] * count
    sides: list[Any] = []
    for n, size, step, dilation in zip(x.type.shape[2:], sizes, steps, dilations, strict=True):
        if n is None:
            raise node.refused(f"auto_pad={auto} of an axis of unknown length")
        total = max((-(-n // step) - 1) * step + dilation * (size - 1) + 1 - n, 0)
        low = total // 2 if auto == "SAME_UPPER" else total - total // 2
        sides.append((low, total - low))
    return sides


@rule("Conv")
def _conv(node: OnnxNode) -> Variable:
    x, w, bias = node.x(0), node.x(1), node.optional(2)
    count = x.ndim - 2
    if count not in (1, 2, 3):
        raise node.refused(f"{count} axes: it knows 1, 2 and 3")
    sizes = [int(n or 0) for n in w.type.shape[2:]]
    steps, dilations = node.get("strides", [1] * count), node.get("dilations", [1] * count)
    sides = _sides(node, x, sizes, steps, dilations)
    x = T.pad(x, [(0, 0), (0, 0), *sides]) if any(n for pair in sides for n in pair) else x
    convolve = getattr(T.nnet, f"conv{count}d")
    groups = node.get("group", 1)
    found: Variable = convolve(
        x, w, subsample=tuple(steps), filter_flip=False, filter_dilation=tuple(dilations), num_groups=groups
    )  # fmt: skip
    return found if bias is None else found + _by_channel(bias, x.ndim)


@rule("MaxPool", "AveragePool")
def _pool(node: OnnxNode) -> Variable:
    x, sizes = node.x(), list(node.get("kernel_shape"))
    count = len(sizes)
    steps = node.get("strides", [1] * count)
    if node.get("ceil_mode", 0) or node.count > 1 or any(d != 1 for d in node.get("dilations", [1])):
        raise node.refused("ceil_mode, dilations and indices")
    sides = _sides(node, x, sizes, steps, [1] * count)
    options: dict[str, Any] = {"stride": tuple(steps), "padding": tuple(map(tuple, sides))}
    if node.op == "MaxPool":
        found: Variable = T.nnet.max_pool(x, tuple(sizes), **options)
    else:
        found = T.nnet.avg_pool(x, tuple(sizes), count_padding=bool(node.get("count_include_pad", 0)), **options)
    return found


@rule("GlobalAveragePool", "GlobalMaxPool")
def _global_pool(node: OnnxNode) -> Variable:
    x, axes = node.x(), tuple(range(2, node.x().ndim))
    found: Variable = T.mean(x, axis=axes, keepdims=True) if "Average" in node.op else T.max(x, axis=axes, keepdims=True)  # fmt: skip  # noqa: E501
    return T.cast(found, np.dtype(x.dtype).name)
