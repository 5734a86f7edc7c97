"""A pass on the nodes of a program: reverses arrays before elementwise operations, by f(X)[::-1] = f(X[::-1]).

Then a loop that goes backwards through f(X) can compute each row itself, and X may be stored backwards.
"""

from __future__ import annotations

from collections.abc import Collection, MutableMapping, Sequence
from dataclasses import replace

from scanopt.array.types import TensorType
from scanopt.backends.kernels.nodes import REVERSED, WHOLE, Lookup, Map, Node, Repeat, View

__all__ = ["turned_first", "turns"]


def turned_first(
    nodes: Sequence[Node], wanted: Collection[str], types: MutableMapping[str, TensorType]
) -> tuple[Node, ...]:
    """Rewrite the nodes.  wanted: names that are read after them; types: of all names; names made here are added."""
    found: list[Node] = []
    readers: dict[str, list[Node]] = {}
    for n in reversed(nodes):
        new: list[Node] = [n]
        if isinstance(n, Map) and not isinstance(n, Lookup | Repeat) and n.out not in wanted and n.out in readers:
            views = [x for x in readers[n.out] if isinstance(x, View) and turns(x)]
            if len(views) == len(readers[n.out]):
                new = _turned(n, views, types)
                found = [x for x in found if x not in views]
        found = [*new, *found]
        for x in new:
            for a in dict.fromkeys(x.args):
                readers.setdefault(a, []).append(x)
    return tuple(found)


def _turned(n: Map, views: Sequence[View], types: MutableMapping[str, TensorType]) -> list[Node]:
    """The operation on reversed arrays that replaces an operation and the reversed views of it."""
    out, *others = (v.out for v in views)
    made: dict[str, View] = {}
    for a in n.args:
        if len(types[a].shape) == len(types[n.out].shape):
            made[a] = replace(views[0], out=f"{a}@back", args=(a,), dtype=types[a].dtype)
            types[f"{a}@back"] = types[a]
    args = tuple(made[a].out if a in made else a for a in n.args)
    like = made[n.like].out if n.like in made else n.like  # n.out has a shape from the start, as the program has it
    alike = tuple((i, WHOLE) for i in range(len(types[out].shape)))
    return [
        *made.values(),
        replace(n, out=out, args=args, like=like),
        *(replace(views[0], out=name, args=(out,), axes=alike) for name in others),
    ]


def turns(view: View) -> bool:
    """Whether a view is all rows of an array, the last one first."""
    rest = tuple((i, WHOLE) for i in range(1, len(view.axes)))
    return bool(rest) and not view.at and view.axes == ((0, REVERSED), *rest)
