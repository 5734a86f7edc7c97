"""Primitives of JAX that make, move and join arrays."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.variable import Apply, Constant, Variable
from scanopt.bridges.jaxprs.reading import JaxprEquation, rule


@rule("iota")
def _iota(eq: JaxprEquation) -> Variable:
    (n, axis), type = (eq.params["shape"], eq.params["dimension"]), eq.types[0]
    line = T.cast(T.arange(n[axis]), type.dtype)
    return T.broadcast_to(T.reshape(line, [-1 if i == axis else 1 for i in range(len(n))]), type.shape)


@rule("empty", "empty2")
def _empty(eq: JaxprEquation) -> Variable:
    return T.zeros(eq.types[0].shape, eq.types[0].dtype)


@rule("broadcast_in_dim")
def _broadcast_in_dim(eq: JaxprEquation) -> Variable:
    x, shape = eq.inputs[0], eq.types[0].shape
    places = {int(d): i for i, d in enumerate(eq.params["broadcast_dimensions"])}
    lengths = [x.type.shape[places[k]] if k in places else 1 for k in range(len(shape))]
    aligned = T.reshape(x, lengths) if tuple(lengths) != x.type.shape else x
    return T.broadcast_to(aligned, shape)


@rule("reshape")
def _reshape(eq: JaxprEquation) -> Variable:
    x = eq.inputs[0]
    if eq.params.get("dimensions") is not None:
        x = T.transpose(x, tuple(int(d) for d in eq.params["dimensions"]))
    return T.reshape(x, eq.types[0].shape)


@rule("expand_dims", "squeeze")
def _lengths_of_1(eq: JaxprEquation) -> Variable:
    if eq.name == "squeeze":
        axes = tuple(int(d) for d in eq.params["dimensions"])
        node = eq.inputs[0].owner
        if isinstance(node, Apply) and node.op.name == "expand_dims" and node.op.options["axis"] == axes:
            return node.inputs[0]
        return T.squeeze(eq.inputs[0], axes)
    return T.reshape(eq.inputs[0], eq.types[0].shape)


@rule("transpose")
def _transpose(eq: JaxprEquation) -> Variable:
    return T.transpose(eq.inputs[0], tuple(int(d) for d in eq.params["permutation"]))


@rule("rev")
def _rev(eq: JaxprEquation) -> Variable:
    return T.flip(eq.inputs[0], tuple(int(d) for d in eq.params["dimensions"]))


@rule("concatenate")
def _concatenate(eq: JaxprEquation) -> Variable:
    return T.concatenate(eq.inputs, int(eq.params["dimension"]))


@rule("tile")
def _tile(eq: JaxprEquation) -> Variable:
    return T.tile(eq.inputs[0], tuple(int(n) for n in eq.params["reps"]))


@rule("stack")
def _stack(eq: JaxprEquation) -> Variable:
    return T.stack(eq.inputs, int(eq.params["axis"]))


@rule("split")
def _split(eq: JaxprEquation) -> list[Variable]:
    axis, ends = int(eq.params["axis"]), np.cumsum([0, *eq.params["sizes"]]).tolist()
    before = (slice(None),) * axis
    return [eq.inputs[0][(*before, slice(a, b))] for a, b in pairwise(ends)]


@rule("slice")
def _slice(eq: JaxprEquation) -> Variable:
    p, ndim = eq.params, eq.inputs[0].ndim
    bounds = zip(p["start_indices"], p["limit_indices"], p["strides"] or (1,) * ndim, strict=True)
    key = tuple(slice(int(a), int(b), int(k)) for a, b, k in bounds)
    if ndim == 1 and key[0].stop == key[0].start + 1:
        return T.expand_dims(entry_of(eq.inputs[0], 0, key[0].start), 0)
    found: Variable = eq.inputs[0][key] if key else eq.inputs[0]
    return found


@rule("pad")
def _pad(eq: JaxprEquation) -> Variable:
    return padded(eq.inputs[0], eq.inputs[1], eq.params["padding_config"])


def padded(x: Variable, value: Variable, config: object) -> Variable:
    """x padded with a value before, after and between its entries along each axis; negative counts cut entries off."""
    triples = [tuple(int(n) for n in axis) for axis in config]  # type: ignore[attr-defined]
    shape = [int(n or 0) for n in x.type.shape]
    inner = [n + between * max(n - 1, 0) for n, (_, _, between) in zip(shape, triples, strict=True)]
    wide = [max(a, 0) + n + max(b, 0) for n, (a, b, _) in zip(inner, triples, strict=True)]
    if wide != shape:
        places = tuple(
            slice(max(a, 0), max(a, 0) + n, between + 1) for n, (a, _, between) in zip(inner, triples, strict=True)
        )
        x = T.set_subtensor(T.full(wide, value, x.dtype)[places], x)
    if any(a < 0 or b < 0 for a, b, _ in triples):
        x = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b, _) in zip(wide, triples, strict=True))]
    return x


@rule("dynamic_slice")
def _dynamic_slice(eq: JaxprEquation) -> Variable:
    x, *starts = eq.inputs
    sizes = [int(n) for n in eq.params["slice_sizes"]]
    for k, entry in enumerate(_place(x, starts, sizes)):
        if isinstance(entry, slice) and isinstance(entry.start, Variable):  # the length is known
            entry = entry.start + Constant(np.arange(sizes[k]))
        if not (isinstance(entry, slice) and entry == slice(None)):
            part = x[(*(slice(None),) * k, entry)]
            x = T.expand_dims(part, k) if part.ndim < x.ndim else part
    return x


@rule("dynamic_update_slice")
def _dynamic_update_slice(eq: JaxprEquation) -> Variable:
    x, y, *starts = eq.inputs
    if not x.ndim:
        return y
    key = _place(x, starts, [int(n or 0) for n in y.type.shape])
    gone = tuple(k for k, entry in enumerate(key) if not isinstance(entry, slice))
    made: Variable = T.set_subtensor(x[key], T.squeeze(y, gone) if gone else y)
    return made


def _place(x: Variable, starts: list[Variable], sizes: list[int]) -> tuple[Any, ...]:
    """The index of a part with these starts, moved inside as in JAX; a single entry by a number, not a slice."""
    key: list[Any] = []
    for i, n, size in zip(starts, x.type.shape, sizes, strict=True):
        last = int(n or 0) - size
        if last == 0:
            key.append(slice(None))
        elif isinstance(i, Constant):
            start = min(max(int(i.data), 0), last)
            key.append(slice(start, start + size))
        else:
            at = T.minimum(T.maximum(T.cast(i, "int64"), 0), last)
            key.append(at if size == 1 else slice(at, at + size))
    return tuple(key)


def entry_of(x: Variable, axis: int, i: int) -> Variable:
    """Entry i along an axis; for a stack along that axis the stacked array itself, which leaves less to simplify."""
    node = x.owner
    if isinstance(node, Apply) and node.op.name == "stack" and node.op.options["axis"] == axis % x.ndim:
        return node.inputs[i]
    found: Variable = x[(*(slice(None),) * (axis % x.ndim), i)]
    return found
