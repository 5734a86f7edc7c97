"""Finds segments: consecutive operators outside loops that are one kernel together.

Where a whole program cannot be a kernel, because an operator has no form, each stretch between such operators still
can.  As for loops, the array steps of a segment follow the call of its kernel, and run where that returns None.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from scanopt.array.types import TensorType
from scanopt.backends.kernels.bodies import Body
from scanopt.backends.kernels.body import body_of, nodes_of_operator
from scanopt.backends.kernels.loop_report import segment_label
from scanopt.backends.kernels.nodes import Node, NoForm, Reshape, View
from scanopt.backends.kernels.whole import single_step
from scanopt.program.ir import Compute, Step
from scanopt.records import dataclass

__all__ = ["OVERHEAD", "Segment", "SegmentKernel", "SegmentPart", "Segmenter"]

FEWEST = 3
"""The least number of operators, other than views, that are worth a kernel."""
OVERHEAD = 24.0
"""The time of a call of a kernel on a CPU, in units of a NumPy operator on few elements."""
ELEMENTS = 1500.0
"""The number of elements for which NumPy takes as long as for the call of an operator."""


class OfLoop(Protocol):
    """The kernel of a loop."""

    def __call__(self, n: int, *values: Any) -> list[Any] | None:
        """Run n steps; return the arrays that the loop keeps, or None where array steps have to run."""
        ...


Kernel = TypeVar("Kernel", bound=OfLoop)


@dataclass(frozen=True)
class SegmentPart:
    """Operators of a segment that share no values with its other operators.

    steps: in order.  results: the names that are read elsewhere.  body: None where they have no kernel.
    """

    steps: tuple[Compute, ...]
    results: tuple[str, ...]
    body: Body | None


@dataclass(frozen=True)
class Segment:
    """The steps from `start` up to `stop` of a list of steps, divided into parts, which may run in any order.

    Steps that are in no part run before all parts.
    """

    start: int
    stop: int
    parts: tuple[SegmentPart, ...]


@dataclass
class SegmentKernel(Generic[Kernel]):
    """The kernel of a part of a segment, called with the values that it reads; it returns its results, or None.

    loop: the kernel, as that of a loop of one step.  overhead: the time of a call, in operators on few elements.
    """

    loop: Kernel
    operators: int
    overhead: float

    def __call__(self, *values: Any) -> list[Any] | None:
        """Run the kernel; return its results, or None where array steps have to run."""
        largest = max((v.size for v in values), default=0)
        if self.operators * (1 + largest / ELEMENTS) < self.overhead:
            return None
        found = self.loop(1, *values)
        return found and [x[0] for x in found]


@dataclass(frozen=True)
class Segmenter:
    """Finds the segments of some steps.

    last_use: as in `scanopt.backends.layout.Layout`.  exact: whether arguments of array steps lie in C order.
    fits: which nodes a segment may have.  passes: which other steps may be between its own, if they read none of their
    results.  apart: whether operators that share no values have separate kernels.
    """

    types: Mapping[str, TensorType]
    last_use: Mapping[str, int]
    exact: bool
    fits: Callable[[Node], bool] = lambda node: True
    passes: Callable[[Compute], bool] = lambda step: False
    apart: bool = False

    def segments(self, steps: Sequence[Step]) -> Iterator[Segment]:
        """Yield the segments in which some part has a kernel."""
        start, mine = 0, list[Compute]()
        computing: set[str] = set()
        for i, step in enumerate((*steps, None)):
            if isinstance(step, Compute) and (nodes := self._nodes(step)):
                start = start if mine else i
                mine.append(step)
                if not all(isinstance(n, View | Reshape) for n in nodes):
                    computing.add(step.out)
                continue
            if isinstance(step, Compute) and self.passes(step) and {s.out for s in mine}.isdisjoint(step.args):
                continue
            parts = tuple(self._part(x, i, computing) for x in self._parts(tuple(mine)))
            if any(part.body for part in parts):
                yield Segment(start, i, parts)
            mine = []

    def _nodes(self, step: Compute) -> tuple[Node, ...]:
        """The nodes of an operator, if a segment may have all of them; else ()."""
        try:
            nodes = nodes_of_operator(step, self.types)
        except NoForm:
            return ()
        return nodes if all(map(self.fits, nodes)) else ()

    def _parts(self, steps: tuple[Compute, ...]) -> Iterator[tuple[Compute, ...]]:
        if not self.apart:
            yield steps
            return
        import networkx as nx  # saved functions run with NumPy alone

        made = {s.out for s in steps}
        values: nx.Graph[str] = nx.Graph()
        values.add_nodes_from(made)
        values.add_edges_from((s.out, a) for s in steps for a in s.args if a in made)
        for together in nx.connected_components(values):
            yield tuple(s for s in steps if s.out in together)

    def _part(self, steps: tuple[Compute, ...], stop: int, computing: Collection[str]) -> SegmentPart:
        results = tuple(s.out for s in steps if self.last_use.get(s.out, -1) >= stop)
        if sum(s.out in computing for s in steps) < FEWEST:
            return SegmentPart(steps, results, None)
        loop, known = single_step(steps, results, self.types, segment_label(len(steps)))
        try:
            return SegmentPart(steps, results, body_of(loop, known, self.exact, whole=True))
        except NoForm:
            return SegmentPart(steps, results, None)
