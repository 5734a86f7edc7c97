"""A pass on stages: moves elementwise operations that compute a sequence into the loop that reads it.

Each step computes its own row, and the sequence is not stored.  The pass is right if only this loop reads the sequence,
and it pays if elementwise operations read the row.  If its first row is also read outside the loop, that is computed
again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from scanopt.array.types import TensorType
from scanopt.backends.kernels.columns import Columns
from scanopt.backends.kernels.folds import Folded
from scanopt.backends.kernels.ir import ONE
from scanopt.backends.kernels.joined_rows import is_first_row
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Length, Lookup, Map, Nested, Repeat, RowAt, Setting, Take, View
from scanopt.backends.kernels.prefixes import prefix_of
from scanopt.backends.kernels.stages import Fused, Stage, is_few, read_by
from scanopt.program.ir import Read
from scanopt.records import dataclass

__all__ = ["with_rows_computed"]

AnyStage = Stage | Columns | Folded
MOST_QUICK = 4
QUICK = {
    "add", "subtract", "multiply", "negative", "copy", "where", "equal", "not_equal", "less", "less_equal", "greater",
    "greater_equal", "maximum", "minimum", "logical_and", "logical_or", "logical_not", "bitwise_and", "bitwise_or",
    "bitwise_xor", "invert",
}  # fmt: skip
"""Operations, and their greatest number, that are moved into steps on scalars; slower ones, or more, are faster
outside the loop, where they are vectorized."""


@dataclass(frozen=True)
class _Source:
    """An array of which a loop reads a row per step, and the name of the row.  shift: for `RowAt`, see there."""

    row: str
    array: str
    shift: int | None = None


def with_rows_computed(stages: Sequence[AnyStage], wanted: Collection[str], w: Lowering) -> list[AnyStage]:
    """Move such operations into the loops.  wanted: names that are read afterwards."""
    found = [*stages]
    for i in range(len(found)):
        for j in reversed(range(i)):
            stage, loop = found[j], found[i]
            if not isinstance(loop, Nested) or any(isinstance(s, Setting) for s in found[j:i]):
                continue  # it may change an operand
            if isinstance(stage, Fused) and (own := _own(stage, loop, found, wanted, w)):
                found[j] = replace(stage, nodes=[n for n in stage.nodes if n not in own])
                found[i] = _moved(own, loop, w)
                outs = {n.out for n in own}
                found = [x for s in found for x in (_first_row(s, own, w) if _reads_first_row(s, outs) else (s,))]
                return with_rows_computed(found, wanted, w)
    return [s for s in found if not isinstance(s, Fused) or s.nodes]


def _own(
    stage: Fused, loop: Nested, stages: Sequence[AnyStage], wanted: Collection[str], w: Lowering
) -> tuple[Map, ...]:
    """The operations of a stage that only compute rows for a loop."""
    if stage.joins or ONE in stage.axes or is_few(stage.axes) or prefix_of(loop, w):
        return ()
    sources = _sources(loop)
    places = {x.array for x in sources for n in loop.nodes if isinstance(n, Take) and x.row in n.args}
    need = {x.array for x in sources if _is_read_by_element(x.row, loop, w)}
    own: list[Map] = []
    for n in reversed(stage.nodes):
        if n.out in need and not isinstance(n, Lookup | Repeat):
            own.insert(0, n)
            need |= {*n.args}
    outs = {n.out for n in own}
    reading = (s for s in stages if s is not stage and s is not loop)
    others = {a for s in reading if not isinstance(s, Length) and not _reads_first_row(s, outs) for a in read_by(s)}
    others |= {a for n in stage.nodes if n not in own for a in n.args}
    rows = {x.row for x in sources if x.shift is not None}
    others |= {a for n in loop.nodes if n.outs[0] not in rows for a in n.args}
    others |= {s.init for s in loop.loop.states} | {loop.loop.steps}
    others |= {x.array for x in sources if not _is_read_by_element(x.row, loop, w)}
    fit = all(len(w.axes(a)) < len(stage.axes) or w.axes(a)[0] != ONE for n in own for a in n.args)
    if is_few(stage.axes[1:]) and not outs & places:
        return ()
    if len(stage.axes) == 1 or outs & places:
        fit = fit and len(own) <= MOST_QUICK and all(n.op in QUICK for n in own)
    return tuple(own) if fit and not outs & (others | {*wanted}) else ()


def _sources(loop: Nested) -> list[_Source]:
    """The arrays from which the loop reads one row per step."""
    reads = [_Source(r.out, r.source) for r in loop.loop.reads]
    return reads + [_Source(n.out, n.args[0], n.shift) for n in loop.nodes if isinstance(n, RowAt) and not n.behind]


def _is_read_by_element(row: str, loop: Nested, w: Lowering) -> bool:
    """Whether only elementwise operations of its shape read a row, or lookups that use it as places."""
    readers = [n for n in loop.nodes if row in n.args]
    others = {s.update for s in loop.loop.states} | {k.value for k in loop.loop.keeps} | {loop.loop.until}
    alike = all(
        (isinstance(n, Map) and w.axes(n.out) == w.axes(row)) or (isinstance(n, Take) and row in n.args[1:])
        for n in readers
    )
    return bool(readers) and alike and row not in others


def _moved(own: Sequence[Map], loop: Nested, w: Lowering) -> Nested:
    """A loop that computes its rows itself."""
    gone = {n.out for n in own}
    sources = [x for x in _sources(loop) if x.array in gone]
    reads, made = [r for r in loop.loop.reads if r.source not in gone], list[Map | RowAt]()
    for shift in dict.fromkeys(x.shift for x in sources):
        rows = {x.array: x.row for x in sources if x.shift == shift}
        needed, given = _rows_of(own, rows, loop.loop.steps if shift is None else f"{loop.loop.steps}+{shift}", w)
        for a in given:
            if shift is None:
                reads.append(Read(rows[a], a, TensorType(w.dtype(a), (None,) * len(w.axes(rows[a])))))
            else:
                made.append(RowAt(rows[a], (a,), shift, w.dtype(a)))
        made += _at_rows(needed, rows)
        twice = [x for x in sources if x.shift == shift and x.row != rows[x.array]]
        made += [Map(x.row, (rows[x.array],), "copy", (t := w.dtype(x.array),), t, x.row) for x in twice]
    kept = [n for n in loop.nodes if not {x.row for x in sources}.intersection(n.outs)]
    args = dict.fromkeys((*(r.source for r in reads), *(a for n in made for a in n.args), *loop.args))
    inside = {n.out for n in made} | {r.out for r in reads} | gone
    return Nested(replace(loop.loop, reads=tuple(reads)), (*made, *kept), tuple(a for a in args if a not in inside))


def _rows_of(own: Sequence[Map], rows: dict[str, str], which: str, w: Lowering) -> tuple[list[Map], list[str]]:
    """The operations that compute some rows, and the arrays of which they need rows.

    rows: the names of rows, by array; those made here are added.  which: row, a part of their names.
    """
    needed, given = list[Map](), list[str]()
    for n in reversed(own):
        if n.out not in rows:
            continue
        needed.insert(0, n)
        for a in n.args:
            if a not in rows and len(w.axes(a)) == len(w.axes(n.out)):
                rows[a] = f"{a}@{which}"
                w.name_row(rows[a], a)
                given += [] if any(m.out == a for m in own) else [a]
    return needed, given


def _at_rows(own: Sequence[Map], rows: Mapping[str, str]) -> list[Map]:
    """Operations on arrays, rewritten for their rows.  rows: the names of rows, by array."""
    return [replace(n, out=rows[n.out], args=tuple(rows.get(a, a) for a in n.args), like=rows[n.out]) for n in own]


def _reads_first_row(stage: AnyStage, names: Collection[str]) -> bool:
    return isinstance(stage, View) and stage.args[0] in names and is_first_row(stage)


def _first_row(stage: AnyStage, own: Sequence[Map], w: Lowering) -> list[AnyStage]:
    """Stages that compute only the first row of the results of some operations."""
    assert isinstance(stage, View)
    w.stored.add(stage.out)
    rows = {stage.args[0]: stage.out}
    needed, given = _rows_of(own, rows, f"0{stage.out}", w)
    views = [replace(stage, out=rows[a], args=(a,), dtype=w.dtype(a)) for a in given]
    return [*views, Fused(w.axes(stage.out), _at_rows(needed, rows))]
