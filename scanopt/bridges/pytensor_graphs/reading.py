"""Reads a graph of PyTensor into one of ours, with one rule for each operator, by the name of its class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.peers import Refused, folded
from scanopt.bridges.pytensor_graphs.generators import words_of
from scanopt.bridges.pytensor_graphs.performing import is_generator, performed, type_of
from scanopt.bridges.rules import RuleRegistry
from scanopt.libraries import library
from scanopt.records import dataclass

__all__ = ["RULES", "Reader", "TensorNode", "rule"]

Rule = Callable[["TensorNode"], Any]

RULES: RuleRegistry[Rule] = RuleRegistry(
    "scanopt.bridges.pytensor_graphs", "elementwise", "indexing", "linear_algebra", "loops", "shapes"
)
rule = RULES.rule


@dataclass(frozen=True)
class TensorNode:
    """One node of a graph of PyTensor.

    inputs: variables, or None or slices for inputs that are no arrays.  reader: that of the graph that holds it.
    """

    node: Any
    inputs: list[Any]
    reader: Reader

    @property
    def op(self) -> Any:
        """PyTensor's operator."""
        return self.node.op

    def known(self, i: int) -> Any:
        """Input i as an array.  Raises Refused if it is not constant."""
        x = self.inputs[i]
        if not isinstance(x, Constant):
            raise self.refused(f"with its input {i} being computed: it must be a constant")
        return x.data

    def refused(self, text: str) -> Refused:
        """The error for a node that cannot be read."""
        return Refused(f"from_pytensor does not know {self.op} {text}{_place(self.node)}")


def _place(node: Any) -> str:
    """The place in the user's code where a node was made, as PyTensor recorded it."""
    for v in node.outputs:
        trace = getattr(v.tag, "trace", None)
        if trace and trace[-1]:
            file, line, *_ = trace[-1][-1]
            return f" ({file}:{line})"
    return ""


@dataclass
class Reader:
    """A graph while it is read.  env: our variables by PyTensor's."""

    env: dict[Any, Any] = field(default_factory=dict[Any, Any])

    def read(self, outputs: Sequence[Any]) -> list[Any]:
        """Our variables for these variables of PyTensor."""
        rules = RULES.loaded()
        walk = library("pytensor.graph.traversal", "pytensor", "from_pytensor").io_toposort
        for node in walk(list(self.env), list(outputs)):
            if all(v in self.env for v in node.outputs):
                continue
            self._node(node, rules)
        return [self.value(v) for v in outputs]

    def value(self, v: Any) -> Any:
        """Our variable for one of PyTensor, also for a constant.  Raises ValueError for an input that is not given."""
        if v in self.env:
            return self.env[v]
        if not hasattr(v, "data"):
            raise ValueError(f"from_pytensor: the outputs read {v}, which is not among the inputs")
        return _constant(v)

    def _node(self, node: Any, rules: dict[str, Rule]) -> None:
        names = [c.__name__ for c in type(node.op).__mro__]
        found = next((rules[name] for name in names if name in rules), None)
        inputs = [self.value(v) for v in node.inputs]
        view = TensorNode(node, inputs, self)

        def make() -> list[Any]:
            made = self._performed(view) if found is None else found(view)
            return list(made) if isinstance(made, list | tuple) else [made]

        try:
            arrays = [x for x in inputs if isinstance(x, Variable)]
            plain = len(arrays) == len(inputs) and found is not None and not hasattr(node.op, "fgraph")
            results = folded(arrays, make) if plain and arrays else make()
        except Exception as error:
            error.add_note(f"while reading {node.op} of a graph of PyTensor{_place(node)}")
            raise
        for v, x in zip(node.outputs, results, strict=True):
            self.env[v] = self._fitted(v, x)

    @staticmethod
    def _performed(view: TensorNode) -> list[Any]:
        if any(isinstance(x, slice) for x in view.inputs):
            raise view.refused("of slices")
        return list(performed(view.node, view.inputs))

    @staticmethod
    def _fitted(v: Any, x: Any) -> Any:
        """x cast to the dtype that PyTensor has for it."""
        if not isinstance(x, Variable) or is_generator(v.type) or not hasattr(v.type, "dtype"):
            return x
        return FUNCTIONS["cast"](x, v.type.dtype)


def _constant(v: Any) -> Any:
    data = v.data
    if data is None or isinstance(data, slice):
        return data
    if is_generator(v.type):
        return Constant(words_of(data))
    return Constant(np.asarray(data, type_of(v.type, str(v)).dtype))
