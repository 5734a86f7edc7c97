"""Predicts the time of a step of a kernel, for the choice of threads: work that parts of an axis share, and the rest.

It uses the prices of kernels (`prices.py`).  Both sides of a branch are counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import prod

from scanopt.array.op import load
from scanopt.backends.kernels.bodies import Body
from scanopt.backends.kernels.nodes import (
    Call,
    Contract,
    Draw,
    Fork,
    Insert,
    Join,
    Map,
    Nested,
    Node,
    Product,
    Products,
    Reduce,
    Running,
    Scatter,
    SetItem,
    Single,
    SumTo,
    Take,
)  # fmt: skip
from scanopt.backends.kernels.prices import KERNELS
from scanopt.records import dataclass

__all__ = ["Predicted", "predicted"]

Shapes = Mapping[str, tuple[int, ...]]
CLASSES: dict[type, str] = {
    Call: "transcendental", Draw: "transcendental", Reduce: "reduction", SumTo: "reduction", Running: "cumulative",
    Join: "memory", SetItem: "memory", Take: "gather", Scatter: "gather", Insert: "memory",
    Product: "product", Products: "product", Contract: "product",
}  # fmt: skip
"""For each kind of node, the class of cost by which its elements are priced."""
AT_ONCE = 6
"""The approximate number of elements that an operation of C handles, vectorized, in the time priced for one."""


@dataclass(frozen=True)
class Predicted:
    """Nanoseconds of one step of a body: of work along an axis, which parts share, and of all other work."""

    shared: float
    alone: float


def predicted(body: Body, shapes: Shapes, steps: Mapping[str, int], along: Collection[str]) -> Predicted:
    """Predict a step.  shapes: of all names.  steps: of nested loops, by name; others count as one step.  along: names
    that have the axis."""
    costs = {True: 0.0, False: 0.0}
    _add(costs, body.root.nodes, 1.0, shapes, steps, along)
    rows = body.loop.keeps if not body.whole else ()
    costs[True] += sum(_stored(shapes.get(k.value, ())) for k in rows)
    return Predicted(costs[True], costs[False])


def _add(
    costs: dict[bool, float],
    nodes: Iterable[Node],
    times: float,
    shapes: Shapes,
    steps: Mapping[str, int],
    along: Collection[str],
) -> None:
    for node in nodes:
        if isinstance(node, Nested):
            count = times * steps.get(node.loop.steps, 1)
            _add(costs, node.nodes, count, shapes, steps, along)
            for k in node.loop.keeps:
                costs[k.value in along] += _stored(shapes.get(k.value, ())) * (count if k.rows is None else times)
        elif isinstance(node, Fork):
            _add(costs, node.then, times, shapes, steps, along)
            _add(costs, node.otherwise, times, shapes, steps, along)
        else:
            costs[node.out in along] += times * _price(node, shapes)


def _stored(shape: tuple[int, ...]) -> float:
    return KERNELS.element["stack"] * prod(shape)


def _price(node: Single, shapes: Shapes) -> float:
    """The nanoseconds of an operator."""
    size = prod(shapes.get(node.out, ()))
    if isinstance(node, Map):
        spec = load().get(node.op)
        slow = spec is not None and spec.cost in ("division", "transcendental")
        return KERNELS.element["division"] * size if slow else KERNELS.element["arith"] * size / AT_ONCE
    if isinstance(node, Product | Products | Contract):
        size *= (shapes.get(node.args[0]) or (1,))[-1]
    elif isinstance(node, Reduce | SumTo):
        size = prod(shapes.get(node.args[0], ()))
    kind = CLASSES.get(type(node), "")
    return KERNELS.element[kind] * size if kind else 0.0
