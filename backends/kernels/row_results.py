"""A pass on stages: moves elementwise operations on the rows that a loop keeps into its steps.

The loop then keeps their results in place of the rows, which need not be stored and loaded again.  The pass is right if
nothing else reads the rows; each element is computed by the same operations as before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from scanopt.array.types import TensorType
from scanopt.backends.kernels.columns import Columns
from scanopt.backends.kernels.folds import Folded
from scanopt.backends.kernels.ir import ONE
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Length, Lookup, Map, Nested, Repeat, Setting
from scanopt.backends.kernels.stages import Fused, Stage, is_few, read_by
from scanopt.program.ir import Keep

__all__ = ["with_traces_computed"]

AnyStage = Stage | Columns | Folded


def with_traces_computed(stages: Sequence[AnyStage], wanted: Collection[str], w: Lowering) -> list[AnyStage]:
    """Let loops keep the results of operations on their rows, if nothing else reads these rows."""
    found = [*stages]
    for i in range(len(found)):
        for j in range(i + 1, len(found)):
            loop, stage = found[i], found[j]
            if not isinstance(loop, Nested) or any(isinstance(s, Setting) for s in found[i:j]):
                continue
            if isinstance(stage, Fused) and (own := _of_traces(stage, i, found, w)):
                left = replace(stage, nodes=[n for n in stage.nodes if n not in own])
                others = [s for k, s in enumerate(found) if k not in (i, j) and not isinstance(s, Length)]
                read = {a for s in (left, *others) for a in read_by(s)} | {*wanted}
                if not read & {k.out for k in loop.loop.keeps} & {a for n in own for a in n.args}:
                    found[i], found[j] = _kept(own, read, loop, w), left
    return [s for s in found if not isinstance(s, Fused) or s.nodes]


def _of_traces(stage: Fused, at: int, stages: Sequence[AnyStage], w: Lowering) -> tuple[Map, ...]:
    """The operations of a stage that work on all rows that a loop keeps."""
    loop = stages[at]
    if not isinstance(loop, Nested) or loop.loop.until is not None or stage.joins:
        return ()
    numbers = len(stage.axes) == 1  # operations on numbers run faster on all of them, but a cast is part of storing one
    if not stage.axes or ONE in stage.axes or (not numbers and is_few(stage.axes[1:])):
        return ()
    traces = {k.out for k in loop.loop.keeps if k.rows is None and w.axes(k.out) == stage.axes}
    late = {name for s in stages[at:] for name in _made(s)}
    own: list[Map] = []
    for n in stage.nodes:
        if numbers and not (n.op == "copy" and np.dtype(n.dtype).itemsize >= 4):  # a cast; one to bytes takes no time
            continue
        made = traces | {m.out for m in own}
        if not isinstance(n, Lookup | Repeat) and all(
            a in made or (a not in late and _is_row(a, stage, w)) for a in n.args
        ):
            own += [n] if made & {*n.args} else []
    return tuple(own)


def _is_row(name: str, stage: Fused, w: Lowering) -> bool:
    return len(w.axes(name)) < len(stage.axes)


def _made(stage: AnyStage) -> set[str]:
    return {n.out for n in stage.nodes} if isinstance(stage, Fused) else {*stage.outs}


def _kept(own: Sequence[Map], read: Collection[str], loop: Nested, w: Lowering) -> Nested:
    """A loop that computes these operations and keeps those of their results that are read."""
    rows = {k.out: k.value for k in loop.loop.keeps if k.rows is None}
    gone = {a for n in own for a in n.args}
    for n in own:
        rows[n.out] = f"{n.out}@{loop.loop.steps}"
        w.name_row(rows[n.out], n.out)
    nodes = [replace(n, out=rows[n.out], args=tuple(rows.get(a, a) for a in n.args), like=rows[n.out]) for n in own]
    shape = (None,) * len(w.axes(own[0].out))
    keeps = [k for k in loop.loop.keeps if k.out not in gone]
    keeps += [Keep(n.out, rows[n.out], None, TensorType(n.dtype, shape)) for n in own if n.out in read]
    args = dict.fromkeys((*loop.args, *(a for n in own for a in n.args if a not in rows)))
    return Nested(replace(loop.loop, keeps=tuple(keeps)), (*loop.nodes, *nodes), tuple(args))
