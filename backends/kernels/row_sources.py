"""Sequences that are computed for a loop alone: each step computes its row, and the sequence is not made.

So it is where the row is read by operations on elements: among these it takes no time to write and read it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from scanopt.array.types import TensorType
from scanopt.backends.kernels.columns import Columns
from scanopt.backends.kernels.folds import Folded
from scanopt.backends.kernels.ir import ONE
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Length, Lookup, Map, Nested, Repeat, Setting
from scanopt.backends.kernels.prefixes import prefix_of
from scanopt.backends.kernels.stages import Fused, Stage, is_few, read_by
from scanopt.program.ir import Read

__all__ = ["with_rows_computed"]

AnyStage = Stage | Columns | Folded


def with_rows_computed(stages: Sequence[AnyStage], wanted: Collection[str], w: Lowering) -> list[AnyStage]:
    """The stages, with such operations moved into the loops.  wanted: names that are read afterwards."""
    found = [*stages]
    for i in range(len(found)):
        for j in reversed(range(i)):
            stage, loop = found[j], found[i]
            if not isinstance(loop, Nested) or any(isinstance(s, Setting) for s in found[j:i]):
                continue  # which perhaps changes what they read
            if isinstance(stage, Fused) and (own := _own(stage, loop, found, wanted, w)):
                found[j] = replace(stage, nodes=[n for n in stage.nodes if n not in own])
                found[i] = _moved(own, loop, w)
    return [s for s in found if not isinstance(s, Fused) or s.nodes]


def _own(
    stage: Fused, loop: Nested, stages: Sequence[AnyStage], wanted: Collection[str], w: Lowering
) -> tuple[Map, ...]:
    """The operations of a stage that only make rows for a loop."""
    if stage.joins or len(stage.axes) < 2 or ONE in stage.axes or is_few(stage.axes[1:]) or prefix_of(loop, w):
        return ()
    need = {r.source for r in loop.loop.reads if _is_read_by_element(r.out, loop, w)}
    own: list[Map] = []
    for n in reversed(stage.nodes):
        if n.out in need and not isinstance(n, Lookup | Repeat):
            own.insert(0, n)
            need |= {*n.args}
    outs = {n.out for n in own}
    others = {a for s in stages if s is not stage and s is not loop and not isinstance(s, Length) for a in read_by(s)}
    others |= {a for n in stage.nodes if n not in own for a in n.args}
    others |= {s.init for s in loop.loop.states} | {loop.loop.steps} | {a for n in loop.nodes for a in n.args}
    others |= {r.source for r in loop.loop.reads if not _is_read_by_element(r.out, loop, w)}
    fit = all(len(w.axes(a)) < len(stage.axes) or w.axes(a)[0] != ONE for n in own for a in n.args)
    return tuple(own) if fit and not outs & (others | {*wanted}) else ()


def _is_read_by_element(row: str, loop: Nested, w: Lowering) -> bool:
    """Whether only operations on elements of its shape read a row."""
    readers = [n for n in loop.nodes if row in n.args]
    others = {s.update for s in loop.loop.states} | {k.value for k in loop.loop.keeps} | {loop.loop.until}
    alike = all(isinstance(n, Map) and w.axes(n.out) == w.axes(row) for n in readers)
    return bool(readers) and alike and row not in others


def _moved(own: Sequence[Map], loop: Nested, w: Lowering) -> Nested:
    """A loop that computes its rows."""
    rows = {n.out: f"{n.out}@{loop.loop.steps}" for n in own}
    rows |= {r.source: r.out for r in loop.loop.reads if r.source in rows}
    reads = [r for r in loop.loop.reads if r.source not in rows]
    size = len(w.axes(own[0].out))
    for a in dict.fromkeys(a for n in own for a in n.args):
        if a not in rows and len(w.axes(a)) == size:
            rows[a] = f"{a}@{loop.loop.steps}"
            reads.append(Read(rows[a], a, TensorType(w.dtype(a), (None,) * (size - 1))))
    for name, row in rows.items():
        w.name_row(row, name)
    nodes = [replace(n, out=rows[n.out], args=tuple(rows.get(a, a) for a in n.args), like=rows[n.out]) for n in own]
    args = dict.fromkeys((*(r.source for r in reads), *(a for n in nodes for a in n.args), *loop.args))
    inside = {*rows.values()}
    gone = {n.out for n in own}
    return Nested(
        replace(loop.loop, reads=tuple(reads)), (*nodes, *loop.nodes), tuple(a for a in args if a not in inside | gone)
    )
