"""Reads the operators for parts of arrays (`getitem`, `setitem`, `given`, `specify_shape`) as nodes.

Indices may be numbers, slices, computed integers, arrays of integers and masks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scanopt.array.types import TensorType
from scanopt.backends.kernels.forms import cast_is_known
from scanopt.backends.kernels.nodes import WHOLE, Map, Scatter, SetItem, Single, Take, View, Within
from scanopt.program.ir import Compute

__all__ = ["INDICES", "given_nodes", "part_nodes", "same_nodes", "set_nodes"]

INDICES = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"}
"""Dtypes of indices."""
Types = dict[str, TensorType]


def _part(step: Compute, inputs: tuple[str, ...], out: str, dtype: str, types: Types) -> View | None:
    """The view that an index of integers, slices and new axes makes of the first argument; None for other indices."""
    index, rest = step.op.options["index"], list(inputs)
    axes: list[tuple[int, tuple[Any, ...]] | None] = []
    at: list[tuple[int, int | str]] = []
    axis = 0
    for entry in index:
        if entry == "newaxis":
            axes.append(None)
            continue
        if isinstance(entry, tuple) and entry[3] != 0 and (found := _slice(entry[1:], rest, types)):
            axes.append((axis, found))
        elif entry == "in" and not types[rest[0]].ndim and types[rest[0]].dtype in INDICES:
            at.append((axis, rest.pop(0)))
        elif isinstance(entry, int) and not isinstance(entry, bool):
            at.append((axis, entry))
        else:
            return None
        axis += 1
    axes += [(i, WHOLE) for i in range(axis, types[step.args[0]].ndim)]
    return View(out, (step.args[0], *inputs), tuple(axes), tuple(at), dtype)


def _slice(parts: tuple[Any, ...], rest: list[str], types: Types) -> tuple[Any, ...] | None:
    """A slice with names for its computed ends; None for slices that have no form."""
    if "in" not in parts:
        return parts
    if parts[2] not in (None, 1) and parts[1:] != (None, -1):
        return None
    found = tuple(rest.pop(0) if p == "in" else p for p in parts)
    names = [p for p in found if isinstance(p, str)]
    return found if all(not types[p].ndim and types[p].dtype in INDICES for p in names) else None


def part_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read a part of an array."""
    index = step.op.options["index"]
    if "array" in index:
        yield from _taken(step, types)
    elif part := _part(step, step.args[1:], step.out, step.type.dtype, types):
        yield part


def given_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read a value that exists only if a loop takes a step: the value, after a check; else array steps raise."""
    runs = f"{step.out}#runs"
    types[runs] = TensorType("int64", ())
    yield Within(runs, step.args[1:], 1, None, False, False, "int64")
    yield from same_nodes(step, types)


def same_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read an operator that returns its first argument, whose lengths were looked at before the kernel runs."""
    yield View(step.out, step.args[:1], tuple((i, WHOLE) for i in range(step.type.ndim)), (), step.type.dtype)


def _taken(step: Compute, types: Types) -> Iterator[Single]:
    """Read parts at arrays of integers, and numbers, on adjacent axes, as x[:, i, J] and x[I, J]."""
    (x, *rest), dtype = step.args, step.type.dtype
    lead, at = _places(step.op.options["index"], rest, types)
    arrays = tuple(entry for entry in at if isinstance(entry, str) and types[entry].ndim)
    numbers = tuple((i, entry) for i, entry in enumerate(at, lead) if entry not in arrays)
    if not arrays:
        return
    if numbers:
        gone = {i for i, _ in numbers}
        left = [i for i in range(types[x].ndim) if i not in gone]
        row = f"{step.out}#x"
        types[row] = TensorType(dtype, tuple(types[x].shape[i] for i in left))
        names = tuple(entry for _, entry in numbers if isinstance(entry, str))
        yield View(row, (x, *names), tuple((i, WHOLE) for i in left), numbers, dtype)
        x = row
    yield Take(step.out, (x, *arrays), lead, dtype)


def _places(index: Sequence[Any], given: Sequence[str], types: Types) -> tuple[int, tuple[str | int, ...]]:
    """The first axis of an index of arrays and numbers on adjacent axes, and its entries; () for other indices.

    given: the arguments of the index.
    """
    rest = iter(given)
    found = [next(rest) if entry in ("in", "array") else entry for entry in index]
    while found[-1] == ("slice", *WHOLE):
        found.pop()
    lead = next(i for i, entry in enumerate(found) if entry != ("slice", *WHOLE))
    at = tuple(found[lead:])
    return lead, at if all(_is_place(entry, types) for entry in at) and next(rest, None) is None else ()


def _is_place(entry: object, types: Types) -> bool:
    return type(entry) is int or (entry in types and types[str(entry)].dtype in INDICES)


def set_nodes(step: Compute, types: Types) -> Iterator[Single]:
    """Read an array with a part set or increased."""
    x, y, *places = step.args
    name, dtype = f"{step.out}#p", types[x].dtype
    added = step.op.options["mode"] == "inc"
    if dtype != step.type.dtype or not (types[y].dtype == dtype if added else cast_is_known(types[y].dtype, dtype)):
        return
    if step.op.options["index"] == ("mask",):
        yield from _where_true(step, added, types)
        return
    if "array" in step.op.options["index"]:
        lead, at = _places(step.op.options["index"], places, types)
        if at:
            yield Scatter(step.out, step.args, lead, at, added, dtype)
        return
    part = _part(step, tuple(places), name, dtype, types)
    if part is not None and types[y].ndim <= len(part.axes):
        types[name] = TensorType(dtype, (None,) * len(part.axes))
        yield SetItem(step.out, step.args, part, added, dtype)


def _where_true(step: Compute, added: bool, types: Types) -> Iterator[Single]:
    """Read the setting of, or adding to, all elements where a mask is true, by one number."""
    (x, y, mask), dtype, wide, total = step.args, step.type.dtype, f"{step.out}#w", f"{step.out}#a"
    if types[y].ndim:
        return
    types |= {wide: TensorType("bool", (None,) * step.type.ndim), total: step.type}
    lead = types[mask].ndim
    yield View(wide, (mask,), tuple((i, WHOLE) if i < lead else None for i in range(step.type.ndim)), (), "bool")
    if added:
        yield Map(total, (x, y), "add", (dtype, dtype), dtype, x)
    yield Map(step.out, (wide, total if added else y, x), "where", ("bool", dtype, dtype), dtype, x)
