"""Arrays in tuples, lists, dicts, named tuples and dataclasses, nested at will, under the names of `jax.tree`.

None is a structure without leaves.  Dicts keep the order of their keys.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable
from typing import Any

from scanopt.loops.trees import rebuilt, same_structure, tree_leaves
from scanopt.loops.trees import structure as outline

__all__ = ["all", "flatten", "leaves", "map", "reduce", "structure", "unflatten"]


def leaves(tree: Any) -> list[Any]:
    """The leaves in order.

    >>> leaves({"h": (1, None), "c": [2, 3]})
    [1, 2, 3]
    """
    return [x for _, x in tree_leaves(tree, "")]


def map(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """The structure with f applied to each leaf and to the leaves of the others in the same place.

    Raises TypeError where structures differ.

    >>> map(lambda p, g: p - g, {"w": 3, "b": (4,)}, {"b": (1,), "w": 2})
    {'w': 1, 'b': (3,)}
    """
    for other in rest:
        if not same_structure(tree, other):
            raise TypeError(f"map over {outline(tree)} and {outline(other)}: the structures must be the same")
    named = [dict(tree_leaves(other, "")) for other in rest]
    found = [f(x, *(others[path] for others in named)) for path, x in tree_leaves(tree, "")]
    return rebuilt(tree, iter(found).__next__)


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """(leaves, structure): what `unflatten` puts together again.

    >>> flatten({"h": (1, 2)})
    ([1, 2], {'h': (0, 1)})
    """
    found = leaves(tree)
    return found, rebuilt(tree, iter(range(len(found))).__next__)


def structure(tree: Any) -> Any:
    """What `unflatten` needs to put leaves together: the structure with the leaves' numbers in their places.

    >>> structure({"h": (1, 2)})
    {'h': (0, 1)}
    """
    return flatten(tree)[1]


def unflatten(structure: Any, values: Iterable[Any]) -> Any:
    """A structure, as `flatten` gives it, with these leaves.  Raises ValueError for another number of them.

    >>> unflatten({'h': (0, 1)}, [3, 4])
    {'h': (3, 4)}
    """
    given, count = list(values), len(leaves(structure))
    if len(given) != count:
        raise ValueError(f"{len(given)} values for the structure {outline(structure)}, which has {count} leaves")
    return rebuilt(structure, iter(given).__next__)


def reduce(f: Callable[[Any, Any], Any], tree: Any, *start: Any) -> Any:
    """f(f(f(start, leaf 0), leaf 1), ...), or from the first leaf on without a start.

    >>> reduce(lambda a, b: a + b, {"h": (1, 2), "c": 3})
    6
    """
    return functools.reduce(f, leaves(tree), *start)


def all(tree: Any) -> bool:
    """Whether all leaves are true.

    >>> all({"a": True, "b": [1, 0]})
    False
    """
    return builtins.all(leaves(tree))
