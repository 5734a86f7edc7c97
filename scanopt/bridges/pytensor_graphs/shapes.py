"""Operators of PyTensor that make, move and join arrays, and operators that leave values unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.batching import dim, dims_of
from scanopt.array.operators.control import ifelse
from scanopt.array.variable import Apply, Constant, Variable
from scanopt.bridges.pytensor_graphs.reading import RULES, Reader, TensorNode, rule
from scanopt.loops.checks_and_prints import Assert


@rule("DimShuffle")
def _dim_shuffle(node: TensorNode) -> Variable:
    x, order = node.inputs[0], node.op.new_order
    kept = [int(i) for i in order if i != "x"]
    dropped = tuple(i for i in range(x.ndim) if i not in kept)
    if dropped:
        made = x.owner
        undone = isinstance(made, Apply) and made.op.name == "expand_dims" and made.op.options["axis"] == dropped
        x = made.inputs[0] if undone and made is not None else T.squeeze(x, dropped)
        kept = [i - sum(d < i for d in dropped) for i in kept]
    new = [k for k, i in enumerate(order) if i == "x"]
    found: Variable = T.transpose(x, tuple(kept)) if kept != sorted(kept) else x
    return T.expand_dims(found, tuple(new)) if new else found


@rule("Shape", "Shape_i")
def _shape(node: TensorNode) -> Variable:
    x = node.inputs[0]
    if type(node.op).__name__ == "Shape_i":
        n = dim(x, int(node.op.i))
        return n if isinstance(n, Variable) else Constant(np.int64(n))
    dims = [n if isinstance(n, Variable) else Constant(np.int64(n)) for n in dims_of(x)]
    if all(isinstance(n, Constant) for n in dims):
        return Constant(np.asarray([n.data for n in dims if isinstance(n, Constant)], np.int64))
    found: Variable = T.stack(dims)
    return found


@rule("MakeVector")
def _make_vector(node: TensorNode) -> Variable:
    if not node.inputs:
        return Constant(np.zeros(0, node.op.dtype))
    found: Variable = T.cast(T.stack(node.inputs), node.op.dtype)
    return found


def entry(x: Variable, i: int) -> Any:
    """Entry i of a vector of lengths; if the vector was stacked, the scalar that was put there."""
    if isinstance(x, Constant):
        return int(x.data[i])
    node = x.owner
    if isinstance(node, Apply) and node.op.name == "stack" and node.op.options["axis"] == 0:
        return _length(node.inputs[i])
    if isinstance(node, Apply) and node.op.name == "cast":
        return entry(node.inputs[0], i)
    return x[i]


def _length(n: Any) -> Any:
    return int(n.data) if isinstance(n, Constant) else T.cast(n, "int64")


@rule("Reshape")
def _reshape(node: TensorNode) -> Variable:
    x, shape = node.inputs
    found: Variable = T.reshape(x, tuple(entry(shape, i) for i in range(node.op.ndim)))
    return found


@rule("Alloc")
def _alloc(node: TensorNode) -> Variable:
    value, *dims = node.inputs
    found: Variable = T.broadcast_to(value, tuple(map(_length, dims)))
    return found


@rule("AllocEmpty")
def _alloc_empty(node: TensorNode) -> Variable:
    found: Variable = T.zeros(tuple(map(_length, node.inputs)), node.op.dtype)
    return found


@rule("Join")
def _join(node: TensorNode) -> Variable:
    if (
        isinstance(node.inputs[0], Variable)
        and len(node.inputs) == len(node.node.inputs)
        and not hasattr(node.op, "axis")
    ):
        axis, parts = int(node.known(0)), node.inputs[1:]
    else:
        axis, parts = int(node.op.axis), node.inputs
    parts = [x for x in parts if x.type.shape[axis] != 0] or parts[:1]
    found: Variable = T.concatenate(parts, axis) if len(parts) > 1 else parts[0]
    return found


@rule("Split")
def _split(node: TensorNode) -> list[Any]:
    x, *rest = node.inputs
    axis = int(node.op.axis) if len(rest) == 1 else int(node.known(1))
    sizes = [entry(rest[-1], i) for i in range(len(node.node.outputs))]
    parts: list[Any] = []
    start: Any = 0
    for n in sizes:
        parts.append(x[(*(slice(None),) * axis, slice(start, start + n))])
        start = start + n
    return parts


@rule("ARange")
def _arange(node: TensorNode) -> Variable:
    start, stop, step = node.inputs
    found: Variable = T.arange(start, stop, step)
    return found


@rule("Eye")
def _eye(node: TensorNode) -> Variable:
    n, m, k = node.inputs
    found: Variable = T.eye(_length(n), _length(m), int(node.known(2)) if isinstance(k, Variable) else 0, dtype=node.op.dtype)  # fmt: skip  # noqa: E501
    return found


@rule("SpecifyShape")
def _specify_shape(node: TensorNode) -> Variable:
    x, *lengths = node.inputs
    found: Variable = T.specify_shape(x, tuple(None if n is None else _length(n) for n in lengths))
    return found


@rule("CheckAndRaise")
def _check(node: TensorNode) -> Variable:
    x, *conditions = node.inputs
    found: Variable = Assert(str(node.op.msg))(x, *conditions)
    return found


@rule(
    "TensorFromScalar", "ScalarFromTensor", "ViewOp", "DeepCopyOp", "Rebroadcast", "Unbroadcast", "IdentityOp",
    "OutputGuard",
)  # fmt: skip
def _same(node: TensorNode) -> Any:
    return node.inputs[0]


@rule("DisconnectedGrad", "ZeroGrad", "UndefinedGrad", "GradClip", "ConsiderConstant", "GradScale")
def _constant_to_gradients(node: TensorNode) -> Any:
    """The first input: operators that only affect gradients do nothing here, as gradients were taken before."""
    return node.inputs[0]


@rule("MakeSlice")
def _make_slice(node: TensorNode) -> slice:
    return slice(*node.inputs)


@rule("IfElse")
def _if_else(node: TensorNode) -> list[Any]:
    test, *sides = node.inputs
    n = node.op.n_outs
    return [ifelse(T.neq(test, 0) if test.dtype != "bool" else test, a, b) for a, b in zip(sides[:n], sides[n:], strict=True)]  # fmt: skip  # noqa: E501


@rule("OpFromGraph")
def _of_graph(node: TensorNode) -> list[Any]:
    """The outputs of the operator's inner graph."""
    graph = node.op.fgraph
    return Reader(dict(zip(graph.inputs, node.inputs, strict=True))).read(graph.outputs)


@rule("Blockwise")
def _blockwise(node: TensorNode) -> list[Any]:
    """Read the inner operator, if ours takes stacks; else run the node by its `perform`."""
    name = type(node.op.core_op).__name__
    if name in _STACKED:
        return [RULES[name](TensorNode(_Core(node.node), node.inputs, node.reader))]
    return Reader._performed(node)


_STACKED = {"Cholesky", "Solve", "SolveTriangular", "SolveBase", "MatrixInverse", "Det", "Dot", "CholeskySolve"}


class _Core:
    """Stands for a node of the operator inside a Blockwise."""

    def __init__(self, node: Any) -> None:
        self.op, self.inputs, self.outputs = node.op.core_op, node.inputs, node.outputs
