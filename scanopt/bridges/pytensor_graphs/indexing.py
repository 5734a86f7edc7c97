"""Operators of PyTensor for indexing: reading and writing parts of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.variable import Apply, Constant, Variable
from scanopt.bridges.pytensor_graphs.reading import TensorNode, rule
from scanopt.libraries import library


def _number(i: Any) -> Any:
    """A bound or an index, as a Python int if it is known."""
    if isinstance(i, Constant) and not i.ndim:
        return int(i.data)
    return T.cast(i, "int64") if isinstance(i, Variable) and i.dtype not in ("int64", "bool") and not i.ndim else i


def _key(node: TensorNode, first: int) -> tuple[Any, ...]:
    """The index of a node, whose parts are its inputs from `first` on."""
    find = library("pytensor.tensor.subtensor", "pytensor", "from_pytensor").indices_from_subtensor
    places = dict(zip(map(id, node.node.inputs[first:]), node.inputs[first:], strict=True))

    def value(v: Any) -> Any:
        if v is None or isinstance(v, int | np.integer):
            return v
        return _number(places[id(v)])

    key: list[Any] = []
    for entry in find(node.node.inputs[first:], node.op.idx_list):
        if isinstance(entry, slice):
            key.append(slice(value(entry.start), value(entry.stop), value(entry.step)))
        else:
            found = value(entry)
            if isinstance(found, slice):
                found = slice(*map(_number, (found.start, found.stop, found.step)))
            key.append(found)
    return tuple(key)


@rule("Subtensor", "AdvancedSubtensor", "AdvancedSubtensor1")
def _subtensor(node: TensorNode) -> Variable:
    x, key = node.inputs[0], _key(node, 1)
    return part(x, key)


def part(x: Variable, key: tuple[Any, ...]) -> Variable:
    """x[key]; if x was made by adding a first axis, stacking or concatenating, the part that was put there."""
    made = x.owner
    if len(key) == 1 and isinstance(made, Apply):
        name, (k,) = made.op.name, key
        if name == "expand_dims" and made.op.options["axis"] == (0,) and isinstance(k, int) and k in (0, -1):
            return made.inputs[0]
        if name == "stack" and made.op.options["axis"] == 0 and isinstance(k, int):
            return made.inputs[k]
        if name == "concatenate" and made.op.options["axis"] == 0 and isinstance(k, slice) and k.step in (None, 1):
            first, *rest = made.inputs
            if len(rest) == 1 and isinstance(k.start, int) and k.stop is None and k.start == first.type.shape[0]:
                return rest[0]
    found: Variable = x[key] if key else x
    return found


@rule("IncSubtensor", "AdvancedIncSubtensor", "AdvancedIncSubtensor1")
def _inc_subtensor(node: TensorNode) -> Variable:
    x, y = node.inputs[:2]
    key = _key(node, 2)
    target = x[key] if key else x
    y = T.cast(y, x.dtype)
    if target is x:  # the whole array
        added: Variable = T.broadcast_to(y, T.shape(x)) if node.op.set_instead_of_inc else x + y
        return added
    if getattr(node.op, "ignore_duplicates", False) and not node.op.set_instead_of_inc:
        return T.set_subtensor(target, target + y)
    return T.set_subtensor(target, y) if node.op.set_instead_of_inc else T.inc_subtensor(target, y)
