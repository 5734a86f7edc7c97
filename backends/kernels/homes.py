"""Finds arrays that only become another name's array, so that they can be computed where that one must lie, and how
many rows there is room for.

An example is the last row of a nested loop that becomes the new state of the outer one.  This is right if the view has
all elements in order, and if no other wanted name is a view of the same array.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from scanopt.backends.kernels.ir import ONE, Expr
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import WHOLE, Contract, Length, Map, Nested, Node, Product, Repeat, Reshape, View
from scanopt.backends.kernels.recipe import Number
from scanopt.program.ir import Keep, Loop

__all__ = ["first_sources", "products_as_they_are", "register_of", "room", "views_of_all"]

_ONLY_ROW = (((0, 0),), ((0, -1),))
"""The indices of the only row of an array: its first or last."""


def views_of_all(nodes: Sequence[Node], w: Lowering) -> dict[str, str]:
    """For each view of all elements in order, or of the only row of an array, the name of the array."""
    if w.part or w.device:
        return {}
    kept = {k.out for n in nodes if isinstance(n, Nested) for k in n.loop.keeps if k.rows == 1}
    found = [n for n in nodes if isinstance(n, View)]
    rows = [n for n in found if n.at in _ONLY_ROW and w.axes(n.out)]
    rows = [n for n in rows if n.args[0] in kept or w.axes(n.args[0])[0] == ONE]
    alike = [n for n in found if not n.at and len(n.axes) == len(w.axes(n.args[0]))]
    pairs = [(n, first) for views, first in ((rows, 1), (alike, 0)) for n in views]
    return {n.out: n.args[0] for n, k in pairs if n.axes == tuple((i + k, WHOLE) for i in range(len(n.axes)))}


def products_as_they_are(nodes: Sequence[Node], wanted: Collection[str], w: Lowering) -> list[Node]:
    """The nodes, where what only copies a product that nothing else reads, as to broadcast it to the shape that it has,
    is another name for it.  wanted: names that are read after them."""
    made = {n.out for n in nodes if isinstance(n, Product | Contract)}
    read = [a for n in nodes if not isinstance(n, Length) for a in n.args]
    found: list[Node] = []
    for n in nodes:
        if isinstance(n, Reshape | Map) and not isinstance(n, Repeat) and (isinstance(n, Reshape) or n.op == "copy"):
            x = n.args[0]
            if x in made and x not in wanted and read.count(x) == 1 and w.axes(x) == w.axes(n.out):
                made.add(n.out)
                found.append(View(n.out, (x,), tuple((i, WHOLE) for i in range(len(w.axes(x)))), (), n.dtype))
                continue
        found.append(n)
    return found


def first_sources(nodes: Sequence[Node], made: Collection[str], wanted: Collection[str], w: Lowering) -> dict[str, str]:
    """For each wanted name that is a view of a whole array, that array, unless another wanted name is a view of it.

    made: the arrays that can be written to a given place.
    """
    sources, found = views_of_all(nodes, w), dict[str, str]()
    for name in wanted:
        source = name
        while source in sources:
            source = sources[source]
        if source != name and source in made and source not in wanted and source not in found.values():
            found[name] = source
    return found


def register_of(k: Keep, loop: Loop, registers: Mapping[int, Sequence[str]], w: Lowering) -> str:
    """The variable that is the last row of a number after its loop, which takes a step: that of a state; "" if none is.

    registers: for the numbers of some states, the variables that hold their rows, the newest first.
    """
    if w.device or k.start is not None:
        return ""
    return next((registers[i][0] for i, s in enumerate(loop.states) if i in registers and s.update == k.value), "")


def room(name: str, w: Lowering) -> Expr:
    """The number of rows for which an array has room; its length, if no step decides that."""
    rows = w.axes(name)[0]
    return w.number(Number("room", (name, 0))) if w.grows(rows) else rows
