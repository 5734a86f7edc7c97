"""A pass on nodes: where(c, set_subtensor(x[i], v), x) becomes set_subtensor(x[i], where(c, v, x[i])).

The condition chooses the part, not the array: the part is set in any case, perhaps to its old value, so the array may
be changed in place and is not copied.  The result is the same, bit for bit, because nothing else reads the array with
the part set.  `elements_chosen` finds single elements that need not even be read or written where the condition is
false.
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
    """Rewrite the nodes so that conditions choose parts, not arrays.

    wanted: names that are read after the nodes.  types: of all names; names defined here are added.
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
    """For each array of which a condition decides whether an element is set: the condition, the new value, and whether
    it is set where the condition holds (else where it does not).

    Only elements that are read for nothing but this choice: an element that is read anyway is simply written again.
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
    """The chain of settings of parts, all or none of which a choice takes; [] if the node is no such choice."""
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
    """Whether the array has more than few elements: the elements of a small array are variables, chosen one by one."""
    x, _, *places = setting.args
    known = [n for n in types[x].shape if n is not None]
    return bool(places) or len(known) < types[x].ndim or prod(known) > FEW


def _chosen(node: Map, settings: Sequence[SetItem], types: dict[str, TensorType]) -> Iterator[Node]:
    """Yield the settings of chosen parts; the last one defines the name that the choice defined."""
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
