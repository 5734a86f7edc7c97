"""A symbolic graph as a flat list, and back: the form in which a pickled function holds its graph.

Variables and nodes refer to one another, so pickling them directly would recurse to the depth of the
graph.  Here each entry refers to earlier ones by number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, fields, is_dataclass
from dataclasses import replace as altered
from typing import Any

import numpy as np

from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.array.variable import Apply, Constant, Node, SharedVariable, Variable
from scanopt.loops.graph import schedule
from scanopt.loops.node import Scan
from scanopt.records import dataclass

__all__ = ["Flat", "flatten", "mapped"]


@dataclass(frozen=True)
class _Ref:
    """A reference to the variable with this number."""

    index: int


@dataclass(frozen=True)
class _Leaf:
    """An input, or a variable that a step reads."""

    type: TensorType
    name: str | None

    def restore(self, get: Callable[[Any], Any]) -> list[Variable]:
        """The variable."""
        return [Variable(self.type, self.name)]


@dataclass(frozen=True, eq=False)
class _Constant:
    """A constant."""

    data: np.ndarray[Any, Any]
    name: str | None

    def restore(self, get: Callable[[Any], Any]) -> list[Variable]:
        """The variable."""
        return [Constant(self.data, self.name)]


@dataclass(frozen=True, eq=False)
class _Shared:
    """A shared variable itself, so that functions that share it still share it when pickled together."""

    variable: SharedVariable

    def restore(self, get: Callable[[Any], Any]) -> list[Variable]:
        """The variable."""
        return [self.variable]


@dataclass(frozen=True)
class _Apply:
    """An operator and the references to its arguments."""

    op: Op
    args: tuple[_Ref, ...]
    type: TensorType
    name: str | None

    def restore(self, get: Callable[[Any], Any]) -> list[Variable]:
        """Its only output."""
        node = Apply(self.op, get(self.args), self.type)
        node.outputs[0].name = self.name
        return [*node.outputs]


@dataclass(frozen=True, eq=False)
class _Scan:
    """A loop: the fields of the node, with references in place of variables."""

    fields: dict[str, Any]
    names: tuple[str | None, ...]

    def restore(self, get: Callable[[Any], Any]) -> list[Variable]:
        """Its outputs."""
        node = Scan(**{name: get(value) for name, value in self.fields.items()})
        for v, name in zip(node.outputs, self.names, strict=True):
            v.name = name
        return [*node.outputs]


_Entry = _Leaf | _Constant | _Shared | _Apply | _Scan


@dataclass(frozen=True, eq=False)
class Flat:
    """A graph as data: entries, each after those it refers to, and the numbers of the results."""

    entries: list[_Entry] = field(default_factory=list[_Entry])
    results: list[int] = field(default_factory=list[int])

    def restore(self) -> list[Variable]:
        """The results, with a new graph."""
        made: list[Variable] = []

        def get(x: Any) -> Any:
            return mapped(x, _Ref, lambda ref: made[ref.index])

        for entry in self.entries:
            made.extend(entry.restore(get))
        return [made[i] for i in self.results]


def flatten(results: Sequence[Variable]) -> Flat:
    """The graph of `results` as a flat list.

    >>> from scanopt import interpret, tensor as T
    >>> x = T.dscalar("x")
    >>> again, x = flatten([x * x, x]).restore()
    >>> interpret(again, {x: 3})
    array(9.)
    """
    writer = _Writer()
    writer.graph(results)
    return Flat(writer.entries, [writer.number[v] for v in results])


class _Writer:
    """Writes a graph: the entries so far, and the number of each variable."""

    def __init__(self) -> None:
        self.entries: list[_Entry] = []
        self.number: dict[Variable, int] = {}

    def graph(self, results: Iterable[Variable]) -> None:
        """Add all entries that `results` need.  Recursion follows nested loops only."""
        for node in schedule(results, self.number):
            if not all(v in self.number for v in node.outputs):  # it may have been added for a step already
                self.node(node)
        for v in results:
            self.leaf(v)

    def add(self, entry: _Entry, made: Sequence[Variable]) -> None:
        self.entries.append(entry)
        for v in made:
            self.number[v] = len(self.number)

    def leaf(self, v: Variable) -> None:
        if v in self.number:
            return
        if isinstance(v, SharedVariable):
            self.add(_Shared(v), [v])
        elif isinstance(v, Constant):
            self.add(_Constant(v.data, v.name), [v])
        else:
            self.add(_Leaf(v.type, v.name), [v])

    def node(self, node: Node) -> None:
        if isinstance(node, Apply):
            for v in node.inputs:
                self.leaf(v)
            (out,) = node.outputs
            self.add(_Apply(node.op, self.refs(node.inputs), out.type, out.name), [out])
        elif isinstance(node, Scan):
            for v in (*node.dependencies, *node.inner_inputs):
                self.leaf(v)
            self.graph(node.inner_outputs)
            values = {f.name: self.refs(getattr(node, f.name)) for f in fields(node) if f.init}
            self.add(_Scan(values, tuple(v.name for v in node.outputs)), node.outputs)
        else:
            raise TypeError(f"no way to store a {type(node).__name__}")

    def refs(self, x: Any) -> Any:
        """x with references in place of variables."""
        return mapped(x, Variable, self.ref)

    def ref(self, v: Variable) -> _Ref:
        """A reference to a variable."""
        if v not in self.number:  # in a slot that only describes, as a requirement does
            self.graph([v])
        return _Ref(self.number[v])


def mapped(x: Any, kind: type, f: Callable[[Any], Any]) -> Any:
    """x with every v of type `kind` replaced by f(v), inside tuples and slots of loops too."""
    if isinstance(x, kind):
        return f(x)
    if isinstance(x, tuple):
        return tuple(mapped(y, kind, f) for y in x)
    if is_dataclass(x) and not isinstance(x, type) and type(x).__module__ == Scan.__module__:
        return altered(x, **{p.name: mapped(getattr(x, p.name), kind, f) for p in fields(x) if p.init})
    return x
