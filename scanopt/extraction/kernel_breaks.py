"""Prices what no kernel contains although its operators have forms: it depends on lengths known in the run only.

These are rows of a loop that may end early, if others than the results or lengths need them, and linear recurrences
along an array whose length differs from step to step, as `arange(k)` does where k is read from a sequence: such is the
recurrence of a loop of k steps inside the step of another one.
"""

from __future__ import annotations

from functools import cached_property

from scanopt.analysis.sizes import Sizes
from scanopt.array.op import Op
from scanopt.calculus.forms import ROOT, Form, TermGraph
from scanopt.extraction.cost import CostModel, Work, cost_of_rows_in_between, cost_of_varying_lengths
from scanopt.records import dataclass

__all__ = ["KernelBreaks"]

_COUNTED = {"arange", "repeat_rows"}
"""Operators whose numbers tell how long their result is."""


@dataclass
class KernelBreaks:
    """The further prices of forms, in the forms and sizes of a problem, by its cost model."""

    graph: TermGraph
    sizes: Sizes
    cost: CostModel

    def price(self, c: int, f: Form, trips: float) -> float:
        """The further price of a form of a class that is evaluated so many times."""
        if (self._ends_early(f) and c not in self.graph.roots) or self._reads_results(f):
            return cost_of_rows_in_between(self.cost)
        if not isinstance(f.operator, Op) or self._varying.isdisjoint(f.args):
            return 0.0
        args = tuple(self.sizes.of[a].operand for a in f.args)
        return trips * cost_of_varying_lengths(self.cost, Work("apply", f.operator, args, self.sizes.of[c].operand))

    def _ends_early(self, f: Form) -> bool:
        """Whether a form is all rows of a loop that may end early."""
        return f.kind == "stack" and bool(self.graph.clocks[f.clock].until)

    def _reads_results(self, f: Form) -> bool:
        """Whether a form needs more than the length of such rows that are a result."""
        needs_rows = isinstance(f.operator, Op) and f.operator.name != "shape_i"
        return needs_rows and not self._results.isdisjoint(f.args)

    @cached_property
    def _results(self) -> frozenset[int]:
        """The results that are all rows of loops that may end early, and have no other form."""
        return frozenset(c for c in self.graph.roots if all(map(self._ends_early, self.graph.classes[c])))

    @cached_property
    def _varying(self) -> frozenset[int]:
        return _of_varying_length(self.graph, self.sizes)


def _of_varying_length(graph: TermGraph, sizes: Sizes) -> frozenset[int]:
    """The classes of arrays whose lengths values of a step may decide."""
    forms = [
        (x, f)
        for x, same in graph.classes.items()
        if x in sizes.of and sizes.of[x].clock != ROOT and sizes.of[x].operand.ndim and not _held(x, graph)
        for f in same
        if f.operator is not None
    ]
    found = {x for x, f in forms if _is_counted(f) and any(_changes(a, graph, sizes) for a in f.args)}
    before = -1
    while found and len(found) != before:
        before = len(found)
        found |= {x for x, f in forms if not found.isdisjoint(f.args)}
    return frozenset(found)


def _is_counted(f: Form) -> bool:
    return getattr(f.operator, "name", "") in _COUNTED


def _changes(x: int, graph: TermGraph, sizes: Sizes) -> bool:
    """Whether a class is an integer that may differ from step to step."""
    of = sizes.of.get(x)
    return of is not None and of.clock != ROOT and not of.operand.ndim and not _held(x, graph)


def _held(x: int, graph: TermGraph) -> bool:
    """Whether a class is the same at every step of its loop."""
    return any(f.kind == "hold" for f in graph.classes[x])
