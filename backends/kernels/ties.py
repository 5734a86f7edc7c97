"""Finds the axes that must be equally long, by what loops and nodes do with them; see `sizes.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scanopt.backends.kernels.bodies import Body, walk
from scanopt.backends.kernels.nodes import (
    REVERSED,
    WHOLE,
    AffineRows,
    Call,
    Contract,
    Decomposed,
    Draw,
    Extreme,
    Factored,
    Fork,
    Insert,
    Join,
    Length,
    Map,
    Nested,
    Powers,
    Product,
    Products,
    Reduce,
    Reshape,
    Running,
    Scatter,
    Search,
    SetItem,
    Single,
    Solve,
    Sort,
    SumTo,
    Take,
    Transform,
    View,
    Within,
)  # fmt: skip
from scanopt.program.ir import Loop

__all__ = ["Axis", "classes_of", "ties"]

Axis = tuple[str, int]
"""A name and the number of one of its axes."""


def ties(body: Body, ndim: Mapping[str, int]) -> Iterator[tuple[Axis, Axis]]:
    """Pairs of axes that must be equally long unless one of them has length 1."""
    yield from _ties_of_loop(body.loop, ndim)
    lengths = {n.out: (n.args[0], n.axis) for n in walk(body.root.nodes) if isinstance(n, Length)}
    for node in walk(body.root.nodes):
        if any(name not in ndim for name in (*node.outs, *node.args)):  # it is on a side that does not run
            continue
        if isinstance(node, Nested):
            yield from _ties_of_loop(node.loop, ndim)
            yield from (((k.out, i + 1), (k.value, i)) for k in node.loop.keeps for i in range(ndim[k.value]))
            starts = [(k.out, k.start) for k in node.loop.keeps if k.start is not None]
            yield from (((out, i), (x, i)) for out, x in starts for i in range(1, ndim[x]))
        elif isinstance(node, Fork):
            results = node.branch.results
            pairs = [(r.out, x) for r in results for x in (r.then, r.otherwise) if x in ndim]
            yield from (((out, i), (x, i)) for out, x in pairs for i in range(ndim[x]))
        else:
            yield from _ties_of(node, ndim)
        if isinstance(node, Reshape):
            given = zip(node.computed, node.args[1:], strict=True)
            yield from (((node.out, i), lengths[n]) for i, n in given if lengths.get(n, ("",))[0] in ndim)


def _ties_of_loop(loop: Loop, ndim: Mapping[str, int]) -> Iterator[tuple[Axis, Axis]]:
    for r in loop.reads:
        yield from (((r.source, i + 1), (r.out, i)) for i in range(ndim[r.out]))
    for s in loop.states:
        for name in [*(name for _, name in s.taps), s.update]:
            yield from (((s.init, i + 1), (name, i)) for i in range(ndim[name]))


def _ties_of(node: Single, ndim: Mapping[str, int]) -> Iterator[tuple[Axis, Axis]]:
    out, n = node.out, ndim[node.out]
    if isinstance(node, Map | Call):
        yield from (((out, i), (node.like, i)) for i in range(n) if node.like != out)
        for a in node.args:
            yield from (((out, n - 1 - i), (a, ndim[a] - 1 - i)) for i in range(min(n, ndim[a])))
    elif isinstance(node, Transform):
        yield from (((out, i), (node.args[0], i)) for i in range(n if node.op in ("fft", "ifft") else n - 1))
    elif isinstance(node, Insert | SumTo | Running | Sort | Within):
        yield from (((out, i), (node.args[0], i)) for i in range(n))
    elif isinstance(node, Extreme):
        yield from (((out, i), (node.args[0], i + (i >= node.axis))) for i in range(n))
    elif isinstance(node, Search | Powers | AffineRows):
        sequences = node.args[1:] if isinstance(node, AffineRows) else node.args[1:2]
        yield from (((out, i), (a, i)) for a in sequences for i in range(ndim[a]))
    elif isinstance(node, Reduce):
        axes = (j for j in range(ndim[node.args[0]]) if j not in node.axes)
        yield from (((out, i), (node.args[0], j)) for i, j in enumerate(axes))
    else:
        yield from _ties_of_parts(node, ndim)
        yield from _ties_of_products(node, ndim)


def _ties_of_parts(node: Single, ndim: Mapping[str, int]) -> Iterator[tuple[Axis, Axis]]:
    """Yield the ties of nodes that only move elements."""
    out, n = node.out, ndim[node.out]
    if isinstance(node, View):
        whole = [(i, x[0]) for i, x in enumerate(node.axes) if x is not None and x[1] in (WHOLE, REVERSED)]
        yield from (((out, i), (node.args[0], j)) for i, j in whole)
    elif isinstance(node, Join):
        for a in node.args:
            others = [i for i in range(n) if i != node.axis]
            yield from (((out, i), (a, i - (node.new and i > node.axis))) for i in others)
    elif isinstance(node, SetItem):
        part = node.part.out
        yield from (((out, i), (node.args[0], i)) for i in range(n))
        lead = ndim[part] - ndim[node.args[1]]
        yield from (((part, i + lead), (node.args[1], i)) for i in range(ndim[part] - lead))
        yield from _ties_of(node.part, ndim)
    elif isinstance(node, Draw):
        yield from (((out, i), (node.args[0], i)) for i in range(node.lead))
    elif isinstance(node, Scatter):
        x, y, *places = node.args
        yield from (((out, i), (x, i)) for i in range(n))
        most = max(places, key=lambda p: ndim[p])
        yield from (((most, ndim[most] - 1 - i), (p, ndim[p] - 1 - i)) for p in places for i in range(ndim[p]))
        for p in places:
            put = [*((x, i) for i in range(node.axis)), *((p, i) for i in range(ndim[p]))]
            put += [(x, i) for i in range(node.axis + len(node.places), n)]
            shared = min(len(put), ndim[y])
            yield from ((axis, (y, ndim[y] - 1 - i)) for i, axis in enumerate(put[::-1][:shared]))
    elif isinstance(node, Take):
        x, *taken_at = node.args
        last = node.axis + len(taken_at)
        behind = n - ndim[x] + last
        yield from (((out, behind - 1 - i), (p, ndim[p] - 1 - i)) for p in taken_at for i in range(ndim[p]))
        yield from (((out, i), (x, i)) for i in range(node.axis))
        yield from (((out, i - last + behind), (x, i)) for i in range(last, ndim[x]))
    elif isinstance(node, Reshape):
        yield from (((out, i), axis) for i, axis in node.equal)
        yield from (((out, i), (node.args[0], axes[0])) for i, axes in enumerate(node.merged or ()) if len(axes) == 1)


def _ties_of_products(node: Single, ndim: Mapping[str, int]) -> Iterator[tuple[Axis, Axis]]:
    """Yield the ties of products and systems."""
    out, n = node.out, ndim[node.out]
    if isinstance(node, Products):
        a, b = node.args
        inner = [min(ndim[x], 2) for x in node.args]
        yield (a, ndim[a] - 1), (b, ndim[b] - inner[1])
        yield from (((out, n - sum(inner) + 2), (a, ndim[a] - 2)) for _ in range(inner[0] - 1))
        yield from (((out, n - 1), (b, ndim[b] - 1)) for _ in range(inner[1] - 1))
        for x, k in zip(node.args, inner, strict=True):
            pairs = zip(range(n - sum(inner) + 1, -1, -1), range(ndim[x] - k - 1, -1, -1), strict=False)
            yield from (((out, i), (x, j)) for i, j in pairs)
    elif isinstance(node, Product):
        a, b = node.args
        yield (a, ndim[a] - 1), (b, 0)
        if ndim[a] == 2:
            yield (out, 0), (a, 0)
        if ndim[b] == 2:
            yield (out, n - 1), (b, 1)
    elif isinstance(node, Contract):
        (a, b), (ia, ib) = node.args, node.axes
        kept = [(a, i) for i in range(ndim[a]) if i not in ia] + [(b, i) for i in range(ndim[b]) if i not in ib]
        yield from (((out, i), axis) for i, axis in enumerate(kept))
        yield from (((a, i), (b, j)) for i, j in zip(ia, ib, strict=True))
    elif isinstance(node, Decomposed) and node.op.startswith("eig"):
        (a,) = node.args
        yield from (((a, 0), (a, 1)), ((out, n - 1), (a, 0)))
    elif isinstance(node, Solve):
        a, b = node.args[0], node.args[-1]
        lead = ndim[a] - 2
        yield (a, lead), (a, lead + 1)
        yield (a, lead + 1), (b, lead)
        yield from (((a, i), (b, i)) for i in range(lead))
        yield from (((out, i), (b, i)) for i in range(n))
    elif isinstance(node, Factored):
        a, b = node.args[0], node.args[-1]
        with_pivots = node.op.startswith("lu")
        if not with_pivots:
            yield (a, 0), (a, 1)
        if len(node.args) == 2:
            yield (a, 1), (b, 0)
        last = node.op == "lu_factor"  # its result has one row more
        yield from (((out, i), (b, i)) for i in range(last, n))


def classes_of(body: Body, ones: set[Axis], ndim: Mapping[str, int]) -> list[list[Axis]]:
    """The sets of equally long axes; axes of length 1 are left out."""
    found = _Classes(ones)
    for one, other in ties(body, ndim):
        found.unite(one, other)
    members: dict[Axis, list[Axis]] = {}
    for name, n in ndim.items():
        for i in range(n):
            if (name, i) not in ones:
                members.setdefault(found.root((name, i)), []).append((name, i))
    return [*members.values()]


class _Classes:
    """Unites axes into sets of equal length, except those of length 1 (union-find)."""

    def __init__(self, ones: set[Axis]) -> None:
        self.ones, self.parent = ones, dict[Axis, Axis]()

    def root(self, axis: Axis) -> Axis:
        while axis in self.parent:
            axis = self.parent[axis]
        return axis

    def unite(self, a: Axis, b: Axis) -> None:
        if a in self.ones or b in self.ones:
            return
        a, b = self.root(a), self.root(b)
        if a != b:
            self.parent[a] = b
