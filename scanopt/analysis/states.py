"""Facts from the text of a program about its states: which never change, and which only pass on another's value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import scanopt.facts.states  # noqa: F401  # declares what is given here
from scanopt.analysis.initial_facts import Given
from scanopt.calculus.forms import TermGraph

__all__ = ["passing_on"]


def passing_on(g: TermGraph, equal: Iterable[Given] = ()) -> Iterator[Given]:
    """Facts about states whose update is their own value, and about states s that become an earlier value of a state r
    that does not in turn pass on s.

    equal: facts about states that are equal: they count as one.
    """
    one = {args[3]: args[1] for name, args in equal if name == "equal_in_time"}
    target: dict[object, object] = {}
    for s, info in g.states.items():
        for update, form in ((u, f) for u in info.updates for f in g.classes[u]):
            if form.kind == "delay" and (form.state, form.k) == (s, 1):
                yield "unchanged", (update,)
            a, b = one.get(s, s), one.get(form.state, form.state)
            if form.kind == "delay" and a not in target and _end(target, b) != a:
                target[a] = b
                yield "passed_on", (s, form.state, form.k)


def _end(target: Mapping[object, object], s: object) -> object:
    """The last of the states that pass on one another's values, from s on."""
    while s in target:
        s = target[s]
    return s
