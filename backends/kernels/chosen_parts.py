"""A pass on nodes: where(c, set_subtensor(x[i], v), x) becomes set_subtensor(x[i], where(c, v, x[i])).

The condition chooses the part, not the array: the part is set in any case, perhaps to its old value, so the array may
be changed in place and is not copied.  The result is the same, bit for bit, because nothing else reads the array with
the part set.  If both sides set parts of x, those of one side are set where the condition holds, and then those of the
other where it does not.  `elements_chosen` finds single elements that need not even be read or written where the
condition is false.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from scanopt.array.types import TensorType
from scanopt.backends.kernels.nodes import Map, Node, SetItem, View
from scanopt.backends.kernels.stages import FEW
from scanopt.records import dataclass

__all__ = ["elements_chosen", "with_parts_chosen"]


@dataclass(frozen=True)
class _Setting:
    """The setting of a part, and the conditions under which it is done, each with whether it must hold."""

    node: SetItem
    tests: tuple[tuple[str, bool], ...] = ()


def with_parts_chosen(nodes: Sequence[Node], wanted: Collection[str], types: dict[str, TensorType]) -> tuple[Node, ...]:
    """Rewrite the nodes so that conditions choose parts, not arrays.

    wanted: names that are read after the nodes.  types: of all names; names defined here are added.
    """
    made = {n.out: _Setting(n) for n in nodes if isinstance(n, SetItem)}
    reads = Counter([*wanted, *(a for n in nodes for a in n.args)])
    found: list[tuple[str, Node]] = []
    for node in nodes:
        settings = _settings(node, made, reads, types) if isinstance(node, Map) else []
        if isinstance(node, Map) and settings:
            reads[settings[0].node.args[0]] -= 1
            gone = {s.node.out for s in settings}
            found = [(name, n) for name, n in found if name not in gone]
            settings = _one_after_another(settings, node.out)
            made |= {s.node.out: s for s in settings}
            found += _chosen(node, settings, types)
        else:
            found.append((node.out if isinstance(node, SetItem) else "", node))
    return tuple(n for _, n in found)


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
    node: Map, made: Mapping[str, _Setting], reads: Mapping[str, int], types: Mapping[str, TensorType]
) -> list[_Setting]:
    """The settings of parts of one array between which a node chooses; [] if the node is no such choice."""
    if node.op != "where" or types[node.args[0]].ndim:
        return []
    then, otherwise = (_chain(name, made, reads) for name in node.args[1:])
    for k, name in enumerate(then):
        if name in otherwise:
            sides = (True, then[:k]), (False, otherwise[: otherwise.index(name)])
            found = [
                replace(made[out], tests=((node.args[0], holds), *made[out].tests))
                for holds, names in sides
                for out in reversed(names)
            ]
            return found if all(s.node.dtype == node.dtype and _pays(s.node, types) for s in found) else []
    return []


def _chain(name: str, made: Mapping[str, _Setting], reads: Mapping[str, int]) -> list[str]:
    """An array, the array of which it is a copy with a part set, and so on, as long as nothing else reads them."""
    found = [name]
    while name in made and reads[name] == 1:
        name = made[name].node.args[0]
        found.append(name)
    return found


def _one_after_another(settings: Sequence[_Setting], last: str) -> list[_Setting]:
    """The settings, each of a part of the array that the one before made; the last one makes the array `last`."""
    found, x = [], settings[0].node.args[0]
    for i, s in enumerate(settings):
        out = last if i == len(settings) - 1 else s.node.out
        part = replace(s.node.part, args=(x, *s.node.part.args[1:]))
        found.append(replace(s, node=replace(s.node, out=out, args=(x, *s.node.args[1:]), part=part)))
        x = out
    return found


def _pays(setting: SetItem, types: Mapping[str, TensorType]) -> bool:
    """Whether the array has more than few elements: the elements of a small array are variables, chosen one by one."""
    x, _, *places = setting.args
    known = [n for n in types[x].shape if n is not None]
    return bool(places) or len(known) < types[x].ndim or prod(known) > FEW


def _chosen(node: Map, settings: Sequence[_Setting], types: dict[str, TensorType]) -> Iterator[tuple[str, Node]]:
    """Yield the settings of chosen parts, and what they need, each beside the array that they make."""
    for i, s in enumerate(settings):
        for n in _part_chosen(s, f"{node.out}#{i}", types):
            yield s.node.out, n


def _part_chosen(s: _Setting, name: str, types: dict[str, TensorType]) -> Iterator[Node]:
    """Yield the setting of a part to its new value where all conditions hold, and to its old value elsewhere."""
    setting, dtype = s.node, s.node.dtype
    x, y, *places = setting.args
    part = types[setting.part.out]
    old, new, chosen = (f"{name}{what}" for what in "oyc")
    types |= dict.fromkeys((old, chosen), part)
    yield replace(setting.part, out=old)
    if setting.added:
        types[new] = part
        yield Map(new, (old, y), "add", (dtype, dtype), dtype, old)
    else:
        types[new] = TensorType(dtype, types[y].shape)
        yield Map(new, (y,), "copy", (dtype,), dtype, y)
    conditions = _tested(s.tests, name, types)
    yield from conditions
    test, holds = (conditions[-1].out, True) if conditions else s.tests[0]
    sides = (new, old) if holds else (old, new)
    yield Map(chosen, (test, *sides), "where", ("bool", dtype, dtype), dtype, old)
    yield replace(setting, args=(x, chosen, *places), added=False)


def _tested(tests: Sequence[tuple[str, bool]], name: str, types: dict[str, TensorType]) -> list[Map]:
    """The nodes that find whether several conditions are as they must be; none for one condition."""
    if len(tests) == 1:
        return []
    found: list[Map] = []
    both = ""
    for i, (test, holds) in enumerate(tests):
        if not holds:
            found.append(Map(f"{name}n{i}", (test,), "logical_not", ("bool",), "bool", test))
            test = found[-1].out
        if both:
            found.append(Map(f"{name}b{i}", (both, test), "logical_and", ("bool", "bool"), "bool", test))
            test = found[-1].out
        both = test
    types |= {n.out: TensorType("bool", ()) for n in found}
    return found
