"""What only gets another name, as the last row of a loop inside becomes a state, is made where that is to lie."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scanopt.backends.kernels.ir import ONE
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import WHOLE, Nested, Node, View

__all__ = ["first_sources", "views_of_all"]

_ONLY_ROW = (((0, 0),), ((0, -1),))
"""Indices of the only row."""


def views_of_all(nodes: Sequence[Node], w: Lowering) -> dict[str, str]:
    """By name of a view of all elements in order, or of the only row, the name of the array."""
    if w.part or w.device:
        return {}
    kept = {k.out for n in nodes if isinstance(n, Nested) for k in n.loop.keeps if k.rows == 1}
    found = [n for n in nodes if isinstance(n, View)]
    rows = [n for n in found if n.at in _ONLY_ROW and w.axes(n.out)]
    rows = [n for n in rows if n.args[0] in kept or w.axes(n.args[0])[0] == ONE]
    alike = [n for n in found if not n.at and len(n.axes) == len(w.axes(n.args[0]))]
    pairs = [(n, first) for views, first in ((rows, 1), (alike, 0)) for n in views]
    return {n.out: n.args[0] for n, k in pairs if n.axes == tuple((i + k, WHOLE) for i in range(len(n.axes)))}


def first_sources(nodes: Sequence[Node], made: Collection[str], wanted: Collection[str], w: Lowering) -> dict[str, str]:
    """By name that is wanted the array that it is a view of, and that nothing else that is wanted is one of.

    made: what is written where it is told to.
    """
    sources, found = views_of_all(nodes, w), dict[str, str]()
    for name in wanted:
        source = name
        while source in sources:
            source = sources[source]
        if source != name and source in made and source not in wanted and source not in found.values():
            found[name] = source
    return found
