"""Nested structures: arrays in tuples, lists, dicts, named tuples and dataclasses, each leaf with its path.

None is a structure without leaves.  Dicts keep their order, but it does not matter for equality.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from scanopt.array.types import TensorType
from scanopt.loops.site import Site, show

__all__ = ["aligned", "mapped_leaves", "rebuilt", "same_structure", "structure", "tree_key", "tree_leaves"]


def _children(tree: Any) -> list[tuple[str, Any]] | None:
    """The parts of a structure, each with the text that selects it, such as "[0]"; None for a leaf.

    >>> _children({"h": 1}), _children((1,)), _children(None), _children(1.0)
    ([("['h']", 1)], [('[0]', 1)], [], None)
    """
    if tree is None:
        return []
    if isinstance(tree, dict):
        return [(f"[{key!r}]", x) for key, x in tree.items()]
    if isinstance(tree, tuple) and (names := getattr(tree, "_fields", None)):
        return [(f".{name}", x) for name, x in zip(names, tree, strict=True)]
    if isinstance(tree, list | tuple):
        return [(f"[{i}]", x) for i, x in enumerate(tree)]
    if is_dataclass(tree) and not isinstance(tree, type | TensorType):
        return [(f".{f.name}", getattr(tree, f.name)) for f in fields(tree) if f.init]
    return None


def tree_leaves(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a structure, each with its path; `path` is that of the whole.

    >>> list(tree_leaves({"h": (1, None), "c": 2}, "carry"))
    [("carry['h'][0]", 1), ("carry['c']", 2)]
    """
    parts = _children(tree)
    if parts is None:
        yield path, tree
    else:
        for step, x in parts:
            yield from tree_leaves(x, path + step)


def rebuilt(tree: Any, leaf: Callable[[], Any]) -> Any:
    """The same structure with new leaves, given by successive calls of `leaf`.

    >>> rebuilt({"h": (1, None), "c": 2}, iter("ab").__next__)
    {'h': ('a', None), 'c': 'b'}
    """
    parts = _children(tree)
    if parts is None:
        return leaf()
    new = [rebuilt(x, leaf) for _, x in parts]
    if tree is None:
        return None
    if isinstance(tree, dict):
        out = copy.copy(tree)
        out.update(zip(tree, new, strict=True))
        return out
    if isinstance(tree, list | tuple):
        return tree._make(new) if hasattr(tree, "_make") else type(tree)(new)
    return replace(tree, **{step[1:]: x for (step, _), x in zip(parts, new, strict=True)})


def mapped_leaves(f: Callable[[Any], Any], tree: Any) -> Any:
    """The same structure with f applied to each leaf.

    >>> mapped_leaves(lambda x: -x, {"h": (1, None), "c": 2})
    {'h': (-1, None), 'c': -2}
    """
    return rebuilt(tree, iter([f(leaf) for _, leaf in tree_leaves(tree, "")]).__next__)


def tree_key(tree: Any, leaf: Callable[[Any], Hashable]) -> Hashable:
    """A key that is equal for equal structures whose leaves have equal keys `leaf(x)`.

    >>> tree_key((1, 2), type) == tree_key((3, 4), type), tree_key((1, 2), type) == tree_key([1, 2], type)
    (True, False)
    """
    parts = _children(tree)
    if parts is None:
        return leaf(tree)
    return _kind(tree), tuple((step, tree_key(x, leaf)) for step, x in parts)


def same_structure(a: Any, b: Any) -> bool:
    """Whether two structures are the same, dicts whatever the order of their keys.

    >>> same_structure({"h": 1, "c": 2}, {"c": 3, "h": 4}), same_structure((1, 2), (1, (2,)))
    (True, False)
    """
    parts, others = _children(a), _children(b)
    if parts is None or others is None:
        return parts is others
    named = dict(others)
    return (
        _kind(a) == _kind(b)
        and set(named) == {step for step, _ in parts}
        and all(same_structure(x, named[step]) for step, x in parts)
    )


def aligned(site: Site, expected: Any, found: Any, path: str) -> list[Any]:
    """The leaves of `found` in the order of `expected`, which must have the same structure.

    Raises TypeError that names the path where they differ, and both structures.

    >>> aligned(Site("loop", ""), {"h": 1, "c": 2}, {"c": 20, "h": 10}, "carry")
    [10, 20]
    """
    parts, others = _children(expected), _children(found)
    if parts is None and others is None:
        return [found]
    kinds = (dict, list, tuple)
    same = parts is not None and others is not None and _kind(expected) == _kind(found)
    named = dict(others or ())
    if not same or set(named) != {step for step, _ in parts or ()}:
        hint = ""
        if isinstance(expected, kinds) and isinstance(found, kinds) and parts and others:
            missing = [step for step, _ in parts if step not in named]
            extra = [step for step in named if step not in dict(parts)]
            words = [f"{word} {path}{steps[0]}" for word, steps in (("without", missing), ("with", extra)) if steps]
            hint = f" ({', '.join(words)})" if words else ""
        raise site.error(
            TypeError,
            f"{path} is {structure(expected)} before a step and {structure(found)} after it{hint}: "
            "the step must return a carry of the structure it gets",
        )
    return [leaf for step, x in parts or () for leaf in aligned(site, x, named[step], path + step)]


def _kind(tree: Any) -> Any:
    return dict if isinstance(tree, dict) else type(tree)


def structure(tree: Any) -> str:
    """A structure as short text, with _ for each leaf.

    >>> structure({"h": (1, None), "c": 2}), structure(None)
    ("{'h': (_, None), 'c': _}", 'None')
    """
    parts = _children(tree)
    if parts is None:
        return f"an array, {show(tree)}"
    return _outline(tree)


def _outline(tree: Any) -> str:
    parts = _children(tree)
    if parts is None:
        return "_"
    inner = [_outline(x) for _, x in parts]
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key!r}: {x}" for key, x in zip(tree, inner, strict=True)) + "}"
    if type(tree) in (list, tuple):
        text = ", ".join(inner)
        return f"[{text}]" if isinstance(tree, list) else f"({text}{',' * (len(inner) == 1)})"
    if tree is None:
        return "None"
    names = [step[1:] for step, _ in parts]
    return f"{type(tree).__name__}({', '.join(f'{n}={x}' for n, x in zip(names, inner, strict=True))})"
