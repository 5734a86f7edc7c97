"""Reads an ONNX model into a symbolic graph, with one rule for each operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from scanopt.array.types import DTYPES, TensorType
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.peers import Refused, folded
from scanopt.bridges.rules import RuleRegistry
from scanopt.compilation.compiled_function import Function
from scanopt.compilation.function import function
from scanopt.libraries import library
from scanopt.records import dataclass

__all__ = ["RULES", "Graph", "OnnxNode", "dtype_of", "from_onnx", "rule"]

OPSET = 21
"""The operator set for which the rules are written; models of earlier sets are converted."""

Rule = Callable[["OnnxNode"], Any]

RULES: RuleRegistry[Rule] = RuleRegistry(
    "scanopt.bridges.onnx_models", "elementwise", "loops", "networks", "recurrent", "reductions", "shapes"
)
rule = RULES.rule


@dataclass(frozen=True)
class OnnxNode:
    """One node of a model.

    inputs: variables, None for those left out.  attributes: by name, as Python values and arrays; graphs as ONNX's
    objects.  scope: all names that the node can read.  count: the number of outputs.
    """

    name: str
    op: str
    inputs: list[Variable | None]
    attributes: Mapping[str, Any]
    scope: dict[str, Variable]
    count: int

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)

    def x(self, i: int = 0) -> Variable:
        """Input i, which is required.  Raises ValueError if it is left out."""
        found = self.inputs[i] if i < len(self.inputs) else None
        if found is None:
            raise ValueError(f"{self.title} lacks its input {i}")
        return found

    def optional(self, i: int) -> Variable | None:
        """Input i, None if it is left out."""
        return self.inputs[i] if i < len(self.inputs) else None

    def known(self, i: int) -> Any:
        """Input i as an array, None if it is left out.  Raises Refused if it is not constant."""
        v = self.optional(i)
        if v is None:
            return None
        if not isinstance(v, Constant):
            raise self.refused(f"its input {i} being computed: it must be a constant")
        return v.data

    @property
    def title(self) -> str:
        """The name of the node in messages."""
        return f"{self.op} {self.name!r}" if self.name else self.op

    def refused(self, text: str) -> Refused:
        """The error for a node that cannot be read."""
        return Refused(f"from_onnx: {self.title}: {text}")


def dtype_of(number: int) -> str:
    """The dtype with this number in ONNX.  Raises Refused for dtypes that NumPy lacks."""
    helper = library("onnx.helper", "onnx", "from_onnx")
    name = str(np.dtype(helper.tensor_dtype_to_np_dtype(number)).name)
    if name not in DTYPES:
        raise Refused(f"from_onnx does not know the dtype {name}")
    return name


@dataclass
class Graph:
    """A graph while it is read.  scope: variables by name, including those of enclosing graphs."""

    scope: dict[str, Variable] = field(default_factory=dict[str, Variable])

    def read(self, graph: Any, given: Mapping[str, Variable]) -> list[Variable]:
        """The outputs of a graph.  given: variables for its inputs."""
        rules, arrays = RULES.loaded(), library("onnx.numpy_helper", "onnx", "from_onnx")
        self.scope |= {x.name: Constant(_array(arrays.to_array(x), x.name)) for x in graph.initializer}
        self.scope |= given
        for node in graph.node:
            found = rules.get(node.op_type) if node.domain in ("", "ai.onnx") else None
            if found is None:
                domain = f" of the domain {node.domain!r}" if node.domain else ""
                raise Refused(f"from_onnx does not know the operator {node.op_type!r}{domain} (node {node.name!r})")
            self._node(node, found)
        return [self.scope[x.name] for x in graph.output]

    def _node(self, node: Any, found: Rule) -> None:
        helper = library("onnx.helper", "onnx", "from_onnx")
        missing = [name for name in node.input if name and name not in self.scope]
        if missing:
            raise ValueError(
                f"from_onnx: node {node.name!r} ({node.op_type}) reads {missing[0]!r}, which does not exist"
            )
        inputs = [self.scope[name] if name else None for name in node.input]
        attributes = {a.name: _attribute(helper.get_attribute_value(a)) for a in node.attribute}
        outputs = list(node.output)
        view = OnnxNode(node.name, node.op_type, inputs, attributes, self.scope, len(outputs))

        def make() -> list[Any]:
            made = found(view)
            return list(made) if isinstance(made, list | tuple) else [made]

        try:
            holds_graphs = any(a.type in (5, 10) for a in node.attribute)
            made = make() if holds_graphs else folded([x for x in inputs if x is not None], make)
        except Exception as error:
            error.add_note(f"while reading the node {node.name!r} ({node.op_type}) of an ONNX model")
            raise
        self.scope |= {name: x for name, x in zip(outputs, made, strict=False) if name}


def _array(x: Any, name: str) -> Any:
    if np.dtype(x.dtype).name not in DTYPES:
        raise Refused(f"from_onnx does not know the dtype {x.dtype} of {name!r}")
    return x


def _attribute(x: Any) -> Any:
    return x.decode() if isinstance(x, bytes) else [_attribute(y) for y in x] if isinstance(x, list) else x


def _input(x: Any) -> Variable:
    """A variable for an input of a model."""
    t = x.type.tensor_type
    if not x.type.HasField("tensor_type") or not t.HasField("shape"):
        raise Refused(f"from_onnx: the input {x.name!r} is not a tensor of a known number of axes")
    shape = tuple(d.dim_value if d.HasField("dim_value") else None for d in t.shape.dim)
    return Variable(TensorType(dtype_of(t.elem_type), shape), x.name)


def _converted(model: Any) -> Any:
    onnx = library("onnx", "onnx", "from_onnx")
    if isinstance(model, str | bytes) or hasattr(model, "__fspath__"):
        model = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(model)
    version = next((x.version for x in model.opset_import if x.domain in ("", "ai.onnx")), OPSET)
    if version < OPSET:
        model = library("onnx.version_converter", "onnx", "from_onnx").convert_version(model, OPSET)
    return model


def graph_of(model: Any) -> tuple[list[Variable], list[Variable], list[str]]:
    """Inputs and outputs of a model as variables, and the names of the outputs."""
    graph = _converted(model).graph
    constants = {x.name for x in graph.initializer}
    inputs = [_input(x) for x in graph.input if x.name not in constants]
    outputs = Graph().read(graph, {str(v.name): v for v in inputs})
    return inputs, outputs, [x.name for x in graph.output]


def from_onnx(model: Any, **options: Any) -> Function:
    """Optimize and compile an ONNX model: a function of its inputs that returns a list of its outputs.

    model: an `onnx.ModelProto`, its bytes, or the path of a file; of operator set 21 or later, earlier ones are
        converted.  options: those of `scanopt.function` (fp, exclude, cost, example, ...).
    Inputs are given by position or by their names.  Raises ImportError where onnx is not installed,
    NotImplementedError that names the node for an operator that it does not know.

    >>> import onnx  # doctest: +SKIP
    >>> f = from_onnx("model.onnx")  # doctest: +SKIP
    >>> f(x=np.ones((2, 3), "float32"))  # doctest: +SKIP
    """
    library("onnx", "onnx", "from_onnx")
    inputs, outputs, _ = graph_of(model)
    return function(inputs, outputs, on_unused_input="ignore", **options)


def ints(x: Any) -> list[int]:
    """An array of integers as a list of ints."""
    return [int(n) for n in np.asarray(x).reshape(-1)]


def lengths(x: Variable) -> Sequence[Any]:
    """The entries of a vector of lengths: numbers where they are known, else scalars."""
    if isinstance(x, Constant):
        return ints(x.data)
    count = x.type.shape[0]
    if count is None:
        raise Refused("from_onnx: a shape of an unknown number of axes")
    return [_length(x, i) for i in range(count)]


def _length(x: Variable, i: int) -> Any:
    """Entry i of a vector; if the vector was assembled from parts, the part itself."""
    node: Any = x.owner
    op = node.op.name if node is not None and hasattr(node, "op") else ""
    if op == "concatenate":
        for part in node.inputs:
            n = part.type.shape[0]
            if n is None:
                break
            if i < n:
                return int(part.data[i]) if isinstance(part, Constant) else _length(part, i)
            i -= n
    if op == "stack":
        found = node.inputs[i]
        return int(found.data) if isinstance(found, Constant) else found
    if op in ("expand_dims", "cast") and x.ndim == 1 and x.type.shape == (1,):
        inner = node.inputs[0]
        return inner if inner.ndim == 0 else _length(inner, i)
    return x[i]
