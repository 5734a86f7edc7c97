"""Operators that say how many rows of a trace a part of it needs, from the trace's length and the part's bounds.

A part is an entry of an index for the first axis: an integer or a slice, "in" where a bound is an argument.  Before
the loop runs, either the exact number of rows of the trace is known (`exact`) or only a maximum: that of a loop that
may end early.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.parameters import FLAG, INDEX
from scanopt.array.types import TensorType

__all__ = ["rows_left", "rows_read"]

Entry = Any  # as in `operators.indexing`


def rows_read(entry: Entry, exact: bool) -> Op:
    """The op from a number of rows and a part's bounds to how many first rows the part needs, at least one if any.

    If `exact`, an index out of range is an IndexError.

    >>> rows_read(("slice", "in", None, None), True).bind()(10, -3).item()
    10
    >>> rows_read("in", True).bind()(10, -3).item(), rows_read("in", False).bind()(10, 3).item()
    (8, 4)
    """
    return Op.make("rows_read", index=(entry,), exact=exact)


def rows_left(entry: Entry, exact: bool) -> Op:
    """The op from a number of rows and a part's bounds to how many last rows, of those `rows_read` counts, are enough.

    >>> rows_left(("slice", "in", "in", None), True).bind()(10, 2, -3).item()
    5
    >>> rows_left("in", False).bind()(10, -3).item(), rows_left("in", False).bind()(10, 3).item()
    (3, 4)
    """
    return Op.make("rows_left", index=(entry,), exact=exact)


def _counted(n: int, entry: Entry, bounds: list[int], exact: bool) -> tuple[int, int]:
    """How many first rows of n a part needs, and how many last rows of these are enough."""
    if isinstance(entry, tuple):
        rest = iter(bounds)
        start, stop = (next(rest) if b == "in" else b for b in entry[1:3])
        return _rows_of_slice(n, start, stop) if exact else _rows_near(n, start, stop)
    (k,) = bounds
    if exact:
        if not -n <= k < n:
            raise IndexError(f"index {k} is out of bounds for axis 0 with size {n}")
        return k % n + 1, 1
    return _rows_near(n, k, k + 1 if k >= 0 else None)


def _rows_of_slice(n: int, start: int | None, stop: int | None) -> tuple[int, int]:
    """`_counted` for rows [start:stop] of exactly n; an empty slice still needs one row, for its shape."""
    first, end, _ = slice(start, stop).indices(n)
    return (end, end - first) if end > first else (min(n, 1), 0)


def _rows_near(n: int, start: int | None, stop: int | None) -> tuple[int, int]:
    """`_counted` for rows [start:stop] of at most n rows: where bounds count from the end, their place is unknown."""
    if start is not None and start < 0:
        return n, min(n, -start) if stop is None or stop < 0 else n
    read = min(n, max(stop, 1)) if stop is not None and stop >= 0 else n
    return read, read


def _bind(which: int) -> Callable[..., Any]:
    def bind(xp: Any, index: tuple[Entry, ...], exact: bool) -> Callable[..., Any]:
        return lambda n, *bounds: xp.asarray(_counted(int(n), index[0], [*map(int, bounds)], exact)[which], "int64")

    return bind


def _infer(n: Operand, *bounds: Operand, index: tuple[Entry, ...], exact: bool) -> TensorType:
    for x in (n, *bounds):
        if x.ndim or np.dtype(x.dtype).kind not in "iu":
            raise TypeError(f"rows are counted by integers, found {x.type}")
    return TensorType("int64", ())


def _may_miss(op: Op) -> bool:
    return bool(op.options["exact"]) and not isinstance(op.options["index"][0], tuple)


for _name, _which, _doc in (
    ("rows_read", 0, "how many first rows of so many a part with these bounds needs"),
    ("rows_left", 1, "how many last rows of those that rows_read counts a part needs"),
):
    register(
        OpSpec(
            _name,
            _bind(_which),
            _infer,
            cost="free",
            can_raise=_may_miss,
            doc=_doc,
            params={"index": INDEX, "exact": FLAG},
        )
    )
