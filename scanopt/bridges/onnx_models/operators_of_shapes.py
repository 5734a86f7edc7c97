"""Writes operators that make, move, join and index arrays as nodes of ONNX models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scanopt.array.types import TensorType
from scanopt.bridges.onnx_models.operators import promoted, written
from scanopt.bridges.peers import Refused
from scanopt.program.ir import Compute

if TYPE_CHECKING:
    from scanopt.bridges.onnx_models.writing import ModelWriter

_FAR = 2**63 - 1


def vector(w: ModelWriter, dims: Sequence[int | str]) -> str:
    """The name of a vector of lengths, given as numbers and names of scalars."""
    if not any(isinstance(n, str) for n in dims):
        return w.constant([int(n) for n in dims], "int64")
    parts = [w.vector(n) if isinstance(n, str) else w.constant([n], "int64") for n in dims]
    return w.node("Concat", parts, TensorType("int64", (len(dims),)), axis=0)


def _shape(step: Compute, first: int = 1) -> list[int | str]:
    given = iter(step.args[first:])
    return [next(given) if n is None else int(n) for n in step.op.options["shape"]]


@written("shape_i")
def _shape_i(w: ModelWriter, step: Compute) -> None:
    axis = step.op.options["axis"]
    n = w.node("Shape", [step.args[0]], TensorType("int64", (1,)), start=axis, end=axis + 1)
    w.node("Squeeze", [n], step.type, step.out)


@written("reshape")
def _reshape(w: ModelWriter, step: Compute) -> None:
    lead, x = step.op.options.get("lead", 0), step.args[0]
    shape = vector(w, _shape(step))
    if lead:
        first = w.node("Shape", [x], TensorType("int64", (lead,)), end=lead)
        shape = w.node("Concat", [first, shape], TensorType("int64", (step.type.ndim,)), axis=0)
    w.node("Reshape", [x, shape], step.type, step.out, allowzero=int(0 in step.type.shape) or None)


@written("broadcast_to", "full")
def _broadcast_to(w: ModelWriter, step: Compute) -> None:
    w.node("Expand", [step.args[0], vector(w, _shape(step))], step.type, step.out)


@written("full_like")
def _full_like(w: ModelWriter, step: Compute) -> None:
    x, value = step.args
    shape = w.node("Shape", [x], TensorType("int64", (w.ndim(x),)))
    w.node("Expand", [value, shape], step.type, step.out)


@written("spread_like")
def _spread_like(w: ModelWriter, step: Compute) -> None:
    shape = w.node("Shape", [step.args[1]], TensorType("int64", (w.ndim(step.args[1]),)))
    w.node("Expand", [step.args[0], shape], step.type, step.out)


@written("repeat_rows")
def _repeat_rows(w: ModelWriter, step: Compute) -> None:
    x, n = step.args
    own = w.node("Shape", [x], TensorType("int64", (w.ndim(x),)))
    shape = w.node("Concat", [w.vector(n), own], TensorType("int64", (w.ndim(x) + 1,)), axis=0)
    w.node("Expand", [x, shape], step.type, step.out)


@written("arange")
def _arange(w: ModelWriter, step: Compute) -> None:
    ends = [w.cast(x, step.type.dtype) for x in step.args]
    ends = [w.constant(0, step.type.dtype), ends[0], w.constant(1, step.type.dtype)] if len(ends) == 1 else ends
    ends = [*ends, w.constant(1, step.type.dtype)] if len(ends) == 2 else ends
    w.node("Range", ends, step.type, step.out)


@written("transpose")
def _transpose(w: ModelWriter, step: Compute) -> None:
    w.node("Transpose", [step.args[0]], step.type, step.out, perm=list(step.op.options["axes"]))


@written("swap_rows")
def _swap_rows(w: ModelWriter, step: Compute) -> None:
    perm = [1, 0, *range(2, step.type.ndim)]
    w.node("Transpose", [step.args[0]], step.type, step.out, perm=perm)


@written("join_rows")
def _join_rows(w: ModelWriter, step: Compute) -> None:
    (x,) = step.args
    rest = w.node("Shape", [x], TensorType("int64", (w.ndim(x) - 2,)), start=2)
    shape = w.node("Concat", [w.constant([-1], "int64"), rest], TensorType("int64", (w.ndim(x) - 1,)), axis=0)
    w.node("Reshape", [x, shape], step.type, step.out)


@written("expand_dims", "squeeze")
def _lengths_of_1(w: ModelWriter, step: Compute) -> None:
    axes = w.constant([int(a) for a in step.op.options["axis"]], "int64")
    w.node("Unsqueeze" if step.op.name == "expand_dims" else "Squeeze", [step.args[0], axes], step.type, step.out)


@written("concatenate", "stack")
def _join(w: ModelWriter, step: Compute) -> None:
    axis, parts = int(step.op.options["axis"]), promoted(w, step.args)
    if step.op.name == "stack":
        where = w.constant([axis], "int64")
        kind = TensorType(step.type.dtype, tuple(1 if i == axis else n for i, n in enumerate(step.type.shape)))
        parts = [w.node("Unsqueeze", [x, where], kind) for x in parts]
    w.node("Concat", parts, step.type, step.out, axis=axis)


@written("kept_row")
def _kept_row(w: ModelWriter, step: Compute) -> None:
    w.node("Gather", [step.args[0], w.constant(-1, "int64")], step.type, step.out, axis=0)


@written("windows")
def _windows(w: ModelWriter, step: Compute) -> None:
    o = step.op.options
    (x, *size), axis = step.args, o["axis"]
    n = w.types[x].shape[axis]
    if size or n is None:
        raise Refused("to_onnx: windows of lengths that are computed")
    count = max((n - o["dilation"] * (o["size"] - 1) - 1) // o["step"] + 1, 0)
    places = np.arange(count)[:, None] * o["step"] + np.arange(o["size"])[None, :] * o["dilation"]
    ndim = w.ndim(x)
    found = w.node("Gather", [x, w.constant(places, "int64")], TensorType(w.dtype(x), (None,) * (ndim + 1)), axis=axis)
    perm = [*(i for i in range(ndim + 1) if i != axis + 1), axis + 1]
    w.node("Transpose", [found], step.type, step.out, perm=perm)


# Indexing


@written("getitem")
def _getitem(w: ModelWriter, step: Compute) -> None:
    w.node("Identity", [indexed(w, step.args[0], step.op.options["index"], step.args[1:])], step.type, step.out)


def indexed(w: ModelWriter, x: str, index: tuple[Any, ...], inputs: Sequence[str]) -> str:
    """The name of a part of an array: takes slices first, then single entries by number, then entries by arrays."""
    feed = iter(inputs)
    axis, dropped, new, arrays = 0, [], [], []
    slices: list[tuple[int, Any, Any, Any]] = []
    place = 0
    for entry in index:
        if entry == "newaxis":
            new.append(place)
            place += 1
        elif isinstance(entry, tuple):
            bounds = [next(feed) if b == "in" else b for b in entry[1:]]
            if any(b is not None for b in bounds):
                slices.append((axis, bounds[0], bounds[1], bounds[2]))
            axis, place = axis + 1, place + 1
        elif entry == "mask":
            raise Refused("to_onnx: entries picked by a mask: how many there are depends on values")
        elif entry == "array":
            arrays.append((axis, next(feed)))
            axis += 1
        else:
            dropped.append((axis, next(feed) if entry == "in" else entry))
            axis += 1
    x = _sliced(w, x, slices)
    if arrays:
        if new:
            raise Refused("to_onnx: an index with arrays and new axes")
        return _gathered(w, x, sorted([*arrays, *dropped], key=lambda p: p[0]))
    for k, i in reversed(dropped):
        shape = w.types[x].shape
        kind = TensorType(w.dtype(x), (*shape[:k], *shape[k + 1 :]))
        x = w.node("Gather", [x, i if isinstance(i, str) else w.constant(i, "int64")], kind, axis=k)
    if new:
        kind = TensorType(w.dtype(x), (None,) * (w.ndim(x) + len(new)))
        x = w.node("Unsqueeze", [x, w.constant(new, "int64")], kind)
    return x


def _sliced(w: ModelWriter, x: str, slices: list[tuple[int, Any, Any, Any]]) -> str:
    if not slices:
        return x
    lows, highs, steps = [], [], []
    for _, a, b, k in slices:
        k = 1 if k is None else k
        backwards = isinstance(k, int) and k < 0
        lows.append((_FAR if backwards else 0) if a is None else a)
        highs.append((-_FAR if backwards else _FAR) if b is None else b)
        steps.append(k)
    kind = TensorType(w.dtype(x), (None,) * w.ndim(x))
    axes = w.constant([s[0] for s in slices], "int64")
    return w.node("Slice", [x, vector(w, lows), vector(w, highs), axes, vector(w, steps)], kind)


def _gathered(w: ModelWriter, x: str, places: list[tuple[int, Any]]) -> str:
    """The name of the entries that arrays, which broadcast, pick along some axes."""
    if len(places) == 1:
        (axis, i) = places[0]
        kind = TensorType(w.dtype(x), (None,) * (w.ndim(x) - 1 + w.ndim(i)))
        return w.node("Gather", [x, w.cast(i, "int64")], kind, axis=axis)
    axes = [axis for axis, _ in places]
    together = axes == list(range(axes[0], axes[0] + len(axes)))
    rest = [k for k in range(w.ndim(x)) if k not in axes]
    moved = w.node("Transpose", [x], TensorType(w.dtype(x), (None,) * w.ndim(x)), perm=[*axes, *rest])
    names = [w.cast(i, "int64") if isinstance(i, str) else w.constant(i, "int64") for _, i in places]
    block = max(map(w.ndim, names))
    total = names[0]
    for other in names[1:]:  # their sum has the broadcast shape
        total = w.node("Add", [total, other], TensorType("int64", (None,) * block))
    shape = w.node("Shape", [total], TensorType("int64", (block,)))
    spread = [w.node("Expand", [n, shape], TensorType("int64", (None,) * block)) for n in names]
    last = w.constant([block], "int64")
    rows = [w.node("Unsqueeze", [n, last], TensorType("int64", (None,) * (block + 1))) for n in spread]
    index = w.node("Concat", rows, TensorType("int64", (None,) * (block + 1)), axis=block)
    found = w.node("GatherND", [moved, index], TensorType(w.dtype(x), (None,) * (block + len(rest))))
    if together and axes[0]:
        before = axes[0]
        perm = [*range(block, block + before), *range(block), *range(block + before, block + len(rest))]
        found = w.node("Transpose", [found], w.types[found], perm=perm)
    return found


@written("setitem", "scatter")
def _setitem(w: ModelWriter, step: Compute) -> None:
    """Write an update of a part: finds the flat indices of its entries and scatters the new values to them."""
    x, y, *inputs = step.args
    size = w.node("Size", [x], TensorType("int64", ()))
    line = w.node("Range", [w.constant(0, "int64"), size, w.constant(1, "int64")], TensorType("int64", (None,)))
    shape = w.node("Shape", [x], TensorType("int64", (w.ndim(x),)))
    grid = w.node("Reshape", [line, shape], TensorType("int64", (None,) * w.ndim(x)))
    part = indexed(w, grid, step.op.options["index"], inputs)
    there = w.node("Shape", [part], TensorType("int64", (w.ndim(part),)))
    spread = w.node("Expand", [y, there], TensorType(w.dtype(y), (None,) * w.ndim(part)))
    row = w.constant([-1], "int64")
    flat = [w.node("Reshape", [v, row], TensorType(w.dtype(v), (None,))) for v in (x, part, spread)]
    how = {"set": "none", "inc": "add", "multiply": "mul", "minimum": "min", "maximum": "max"}
    word = step.op.options.get("mode", step.op.options.get("ufunc"))
    if word not in how:
        raise Refused(f"to_onnx: entries combined by {word}")
    done = w.node("ScatterElements", flat, TensorType(w.dtype(x), (None,)), axis=0, reduction=how[word])
    w.node("Reshape", [done, shape], step.type, step.out)
