"""Dominators: what a graph reaches only through one node.

Searches ask what a choice uses only for the sake of one instance, and which options are never chosen together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from scanopt.records import dataclass

__all__ = ["Dominators", "dominators", "postorder", "summed_by_dominator"]


@dataclass(frozen=True)
class Dominators:
    """The dominator tree of a graph, its nodes by their places in an order in which each comes before those above it.

    order: the nodes that roots reach.  place: the place of each node.  above: per place that of the next dominator;
    `root` for those that have none.
    """

    order: list[int]
    place: dict[int, int]
    above: list[int]

    @property
    def root(self) -> int:
        """The place above all others, which is no node's."""
        return len(self.order)

    def meeting(self, a: int, b: int) -> int:
        """The lowest place that dominates both, itself one of them or above them."""
        return _meeting(self.above, a, b)


def dominators(roots: Iterable[int], edges: Callable[[int], Iterable[int]]) -> Dominators:
    """The dominator tree of what roots reach [Cooper, Harvey and Kennedy 2001].

    >>> heads = {0: [1, 2], 1: [3], 2: [3], 3: [4], 4: []}
    >>> found = dominators([0], heads.__getitem__)
    >>> found.order[found.above[found.place[4]]], found.order[found.above[found.place[3]]]
    (3, 0)
    """
    order, users = postorder(roots, edges)
    place = {n: k for k, n in enumerate(order)}
    root = len(order)
    above = [-1] * root + [root]
    before = [[place.get(u, root) for u in users[n]] for n in order]
    some: Sequence[int] = range(root - 1, -1, -1)
    changed = True
    while changed:
        changed = False
        for k in some:
            found = -1
            for u in before[k]:
                if above[u] >= 0:
                    found = u if found < 0 else _meeting(above, u, found)
            if found != above[k]:
                above[k], changed = found, True
        some = [k for k in some if len(before[k]) > 1]  # the others have got the only node that leads to them
    return Dominators(order, place, above)


def summed_by_dominator(
    roots: Iterable[int], edges: Callable[[int], Iterable[int]], weight: Callable[[int], float]
) -> dict[int, float]:
    """Per node that roots reach, the weight of all that is reached only through it, itself included.

    >>> heads = {0: [1, 2], 1: [3, 4], 2: [3], 3: [], 4: [1]}
    >>> sorted(summed_by_dominator([0], heads.__getitem__, lambda n: 10.0**n).items())
    [(0, 11111.0), (1, 10010.0), (2, 100.0), (3, 1000.0), (4, 10000.0)]
    """
    tree = dominators(roots, edges)
    sums = [*map(weight, tree.order), 0.0]
    for k in range(tree.root):
        sums[tree.above[k]] += sums[k]
    return {n: sums[k] for n, k in reversed(tree.place.items())}


def _meeting(above: Sequence[int], a: int, b: int) -> int:
    """The lowest node above both."""
    while a != b:
        while a < b:
            a = above[a]
        while b < a:
            b = above[b]
    return a


def postorder(roots: Iterable[int], edges: Callable[[int], Iterable[int]]) -> tuple[list[int], dict[int, list[int]]]:
    """Nodes that roots reach, each after those first met through it, and the predecessors of each (-1: a root)."""
    order: list[int] = []
    users: dict[int, list[int]] = {}
    path: list[tuple[int, list[int]]] = [(-1, [*roots])]
    while path:
        n, todo = path[-1]
        if todo:
            j = todo.pop()
            if j in users:
                users[j].append(n)
            else:
                users[j] = [n]
                path.append((j, [*edges(j)]))
        else:
            path.pop()
            if n >= 0:
                order.append(n)
    return order, users
