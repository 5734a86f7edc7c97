"""Facts from the text of a program about its products: which of them share their left operand, in one loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scanopt.array.op import Op
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import ROOT

__all__ = ["products_beside"]

_COLUMNS = {
    1: Op.make("getitem", index=(("slice", "in", "in", None),)),
    2: Op.make("getitem", index=(("slice", None, None, None), ("slice", "in", "in", None))),
}
"""Columns of a product, by the number of its axes."""


def products_beside(g: Encoded) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Facts about groups of products of one value with several matrices that stay the same in its loop.

    A group has the number of its first product, not of its value: values of different groups may turn out to be equal.
    """
    groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for i, form in g.forms():
        if form.operator is None or form.operator.name != "dot":
            continue
        x, w = form.args
        held = g.classes[w][0]
        if held.kind == "hold" and held.clock != ROOT and g.types[w].ndim == 2 and g.types[x].ndim in _COLUMNS:
            groups.setdefault((held.clock, x), []).append((held.args[0], i))
    for (clock, x), products in groups.items():
        weights = [w for w, _ in products]
        alike = [w for w in dict.fromkeys(weights) if g.types[w].dtype == g.types[weights[0]].dtype]
        group = products[0][1]
        if len(alike) > 1:
            yield "last_beside", (alike[-1], group, len(alike) - 1)
            for number, w in enumerate(alike):
                yield "numbered_beside", (clock, x, w, _COLUMNS[g.types[x].ndim], group, number)
