"""Facts about operators that reduce arrays, and about two of them in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from scanopt.array.op import Op

__all__ = ["facts_of_reductions", "related_reductions"]

Row = tuple[str, tuple[Any, ...]]

_IN_TURN = ("sum", "prod", "mean", "max", "min", "any", "all")
_RUNNING = ("cumsum", "cumprod")


def facts_of_reductions(ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about reductions: two in turn that are one, those that add up rows, and those that run along rows."""
    known = list(ops)
    yield from (("reduces_in_two", row) for row in _in_two(known))
    for op in known:
        if op.name == "sum" and _is_plain(op) and 0 in op.options["axis"]:
            yield "adds_up_rows", (op,)
        if op.name in _RUNNING and op.options["axis"] == 0:
            yield "runs_down_rows", (op,)


def related_reductions(ops: Iterable[Op]) -> list[Op]:
    """The reductions that do at once what two of these do in turn."""
    return [op for _, _, op in _in_two(list(ops))]


def _in_two(ops: Iterable[Op]) -> Iterator[tuple[Op, Op, Op]]:
    """Two of these, the later one first, and the same along all of their axes."""
    some = [op for op in ops if op.name in _IN_TURN and _is_plain(op)]
    for g, h in product(some, some):
        if g.name == h.name:
            left = [k for k in range(max(*g.options["axis"], *h.options["axis"]) + 32) if k not in h.options["axis"]]
            axes = {*h.options["axis"], *(left[k] for k in g.options["axis"])}
            yield g, h, Op.make(g.name, **{**g.options, "axis": tuple(sorted(axes))})


def _is_plain(op: Op) -> bool:
    """Whether it removes its axes, and has no dtype of its own."""
    return not op.options["keepdims"] and op.options.get("dtype") is None and bool(op.options["axis"])
