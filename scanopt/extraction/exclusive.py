"""Rows of the integer program for options that exclude one another and need the same value.

The relaxation may take a fraction of each such option.  Then the value has to be computed to the sum of the fractions,
not to their maximum.  Without these rows the relaxation computes a third of a value, and uses it for a third of a sum
and of each of its parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

from scanopt.extraction.dominators import dominators
from scanopt.extraction.loop_formulas import Row, Variables
from scanopt.extraction.problem import Instance, Problem

__all__ = ["exclusive_rows"]

_USERS = 12
"""Options that need an instance are compared if they are of at most this many instances."""
_NODES = 300
"""The most options and instances looked at for one pair."""


def exclusive_rows(problem: Problem, variables: Variables) -> Iterator[Row]:
    """One row per set of options that need an instance and exclude one another: their sum is at most the instance's.

    This holds for choices without needless parts, as the cheapest choices are.
    """
    uses = _Uses(problem, variables)
    for i, users in uses.users.items():
        if 1 < len({uses.owner[n] for n in users}) <= _USERS:
            for together in _cliques(uses, users):
                row = dict.fromkeys(variables.of[i], 1.0)
                for n in together:
                    row[n] = row.get(n, 0.0) - 1.0
                yield row


def _cliques(uses: _Uses, users: list[int]) -> Iterator[list[int]]:
    """Options of several instances that exclude one another, two by two: each such pair is in one of the lists."""
    apart = {
        (a, b): uses.owner[a] == uses.owner[b] or uses.exclude(a, b) for a, b in combinations(users, 2)
    }  # fmt: skip
    covered: set[tuple[int, int]] = set()
    for pair, excluded in apart.items():
        if not excluded or pair in covered or uses.owner[pair[0]] == uses.owner[pair[1]]:
            continue
        chosen = set(pair)
        for n in users:
            if n not in chosen and all(apart.get((n, m), apart.get((m, n), False)) for m in chosen):
                chosen.add(n)
        together = [n for n in users if n in chosen]
        covered.update(combinations(together, 2))
        yield together


class _Uses:
    """The graph of possible uses: each instance leads to its options, each option to the instances that it needs.

    Options are numbered by their variables, instances by the numbers after these.  users: per instance the options that
    need it.  owner: per option the instance whose option it is.
    """

    def __init__(self, problem: Problem, variables: Variables) -> None:
        self.users: dict[Instance, list[int]] = defaultdict(list)
        self.owner: dict[int, int] = {}
        first = 1 + max((n for ns in variables.of.values() for n in ns), default=0)
        number = {i: first + k for k, i in enumerate(problem.options)}
        heads: dict[int, list[int]] = {}
        for i, options in problem.options.items():
            heads[number[i]] = variables.of[i]
            for n, o in zip(variables.of[i], options, strict=True):
                self.owner[n] = number[i]
                needs = dict.fromkeys(o.all_needs)
                heads[n] = [number[j] for j in needs]
                for j in needs:
                    self.users[j].append(n)
        self._tree = tree = dominators([number[r] for r in problem.roots], heads.__getitem__)
        self._heads = [[tree.place[j] for j in heads[n]] for n in tree.order]
        self._first, self._last = _intervals(tree.above)

    def exclude(self, a: int, b: int) -> bool:
        """Whether two options, both in reach of the results, are never chosen together."""
        tree = self._tree
        a, b = tree.place[a], tree.place[b]
        k = tree.meeting(a, b)
        if k == tree.root or tree.order[k] in self.owner or len(self._heads[k]) < 2:
            return False
        return not self._leads(k, a, self._chosen(b, k)) or not self._leads(k, b, self._chosen(a, k))

    def _chosen(self, n: int, k: int) -> dict[int, int]:
        """The options, by instance, that are chosen when n is: those that dominate it, below k."""
        tree, out = self._tree, dict[int, int]()
        while n != k:
            if (owner := self.owner.get(tree.order[n])) is not None:
                out[tree.place[owner]] = n
            n = tree.above[n]
        return out

    def _leads(self, k: int, n: int, chosen: dict[int, int]) -> bool:
        """Whether k leads to n with these options chosen.  All between the two is dominated by k, since n is."""
        first, last = self._first, self._last
        seen, todo = {k}, [k]
        while todo:
            at = todo.pop()
            if at == n or len(seen) > _NODES:
                return True
            for j in (chosen[at],) if at in chosen else self._heads[at]:
                if j not in seen and first[k] <= first[j] < last[k]:
                    seen.add(j)
                    todo.append(j)
        return False


def _intervals(above: list[int]) -> tuple[list[int], list[int]]:
    """Per place an interval that holds the intervals of those below it in the tree, and no others."""
    size = [1] * len(above)
    for k in range(len(above) - 1):
        size[above[k]] += size[k]
    first, free = [0] * len(above), [1] * len(above)
    for k in range(len(above) - 2, -1, -1):
        first[k] = free[above[k]]
        free[above[k]] += size[k]
        free[k] = first[k] + 1
    return first, [a + n for a, n in zip(first, size, strict=True)]
