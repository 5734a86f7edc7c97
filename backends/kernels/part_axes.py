"""Finds axes along which a kernel can be split into parts that run on threads: its steps are independent along them.

Each part runs the same operations as the whole, on fewer elements, so the bits are the same: C rounds every element
alike, and so do NumPy's inner loops, except for those whose rounding is known to depend on the number of elements.
Axes of these, of random numbers and of sums are not split.  Of products of matrices, rows may be split: tiles of rows
have the bits of the whole product (`rows_apart`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from math import lcm

from scanopt.backends.kernels.bodies import Body, walk
from scanopt.backends.kernels.ir import ONE, Expr, Var, product
from scanopt.backends.kernels.lanes import AxisClasses
from scanopt.backends.kernels.nodes import (
    Call,
    Draw,
    Fork,
    Length,
    Nested,
    Node,
    Nonempty,
    Product,
    Products,
    Reduce,
    Reshape,
    Running,
    Solve,
    SumTo,
    Within,
)  # fmt: skip
from scanopt.backends.kernels.products_in_steps import with_products_in_steps
from scanopt.backends.kernels.sizes import Axis, Lengths
from scanopt.backends.kernels.tiles import rows_apart
from scanopt.program.ir import Loop
from scanopt.records import dataclass

__all__ = ["PartAxis", "part_axes", "why_none"]

VECTOR, PAGE = 16, 512
"""Parts hold a multiple of this many adjacent elements: as many as are in one or two cache lines; or, in arrays that
are gone through row by row, as many as are in a page of memory, since smaller parts of rows take longer."""


@dataclass(frozen=True)
class PartAxis:
    """An axis along which a kernel can be split into parts.

    body: what the kernel of a part computes.  lengths: of a part.  of: for each name that has the axis, its number.
    axis: one of these.  unit: each part, except the last, has a multiple of so many elements along it.  packed: whether
    parts of all results are packed.  products: whether rows of products are split.  rows: for names of rows that only
    this body has, their arrays; then a step multiplies some rows of what array steps multiply at once.
    """

    body: Body
    lengths: Lengths
    of: Mapping[str, int]
    axis: Axis
    unit: int
    packed: bool
    products: bool
    rows: Mapping[str, str] = field(default_factory=dict[str, str])


def part_axes(body: Body, lengths: Lengths, rows: Mapping[str, str] | None = None) -> list[PartAxis]:
    """The axes along which a body is independent and parts of its results can be written, the best ones first.

    rows: see `PartAxis`, where products were moved into loops.
    """
    if any(loop.until is not None for loop in _loops(body)):
        return []
    classes = _classes(lengths)
    found = [_part_axis(body, classes, c) for c in _of_results(body, classes) if not _dependent(body, classes, c)]
    if not found and rows is None:
        return part_axes(*with_products_in_steps(body, lengths))
    return sorted((replace(p, rows=rows or {}) for p in found), key=lambda p: not p.packed)


def why_none(body: Body, lengths: Lengths) -> str:
    """Why a body has no such axis."""
    if any(loop.until is not None for loop in _loops(body)):
        return "a loop may end early"
    classes = _classes(lengths)
    found = dict.fromkeys(_dependent(body, classes, c) for c in _of_results(body, classes))
    return f"steps are not independent along any axis: {', '.join(found)}" if found else "its results share no axis"


def _classes(lengths: Lengths) -> AxisClasses:
    return AxisClasses(lengths, {axis: number for number, axes in enumerate(lengths.classes) for axis in axes})


def _loops(body: Body) -> Iterator[Loop]:
    yield body.loop
    yield from (n.loop for n in walk(body.root.nodes) if isinstance(n, Nested))


def _leads(axes: tuple[Expr, ...], place: int | None) -> bool:
    """Whether a range of an axis is contiguous in memory: all axes before it have length 1."""
    return place is not None and all(n == ONE for n in axes[:place])


def _of_results(body: Body, classes: AxisClasses) -> list[int]:
    """The sets of axes that all results have, as first axis of their rows; in a whole program, also as second axis."""
    found: list[int] = []
    for c in range(len(classes.lengths.classes)):
        places = [(classes.lengths.axes[k.value], classes.place(k.value, c)) for k in body.loop.keeps]
        if all(_leads(axes, i) or (body.whole and i == 1) for axes, i in places):
            found.append(c)
    return found


def _dependent(body: Body, classes: AxisClasses, c: int) -> str:
    """What is not independent along the axes of a set, for messages; "" if nothing."""
    for node in walk(body.root.nodes):
        if not _kept(node, classes, c):
            return _WORDS.get(type(node), type(node).__name__.lower())
    return "" if classes.apart(body, c) else "a loop along it"


_WORDS: dict[type, str] = {
    Product: "a product of matrices",
    Draw: "random numbers",
    Call: "a function that rounds by how many elements it is given",
    Reduce: "a reduction",
    SumTo: "a sum",
    Running: "cumulation",
}


def _kept(node: Node, classes: AxisClasses, c: int) -> bool:
    """Whether a node computes the same bits along a part of the axes of a set."""
    if isinstance(node, Fork | Nested | Length | Nonempty | Within):
        return True
    known = classes.lengths.axes
    here = [classes.place(name, c) for name in (node.out, *node.args) if name in known]
    if isinstance(node, Product) and 0 in here:
        return here == [0, 0, None] and _has_rows(node, known)
    if isinstance(node, Product) or (isinstance(node, Call) and node.whole):
        return all(i is None for i in here)
    if isinstance(node, Products | Solve):
        return _in_stack(node, classes, c)
    if isinstance(node, Reshape) and node.args[0] in known and None not in here[:2]:
        return _between(known[node.out], here[0]) == _between(known[node.args[0]], here[1])
    return classes.kept(node, c)


def _has_rows(node: Product, known: Mapping[str, tuple[Expr, ...]]) -> bool:
    """Whether a product may be made of tiles of rows."""
    left, right = (known[x] for x in node.args)
    return node.dtype in ("float32", "float64") and len(left) == len(right) == 2 and right[1] != ONE


def _in_stack(node: Products | Solve, classes: AxisClasses, c: int) -> bool:
    """Whether the axes of a set lead to whole matrices or vectors, each handled alone."""
    known = classes.lengths.axes
    inner = {x: min(len(known[x]), 2) for x in node.args}
    behind = sum(inner[x] - 1 for x in node.args) if isinstance(node, Products) else 2
    stacks = {x: len(known[x]) - n for x, n in {**inner, node.out: behind}.items()}
    return all((i := classes.place(x, c)) is None or i < n for x, n in stacks.items())


def _between(axes: tuple[Expr, ...], place: int | None) -> tuple[Expr, Expr]:
    """The numbers of elements before and after an axis."""
    i = place or 0
    return product(axes[:i]), product(axes[i + 1 :])


def _part_axis(body: Body, classes: AxisClasses, c: int) -> PartAxis:
    lengths = classes.lengths
    of = {name: i for name in lengths.axes if (i := classes.place(name, c)) is not None}
    axis = next((name, of[name]) for name in of)
    own = next((x for x, other in lengths.numbers.items() if other in lengths.classes[c]), "np")
    axes = {
        name: (*x[: of[name]], Var(own), *x[of[name] + 1 :]) if name in of else x for name, x in lengths.axes.items()
    }
    part = replace(lengths, axes=axes, numbers={**lengths.numbers, own: axis})
    results = [(lengths.axes[k.value], of[k.value]) for k in body.loop.keeps]
    last = any(all(n == ONE for n in axes[i + 1 :]) for axes, i in results)
    names = [*(k.value for k in body.loop.keeps), *body.outer]
    rows = not body.whole or any(not _leads(lengths.axes[x], of[x]) for x in names if x in of)
    unit = 1 if not last else PAGE if rows else VECTOR
    products = [n for n in walk(body.root.nodes) if isinstance(n, Product) and n.args[0] in of]
    unit = lcm(unit, *(rows_apart(n.dtype) for n in products))
    return PartAxis(body, part, of, axis, unit, all(_leads(axes, i) for axes, i in results), bool(products))
