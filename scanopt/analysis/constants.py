"""Facts from the text of a program: arrays that have one value everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from scanopt.analysis.initial_facts import Given
from scanopt.array.op import Op
from scanopt.calculus.forms import TermGraph

__all__ = ["filled"]


def filled(g: TermGraph) -> Iterator[Given]:
    """Operators that fill an array, each with the one that fills a row of it."""
    found = dict.fromkeys(f.operator for _, f in g.forms() if f.operator is not None and f.operator.name == "full")
    for op in found:
        shape = op.options["shape"] if isinstance(op, Op) else ()
        if len(shape) == 1:
            yield "fills_vector", (op,)
        elif shape:
            row = Op.make("full", shape=tuple(shape[1:]))
            yield "fills" if shape[0] is not None else "fills_counted", (op, row)
