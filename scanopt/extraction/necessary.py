"""What every choice uses, whichever options it takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from scanopt.analysis.components import components
from scanopt.extraction.availability import until_stable

if TYPE_CHECKING:
    from scanopt.extraction.problem import Instance, Option, Problem

__all__ = ["Group", "always_used", "groups_of", "needs_of", "ways"]

Group = tuple["Instance", ...]
"""Instances that may use one another, like a trace and its entries: a strongly connected component."""


def groups_of(problem: Problem) -> list[Group]:
    """The strongly connected components of the dependencies of instances, each after all that it may use."""
    parts = {i: list(dict.fromkeys(j for o in os for j in o.needs)) for i, os in problem.options.items()}
    members: dict[Instance, list[Instance]] = {}
    for i, g in components(parts).items():
        members.setdefault(g, []).append(i)
    return [tuple(us) for us in reversed(members.values())]


def ways(problem: Problem, some: Iterable[Instance]) -> list[tuple[Instance, int, Option]]:
    """The options of these instances, with their positions, that use none of them: one is chosen if any is in use."""
    inside = set(some)
    if len(inside) == 1:
        (i,) = inside
        return [(i, m, o) for m, o in enumerate(problem.options[i]) if i not in o.needs]
    return [
        (i, m, o) for i in some for m, o in enumerate(problem.options[i]) if inside.isdisjoint(o.needs)
    ]  # fmt: skip


def always_used(problem: Problem, groups: Sequence[Group]) -> set[Group]:
    """The groups of which every choice uses an instance.

    If an instance of a group is in use, so is everything that all ways of computing instances of the group need.
    Groups are made of one another without cycles, so for what they are made of, this is found in one pass.  What is
    needed one step later may go round in circles, and is added until nothing changes: what is needed only for the sake
    of a circle is left out.
    """
    of = {i: n for n, g in enumerate(groups) for i in g}
    found = [[o for *_, o in ways(problem, g)] for g in groups]
    needed = needs_of([[{of[j] for j in o.needs} for o in some] for some in found])
    asked = [[{of[j] for j in o.all_needs} - {n} for o in some] for n, some in enumerate(found)]
    users: list[list[int]] = [[] for _ in groups]
    for n, some in enumerate(asked):
        for j in set[int]().union(*some):
            users[j].append(n)

    def changes(n: int) -> bool:
        more = needed[n] | _common(asked[n], needed)
        if more == needed[n]:
            return False
        needed[n] = more
        return True

    until_stable(range(len(groups)), users, changes)
    roots = 0
    for r in problem.roots:
        roots |= needed[of[r]]
    return {g for n, g in enumerate(groups) if roots >> n & 1}


def needs_of(ways: Sequence[Sequence[Iterable[int]]]) -> list[int]:
    """For each group all groups that it cannot do without, itself included, as the bits of a number.

    ways: of each group, after those of all that it may need, what each of its ways needs.

    >>> [f"{needs:b}" for needs in needs_of([[()], [(0,)], [(0,), (1,)]])]
    ['1', '11', '101']
    """
    needed: list[int] = []
    for n, some in enumerate(ways):
        needed.append(1 << n | _common(some, needed))
    return needed


def _common(ways: Iterable[Iterable[int]], needed: Sequence[int]) -> int:
    """The needs that all of these ways share."""
    out = -1
    for parts in ways:
        union = 0
        for g in parts:
            union |= needed[g]
        out &= union
        if not out:
            break
    return max(out, 0)
