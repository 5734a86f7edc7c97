"""Which of the user's scans a value belongs to, even where the program has no loop for them any more.

A law may move a computation out of its loop, do without the loop, or run two of them in one.  The
e-graph still knows which values are equal to one that the user wrote into the step of a scan, to what
a scan keeps, to what its steps read, or to an operator of what a scan keeps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from scanopt.calculus.forms import KEPT, TermGraph
from scanopt.program.ir import Origin

__all__ = ["origins"]


def origins(graph: TermGraph) -> Mapping[int, Origin]:
    """The origin of each e-class; classes that belong to no scan are left out."""
    loops = {n: info.sites for n, info in graph.clocks.items() if info.sites}
    kept: defaultdict[int, list[str]] = defaultdict(list)
    read: defaultdict[int, list[str]] = defaultdict(list)
    for c, forms in graph.classes.items():
        for f in forms:
            if f.kind in KEPT:
                kept[c] += graph.written.get(f.args[0]) or loops.get(f.clock, ())
            elif f.kind in ("seq", "hold"):
                read[f.args[0]] += graph.written.get(c) or loops.get(f.clock, ())
    behind: defaultdict[int, list[str]] = defaultdict(list)
    for c, forms in graph.classes.items():
        for a in (a for f in forms if f.kind == "apply" for a in f.args if a in kept):
            behind[c] += kept[a]
    known = dict.fromkeys((*graph.written, *kept, *read, *behind))
    return {c: Origin(graph.written.get(c, ()), *(_once(x.get(c, ())) for x in (kept, read, behind))) for c in known}


def _once(sites: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sites))
