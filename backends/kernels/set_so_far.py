"""States of one repeated number of which step after step sets the next element: behind that, they are as they began.

So where `max(where(x < x[i], d, 0))` reads such a state d, elements that no step has set do not count.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.backends.kernels.ir import INDEX, ONE, Expr, Lit
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import Map, Node, SetItem
from scanopt.backends.kernels.values import Scalar
from scanopt.program.ir import CarriedState, Loop

__all__ = ["note_set_so_far", "set_so_far"]


def note_set_so_far(s: CarriedState, names: Sequence[str], loop: Loop, nodes: Sequence[Node], w: Lowering) -> None:
    """Note which place each step sets of a state that is set by counting steps.  names: of the state in a step."""
    start, tap = w.value(s.init), s.taps[0][1]
    n = next((n for n in nodes if isinstance(n, SetItem) and n.out == s.update), None)
    if (
        n is None
        or not isinstance(start, Scalar)
        or [*names] != [n.out]
        or len(w.axes(tap)) != 1
        or len(n.part.at) != 1
    ):
        return
    place = n.part.at[0][1]
    sources = [r.source for r in loop.reads if r.out == place]
    first, apart = w.evenly.get(sources[0], (None, None)) if sources else (None, None)
    if isinstance(first, Lit) and first.value >= 0 and apart == ONE and isinstance(start.value, Lit):
        w.so_far[tap] = str(place), start.value


def set_so_far(node: Map, rest: Lit, w: Lowering) -> Expr | None:
    """The place that the step sets, where a choice gives `rest` at and behind it; None where it may give others."""
    place, start = w.so_far.get(node.args[1], ("", None))
    return number_of(w.value(place)) if start == rest and w.dtype(place) == INDEX else None
