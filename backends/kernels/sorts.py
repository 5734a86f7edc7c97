"""Rows sorted in C, in loops: what sorting gives does not depend on the way, but for zeros of both signs.

Where these are sorted together, array steps run.  NumPy sorts long rows faster, by vectors: so do array steps.
"""

from __future__ import annotations

from collections.abc import Mapping

from scanopt.backends.kernels.bodies import Body, walk
from scanopt.backends.kernels.c_operations import TYPES
from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.ir import INDEX, ZERO, Do, Fail, Helper, If, Load, Point, Steps, Stmt
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import NoForm, Sort
from scanopt.backends.kernels.values import index, packed

__all__ = ["sorts_long_rows"]

LONGEST = 512
"""Elements of a row, at most."""


def sorts_long_rows(body: Body, shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether rows are sorted that NumPy sorts faster.  shapes: of all names."""
    return any(isinstance(n, Sort) and shapes.get(n.out, (0,))[-1] > LONGEST for n in walk(body.root.nodes))


@written.register(Sort)
def _sort(node: Sort, w: Lowering) -> None:
    if w.device:
        raise NoForm("rows are sorted by one thread")
    dtype, axes = node.dtype, w.axes(node.out)
    out, room, row, wrong = w.place(node.out), w.scratch(dtype, axes[-1:]), w.pointer(dtype), w.cell(INDEX)
    w.code += w.copied(w.value(node.args[0]), out, ZERO, axes)
    names, places = w.places(axes[:-1])
    failed = If(Do("not_equal", (Load(wrong, ZERO, INDEX), ZERO), "bool", INDEX), (Fail(),))
    start = Point(row, out, index(ZERO, places, packed(axes)[:-1]), dtype)
    body: tuple[Stmt, ...] = (start, Helper(f"sort_{TYPES[dtype]}", (row, room, wrong), (axes[-1],)), failed)
    for n, name in reversed(list(zip(axes[:-1], names, strict=True))):
        body = (Steps(name, n, body),)
    w.code += body
