"""Facts about operators that reduce arrays, and about two of them in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from scanopt.array.op import Op

__all__ = ["facts_of_reductions", "related_reductions"]

Row = tuple[str, tuple[Any, ...]]

_IN_TURN = ("sum", "prod", "mean", "max", "min", "any", "all")
_RUNNING = ("cumsum", "cumprod")
_ALONG = {"sum": "cumsum", "prod": "cumprod", "max": "cummax", "min": "cummin"}
"""What reduces rows, and what gives the results for the first row, the first two, and so on."""


def facts_of_reductions(ops: Iterable[Op]) -> Iterator[Row]:
    """Facts about reductions: two in turn that are one, those that add up rows, and those that run along rows."""
    known = list(ops)
    yield from (("reduces_in_two", row) for row in _in_two(known))
    for op in known:
        if op.name == "sum" and _is_plain(op) and 0 in op.options["axis"]:
            yield "adds_up_rows", (op,)
        if (running := _running(op)) is not None:
            yield "runs_along", (op, running)
        if op.name in _RUNNING and op.options["axis"] == 0:
            yield "runs_down_rows", (op,)
        if op.name == "transpose":
            yield "transposes", (op,)
    yield from (("turns", row) for row in _turned(known))
    yield from (("reduces_turned", row) for row in _reduced_turned(known))
    yield from (("keeps_axis", row) for row in _keeping(known))


def related_reductions(ops: Iterable[Op]) -> list[Op]:
    """The reductions that do at once what two of these do in turn, and those that give all results on the way."""
    known = list(ops)
    ways = [*(op for _, _, op in _in_two(known)), *(g for op in known if (g := _running(op)) is not None)]
    ways += [op for some in (_turned(known), _reduced_turned(known)) for _, _, op in some]
    return [*ways, *(op for _, op, _ in _keeping(known))]


def _running(op: Op) -> Op | None:
    """The operator that gives the results of a reduction for the first row, for the first two, and so on."""
    if op.name in _ALONG and _is_plain(op) and op.options["axis"] == (0,):
        return Op.make(_ALONG[op.name], axis=0)
    return None


def _turned(ops: Sequence[Op]) -> Iterator[tuple[Op, Op, Op]]:
    """A cumulative operator, one that rearranges axes, and what the first is before these are rearranged."""
    running = [op for op in ops if op.name in _ALONG.values() and op.options.get("dtype") is None]
    for g, turn in product(running, [op for op in ops if op.name == "transpose"] if running else ()):
        axes, axis = turn.options["axes"], g.options["axis"]
        if axis is not None and axis < len(axes):
            yield g, turn, Op.make(g.name, **{**g.options, "axis": axes[axis]})


def _reduced_turned(ops: Sequence[Op]) -> Iterator[tuple[Op, Op, Op]]:
    """A reduction, one that rearranges axes, and what the first is before these are rearranged.

    The axes that are left must be in order.
    """
    turning = [op for op in ops if op.name == "transpose"]
    for g, turn in product([op for op in ops if op.name in _IN_TURN and _is_plain(op)] if turning else (), turning):
        axes, reduced = turn.options["axes"], g.options["axis"]
        left = [axis for k, axis in enumerate(axes) if k not in reduced]
        if max(reduced) < len(axes) and left == sorted(left):
            yield g, turn, Op.make(g.name, **{**g.options, "axis": tuple(sorted(axes[k] for k in reduced))})


def _keeping(ops: Iterable[Op]) -> Iterator[tuple[Op, Op, int]]:
    """Reductions that keep the axis along which they reduce, each with the one that does not, and the axis."""
    for op in ops:
        if op.options.get("keepdims") and len(op.options["axis"] or ()) == 1 and op.name in (*_IN_TURN, "var", "std"):
            yield op, Op.make(op.name, **{**op.options, "keepdims": False}), op.options["axis"][0]


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
