"""Facts from the text of a program about traces that are read late: first rows of a state, then its new values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scanopt.array.op import Op
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import Form

__all__ = ["reading_late"]


def reading_late(g: Encoded) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Facts about rows of a state's history, the initial rows and then all updates, that a delay reads step by step."""
    delays: dict[tuple[int, int, int, int], int] = {}
    for i, f in g.forms():
        if f.kind == "delay":
            for u in g.states[f.state].updates:
                delays[f.clock, f.args[0], u, f.k] = i
    for z, f in g.forms():
        if (cut := _without_end(f)) is None:
            continue
        start, k = cut
        history = g.classes[f.args[0]][0]
        if history.operator is None or history.operator.key != 'concatenate{"axis":0}' or len(history.args) != 2:
            continue
        init, trace = history.args
        kept = g.classes[trace][0]
        if kept.kind == "stack" and g.types[init].shape[0] == start + k:
            w = delays.get((kept.clock, init, kept.args[0], k))
            if w is not None:
                yield "read_late", (z, w)


def _without_end(f: Form) -> tuple[int, int] | None:
    """a and k, if a form takes rows [a:-k]; else None."""
    if not isinstance(f.operator, Op) or f.operator.name != "getitem":
        return None
    index = f.operator.options["index"]
    if len(index) != 1 or not isinstance(index[0], tuple):
        return None
    _, start, stop, step = index[0]
    if (
        step is None
        and isinstance(stop, int)
        and stop < 0
        and (start is None or (isinstance(start, int) and start >= 0))
    ):
        return start or 0, -stop
    return None
