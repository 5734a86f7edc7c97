"""Writes a loop program as an ONNX model: loops as Scan and Loop, branches as If, operators by rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import scanopt.bridges.onnx_models.operators_of_shapes  # registers its rules
import scanopt.bridges.onnx_models.recurrences  # noqa: F401
from scanopt.array.types import TensorType
from scanopt.array.variable import describe
from scanopt.bridges.onnx_models.operators import emit
from scanopt.bridges.onnx_models.reading import OPSET
from scanopt.compilation.callable import Runnable
from scanopt.compilation.signature import Signature
from scanopt.libraries import library
from scanopt.program.ir import Branch, Compute, Keep, Loop, Program, Step

__all__ = ["ModelWriter", "to_onnx"]

_IR_VERSION = 10
"""The version of the file format that belongs to the operator set."""


class ModelWriter:
    """Writes the nodes of nested graphs.

    types: of all names.  A value has the same name in the model as in the program.
    """

    def __init__(self, exact: bool = False) -> None:
        self.onnx = library("onnx", "onnx", "to_onnx")
        self.helper = library("onnx.helper", "onnx", "to_onnx")
        self.types: dict[str, TensorType] = {}
        self.values: dict[str, np.ndarray[Any, Any]] = {}
        self._nodes: list[list[Any]] = [[]]
        self._initializers: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._count = 0

    # Names, constants, nodes

    def fresh(self, word: str = "t") -> str:
        """A new name."""
        self._count += 1
        return f"{word}_{self._count}"

    def constant(self, value: Any, dtype: str | None = None, name: str | None = None) -> str:
        """The name of a constant array; equal arrays share a name."""
        data = np.asarray(value, dtype)
        key = (data.dtype.name, data.shape, data.tobytes())
        if name is None and key in self._constants:
            return self._constants[key]
        found = name or self.fresh("c")
        self._constants.setdefault(key, found)
        self._initializers.append(
            self.onnx.numpy_helper.from_array(np.ascontiguousarray(data).reshape(data.shape), found)
        )
        self.types[found] = TensorType(data.dtype.name, data.shape)
        self.values[found] = data
        return found

    def node(self, op: str, inputs: Sequence[str], type: TensorType | None = None, out: str | None = None,
             **attributes: Any) -> str:  # fmt: skip
        """Write a node with one output; returns the name of the output."""
        return self.nodes(op, inputs, [out or self.fresh()], [type], **attributes)[0]

    def nodes(
        self, op: str, inputs: Sequence[str], outs: Sequence[str], types: Sequence[TensorType | None], **attributes: Any
    ) -> list[str]:
        """Write a node with several outputs; returns their names."""
        given = {k: v for k, v in attributes.items() if v is not None}
        self._nodes[-1].append(self.helper.make_node(op, list(inputs), list(outs), **given))
        self.types |= {name: t for name, t in zip(outs, types, strict=True) if t is not None}
        return list(outs)

    def dtype(self, name: str) -> str:
        """The dtype of the value of this name."""
        return self.types[name].dtype

    def ndim(self, name: str) -> int:
        """The number of axes of the value of this name."""
        return len(self.types[name].shape)

    def cast(self, name: str, dtype: str, out: str | None = None) -> str:
        """Write a cast to a dtype; the name itself if it has that dtype and no other name `out` is asked for."""
        if self.dtype(name) == dtype:
            return name if out is None else self.node("Identity", [name], self.types[name], out)
        to = self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.node("Cast", [name], TensorType(dtype, self.types[name].shape), out, to=to)

    def info(self, name: str, type: TensorType) -> Any:
        """The description of an input or output of a graph."""
        element = self.helper.np_dtype_to_tensor_dtype(np.dtype(type.dtype))
        return self.helper.make_tensor_value_info(name, element, list(type.shape))

    @contextmanager
    def inner(self) -> Iterator[list[Any]]:
        """A context in which nodes are written to the list that it gives, for a graph inside a node."""
        self._nodes.append([])
        yield self._nodes[-1]
        self._nodes.pop()

    def graph(self, nodes: list[Any], name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
        """A graph inside a node; constants are those of the model."""
        return self.helper.make_graph(nodes, name, list(inputs), list(outputs))

    # Programs

    def model(self, program: Program, name: str, inputs: Sequence[str], outputs: Sequence[str]) -> Any:
        """The model of a program.  inputs, outputs: the names that users see."""
        seen = {*inputs, *outputs}
        inputs, outputs = ([_OUTSIDE + n for n in names] for names in (inputs, outputs))
        renamed: dict[str, str] = {}
        infos = []
        for x, shown in zip(program.inputs, inputs, strict=True):
            self.types[x.name] = x.type
            renamed[x.name] = shown
            infos.append(self.info(shown, x.type))
        for x in program.inputs:
            self.node("Identity", [renamed[x.name]], x.type, x.name)
        for c in program.consts:
            self.constant(c.value, name=c.name)
        self.steps(program.steps)
        made = []
        for value, shown in zip(program.outputs, outputs, strict=True):
            self.node("Identity", [value], self.types[value], shown)
            made.append(self.info(shown, self.types[value]))
        graph = self.helper.make_graph(self._nodes[0], name, infos, made, self._initializers)
        _rename(graph, seen)
        opset = [self.helper.make_opsetid("", OPSET)]
        model = self.helper.make_model(graph, opset_imports=opset, ir_version=_IR_VERSION, producer_name="scanopt")
        self.onnx.checker.check_model(model, full_check=True)
        return model

    def steps(self, steps: Sequence[Step]) -> None:
        """Write steps of the program."""
        for step in steps:
            if isinstance(step, Compute):
                self.types.setdefault(step.out, step.type)
                emit(self, step)
            elif isinstance(step, Branch):
                self._branch(step)
            else:
                self._loop(step)

    def _branch(self, step: Branch) -> None:
        graphs = []
        for side, (steps, values) in zip(("then", "otherwise"), step.sides, strict=True):
            with self.inner() as nodes:
                self.steps(steps)
                made = [self.node("Identity", [v], self.types[v], self.fresh(side)) for v in values]
            infos = [self.info(v, TensorType(r.type.dtype, (None,) * r.type.ndim)) for v, r in zip(made, step.results, strict=True)]  # fmt: skip  # noqa: E501
            graphs.append(self.graph(nodes, self.fresh(side), [], infos))
        self.nodes(
            "If", [step.condition], [r.out for r in step.results], [r.type for r in step.results],
            then_branch=graphs[0], else_branch=graphs[1],
        )  # fmt: skip

    # Loops

    def _loop(self, step: Loop) -> None:
        init = [self._rows(s.init, s.depth) for s in step.states]
        as_scan = step.until is None and bool(step.reads)
        before = [[self.fresh("s") for _ in range(s.depth)] for s in step.states]
        i, going = self.fresh("i"), self.fresh("going")
        rows = {r.out: r.out for r in step.reads}
        with self.inner() as nodes:
            self.types[i] = TensorType("int64", ())
            for s, names in zip(step.states, before, strict=True):
                self.types |= dict.fromkeys(names, s.type)
                for k, name in s.taps:
                    self.node("Identity", [names[s.depth - k]], s.type, name)
            for r in step.reads:
                self.types[r.out] = r.type
                if not as_scan:
                    self.node("Gather", [r.source, i], r.type, rows[r.out], axis=0)
            self.steps(step.body)
            after = [
                self.node("Identity", [name], s.type, self.fresh("s"))
                for s, names in zip(step.states, before, strict=True)
                for name in (*names[1:], s.update)
            ]
            kept = [self.node("Identity", [k.value], self.types[k.value], self.fresh("k")) for k in step.keeps]
            ends = [] if as_scan else [self._going(step)]
        states = [self.info(n, s.type) for s, names in zip(step.states, before, strict=True) for n in names]
        new = [self.info(n, self.types[n]) for n in (*after, *kept)]
        flat = [name for names in init for name in names]
        traces = [self.fresh("trace") for _ in step.keeps]
        outs, types = [*(self.fresh("last") for _ in flat), *traces], [*[None] * len(flat), *self._traces(step)]
        if as_scan:
            xs = [self.cut(r.source, None, step.steps) for r in step.reads]
            body = self.graph(
                nodes, self.fresh("body"), [*states, *(self.info(r.out, r.type) for r in step.reads)], new
            )
            self.nodes("Scan", [*flat, *xs], outs, types, body=body, num_scan_inputs=len(xs))
        else:
            infos = [self.info(i, TensorType("int64", ())), self.info(going, TensorType("bool", ()))]
            body = self.graph(nodes, self.fresh("body"), [*infos, *states], [self.info(ends[0], TensorType("bool", ())), *new])  # fmt: skip  # noqa: E501
            self.nodes("Loop", [step.steps, "", *flat], outs, types, body=body)
        for keep, trace in zip(step.keeps, traces, strict=True):
            self._keep(keep, trace)

    def _rows(self, init: str, depth: int) -> list[str]:
        """The names of the rows of an initial state, oldest first."""
        row = TensorType(self.types[init].dtype, self.types[init].shape[1:])
        return [self.node("Gather", [init, self.constant(k, "int64")], row, axis=0) for k in range(depth)]

    def _going(self, step: Loop) -> str:
        scalar = TensorType("bool", ())
        if step.until is None:
            return self.node("Identity", [self.constant(True)], scalar, self.fresh("going"))
        return self.node("Not", [step.until], scalar, self.fresh("going"))

    def _traces(self, step: Loop) -> list[TensorType]:
        return [TensorType(k.type.dtype, (None, *k.type.shape[1:])) for k in step.keeps]

    def _keep(self, keep: Keep, trace: str) -> None:
        """Write the last rows of a trace that are kept."""
        self.types[keep.out] = keep.type
        if keep.rows is None:
            self.node("Identity", [trace], keep.type, keep.out)
        elif isinstance(keep.rows, int) and keep.rows > 0:
            ends = [self.constant([n], "int64") for n in (-keep.rows, 2**63 - 1, 0)]
            self.node("Slice", [trace, *ends], keep.type, keep.out)
        else:
            count = self.vector(self.constant(0, "int64") if isinstance(keep.rows, int) else keep.rows)
            total = self.node("Shape", [trace], TensorType("int64", (1,)), end=1)
            low = self.node("Sub", [total, count], TensorType("int64", (1,)))
            low = self.node("Max", [low, self.constant([0], "int64")], TensorType("int64", (1,)))
            self.node("Slice", [trace, low, total, self.constant([0], "int64")], keep.type, keep.out)

    # Helpers for several operators

    def vector(self, name: str) -> str:
        """The name of a scalar as a vector of one int64."""
        return self.node("Reshape", [self.cast(name, "int64"), self.constant([1], "int64")], TensorType("int64", (1,)))

    def cut(self, x: str, start: str | None, stop: str) -> str:
        """The name of the rows from start to stop, which are int64 scalars."""
        low = self.constant([0], "int64") if start is None else self.vector(start)
        kind = TensorType(self.dtype(x), (None, *self.types[x].shape[1:]))
        return self.node("Slice", [x, low, self.vector(stop), self.constant([0], "int64")], kind)


def to_onnx(f: Runnable, signature: Signature, name: str) -> Any:
    """The implementation of `f.to_onnx()`: shared variables become constants with their present values."""
    if signature.updates:
        names = ", ".join(describe(x) for x in signature.updates)
        raise ValueError(f"to_onnx: a model updates no shared variables, but this function does: {names}")
    program = f.program
    held = {x.name for x in program.inputs[len(signature.inputs) :]}
    shared = zip(program.inputs[len(signature.inputs) :], signature.shared, strict=True)
    writer = ModelWriter()
    for x, v in shared:
        writer.constant(v.get_value(), x.type.dtype, name=x.name)
    inputs = [x for x in program.inputs if x.name not in held]
    plain = Program(
        tuple(inputs), program.consts, program.steps, program.outputs, program.checks, program.notes
    )  # fmt: skip
    shown = _unique([v.name or f"x{i}" for i, v in enumerate(signature.inputs)], set())
    outs = [v.name or f"y{i}" for i, v in enumerate(signature.outputs)]
    if signature.form == "dict":
        outs = [str(k) for k in signature.keys]
    return writer.model(plain, f.name or name, shown, _unique(outs, set(shown)))


def _unique(names: Sequence[str], taken: set[str]) -> list[str]:
    """The names, changed where needed so that they differ from each other and from those taken."""
    found: list[str] = []
    for name in names:
        while name in taken or name in found:
            name += "_"
        found.append(name)
    return found


_OUTSIDE = "outside:"
"""The prefix of names that users see while a model is written, so that they differ from those of the program."""


def _rename(graph: Any, taken: set[str]) -> None:
    """Remove the prefix from names, in a graph and nested ones; names of the program that are `taken` get a suffix."""

    def new(name: str) -> str:
        return name.removeprefix(_OUTSIDE) if name.startswith(_OUTSIDE) else f"{name}_inside" if name in taken else name

    for x in (*graph.input, *graph.output, *graph.initializer):
        x.name = new(x.name)
    for node in graph.node:
        node.input[:] = [new(name) for name in node.input]
        node.output[:] = [new(name) for name in node.output]
        for a in node.attribute:
            if a.HasField("g"):
                _rename(a.g, taken)
