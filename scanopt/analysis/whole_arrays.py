"""Facts from the operators of a program about what leaves an array as it is: it is taken apart and put together again,
written onto itself, reduced along an axis of length 1, or brought to a shape.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import Any

from scanopt.array.op import Op
from scanopt.array.operators.indexing import FULL

__all__ = ["facts_of_whole_arrays"]

Entry = Any  # of an index: a slice is ("slice", start, stop, step)
Row = tuple[str, tuple[Any, ...]]

_EVERY = tuple(("slice", start, None, step) for start in (None, 0) for step in (None, 1))

_REDUCING = {
    "max": "extreme_of_one", "min": "extreme_of_one",
    "mean": "sum_of_one_row", "prod": "sum_of_one_row", "sum": "sum_of_one_row",
}  # fmt: skip
"""By reduction, the fact about it along an axis of length 1."""
_SHAPING = ("broadcast_to", "reshape")

_WIDE = 50
"""Slices with bounds of this size or more are left alone."""


def facts_of_whole_arrays(ops: Collection[Op]) -> Iterator[Row]:
    """All facts about operators that leave an array as it is."""
    yield from (("brings_to_shape", (op,)) for op in ops if op.name in _SHAPING)
    yield from _written(ops)
    yield from _collapsing(ops)
    yield from _cut_in_two(ops)


def _written(ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about operators that write to slices."""
    for op in ops:
        if op.name == "setitem" and all(map(_is_slice, index := op.options["index"])):
            mode = op.options["mode"]
            if mode == "set":
                yield "sets", (op, Op.make("getitem", index=index))
            if all(entry in _EVERY for entry in index):
                yield {"set": "sets_all", "inc": "adds_to_all"}[mode], (op,)


def _collapsing(ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about axes of length 1 that are made and reduced."""
    made = [op for op in ops if op.name == "expand_dims"]
    reducing = [op for op in ops if op.name in _REDUCING and _reduces_alone(op)] if made else []
    for op, h in product(reducing, made):
        if op.options["axis"] == h.options["axis"]:
            yield _REDUCING[op.name], (op, h)


def _reduces_alone(op: Op) -> bool:
    return not op.options.get("keepdims") and "dtype" not in op.options


def _cut_in_two(ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about slices of one axis, by fixed bounds, that joined are all of it."""
    slices = [found for op in ops if (found := _slice_of_axis(op)) is not None]
    for (g, i, first), (h, j, second) in product(slices, slices):
        if i == j and _one_after_the_other(first, second):
            yield "cut_in_two", (Op.make("concatenate", axis=i), g, h)
            if not i:
                yield "rows_in_two", (g, h)


def _is_slice(entry: Entry) -> bool:
    return isinstance(entry, tuple)


def _slice_of_axis(op: Op) -> tuple[Op, int, Entry] | None:
    """The axis of which an operator takes a slice by fixed bounds, and all of the others; and that slice."""
    index = op.options["index"] if op.name == "getitem" else ()
    some = [(axis, entry) for axis, entry in enumerate(index) if entry != FULL]
    if len(some) != 1 or not _is_slice(some[0][1]):
        return None
    bounds = [b for b in some[0][1][1:] if b is not None]
    if some[0][1][3] == 0:  # a slice by step 0 is an error
        return None
    return (op, *some[0]) if all(isinstance(b, int) and abs(b) < _WIDE for b in bounds) else None


@lru_cache(maxsize=4096)
def _one_after_the_other(first: Entry, second: Entry) -> bool:
    """Whether two slices, one after the other, are all rows in their order, for all lengths."""
    bounds = [b for b in (*first[1:], *second[1:]) if b is not None]
    lengths = map(range, range(2 * sum(map(abs, bounds)) + 8))
    return all([*rows[slice(*first[1:])], *rows[slice(*second[1:])]] == [*rows] for rows in lengths)
