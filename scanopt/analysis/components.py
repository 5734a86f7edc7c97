"""Strongly connected components and cycles of graphs so small that loading a library would take longer."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

__all__ = ["circles", "components"]

T = TypeVar("T", bound=Hashable)


def components(edges: Mapping[T, Iterable[T]]) -> dict[T, T]:
    """For each node, one node that represents its component (Kosaraju).  edges: the heads of each node.

    >>> found = components({1: [2], 2: [1], 3: [1]})
    >>> found[1] == found[2], found[1] == found[3]
    (True, False)
    """
    back: dict[T, list[T]] = {i: [] for i in edges}
    for i, heads in edges.items():
        for j in heads:
            back[j].append(i)
    out: dict[T, T] = {}
    done: set[T] = set()
    for i in reversed(list(_finished(edges, edges, set()))):
        if i not in done:
            out.update(dict.fromkeys(_finished([i], back, done), i))
    return out


def circles(edges: Mapping[T, Iterable[T]], longest: int, most: int) -> list[frozenset[T]]:
    """The nodes of each simple cycle of two nodes or more.

    longest: nodes of a circle, at most.  most: paths looked at from each node, at most.

    >>> [sorted(c) for c in circles({1: [2, 3], 2: [1], 3: [2]}, 3, 100)]
    [[1, 2], [1, 2, 3]]
    """
    group, number = components(edges), {i: n for n, i in enumerate(edges)}
    out: dict[frozenset[T], None] = {}
    for start in edges:
        paths: deque[tuple[T, ...]] = deque([(start,)])
        for _ in range(most):
            if not paths:
                break
            path = paths.popleft()
            for j in edges[path[-1]]:
                if j == start and len(path) > 1:
                    out[frozenset(path)] = None
                elif len(path) < longest and number[j] > number[start] and group[j] == group[start] and j not in path:
                    paths.append((*path, j))
    return list(out)


def _finished(starts: Iterable[T], edges: Mapping[T, Iterable[T]], done: set[T]) -> Iterator[T]:
    """Nodes that the starts reach, depth first, each after those it reaches; skips nodes in `done`, and adds to it."""
    entered: set[T] = set()
    path = list(starts)
    while path:
        i = path[-1]
        if i not in entered and i not in done:
            entered.add(i)
            path.extend(j for j in edges[i] if j not in entered)
            continue
        path.pop()
        if i not in done:
            done.add(i)
            yield i
