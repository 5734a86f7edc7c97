"""A pass on nodes for a device: makes more of them elementwise, and computes only the parts that are read.

Functions that NumPy has inner loops for become operations on single elements, and so does an array with a part set.
Where only parts of an elementwise result are read, such as the gates of an LSTM, the operation is moved behind the
slices: a slice of op(x) is op of the slice of x.  So a step needs fewer arrays in memory and fewer barriers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeGuard

from scanopt.backends.kernels.cuda_operations import functor
from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Cast, Do, Expr, Lit
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import WHOLE, Call, Map, Node, PartSet, SetItem, SumTo, View
from scanopt.backends.kernels.places import part_of
from scanopt.backends.kernels.stages import is_few
from scanopt.backends.kernels.values import Array, Value, element_of, packed

__all__ = ["element_with_part", "for_threads", "is_copy"]

MOST_PARTS = 8


def for_threads(nodes: Sequence[Node], wanted: Collection[str], w: Lowering) -> list[Node]:
    """Rewrite nodes for a device.  wanted: names that are read after them."""
    found = [_by_element(n, w) for n in nodes]
    for i in reversed(range(len(found))):
        parts = _parts_read(found, i, wanted, w)
        if parts:
            rest = [n for n in found[i + 1 :] if n not in parts]
            found = [*found[:i], *_computed(found[i], parts, w), *rest]
    return found


def is_copy(node: Node, w: Lowering) -> TypeGuard[SumTo]:
    """Whether a node is a sum over no axis, on a device; it is written as a copy."""
    return w.device and isinstance(node, SumTo) and w.axes(node.args[0]) == w.axes(node.out)


def _by_element(node: Node, w: Lowering) -> Node:
    """Turn a node into an operation on elements: a function, setting a part, or a sum over no axis; else return it."""
    if is_copy(node, w):
        return Map(node.out, node.args[:1], "copy", (node.dtype,), node.dtype, node.args[0])
    if isinstance(node, SetItem) and _is_by_slices(node, w):
        return PartSet(node.out, node.args[:2], "", (), node.dtype, node.out, node.part, node.added)
    if not isinstance(node, Call) or not functor("F", node.ufunc, (*node.takes, node.dtype)):
        return node
    slot = w.slot(node.ufunc, (*node.takes, node.dtype))
    return Map(node.out, node.args, f"F{slot}", node.takes, node.dtype, node.like)


def _is_by_slices(node: SetItem, w: Lowering) -> bool:
    """Whether a node copies an array and sets a part of it that is given by fixed slices."""
    part, axes = node.part, w.axes(node.out)
    whole = [x and x[0] for x in part.axes] == [*range(len(axes))] and not part.at and _is_fixed(part)
    in_order = whole and all(x is not None and x[1][2] in (None, 1) for x in part.axes)
    return in_order and node.out not in w.in_place and not is_few(axes) and w.axes(part.out) != axes


def element_with_part(node: PartSet, places: Sequence[Expr], x: Value, y: Value, w: Lowering) -> Expr:
    """An element of an array with a part set: the new value inside the part, the old element around it."""
    assert node.part is not None
    axes, part = w.axes(node.out), w.axes(node.part.out)
    starts, _ = part_of(node.part, Array("", axes, packed(axes), node.dtype), w)
    within = [Do("subtract", (p, s), INDEX, INDEX) if s != ZERO else p for p, s in zip(places, starts, strict=True)]
    inside: Expr = Lit(True, "bool")
    for at, n, whole in zip(within, part, axes, strict=True):
        if n != whole:  # as an unsigned number, a place before the part is large
            here = Do("less", (Cast(at, "uint64"), Cast(n, "uint64")), "bool", "uint64")
            inside = here if isinstance(inside, Lit) else Do("logical_and", (inside, here), "bool", "bool")
    around, new = (
        v if d == node.dtype else Cast(v, node.dtype)
        for v, d in ((element_of(x, places, axes), x.dtype), (element_of(y, within, part), y.dtype))
    )
    new = Do("add", (around, new), node.dtype, node.dtype) if node.added else new
    return Do("where", (inside, new, around), node.dtype, node.dtype)


def _parts_read(nodes: Sequence[Node], i: int, wanted: Collection[str], w: Lowering) -> list[View]:
    """The views that read an operation, if nothing else does; [] where it is better computed as a whole."""
    node = nodes[i]
    if type(node) is not Map or node.op.startswith("F") or node.out in wanted or is_few(w.axes(node.out)):
        return []
    readers = [n for n in nodes if node.out in n.args]
    parts = [n for n in readers if isinstance(n, View) and w.axes(n.out) and _is_fixed(n)]
    return parts if len(parts) == len(readers) <= MOST_PARTS else []


def _is_fixed(view: View) -> bool:
    """Whether the bounds and indices of a view are known numbers."""
    return not view.ends and all(isinstance(at, int) for _, at in view.at)


def _computed(node: Node, parts: Sequence[View], w: Lowering) -> list[Node]:
    """Replace an operation and its views by the operation on views of its arguments."""
    assert isinstance(node, Map)
    found: list[Node] = []
    for view in parts:
        given = [_part(a, node.out, view, w) for a in node.args]
        found += dict.fromkeys(x for x in given if isinstance(x, View))
        names = tuple(x if isinstance(x, str) else x.out for x in given)
        found.append(replace(node, out=view.out, args=names, like=view.out))
    return found


def _part(arg: str, whole: str, view: View, w: Lowering) -> View | str:
    """The view of an argument that a view of the result needs; the name itself for a number."""
    axes, of = w.axes(arg), w.axes(whole)
    lead = len(of) - len(axes)
    if not axes:
        return arg
    spread = {i for i, n in enumerate(of) if i >= lead and axes[i - lead] == ONE != n}
    taken = tuple(
        None if x is None or x[0] < lead else (x[0] - lead, WHOLE if x[0] in spread else x[1]) for x in view.axes
    )
    at = tuple((i - lead, 0 if i in spread else place) for i, place in view.at if i >= lead)
    lengths = tuple(
        ONE if x is None or view_axis[0] in spread else n  # type: ignore[index]
        for x, view_axis, n in zip(taken, view.axes, w.axes(view.out), strict=True)
    )
    name = f"{arg}[{view.out}]"
    w.name_part(name, arg, lengths)
    return View(name, (arg,), taken, at, w.dtype(arg))
