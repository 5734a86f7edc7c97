"""Arrays of which a step sets parts only where a condition holds: where(c, set_subtensor(x[i], v), x).

Parts are set in any case, perhaps to what they are, so that the array may be changed in place, and none is copied.  A
single element is neither read for that nor written where it stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from scanopt.array.types import TensorType
from scanopt.backends.kernels.nodes import Map, Node, SetItem, View
from scanopt.backends.kernels.stages import FEW

__all__ = ["elements_chosen", "with_parts_chosen"]


def with_parts_chosen(nodes: Sequence[Node], wanted: Collection[str], types: dict[str, TensorType]) -> tuple[Node, ...]:
    """The nodes, where parts are chosen, not arrays.

    wanted: names that are read after them.  types: of all names; names defined here are added.
    """
    made = {n.out: n for n in nodes if isinstance(n, SetItem)}
    reads = Counter([*wanted, *(a for n in nodes for a in n.args)])
    found: list[Node] = []
    gone: set[str] = set()
    for node in nodes:
        settings = _settings(node, made, reads, types)
        gone.update(n.out for n in settings)
        found += _chosen(node, settings, types) if isinstance(node, Map) and settings else [node]
    last = {id(made[name]) for name in gone}
    return tuple(n for n in found if id(n) not in last) if gone else tuple(nodes)


def elements_chosen(nodes: Sequence[Node]) -> dict[str, tuple[str, str, bool]]:
    """By array of which an element is set or stays, the condition, what it is set to, and whether where that holds.

    The element is read for that alone: one that is read in any case is written again.
    """
    reads = Counter(a for n in nodes for a in n.args)
    places = {n.out: (n.args[0], n.at) for n in nodes if isinstance(n, View) and not n.axes and reads[n.out] == 1}
    made = {n.out: n for n in nodes if isinstance(n, Map) and n.op == "where"}
    found: dict[str, tuple[str, str, bool]] = {}
    for n in nodes:
        if isinstance(n, SetItem) and not n.added and not n.part.axes and n.args[1] in made:
            test, a, b = made[n.args[1]].args
            mine = (n.args[0], n.part.at)
            found |= {n.out: (test, b, False)} if places.get(a) == mine else {}
            found |= {n.out: (test, a, True)} if places.get(b) == mine else {}
    return found


def _settings(
    node: Node, made: Mapping[str, SetItem], reads: Mapping[str, int], types: Mapping[str, TensorType]
) -> list[SetItem]:
    """The settings of parts, one after the other, all or none of which take place; [] where it is no such choice."""
    if not isinstance(node, Map) or node.op != "where" or types[node.args[0]].ndim:
        return []
    for name, x in (node.args[1:], node.args[:0:-1]):
        found: list[SetItem] = []
        while name in made and reads[name] == 1 and name != x:
            found.insert(0, made[name])
            name = made[name].args[0]
        if found and name == x and all(n.dtype == node.dtype and _pays(n, types) for n in found):
            return found
    return []


def _pays(setting: SetItem, types: Mapping[str, TensorType]) -> bool:
    """Whether it is not of an array of few elements, each of which is a variable."""
    x, _, *places = setting.args
    known = [n for n in types[x].shape if n is not None]
    return bool(places) or len(known) < types[x].ndim or prod(known) > FEW


def _chosen(node: Map, settings: Sequence[SetItem], types: dict[str, TensorType]) -> Iterator[Node]:
    """The settings of chosen parts, the last of which makes what the choice made."""
    condition, dtype, then = node.args[0], node.dtype, node.args[1] == settings[-1].out
    for i, setting in enumerate(settings):
        x, y, *places = setting.args
        part = types[setting.part.out]
        old, new, chosen = (f"{node.out}#{what}{i}" for what in ("o", "y", "c"))
        types |= dict.fromkeys((old, chosen), part)
        yield replace(setting.part, out=old)
        if setting.added:
            types[new] = part
            yield Map(new, (old, y), "add", (dtype, dtype), dtype, old)
        else:
            types[new] = TensorType(dtype, types[y].shape)
            yield Map(new, (y,), "copy", (dtype,), dtype, y)
        sides = (new, old) if then else (old, new)
        yield Map(chosen, (condition, *sides), "where", ("bool", dtype, dtype), dtype, old)
        out = node.out if i == len(settings) - 1 else setting.out
        yield replace(setting, out=out, args=(x, chosen, *places), added=False)
