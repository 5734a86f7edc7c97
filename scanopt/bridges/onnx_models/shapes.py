"""ONNX operators that make, move, join and index arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.batching import dim, dims_of
from scanopt.array.shapes import axis_of
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.onnx_models.reading import OnnxNode, dtype_of, ints, lengths, rule
from scanopt.bridges.peers import written
from scanopt.libraries import library


@rule("Constant")
def _constant(node: OnnxNode) -> Constant:
    if "value" in node.attributes:
        return Constant(library("onnx.numpy_helper", "onnx", "from_onnx").to_array(node.get("value")))
    for word, dtype in (("float", np.float32), ("int", np.int64)):
        for name in (f"value_{word}", f"value_{word}s"):
            if name in node.attributes:
                return Constant(np.asarray(node.get(name), dtype))
    raise node.refused("a constant that is not a tensor")


@rule("ConstantOfShape")
def _constant_of_shape(node: OnnxNode) -> Variable:
    value = node.get("value")
    one = (
        np.zeros(1, np.float32) if value is None else library("onnx.numpy_helper", "onnx", "from_onnx").to_array(value)
    )
    found: Variable = T.full(tuple(lengths(node.x())), Constant(one.reshape(())), one.dtype.name)
    return found


@rule("Shape")
def _shape(node: OnnxNode) -> Variable:
    x = node.x()
    dims = dims_of(x)[slice(node.get("start", 0), node.get("end", None))]
    if all(isinstance(n, int) for n in dims):
        return Constant(np.asarray(dims, np.int64))
    found: Variable = T.stack([Constant(np.int64(n)) if isinstance(n, int) else n for n in dims])
    return found


@rule("Size")
def _size(node: OnnxNode) -> Variable:
    found: Variable = T.size(node.x())
    return found


@rule("Reshape")
def _reshape(node: OnnxNode) -> Variable:
    x, zero = node.x(), node.get("allowzero", 0)
    shape = [dim(x, i) if isinstance(n, int) and n == 0 and not zero else n for i, n in enumerate(lengths(node.x(1)))]
    found: Variable = T.reshape(x, tuple(shape))
    return found


@rule("Flatten")
def _flatten(node: OnnxNode) -> Variable:
    x, axis = node.x(), node.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    rows: Any = 1
    for n in dims_of(x)[:axis]:
        rows = rows * n
    found: Variable = T.reshape(x, (rows, -1))
    return found


@rule("Transpose")
def _transpose(node: OnnxNode) -> Variable:
    x, perm = node.x(), node.get("perm")
    found: Variable = T.transpose(x) if perm is None else T.transpose(x, tuple(perm))
    return found


@rule("Squeeze", "Unsqueeze")
def _lengths_of_1(node: OnnxNode) -> Variable:
    x, axes = node.x(), node.known(1)
    if node.op == "Unsqueeze":
        return T.expand_dims(x, tuple(ints(axes)))
    return T.squeeze(x) if axes is None else T.squeeze(x, tuple(ints(axes)))


@rule("Concat")
def _concat(node: OnnxNode) -> Variable:
    found: Variable = T.concatenate([node.x(i) for i in range(len(node.inputs))], node.get("axis"))
    return found


@rule("Split")
def _split(node: OnnxNode) -> list[Variable]:
    x = node.x()
    axis = axis_of(node.get("axis", 0), x.ndim)
    sizes, n = node.known(1), x.type.shape[axis]
    if sizes is None:
        if n is None:
            raise node.refused("an axis of unknown length in equal parts: give the sizes")
        each = -(-n // node.count)
        sizes = [min(each, n - each * i) for i in range(node.count)]
    ends = np.cumsum([0, *ints(sizes)]).tolist()
    before = (slice(None),) * axis
    return [x[(*before, slice(ends[i], ends[i + 1]))] for i in range(node.count)]


_FAR = 2**31 - 1


@rule("Slice")
def _slice(node: OnnxNode) -> Variable:
    x = node.x()
    starts, ends = lengths(node.x(1)), lengths(node.x(2))
    axes = range(len(starts)) if node.optional(3) is None else [a % x.ndim for a in ints(node.known(3))]
    steps = [1] * len(starts) if node.optional(4) is None else ints(node.known(4))
    key: list[Any] = [slice(None)] * x.ndim
    for axis, a, b, k in zip(axes, starts, ends, steps, strict=True):
        low: Any = None if isinstance(a, int) and ((k > 0 and a == 0) or (k < 0 and a >= _FAR)) else a
        far = isinstance(b, int) and ((k > 0 and b >= _FAR) or (k < 0 and b <= -_FAR))
        key[axis] = slice(low, None if far else b, k)
    found: Variable = x[tuple(key)]
    return found


@rule("Pad")
def _pad(node: OnnxNode) -> Variable:
    x, mode = node.x(), node.get("mode", "constant")
    pads, axes = ints(node.known(1)), node.known(3)
    places = list(range(x.ndim)) if axes is None else [a % x.ndim for a in ints(axes)]
    pairs = {a: (pads[i], pads[i + len(places)]) for i, a in enumerate(places)}
    width = [pairs.get(a, (0, 0)) for a in range(x.ndim)]
    if any(n < 0 for pair in width for n in pair):
        raise node.refused("negative pads: cut with Slice")
    if mode == "constant":
        value = node.optional(2)
        return T.pad(x, width, constant_values=0 if value is None else T.reshape(value, ()))
    return T.pad(x, width, mode={"reflect": "reflect", "edge": "edge", "wrap": "wrap"}[mode])


@rule("Expand")
def _expand(node: OnnxNode) -> Variable:
    x, shape = node.x(), list(lengths(node.x(1)))
    lead = len(shape) - x.ndim
    own = [1] * max(lead, 0) + list(dims_of(x))
    shape = [1] * max(-lead, 0) + shape
    both = [_longer(a, b) for a, b in zip(own, shape, strict=True)]
    found: Variable = T.broadcast_to(x, tuple(both))
    return found


def _longer(own: Any, asked: Any) -> Any:
    if isinstance(asked, int):
        return own if asked == 1 else asked
    return asked if isinstance(own, int) and own == 1 else T.maximum(own, asked)


@rule("Tile")
def _tile(node: OnnxNode) -> Variable:
    found: Variable = T.tile(node.x(), tuple(lengths(node.x(1))))
    return found


@rule("Range")
def _range(node: OnnxNode) -> Variable:
    start, stop, step = (T.reshape(node.x(i), ()) for i in range(3))
    found: Variable = T.cast(T.arange(start, stop, step), node.x().dtype)
    return found


@rule("OneHot")
def _one_hot(node: OnnxNode) -> Variable:
    (depth,), values, axis = ints(node.known(1)), node.x(2), node.get("axis", -1)
    places = T.cast(node.x(), "int64")
    places = T.where(T.lt(places, 0), places + depth, places)
    axis = axis + places.ndim + 1 if axis < 0 else axis
    line = np.arange(depth).reshape([-1 if i == axis else 1 for i in range(places.ndim + 1)])
    found: Variable = T.where(T.eq(T.expand_dims(places, axis), Constant(line)), values[1], values[0])
    return found


@rule("Trilu")
def _trilu(node: OnnxNode) -> Variable:
    k = node.known(1)
    offset = 0 if k is None else int(np.asarray(k).reshape(()))
    found: Variable = (T.triu if node.get("upper", 1) else T.tril)(node.x(), offset)
    return found


@rule("EyeLike")
def _eye_like(node: OnnxNode) -> Variable:
    x = node.x()
    dtype = x.dtype if node.get("dtype") is None else dtype_of(node.get("dtype"))
    found: Variable = T.eye(dim(x, 0), dim(x, 1), node.get("k", 0), dtype=dtype)
    return found


# Entries


@rule("Gather")
def _gather(node: OnnxNode) -> Variable:
    x = node.x()
    axis = axis_of(node.get("axis", 0), x.ndim)
    found: Variable = x[(*(slice(None),) * axis, T.cast(node.x(1), "int64"))]
    return found


@rule("GatherElements")
def _gather_elements(node: OnnxNode) -> Variable:
    x, places = node.x(), node.x(1)
    return _part(x, _mesh(places, axis_of(node.get("axis", 0), x.ndim)))


def _mesh(places: Variable, axis: int) -> tuple[Any, ...]:
    """The index that reads, for each place, entry places[place] along an axis and the place itself along the others."""
    key: list[Any] = []
    for i, n in enumerate(dims_of(places)):
        line = T.arange(n)
        key.append(T.cast(places, "int64") if i == axis else T.expand_dims(line, [k for k in range(places.ndim) if k != i]))  # fmt: skip  # noqa: E501
    return tuple(key)


def _part(x: Variable, key: tuple[Any, ...]) -> Variable:
    found: Variable = x[key]
    return found


@rule("GatherND")
def _gather_nd(node: OnnxNode) -> Variable:
    if node.get("batch_dims", 0):
        raise node.refused("batch_dims")
    return _part(node.x(), _rows(node, node.x(1)))


def _rows(node: OnnxNode, places: Variable) -> tuple[Any, ...]:
    n = places.type.shape[-1]
    if n is None:
        raise node.refused("indices of an unknown number of axes")
    return tuple(T.cast(places[..., i], "int64") for i in range(n))


@rule("ScatterElements", "ScatterND")
def _scatter(node: OnnxNode) -> Variable:
    x, places, y = node.x(0), node.x(1), node.x(2)
    key = _rows(node, places) if node.op == "ScatterND" else _mesh(places, axis_of(node.get("axis", 0), x.ndim))
    how = node.get("reduction", "none")
    return written(x[key], y, "set" if how == "none" else how)


@rule("ReverseSequence")
def _reverse_sequence(node: OnnxNode) -> Variable:
    x, batch, time = node.x(), node.get("batch_axis", 1), node.get("time_axis", 0)
    found: Variable = reversed_rows(T.moveaxis(x, (time, batch), (0, 1)), node.x(1)).transpose(
        *np.argsort([time, batch, *(i for i in range(x.ndim) if i not in (time, batch))]).tolist()
    )
    return found


def reversed_rows(x: Variable, counts: Variable) -> Variable:
    """x (time, batch, ...) with the first `counts` rows of each lane in reverse; the others stay."""
    t = T.expand_dims(T.arange(dim(x, 0)), 1)
    n = T.expand_dims(T.cast(counts, "int64"), 0)
    source = T.where(T.lt(t, n), n - 1 - t, t)
    lanes = T.expand_dims(T.arange(dim(x, 1)), 0)
    return _part(x, (source, lanes))
