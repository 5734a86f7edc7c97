"""`scanopt.axis_pattern(f)`: how each axis of each output depends on each axis of each input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scanopt.array.shapes import axes_text
from scanopt.array.shown import quoted, shown
from scanopt.array.variable import Variable
from scanopt.compilation.callable import Runnable
from scanopt.compilation.compiled_function import Function
from scanopt.loops.site import show
from scanopt.records import dataclass
from scanopt.scale.axes import Flow, kinds_of
from scanopt.scale.kinds import Kind

__all__ = ["AxisPattern", "axis_pattern", "graph_of", "lanes_of", "output_names", "results_of"]


@dataclass(frozen=True)
class AxisPattern:
    """The kinds of all outputs: `pattern[(input, axis)][output]` is a kind; prints as a table in words.

    The kinds of `scanopt.scale.kinds`: `LaneKind(k)`, one entry of the output along its axis k for each entry of the
    input along the given axis; `WHOLE`, independent of it; `Partial(op)`, the outputs of parts combined by op; `LAST`,
    the output of the last part; `Mixed`, dependent on several entries at once, with the reason.
    """

    kinds: Mapping[tuple[str, int], Mapping[str, Kind]]

    def __getitem__(self, key: tuple[str, int]) -> Mapping[str, Kind]:
        return self.kinds[key]

    def __str__(self) -> str:
        return "\n".join(
            f"{name} along axis {axis} -> {output}: {kind}"
            for (name, axis), row in self.kinds.items()
            for output, kind in row.items()
        )


def graph_of(f: Runnable) -> tuple[list[Variable], list[Variable]]:
    """The inputs and outputs of a function's graph: the one that was compiled, or that of a saved program."""
    inputs, results = results_of(f)
    return inputs, results[: len(f.outputs)]


def results_of(f: Runnable) -> tuple[list[Variable], list[Variable]]:
    """As `graph_of`, with the new values of shared variables and of inputs after the outputs."""
    s = f._signature
    if isinstance(f, Function):
        return list(s.inputs), list(s.results)
    outputs, updates = f.to_graph()
    return list(s.inputs), [*outputs, *updates.values()]


def output_names(f: Runnable) -> list[str]:
    """The names of the outputs in texts: their keys, their names, or their numbers."""
    s = f._signature
    if s.form == "dict":
        return [shown(k) for k in s.keys]
    names = [shown(v.name) if v.name else "" for v in s.outputs]
    return [n if n and names.count(n) == 1 else f"output {i}" for i, n in enumerate(names)]


def lanes_of(f: Runnable, over: Any, what: str) -> dict[int, int]:
    """`over` in normal form: by number of input the axis counted from the front.  Raises TypeError, ValueError."""
    inputs = f.inputs
    if not isinstance(over, Mapping) or not over:
        raise TypeError(
            f'{what} needs over={{"x": 0}}, the axis to divide of each input that has one; found {show(over)}'
        )
    found: dict[int, int] = {}
    names = [v.name for v in inputs]
    for key, axis in over.items():
        place = key if type(key) is int else names.index(key) if names.count(key) == 1 else None
        if place is None or not 0 <= place < len(inputs):
            known = ", ".join(quoted(n) for n in names if n) or f"0 to {len(inputs) - 1}, as none has a name"
            raise ValueError(f"{what}: over names {show(key)}, which is not an input of {f!r}: it has {known}")
        v = inputs[place]
        if type(axis) is not int or not -v.ndim <= axis < v.ndim:
            raise ValueError(f"{what}: over gives {v!r} the axis {show(axis)}: it has {axes_text(v.ndim)}")
        found[place] = axis % v.ndim
    return found


def flow_of(f: Runnable, lanes: Mapping[int, int]) -> tuple[Flow, Sequence[Variable]]:
    """The kinds of f's outputs when these inputs are divided, and the outputs.  lanes: the axis by number of input."""
    inputs, outputs = graph_of(f)
    flow = kinds_of(outputs, {inputs[i]: a for i, a in lanes.items()})
    return flow, outputs


def axis_pattern(f: Runnable) -> AxisPattern:
    """How each output depends on each axis of each input, derived from the graph.

    f: a compiled or loaded function.  The result of an operator without a rule counts as dependent.

    >>> from scanopt import function, tensor as T
    >>> x = T.dmatrix("x")
    >>> print(axis_pattern(function([x], {"y": T.exp(x), "s": x.sum(axis=0)})))
    x along axis 0 -> y: along axis 0
    x along axis 0 -> s: combined by add
    x along axis 1 -> y: along axis 1
    x along axis 1 -> s: along axis 0
    """
    if not isinstance(f, Runnable):
        raise TypeError(f"axis_pattern is asked of a compiled function, found {show(f)}")
    names, found = output_names(f), {}
    for i, v in enumerate(f.inputs):
        for axis in range(v.ndim):
            flow, outputs = flow_of(f, {i: axis})
            found[v.name or f"input {i}", axis] = {n: flow.kinds[o] for n, o in zip(names, outputs, strict=True)}
    return AxisPattern(found)
