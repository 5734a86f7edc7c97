"""Strongly connected components, of graphs small enough that loading SciPy for them would take longer."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

__all__ = ["components"]

T = TypeVar("T", bound=Hashable)


def components(edges: Mapping[T, Iterable[T]]) -> dict[T, T]:
    """Per node one that stands for all of its component (Kosaraju).  edges: the heads of each node.

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
        out.update(dict.fromkeys(_finished([i], back, done), i))
    return out


def _finished(starts: Iterable[T], edges: Mapping[T, Iterable[T]], done: set[T]) -> Iterator[T]:
    """Nodes that the starts reach, depth first, each after what it reaches; those done are left out, these added."""
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
