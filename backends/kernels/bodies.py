"""The input of lowering: a loop, or a program as a loop of one step, all of whose operators are nodes (`nodes.py`).

Shapes are known up to lengths; the lengths of the axes are decided later (`sizes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property

import numpy as np

from scanopt.array.types import COMPLEX, TensorType
from scanopt.backends.kernels.ir import Lit
from scanopt.backends.kernels.nodes import (
    REVERSED,
    Call,
    Contract,
    Convolve,
    Factored,
    Fork,
    Length,
    Map,
    Nested,
    Node,
    Product,
    Products,
    Reduce,
    SumTo,
    View,
)
from scanopt.program.ir import Loop
from scanopt.records import dataclass

__all__ = ["MOST_ROOM", "Body", "read_forwards", "rounds_by_direction", "rounds_by_layout", "walk"]

LEAST_ROOM, MOST_ROOM = 1 << 13, 1 << 24
"""The bytes of rows of a loop that may end early inside a program's kernel: at first, and the most where calls need
more; beyond that it has its own kernel."""
_BY_LAYOUT = (Contract, Convolve, Factored, Product, Products, Reduce, SumTo)


def rounds_by_layout(node: Node) -> bool:
    """Whether NumPy's rounding depends on the memory layout of arguments: the order of its additions, or its loop."""
    if isinstance(node, Call):
        return any(dtype in COMPLEX for dtype in (node.dtype, *node.takes))
    return isinstance(node, _BY_LAYOUT) and np.dtype(node.dtype).kind in "fc"


def rounds_by_direction(node: Node) -> bool:
    """Whether NumPy may round differently where arguments run backwards: by loops without vectors."""
    if isinstance(node, Map):
        return node.op in ("multiply", "square", "absolute") and node.takes[0] in COMPLEX
    return isinstance(node, Call)


def walk(nodes: Iterable[Node]) -> Iterator[Node]:
    """All nodes, nested ones after the node that contains them."""
    for node in nodes:
        yield node
        if isinstance(node, Fork):
            yield from walk((*node.then, *node.otherwise))
        elif isinstance(node, Nested):
            yield from walk(node.nodes)


@dataclass(frozen=True)
class Body:
    """A loop all of whose operators are nodes.

    types: of all names that it mentions, including names made by the passes of this package.  outer: names defined
    before the loop; `counts` are the numbers among them on which lengths depend.  whole: whether the body stands for a
    program, not for one of its loops.  cut: the loop of a program that may end early, if there is just one.
    room: the bytes for the rows that it keeps.  numbers: constants.
    """

    root: Nested
    types: Mapping[str, TensorType]
    exact: bool
    counts: tuple[str, ...] = ()
    whole: bool = False
    cut: Loop | None = None
    room: int = LEAST_ROOM
    numbers: Mapping[str, Lit] = field(default_factory=dict[str, Lit])

    @property
    def loop(self) -> Loop:
        """The loop."""
        return self.root.loop

    @property
    def outer(self) -> tuple[str, ...]:
        """The names defined before the loop, in the order in which it reads them."""
        return self.root.args

    @cached_property
    def cut_rows(self) -> frozenset[str]:
        """The arrays that have one row for each step of the loop that may end early."""
        return frozenset(k.out for k in self.cut.keeps if k.rows is None) if self.cut else frozenset()

    @cached_property
    def reads_cut_rows(self) -> bool:
        """Whether any node reads such rows."""
        return any(not self.cut_rows.isdisjoint(n.args) for n in walk(self.root.nodes))

    @cached_property
    def size(self) -> int:
        """The number of its operators."""
        return sum(not isinstance(n, Fork | Nested) for n in walk(self.root.nodes))

    @cached_property
    def order(self) -> str:
        """How arguments must lie in memory so that array steps round as a kernel does: "packed", "forward" or "".

        Exact programs lay out these arguments themselves.
        """
        nodes = [] if self.exact else [*walk(self.root.nodes)]
        if any(rounds_by_layout(n) for n in nodes):
            return "packed"
        return "forward" if any(map(rounds_by_direction, nodes)) else ""


def read_forwards(body: Body) -> frozenset[str]:
    """The names that something reads in another order than from the last row to the first."""
    found: set[str] = set()
    for n in (body.root, *walk(body.root.nodes)):
        backwards = isinstance(n, Length) or (isinstance(n, View) and (0, REVERSED) in n.axes)
        found |= set() if backwards else {*n.args}
        if isinstance(n, Nested):
            found |= {s.update for s in n.loop.states} | {k.value for k in n.loop.keeps}
        elif isinstance(n, Fork):
            found |= {name for _, values in n.branch.sides for name in values}
    return frozenset(found)
