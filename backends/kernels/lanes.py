"""Finds the axes along which the steps of a loop are independent, the lanes that a device runs side by side.

It rewrites a body as one lane sees it.  A loop whose values have no other axes becomes a loop of scalars with one
thread per lane.  Other loops get one block of threads per lane, whose threads share the work of a step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scanopt.array.types import TensorType
from scanopt.backends.kernels.bodies import Body, walk
from scanopt.backends.kernels.ir import ONE, Expr, Lit, Var
from scanopt.backends.kernels.nodes import (
    WHOLE,
    Call,
    Fixed,
    Fork,
    Join,
    Length,
    Map,
    Nested,
    Node,
    NoForm,
    Product,
    Reduce,
    Reshape,
    Running,
    SetItem,
    Single,
    Sort,
    SumTo,
    Take,
    View,
)  # fmt: skip
from scanopt.backends.kernels.sizes import Axis, Lengths
from scanopt.records import dataclass

__all__ = ["AxisClasses", "Lanes", "lanes_of", "no_lanes"]


@dataclass(frozen=True)
class Lanes:
    """A loop as one lane sees it.

    body, lengths: of one lane.  axes: for each lane axis, some axis of its length.  of: by name, for each lane axis,
    the axis of the whole array that is that lane axis, or None.  numbers: whether each lane is one thread and all its
    values are scalars.
    """

    body: Body
    lengths: Lengths
    axes: tuple[Axis, ...]
    of: Mapping[str, tuple[int | None, ...]]
    numbers: bool


def lanes_of(body: Body, lengths: Lengths) -> Lanes:
    """Find the lanes of a loop; there are none if its steps are independent along no axis.  Raises NoForm."""
    of_axis = {axis: number for number, axes in enumerate(lengths.classes) for axis in axes}
    classes = AxisClasses(lengths, of_axis)
    inner = classes.of_steps(body)
    try:
        found = _ordered(body, classes, inner)
        return Lanes(_of_numbers(body, classes, found), _numbers(body), *classes.told(found), True)
    except NoForm:
        pass
    found = _ordered(body, classes, [c for c in inner if classes.independent(body, c)])
    if set(inner) <= set(found):  # leave an axis for the threads of a block
        found = found[:-1]
    axes = {
        name: tuple(ONE if of_axis.get((name, i)) in found else n for i, n in enumerate(lengths.axes[name]))
        for name in lengths.axes
    }
    one = replace(body, root=replace(body.root, nodes=_in_any_order(body.root.nodes)))
    return Lanes(one, replace(lengths, axes=axes), *classes.told(found), False)


def no_lanes(body: Body, lengths: Lengths) -> Lanes:
    """Treat a loop as having no lanes."""
    one = replace(body, root=replace(body.root, nodes=_in_any_order(body.root.nodes)))
    return Lanes(one, lengths, (), dict.fromkeys(lengths.axes, ()), False)


def _in_any_order(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Allow calls whose rounding depends on the number of elements: a device has functions of its own."""
    found: list[Node] = []
    for n in nodes:
        if isinstance(n, Call):
            n = replace(n, whole=False)
        elif isinstance(n, Nested):
            n = replace(n, nodes=_in_any_order(n.nodes))
        elif isinstance(n, Fork):
            n = replace(n, then=_in_any_order(n.then), otherwise=_in_any_order(n.otherwise))
        found.append(n)
    return tuple(found)


@dataclass(frozen=True)
class AxisClasses:
    """The sets of axes of equal length.  of: for each axis, the number of its set."""

    lengths: Lengths
    of: Mapping[Axis, int]

    def name(self, name: str) -> list[int | None]:
        """For each axis of a name its set; None for an axis of length 1."""
        return [self.of.get((name, i)) for i in range(len(self.lengths.axes[name]))]

    def place(self, name: str, c: int) -> int | None:
        """The axis of a name that is in a set; None if it has none."""
        own = self.name(name)
        return own.index(c) if c in own else None

    def of_steps(self, body: Body) -> list[int]:
        """The sets to which the axes of values in a step belong."""
        names = [n for node in walk(body.root.nodes) for n in (*node.outs, *node.args) if n in self.lengths.axes]
        inits = {s.init for s in body.loop.states}
        names += [r.out for r in body.loop.reads] + [x for s in body.loop.states for x in (s.update,)]
        found = (c for name in names if name not in inits for c in self.name(name) if c is not None)
        return list(dict.fromkeys(found))

    def told(self, found: Sequence[int]) -> tuple[tuple[Axis, ...], dict[str, tuple[int | None, ...]]]:
        """One axis of each set; and, by name, the axes that belong to these sets."""
        of = {
            name: tuple(next((i for i, c in enumerate(self.name(name)) if c == lane), None) for lane in found)
            for name in self.lengths.axes
        }
        return tuple(self.lengths.classes[c][0] for c in found), of

    def independent(self, body: Body, c: int) -> bool:
        """Whether all steps are independent along the axes of a set."""
        return self.apart(body, c) and all(self.kept(node, c) for node in walk(body.root.nodes))

    def apart(self, body: Body, c: int) -> bool:
        """Whether no value has two axes of a set, and no loop runs along one of them."""
        if any(self.name(name).count(c) > 1 for name in self.lengths.axes):
            return False
        for loop in (body.loop, *(n.loop for n in walk(body.root.nodes) if isinstance(n, Nested))):
            rows = [*(r.source for r in loop.reads), *(s.init for s in loop.states)]
            rows += [k.out for k in loop.keeps if k.out in self.lengths.axes]
            if any(self.name(name)[:1] == [c] for name in rows):
                return False
        return True

    def kept(self, node: Node, c: int) -> bool:
        """Whether a node computes independently along the axes of a set."""
        if isinstance(node, Fork | Nested | Map | Call | Fixed):
            return True
        if any(name not in self.lengths.axes for name in (node.out, *node.args)):
            return False
        at = {name: self.place(name, c) for name in (node.out, *node.args)}
        x = at[node.args[0]]
        if isinstance(node, View):
            return _passes(node, x) and (x is None) == (at[node.out] is None)
        if isinstance(node, SetItem):
            return _passes(node.part, x) and x == at[node.out] and (x is not None or c not in self.name(node.part.out))
        if isinstance(node, Product):
            return not (x == len(self.name(node.args[0])) - 1 or at[node.args[1]] == 0)
        if isinstance(node, Reduce):
            return x not in node.axes
        if isinstance(node, Running | Join | Sort):
            return node.axis not in (at[node.out], *(at[a] for a in node.args))
        if isinstance(node, Take):
            return x is None or not node.axis <= x < node.axis + len(node.args) - 1
        if isinstance(node, SumTo):
            return x == at[node.out]
        return all(place is None for place in at.values())  # Reshape, Length


def _passes(view: View, axis: int | None) -> bool:
    """Whether a view has all of an axis."""
    return axis is None or any(x == (axis, WHOLE) for x in view.axes)


def _ordered(body: Body, classes: AxisClasses, found: Sequence[int]) -> list[int]:
    """The sets, in the order of the axes of the value that has most of them, so that neighbours lie side by side."""
    names = [*(s.update for s in body.loop.states), *(k.value for k in body.loop.keeps)]
    names += [n.out for n in walk(body.root.nodes) if isinstance(n, Map | Call) and n.out in classes.lengths.axes]
    longest = max(names, key=lambda n: len([c for c in classes.name(n) if c in found]), default=None)
    first = [c for c in classes.name(longest) if c in found] if longest is not None else []
    return list(dict.fromkeys([*(c for c in first if c is not None), *found]))


# A loop of scalars


def _numbers(body: Body) -> Lengths:
    """The lengths of a loop of scalars: only sequences and initial rows have an axis."""
    axes: dict[str, tuple[Expr, ...]] = dict.fromkeys(body.types, ())
    axes |= {name: () for node in walk(body.root.nodes) for name in node.outs}
    axes |= {r.source: (Var("n0"),) for r in body.loop.reads}
    axes |= {s.init: (ONE if s.depth == 1 else Lit(s.depth),) for s in body.loop.states}
    return Lengths(axes, {}, ())


def _of_numbers(body: Body, classes: AxisClasses, found: Sequence[int]) -> Body:
    """The body with all values as scalars.  Raises NoForm if that is impossible."""
    rows = {r.source for r in body.loop.reads} | {s.init for s in body.loop.states}
    inner = {n for node in walk(body.root.nodes) for n in (*node.outs, *node.args)}
    for name in classes.lengths.axes:
        own = classes.name(name)[1 if name in rows else 0 :]
        if any(own.count(c) > 1 for c in own if c is not None) or not set(own) <= {None, *found}:
            raise NoForm("a value has axes other than lanes")
        if name in rows and (name in inner or classes.name(name)[:1][0] in found):
            raise NoForm("a step reads all rows of a sequence")
    types = {name: TensorType(t.dtype, ()) for name, t in body.types.items()}
    types |= {name: TensorType(body.types[name].dtype, (None,)) for name in rows}
    loop = body.loop
    reads = tuple(replace(r, type=TensorType(r.type.dtype, ())) for r in loop.reads)
    states = tuple(replace(s, type=TensorType(s.type.dtype, ())) for s in loop.states)
    keeps = tuple(replace(k, type=TensorType(k.type.dtype, (None,))) for k in loop.keeps)
    nodes = _scalars(body.root.nodes, classes, types)
    root = Nested(replace(loop, reads=reads, states=states, keeps=keeps), nodes, body.root.args)
    return Body(root, types, True, body.counts)


def _scalars(nodes: Sequence[Node], classes: AxisClasses, types: dict[str, TensorType]) -> tuple[Node, ...]:
    return tuple(x for node in nodes for x in _scalar(node, classes, types))


def _scalar(node: Node, classes: AxisClasses, types: dict[str, TensorType]) -> Iterator[Node]:
    for name in node.outs:
        types.setdefault(name, TensorType(getattr(node, "dtype", "bool"), ()))
        types[name] = TensorType(types[name].dtype, ())
    if isinstance(node, Map | Fixed):
        yield node
    elif isinstance(node, Call):
        yield replace(node, whole=False)
    elif isinstance(node, Fork):
        results = tuple(replace(r, type=TensorType(r.type.dtype, ())) for r in node.branch.results)
        then, otherwise = (_scalars(side, classes, types) for side in (node.then, node.otherwise))
        yield Fork(replace(node.branch, results=results), then, otherwise, node.args)
    elif isinstance(node, Product) and classes.name(node.args[1])[0] is None:
        yield Map(node.out, node.args, "multiply", (node.dtype,) * 2, node.dtype, node.out)
    elif not isinstance(node, Nested) and _same_element(node, classes):
        yield Map(node.out, node.args[:1], "copy", (node.dtype,), node.dtype, node.out)
    else:
        raise NoForm(f"{type(node).__name__} is not an operation on numbers")


def _same_element(node: Single, classes: AxisClasses) -> bool:
    """Whether each element of the result is the element of the first argument in the same lane."""
    if any(n not in classes.lengths.axes for n in (node.out, node.args[0])):
        return False
    before, after = ([c for c in classes.name(n) if c is not None] for n in (node.args[0], node.out))
    if isinstance(node, View):
        whole = all(_passes(node, i) for i, c in enumerate(classes.name(node.args[0])) if c is not None)
        return whole and not node.at and sorted(before) == sorted(after)
    if isinstance(node, Reduce):
        return not node.counted and before == after
    return isinstance(node, Reshape | SumTo | Running) and before == after and _is_single(node, classes)


def _is_single(node: Single, classes: AxisClasses) -> bool:
    return not isinstance(node, Running | Length) or classes.name(node.args[0])[getattr(node, "axis", 0)] is None
