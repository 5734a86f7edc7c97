"""A pass on stages: fuses a loop that sums matrices with the elementwise operations that make these matrices.

Gradients of weights are an example: they sum outer products.  The sequence of matrices is never stored: a block of
elements goes through all steps with its sums in registers, and each matrix element is computed when it is added.  The
order of additions is that of the steps, so the bits do not change.  Nothing else may read the matrices.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scanopt.backends.kernels.columns import Columns
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Declare,
    Do,
    Expr,
    For,
    If,
    Let,
    Lit,
    Load,
    Steps,
    Stmt,
    Store,
    Var,
    plus,
    times,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering, operation
from scanopt.backends.kernels.nodes import Length, Lookup, Map, Nested, Repeat, Setting
from scanopt.backends.kernels.stages import Fused, Stage, is_few
from scanopt.backends.kernels.step_counts import checked
from scanopt.backends.kernels.values import Axes, Scalar, element_of
from scanopt.records import dataclass

__all__ = ["Folded", "with_folds", "write_fold"]

WIDTH = 32
"""Elements of a block: in a loop over a fixed number of them, compilers keep them in vector registers."""
MOST = 4
"""The most states: the states of a block are in registers together."""


@dataclass(frozen=True)
class Folded:
    """Elementwise operations that make some matrices, and the loop that reads these, row by row.

    axes: of the matrices, those of the steps first.
    """

    axes: Axes
    nodes: tuple[Map, ...]
    loop: Nested

    @property
    def outs(self) -> tuple[str, ...]:
        """The names that it defines."""
        return self.loop.outs

    @property
    def args(self) -> tuple[str, ...]:
        """The names that it reads."""
        made = {n.out for n in self.nodes}
        read = [a for n in self.nodes for a in n.args]
        return tuple(a for a in dict.fromkeys((*read, *self.loop.args)) if a not in made)


def with_folds(
    stages: Sequence[Stage | Columns], wanted: Collection[str], w: Lowering
) -> list[Stage | Columns | Folded]:
    """Fuse such loops with the operations that make their matrices.  wanted: names that are read afterwards."""
    found: list[Stage | Columns | Folded] = [*stages]
    for i, stage in enumerate(stages):
        if not isinstance(stage, Nested) or not _puts_together(stage, w):
            continue
        sources = {r.source for r in stage.loop.reads}
        for j, made in enumerate(stages[:i]):
            own = _made_for(stage, made, stages, wanted) if isinstance(made, Fused) else ()
            between = any(isinstance(s, Setting) for s in stages[j:i])  # it may change an operand of theirs
            if not isinstance(made, Fused) or not own or between or not sources <= {n.out for n in own}:
                continue
            rest = found[j]
            assert isinstance(rest, Fused)
            found[j] = Fused(rest.axes, [n for n in rest.nodes if n not in own])
            found[i] = Folded(made.axes, own, stage)
    return [s for s in found if not isinstance(s, Fused) or s.nodes]


def _puts_together(node: Nested, w: Lowering) -> bool:
    """Whether a loop's states are matrices of one shape, it keeps only the last ones, and its steps are elementwise."""
    loop = node.loop
    axes = w.axes(loop.states[0].update) if loop.states else ()
    updates = {s.update for s in loop.states}
    if loop.until is not None or len(axes) != 2 or is_few(axes) or len(updates) > MOST or not loop.reads:
        return False
    if any(s.depth != 1 or w.axes(s.update) != axes for s in loop.states):
        return False
    if any(w.axes(r.out) != axes for r in loop.reads):
        return False
    if any(k.rows != 1 or k.start is not None or k.value not in updates for k in loop.keeps):
        return False
    inside = {tap for s in loop.states for _, tap in s.taps} | {r.out for r in loop.reads}
    inside |= {n.outs[0] for n in node.nodes}
    maps = all(isinstance(n, Map) and not isinstance(n, Repeat) and w.axes(n.out) == axes for n in node.nodes)
    return maps and updates <= inside and all(a in inside or not w.axes(a) for n in node.nodes for a in n.args)


def _made_for(loop: Nested, made: Fused, stages: Sequence[Stage | Columns], wanted: Collection[str]) -> tuple[Map, ...]:
    """The operations of a stage whose results only this loop reads, as sequences."""
    if len(made.axes) != 3 or made.joins:
        return ()
    need = {r.source for r in loop.loop.reads}
    own: list[Map] = []
    for n in reversed(made.nodes):
        if n.out in need:
            own.insert(0, n)
            need |= {*n.args}
    outs = {n.out for n in own}
    others = [n for n in made.nodes if n not in own]
    others_read = {a for s in (*others, *(s for s in stages if s is not made and s is not loop)) for a in _args(s)}
    inits = {s.init for s in loop.loop.states} | {loop.loop.steps} | {a for n in loop.nodes for a in n.args}
    return (
        ()
        if outs & (others_read | inits | {*wanted}) or any(isinstance(n, Lookup | Repeat) for n in own)
        else tuple(own)
    )


def _args(stage: Stage | Columns) -> set[str]:
    """The arrays whose elements a stage reads."""
    if isinstance(stage, Length):
        return set()
    if isinstance(stage, Fused):
        return {a for n in stage.nodes for a in n.args} | {a for n in stage.joins for a in n.args}
    return {*stage.args}


def write_fold(stage: Folded, w: Lowering) -> None:
    """Write a fused loop: over blocks of columns, then rows, then all steps of the elements of a block."""
    node = stage.loop
    outs = [w.place(k.out) for k in node.loop.keeps]
    steps, (_, rows, columns) = checked(w, node), stage.axes
    block, left, row = w.fresh("b"), w.fresh("k"), w.fresh("i")
    start = times(Var(block), Lit(WIDTH))
    full, rest = (_elements(stage, outs, (Var(row), start), width, steps, w) for width in (Lit(WIDTH), Var(left)))
    body = (
        Let(left, Do("subtract", (columns, start), INDEX, INDEX), INDEX),
        If(
            Do("greater_equal", (Var(left), Lit(WIDTH)), "bool", INDEX),
            (Steps(row, rows, full),),
            (Steps(row, rows, rest),),
        ),
    )
    blocks = Do("right_shift", (plus(columns, Lit(WIDTH - 1)), Lit(WIDTH.bit_length() - 1)), INDEX, INDEX)
    w.code.append(Steps(block, blocks, body))


def _elements(
    stage: Folded, outs: Sequence[str], place: tuple[Expr, Expr], width: Expr, steps: Expr, w: Lowering
) -> tuple[Stmt, ...]:
    """Statements for all steps of a block of elements in a row.  place: the row and the first element."""
    loop, (row, start) = stage.loop.loop, place
    states, axes = loop.states, stage.axes[1:]
    kept = [w.fresh("s") for _ in states]
    i, t = w.fresh("i"), w.fresh("t")
    here = [row, plus(start, Var(i))]
    body: list[Stmt] = [Declare(name, s.type.dtype, WIDTH) for name, s in zip(kept, states, strict=True)]
    first = [element_of(w.value(s.init), [ZERO, *here], (ONE, *axes)) for s in states]
    body.append(For(i, width, tuple(Store(name, Var(i), x) for name, x in zip(kept, first, strict=True))))
    step: list[Stmt] = []
    mine: dict[str, Scalar] = {}
    for name, s in zip(kept, states, strict=True):
        for _, tap in s.taps:
            step.append(Let(variable := w.fresh("v"), Load(name, Var(i), s.type.dtype), s.type.dtype))
            mine[tap] = Scalar(Var(variable, s.type.dtype), s.type.dtype)
    for n in stage.nodes:
        _computed(n, [Var(t), *here], stage.axes, mine, step, w)
    mine |= {r.out: mine[r.source] for r in loop.reads}
    for node in stage.loop.nodes:
        assert isinstance(node, Map)
        _computed(node, here, axes, mine, step, w)
    step += [Store(name, Var(i), mine[s.update].value) for name, s in zip(kept, states, strict=True)]
    body.append(Steps(t, steps, (For(i, width, tuple(step)),)))
    updates = [s.update for s in states]
    flat = plus(times(row, axes[1]), plus(start, Var(i)))
    last = [(out, kept[updates.index(k.value)], k.type.dtype) for out, k in zip(outs, loop.keeps, strict=True)]
    body.append(For(i, width, tuple(Store(out, flat, Load(name, Var(i), dtype)) for out, name, dtype in last)))
    return tuple(body)


def _computed(
    n: Map, places: Sequence[Expr], axes: Axes, mine: dict[str, Scalar], code: list[Stmt], w: Lowering
) -> None:
    values = [mine[a] if a in mine else w.value(a) for a in n.args]
    found = [element_of(v, places, axes) for v in values]
    name = w.fresh("v")
    code.append(Let(name, operation(n, found, [v.dtype for v in values]), n.dtype))
    mine[n.out] = Scalar(Var(name, n.dtype), n.dtype)
