"""What every choice uses, however the rest of it is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from scanopt.analysis.components import components

if TYPE_CHECKING:
    from scanopt.extraction.problem import Instance, Option, Problem

__all__ = ["Group", "always_used", "groups_of", "ways"]

Group = tuple["Instance", ...]
"""Instances that may use one another, like a trace and its entries: a strongly connected component."""


def groups_of(problem: Problem) -> list[Group]:
    """The strongly connected components of what instances may be made of, each after all that it may use."""
    parts = {i: list(dict.fromkeys(j for o in os for j in o.needs)) for i, os in problem.options.items()}
    members: dict[Instance, list[Instance]] = {}
    for i, g in components(parts).items():
        members.setdefault(g, []).append(i)
    return [tuple(us) for us in reversed(members.values())]


def ways(problem: Problem, some: Iterable[Instance]) -> list[tuple[Instance, int, Option]]:
    """The options of these instances, with their positions, that use none of them: one is chosen if any is in use."""
    inside = set(some)
    return [
        (i, m, o) for i in some for m, o in enumerate(problem.options[i]) if inside.isdisjoint(o.needs)
    ]  # fmt: skip


def always_used(problem: Problem, groups: Sequence[Group]) -> set[Group]:
    """The groups of which every choice uses an instance.

    Whatever all ways of computing something of a group need is in use when something of the group is.  Groups are made
    of one another without cycles, so for what they are made of, that is found in one pass.  What is needed one step
    later goes round in circles, and is added until nothing changes: what has no reason outside of a circle is left out.
    """
    of = {i: g for g in groups for i in g}
    bit = {g: 1 << n for n, g in enumerate(groups)}
    made_of, asked = {}, {}
    for g in groups:
        found = ways(problem, g)
        made_of[g] = [{of[j] for j in o.needs} for *_, o in found]
        asked[g] = [{of[j] for j in o.all_needs} - {g} for *_, o in found]
    needed: dict[Group, int] = {}
    for g in groups:
        needed[g] = bit[g] | _common(made_of[g], needed)
    changed = True
    while changed:
        changed = False
        for g in groups:
            more = needed[g] | _common(asked[g], needed)
            if more != needed[g]:
                needed[g], changed = more, True
    roots = 0
    for r in problem.roots:
        roots |= needed[of[r]]
    return {g for g in groups if roots & bit[g]}


def _common(ways: Iterable[Iterable[Group]], needed: Mapping[Group, int]) -> int:
    """What all of these ways need."""
    out = -1
    for parts in ways:
        union = 0
        for g in parts:
            union |= needed[g]
        out &= union
        if not out:
            break
    return max(out, 0)
