"""What can be computed, and at which level, found from the leaves up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

__all__ = ["MOST_LEVELS", "closure", "computable", "settled", "until_stable"]

K = TypeVar("K")

MOST_LEVELS = 1_000


def closure(starts: Iterable[K], edges: Mapping[K, Iterable[K]]) -> set[K]:
    """All nodes reachable from `starts`."""
    out: set[K] = set()
    todo = list(starts)
    while todo:
        i = todo.pop()
        if i not in out:
            out.add(i)
            todo.extend(edges.get(i, ()))
    return out


def computable(ways: Iterable[tuple[K, Iterable[K]]]) -> set[K]:
    """Everything that can be computed, from the leaves up.  ways: pairs of a result and what it needs.

    >>> sorted(computable([("a", ""), ("b", "a"), ("c", "bd"), ("d", "c")]))
    ['a', 'b']
    """
    users: dict[K, list[int]] = defaultdict(list)
    of: list[K] = []
    missing: list[int] = []
    out: set[K] = set()
    todo: list[K] = []
    for x, needs in ways:
        distinct = {*needs}
        if distinct:
            for j in distinct:
                users[j].append(len(of))
            of.append(x)
            missing.append(len(distinct))
        elif x not in out:
            out.add(x)
            todo.append(x)
    while todo:
        for n in users[todo.pop()]:
            missing[n] -= 1
            if not missing[n] and of[n] not in out:
                out.add(of[n])
                todo.append(of[n])
    return out


def until_stable(order: Sequence[int], users: Sequence[Iterable[int]], changes: Callable[[int], bool]) -> None:
    """Call `changes` for each number, and again for its users after each call that says that something has changed.

    >>> level = [0, 0, 0]
    >>> def changes(n):
    ...     before, level[n] = level[n], max([level[j] + 1 for j in ((1, 2), (), (1,))[n]], default=0)
    ...     return level[n] != before
    >>> until_stable(range(3), [(), (0, 2), (0,)], changes)
    >>> level
    [2, 0, 1]
    """
    again = bytearray(b"\1") * len(users)
    while any(again):
        for n in order:
            if not again[n]:
                continue
            again[n] = 0
            if changes(n):
                for user in users[n]:
                    again[user] = 1


def settled(ways: Iterable[tuple[K, tuple[K, ...], int, int]]) -> dict[K, int]:
    """The least level of everything that can be computed, from the leaves up.

    A way (x, needs, floor, step) gives x the level max(floor, levels of needs) + step.
    """
    known = list(ways)
    users: dict[K, list[int]] = defaultdict(list)
    missing: list[int] = []
    ready: dict[int, list[int]] = defaultdict(list)  # ways by level
    for n, (_, needs, floor, step) in enumerate(known):
        distinct = set(needs)
        missing.append(len(distinct))
        for j in distinct:
            users[j].append(n)
        if not distinct:
            ready[floor + step].append(n)
    level: dict[K, int] = {}
    while ready:
        height = min(ready)
        x = known[ready[height].pop()][0]
        if x not in level:
            level[x] = least = min(height, MOST_LEVELS)
            for m in users[x]:
                missing[m] -= 1
                if not missing[m]:  # nothing that it needs has a higher level: levels are found from below
                    ready[max(known[m][2], least) + known[m][3]].append(m)
        if not ready[height]:
            del ready[height]
    return level
