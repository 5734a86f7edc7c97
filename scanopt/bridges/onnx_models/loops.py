"""If, Loop and Scan of ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.onnx_models.reading import Graph, OnnxNode, rule
from scanopt.lax.branches import cond
from scanopt.loops import carry as carried
from scanopt.loops.until import until

_MOST = 2**63 - 1
"""A limit that no loop reaches."""


def _body(node: OnnxNode, graph: Any, values: Sequence[Variable]) -> list[Variable]:
    """The results of a graph inside a node for these inputs; it can also read the names around it."""
    names = [x.name for x in graph.input]
    return Graph(dict(node.scope)).read(graph, dict(zip(names, values, strict=True)))


@rule("If")
def _if(node: OnnxNode) -> list[Variable]:
    test = T.reshape(node.x(), ())
    sides = [node.get("then_branch"), node.get("else_branch")]
    if isinstance(node.x(), Constant):
        return _body(node, sides[0 if bool(np.asarray(node.known(0)).reshape(())) else 1], ())
    functions = [lambda g=g: tuple(_body(node, g, ())) for g in sides]
    return list(cond(test, *functions))


@rule("Loop")
def _loop(node: OnnxNode) -> list[Variable]:
    """Loop: runs at most M steps, while the condition holds."""
    graph, most, test = node.get("body"), node.optional(0), node.optional(1)
    init = tuple(node.x(i) for i in range(2, len(node.inputs)))
    steps: Any = _MOST if most is None else T.reshape(most, ())
    if isinstance(steps, Variable) and not isinstance(steps, Constant):
        steps = T.maximum(steps, 0)
    endless = _goes_on(graph)
    if test is not None and not (isinstance(test, Constant) and bool(np.asarray(test.data).reshape(()))):
        steps = T.where(T.reshape(test, ()), steps, 0)
    elif isinstance(steps, Constant):
        steps = max(int(steps.data), 0)

    def step(carry: Any, _: Any) -> Any:
        i, states = carry
        going, *found = _body(node, graph, [i, Constant(np.asarray(True)), *states])
        rest = (i + np.int64(1), tuple(found[: len(init)])), tuple(found[len(init) :])
        return rest if endless else (*rest, until(T.logical_not(T.reshape(going, ()))))

    start = (Constant(np.int64(0)), init)
    (_, last), rows = carried.loop(step, start, None, steps)
    return [*last, *rows]


def _goes_on(graph: Any) -> bool:
    """Whether a body returns its condition unchanged, so that it never ends the loop."""
    out = graph.output[0].name
    if out == graph.input[1].name:
        return True
    made = next((n for n in graph.node if out in n.output), None)
    if made is not None and made.op_type == "Identity":
        return bool(made.input[0] == graph.input[1].name)
    return False


@rule("Scan")
def _scan(node: OnnxNode) -> list[Variable]:
    """Scan: runs over axes of its inputs, forwards or backwards, and stacks results along given axes."""
    graph, count = node.get("body"), int(node.get("num_scan_inputs"))
    given = [node.x(i) for i in range(len(node.inputs))]
    init, xs = tuple(given[: len(given) - count]), given[len(given) - count :]
    axes = [a % x.ndim for a, x in zip(node.get("scan_input_axes", [0] * count), xs, strict=True)]
    backwards = node.get("scan_input_directions", [0] * count)
    rows = tuple(_turned(T.moveaxis(x, a, 0), d) for x, a, d in zip(xs, axes, backwards, strict=True))

    def step(carry: tuple[Variable, ...], x: tuple[Variable, ...]) -> Any:
        found = _body(node, graph, [*carry, *x])
        return tuple(found[: len(init)]), tuple(found[len(init) :])

    last, traces = carried.loop(step, init, rows)
    out_axes = node.get("scan_output_axes", [0] * len(traces))
    turns = node.get("scan_output_directions", [0] * len(traces))
    moved = [T.moveaxis(_turned(y, d), 0, a % y.ndim) for y, a, d in zip(traces, out_axes, turns, strict=True)]
    return [*last, *moved]


def _turned(x: Variable, backwards: int) -> Variable:
    found: Variable = T.flip(x, 0) if backwards else x
    return found
