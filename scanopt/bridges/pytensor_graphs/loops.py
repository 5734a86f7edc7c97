"""Reads Scan nodes of PyTensor, slot by slot.

In PyTensor a state is a buffer with the rows before the first step, then one row for each step.  Here the initial
rows are the input, and the rows of the steps are the output.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.op import step_of
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.pytensor_graphs.indexing import part
from scanopt.bridges.pytensor_graphs.performing import type_of
from scanopt.bridges.pytensor_graphs.reading import Reader, TensorNode, rule
from scanopt.loops.location import user_location
from scanopt.loops.node import MitMot, MitSot, NitSot, NonSequence, Requirement, Scan, Sequence, SitSot
from scanopt.loops.steps import first_rows, literal, requirement


@rule("Scan")
def _scan(node: TensorNode) -> list[Any]:
    op, info, given = node.op, node.op.info, node.node.inputs
    values = dict(zip(map(id, given), node.inputs, strict=True))
    inner = {v: Variable(type_of(v.type, f"{v} of {op}"), v.name) for v in op.inner_inputs}
    n = T.cast(node.inputs[0], "int64")
    n = Constant(np.maximum(n.data, 0)) if isinstance(n, Constant) else n

    def outer(pick: Any) -> list[Any]:
        return [values[id(v)] for v in pick(given)]

    with step_of(n.operand):
        computed = dict(zip(op.inner_outputs, Reader(dict(inner)).read(op.inner_outputs), strict=True))
    results = [computed[v] for v in op.inner_outputs]
    feed_in, feed_out = iter(op.inner_inputs), iter(results)
    sequences = [Sequence(first_rows(x, n), inner[next(feed_in)], 0) for x in outer(op.outer_seqs)]
    mit_mots = [
        MitMot(
            x, tuple(ins), tuple(outs), tuple(inner[next(feed_in)] for _ in ins), tuple(next(feed_out) for _ in outs)
        )
        for x, ins, outs in zip(outer(op.outer_mitmot), info.mit_mot_in_slices, info.mit_mot_out_slices, strict=True)
    ]
    mit_sots, starts = [], []
    for x, taps in zip(outer(op.outer_mitsot), info.mit_sot_in_slices, strict=True):
        init = _initial(x, -min(taps))
        starts.append((x, init, -min(taps)))
        mit_sots.append(MitSot(init, tuple(taps), tuple(inner[next(feed_in)] for _ in taps), next(feed_out)))
    sit_sots = []
    for x in outer(op.outer_sitsot):
        init = _initial(x, 1)
        starts.append((x, init, 1))
        sit_sots.append(SitSot(part(init, (0,)), inner[next(feed_in)], next(feed_out)))
    nit_values = [next(feed_out) for _ in range(info.n_nit_sot)]
    untraced = [SitSot(x, inner[next(feed_in)], next(feed_out)) for x in outer(op.outer_untraced_sit_sot)]
    held = [NonSequence(x, inner[next(feed_in)]) for x in outer(op.outer_non_seqs)]
    until = next(feed_out) if info.as_while else None
    if until is not None and until.dtype != "bool":
        until = T.neq(until, Constant(np.zeros((), until.dtype)))
    made = Scan(
        n_steps=n, sequences=tuple(sequences), mit_mots=tuple(mit_mots), mit_sots=tuple(mit_sots),
        sit_sots=(*sit_sots, *untraced), nit_sots=tuple(map(NitSot, nit_values)), non_sequences=tuple(held),
        until=until, name=op.name or None, location=user_location(),
        requires=_requires(op, starts, outer(op.outer_nitsot), n, "eq" if op.truncate_gradient == -1 else "ge"),
    )  # fmt: skip
    return _outputs(made, starts, len(untraced), outer(op.outer_nitsot), op.truncate_gradient != -1)


def _outputs(made: Scan, starts: list[Any], untraced: int, sizes: list[Any], truncated: bool) -> list[Any]:
    """The outputs of PyTensor's node: buffers of mit-mots and of states, traces, last values of untraced states."""
    found = list(made.mit_mot_outputs)
    traces = iter(made.outputs[: len(made.traced)])
    for buffer, init, depth in starts:
        parts = [init, next(traces)]
        if truncated:  # rows that the gradient did not reach are 0
            left = T.maximum(T.shape(buffer)[0] - T.shape(parts[1])[0] - depth, 0)
            parts.append(T.zeros((left, *T.shape(parts[1])[1:]), parts[1].dtype))
        found.append(T.concatenate(parts, 0))
    lasts = [_last(made, s.init_outer, next(traces)) for s in made.sit_sots[len(made.sit_sots) - untraced :]]
    return [*found, *(_filled(y, size) if truncated else y for y, size in zip(traces, sizes, strict=True)), *lasts]


def _filled(rows: Variable, size: Any) -> Variable:
    """The rows, followed by zeros up to `size` rows."""
    left = T.maximum(T.cast(size, "int64") - T.shape(rows)[0], 0)
    found: Variable = T.concatenate([rows, T.zeros((left, *T.shape(rows)[1:]), rows.dtype)], 0)
    return found


def _last(made: Scan, init: Variable, trace: Variable) -> Variable:
    if made.static_steps:
        return trace[-1]
    found: Variable = T.concatenate([T.expand_dims(init, 0), trace], 0)[-1]
    return found


def _initial(buffer: Variable, depth: int) -> Variable:
    """The rows of a buffer before the first step: the array that was written there, if the graph shows it."""
    made: Any = buffer.owner
    if made is not None and getattr(made, "op", None) is not None and made.op.name == "setitem":
        base, y, *bounds = made.inputs
        (index,) = made.op.options["index"] if len(made.op.options["index"]) == 1 else (None,)
        first = isinstance(index, tuple) and index[1] in (None, 0) and index[3] in (None, 1)
        if first and y.ndim == base.ndim and y.type.shape[0] == depth and not (len(bounds) and bounds[0].ndim):
            return y  # type: ignore[no-any-return]
    rows: Variable = buffer[:depth]
    return rows


def _requires(made: Any, starts: list[Any], sizes: list[Any], n: Variable, relation: str) -> tuple[Requirement, ...]:
    """Checks that buffers have a row for each step and the initial ones, as before PyTensor's rewrites shorten them."""
    found: list[Requirement] = []
    rows = [(T.shape(buffer)[0], depth) for buffer, _, depth in starts] + [(T.cast(s, "int64"), 0) for s in sizes]
    for length, depth in rows:
        expected = n + np.int64(depth) if depth else n
        if not _equal(length, expected):
            text = (
                f"a buffer of {literal(str(made))} has {{found}} rows, but {{expected}} are written: exclude the "
                "rewrites of PyTensor that shorten buffers ('scan_save_mem')"
            )
            found.append(requirement("init", length, expected, text, relation))
    return tuple(found)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Constant) and isinstance(b, Constant):
        return bool(a.data == b.data)
    made = getattr(a, "owner", None)
    return a is b or (made is not None and made.op.name == "cast" and made.inputs[0] is b)
