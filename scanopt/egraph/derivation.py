"""How a chosen program follows from the one as written: the equalities that connect the forms of both.

Equalities stated by laws connect a form in use with the forms of the program as written in its class.  The forms that
these laws matched and made, and the arguments of all of these, are connected in the same way.  Conditions are facts and
not equalities: laws that contributed only to a condition are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from scanopt.calculus.forms import Form, TermGraph
from scanopt.egraph.provenance import Equality, Provenance
from scanopt.records import dataclass

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Derivation", "Look", "derivation"]

_PART, _CLASS, _ANY, _FACTS, _FACTS_ALONE = 0.5, 0.25, 2.0, 4.0, 100.0
"""Weights added to 1 for a step of a path: `_PART` for each inner form of an equality that a law stated; `_CLASS` if
one side of it is a variable, so that the step leads to any form of the class; `_ANY` if both sides are; `_FACTS` for a
step by facts and re-timing, which go on from what a law made, and `_FACTS_ALONE` for one to a written form."""


@dataclass(frozen=True, eq=False)
class Look:
    """An e-graph, the origins of its forms, and the classes of the terms and loops of the program as written."""

    graph: TermGraph
    provenance: Provenance
    places: Mapping[int, int]
    loops: Mapping[int, int]


@dataclass(frozen=True)
class Derivation:
    """The laws that lead from the program as written to other forms, each with the round in which it first fired.

    forms: those on the way, with the law that led to each, "" for facts and re-timing.
    """

    laws: Mapping[str, int]
    forms: Mapping[Form, str]


def derivation(look: Look, chosen: Iterable[Form] | None = None) -> Derivation:
    """How chosen forms follow from those of the program as written; by default, how the written forms follow from
    each other."""
    found = _Search(look)
    for form in look.provenance.written if chosen is None else chosen:
        found.reach(form, all_written=True)
    return found.derivation()


class _Search:
    """Collects the laws that lead to forms, and the forms on the way."""

    def __init__(self, look: Look) -> None:
        self._graph, self._from = look.graph, look.provenance
        self._nets: dict[int, nx.Graph[Form]] = {}
        self._done: set[tuple[Form, bool]] = set()
        self._forms: dict[Form, str] = {}
        self._used: set[str] = set()
        self._seen: set[int] = set()

    def derivation(self) -> Derivation:
        """The laws and forms found so far, laws in the order of their rounds."""
        rounds = self._from.rounds
        laws = {x: rounds.get(x, 0) for x in sorted(self._used, key=lambda x: (rounds.get(x, 0), x))}
        return Derivation(laws, self._forms)

    def reach(self, form: Form, all_written: bool = False) -> None:
        """Record what leads to a form from a form of its class that was written, or made first.

        all_written: from every written form.
        """
        todo = [(form, all_written)]
        while todo:
            form, everything = todo.pop()
            if (form, everything) in self._done or (form, True) in self._done:
                continue
            self._done.add((form, everything))
            self._united(form)
            for way, steps in self._ways(form, everything):
                self._note(way, steps)
                todo += [(x, False) for step in steps if step for x in step.inner]
            todo += self._made_of(form)

    def _note(self, way: Sequence[Form], steps: Sequence[Equality | None]) -> None:
        """Record a path from a form to its origin: a form that facts made comes from the step after it."""
        law = self._from.made.get(way[-1], "")
        laws = [law, *(step.law if step else "" for step in reversed(steps))]
        self._used |= {*laws} - {""}
        for form, step in zip(reversed(way), laws, strict=True):
            law = step or law
            self._forms.setdefault(form, self._from.made.get(form) or law)

    def _united(self, form: Form) -> None:
        for place in (("Clock", form.clock), ("State", form.state)):
            self._used |= self._from.united.get(place, set())

    def _made_of(self, form: Form) -> Iterator[tuple[Form, bool]]:
        """The arguments of a form that were written in several ways."""
        for c in {*form.args} - self._seen:
            self._seen.add(c)
            written = [f for f in self._graph.classes.get(c, ()) if f in self._from.written]
            if len(written) > 1:
                yield written[0], True

    def _ways(self, form: Form, everything: bool) -> Iterator[tuple[list[Form], list[Equality | None]]]:
        """Paths from a form to its possible origins, with their steps."""
        import networkx as nx

        c = self._from.classes.get(form)
        if c is None or c not in self._graph.classes:
            return
        forms, net = self._graph.classes[c], self._net(c)
        written = [f for f in forms if f in self._from.written]
        starts = written or [f for f in forms if self._from.made.get(f)]
        if form not in net or not starts or (form in starts and not (everything and written)):
            yield [form], []
            return
        found = nx.single_source_dijkstra_path(net, form)
        ways = sorted((found[f] for f in starts if f in found), key=len)
        for way in ways if everything and written else ways[:1]:
            yield way, [net.edges[a, b]["step"] for a, b in pairwise(way)]

    def _net(self, c: int) -> nx.Graph[Form]:
        if c not in self._nets:
            self._nets[c] = self._made_net(c)
        return self._nets[c]

    def _made_net(self, c: int) -> nx.Graph[Form]:
        """The graph of the forms of a class, with an edge for each stated equality."""
        import networkx as nx

        forms, rounds = self._graph.classes[c], self._from.rounds
        net: nx.Graph[Form] = nx.Graph()
        net.add_nodes_from(forms)

        def connect(a: Form, b: Form, weight: float, step: Equality | None) -> None:
            if a != b and not (net.has_edge(a, b) and net.edges[a, b]["weight"] <= weight):
                net.add_edge(a, b, weight=weight, step=step)

        for x in sorted(self._from.equalities.get(c, ()), key=lambda x: rounds.get(x.law, 0)):
            match [f for f in (x.left, x.right) if f is not None]:
                case [left, right]:
                    pairs, extra = [(left, right)], 0.0
                case [one]:
                    pairs, extra = [(one, f) for f in forms], _CLASS
                case _:
                    pairs, extra = [*combinations(forms, 2)], _ANY
            for a, b in pairs:
                connect(a, b, 1.0 + _PART * len(x.inner) + extra, x)
        for f in [f for f in (*net.nodes,) if self._from.made.get(f) == ""]:
            for g in (*net.nodes,):
                connect(f, g, 1.0 + (_FACTS_ALONE if g in self._from.written else _FACTS), None)
        return net
