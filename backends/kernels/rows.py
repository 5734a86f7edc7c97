"""A pass on stages: fuses reductions into the elementwise operations whose results nothing else reads.

The elements are then not stored.  Axes are gone through in order, as by NumPy's inner loops, so the bits are the same.
Where the last axis of floats is reduced, one row of elements at a time is in memory; integers, for which any order
gives the same, are reduced in variables (`integer_rows.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from scanopt.backends.kernels.columns import Columns
from scanopt.backends.kernels.few_reduced import first_of_few, order_is_known, together
from scanopt.backends.kernels.folds import Folded
from scanopt.backends.kernels.forms import in_c
from scanopt.backends.kernels.integer_rows import Elements, in_any_order, put_together
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Do,
    Expr,
    For,
    Inner,
    Lit,
    Load,
    Point,
    Steps,
    Stmt,
    Store,
    plus,
    product,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import IDENTITY, Extreme, Reduce
from scanopt.backends.kernels.reductions import divided
from scanopt.backends.kernels.stages import Fused, Stage, is_few, read_by
from scanopt.backends.kernels.values import Array, Axes, Scalar, index, item_size, nest, packed
from scanopt.records import dataclass

__all__ = ["ReducedRows", "with_rows", "write_rows"]


Others = Stage | Columns | Folded
End = Reduce | Extreme


@dataclass(frozen=True)
class ReducedRows:
    """Elementwise operations, and reductions of their results over the same axes.

    hidden: results that only these reductions read.
    """

    stage: Fused
    ends: tuple[End, ...]
    hidden: frozenset[str]

    @property
    def outs(self) -> tuple[str, ...]:
        """The names that it defines."""
        return (*(n.out for n in self.stage.nodes), *(e.out for e in self.ends))

    @property
    def args(self) -> tuple[str, ...]:
        """The names that it reads."""
        return tuple(read_by(self.stage) - {n.out for n in self.stage.nodes})

    @property
    def inner(self) -> int:
        """The first axis from which on either all are reduced or none is."""
        axes, gone = self.stage.axes, _gone(self.ends[0])
        kinds = [(i, i in gone) for i, n in enumerate(axes) if n != ONE]
        return next((i + 1 for i, kind in reversed(kinds) if kind != kinds[-1][1]), 0)

    @property
    def to_numbers(self) -> bool:
        """Whether the axes from `inner` on are reduced."""
        return max(i for i, n in enumerate(self.stage.axes) if n != ONE) in _gone(self.ends[0])

    @property
    def at_once(self) -> bool:
        """Whether no axis before `inner` is reduced, so that each row gives one result."""
        return self.to_numbers and all(n == ONE or i not in _gone(self.ends[0]) for i, n in self.outer)

    @property
    def outer(self) -> list[tuple[int, Expr]]:
        """The axes before `inner`, with their lengths."""
        return list(enumerate(self.stage.axes[: self.inner]))


def with_rows(stages: Sequence[Others], wanted: Collection[str]) -> list[Others | ReducedRows]:
    """Fuse reductions into the stages that compute their elements.  wanted: names that are read later."""
    found: list[Others | ReducedRows] = []
    done: set[str] = set()
    for stage in stages:
        if not isinstance(stage, Fused):
            found += [] if done.intersection(stage.outs) else [stage]
            continue
        ends = _ends(stage, stages)
        others = {a for s in stages if s is not stage and s not in ends for a in read_by(s)}
        hidden = frozenset({e.args[0] for e in ends} - others - {*wanted})
        found.append(ReducedRows(stage, ends, hidden) if hidden else stage)
        done |= {e.out for e in ends if hidden}
    return found


def _gone(node: End) -> tuple[int, ...]:
    """The axes that are reduced."""
    return (node.axis,) if isinstance(node, Extreme) else node.axes


def _ends(stage: Fused, stages: Sequence[Others]) -> tuple[End, ...]:
    """The reductions of results of a stage over the same axes; places of extremes only over few elements."""
    if stage.joins or is_few(stage.axes) or product(stage.axes) == ONE:
        return ()
    dtypes = {n.out: n.dtype for n in stage.nodes}
    found = [s for s in stages if isinstance(s, Reduce) and dtypes.get(s.args[0]) == s.dtype and _fits(s, stage.axes)]
    last = len(stage.axes) - 1
    if last and is_few(stage.axes[-1:]):
        extremes = [s for s in stages if isinstance(s, Extreme) and s.args[0] in dtypes and s.axis == last]
        few = [e for e in found if e.axes == (last,) and order_is_known(e.op, e.dtype)]
        if extremes:
            return (*few, *extremes)
    return tuple(e for e in found if e.axes == found[0].axes)


def _fits(node: Reduce, axes: Axes) -> bool:
    """Whether a reduction can be fused: by its neutral element, or of only the last axis by first elements."""
    long = [i for i, n in enumerate(axes) if n != ONE]
    if node.op not in IDENTITY:
        return long[-1] in node.axes and not {*long[:-1]} & {*node.axes}
    return long[-1] in node.axes or in_c(node.op, (node.dtype, node.dtype)) == (node.dtype,) * 3


def write_rows(rows: ReducedRows, w: Lowering, elements: Elements) -> None:
    """Write the loops of a fused stage."""
    axes, gone, inner = rows.stage.axes, _gone(rows.ends[0]), rows.inner
    reduced = tuple(e for e in rows.ends if isinstance(e, Reduce))
    names, places = w.places(axes)
    outs = {n.out: _packed(w.place(n.out), axes, n.dtype) for n in rows.stage.nodes if n.out in w.stored - rows.hidden}
    every = {e: _target(e, axes, w) for e in rows.ends}
    targets = {e: every[e] for e in reduced}
    if not rows.at_once:
        left = tuple(ONE if i in gone else n for i, n in enumerate(axes))
        for e, out in targets.items():
            mine, there = w.places(left)
            w.code += nest(left, mine, (Store(out.pointer, index(ZERO, there, out.strides), _identity(e)),))
    written_out = rows.to_numbers and _has_few(rows) and not w.device
    if written_out:
        body = _few(rows, every, outs, places, elements, w)
    elif rows.to_numbers and not w.device and all(map(in_any_order, reduced)):
        body = put_together(rows.stage, inner, rows.at_once, targets, outs, (names, places), w, elements)
    elif rows.to_numbers:
        body = _row(rows, targets, outs, (names, places), w, elements)
    else:
        made: dict[str, Scalar] = {}
        body = elements(places, outs, made)
        for e, out in targets.items():
            at = index(ZERO, places, out.strides)
            both = (Load(out.pointer, at, e.dtype), made[e.args[0]].value)
            body = (*body, Store(out.pointer, at, Do(e.op, both, e.dtype, e.dtype)))
        body = nest(axes[inner:], names[inner:], body)
    for i, n in reversed(rows.outer):
        loop = For if written_out and i not in gone else Steps
        body = (loop(names[i], n, body),) if n != ONE else body
    w.code += body
    for e, out in targets.items():
        if e.counted:
            kept, count = (product(tuple(n for i, n in enumerate(axes) if (i in gone) == g)) for g in (False, True))
            divided(e, out.pointer, kept, count, w)
        if not w.axes(e.out):
            w.let(e.out, Load(out.pointer, ZERO, e.dtype), e.dtype)


def _row(
    rows: ReducedRows,
    targets: Mapping[Reduce, Array],
    outs: dict[str, Array],
    where: tuple[list[str], list[Expr]],
    w: Lowering,
    elements: Elements,
) -> tuple[Stmt, ...]:
    """Statements that compute a row of elements in memory, and reduce it as `reductions.py` does."""
    axes, inner, (names, places) = rows.stage.axes, rows.inner, where
    size, first = product(axes[inner:]), [*places[:inner], *(ZERO for _ in axes[inner:])]
    for e in targets:
        if e.args[0] not in outs:
            strides = (*(ZERO for _ in axes[:inner]), *packed(axes[inner:]))
            outs[e.args[0]] = Array(w.scratch(e.dtype, axes[inner:]), axes, strides, e.dtype)
    code = [*nest(axes[inner:], names[inner:], elements(places, outs, {}))]
    for e, out in targets.items():
        source, item = outs[e.args[0]], item_size(e.dtype)
        x, y = w.pointer(e.dtype), w.pointer(e.dtype)
        begin = index(ZERO, first, source.strides)
        if rows.at_once:
            start = _identity(e) if e.op in IDENTITY else Load(source.pointer, begin, e.dtype)
            code.append(Store(out.pointer, index(ZERO, first, out.strides), start))
        left = size if e.op in IDENTITY else plus(size, Lit(-1))
        code.append(Point(x, source.pointer, begin if e.op in IDENTITY else plus(begin, ONE), e.dtype))
        code.append(Point(y, out.pointer, index(ZERO, first, out.strides), e.dtype))
        code.append(Inner(w.slot(e.op, (e.dtype,) * 3), (y, x, y), (left,), (ZERO, item, ZERO)))
    return tuple(code)


def _has_few(rows: ReducedRows) -> bool:
    """Whether rows have few elements and the orders of their reductions are known."""
    known = all(isinstance(e, Extreme) or order_is_known(e.op, e.dtype) for e in rows.ends)
    return is_few(rows.stage.axes[rows.inner :]) and known


def _few(
    rows: ReducedRows,
    targets: Mapping[End, Array],
    outs: dict[str, Array],
    places: list[Expr],
    elements: Elements,
    w: Lowering,
) -> tuple[Stmt, ...]:
    """Statements that compute a row of few elements in variables, and reduce them."""
    axes, inner, dtypes = rows.stage.axes, rows.inner, {n.out: n.dtype for n in rows.stage.nodes}
    code: list[Stmt] = []
    found: dict[End, list[Expr]] = {e: [] for e in targets}
    for place in np.ndindex(*(int(n.value) for n in axes[inner:] if isinstance(n, Lit))):
        made: dict[str, Scalar] = {}
        code += elements([*places[:inner], *map(Lit, place)], outs, made)
        for e, values in found.items():
            values.append(made[e.args[0]].value)
    first = [*places[:inner], *(ZERO for _ in axes[inner:])]
    for e, out in targets.items():
        at = index(ZERO, first, out.strides)
        if isinstance(e, Extreme):
            look, value = first_of_few(e.op, found[e], dtypes[e.args[0]], w)
            code += look
        else:
            start = _identity(e) if rows.at_once else Load(out.pointer, at, e.dtype)
            value = together(e.op, start, found[e], e.dtype)
        code.append(Store(out.pointer, at, value))
    return tuple(code)


def _identity(e: Reduce) -> Expr:
    return Lit(IDENTITY[e.op], e.dtype)


def _packed(pointer: str, axes: Axes, dtype: str) -> Array:
    return Array(pointer, axes, packed(axes), dtype)


def _target(node: End, axes: Axes, w: Lowering) -> Array:
    """The place of the result of a reduction, as an array over all axes, with stride 0 along reduced ones."""
    gone, dtype = _gone(node), INDEX if isinstance(node, Extreme) else node.dtype
    out = w.place(node.out) if w.axes(node.out) else w.cell(dtype)
    apart = iter(packed(tuple(n for i, n in enumerate(axes) if i not in gone)))
    return Array(out, axes, tuple(ZERO if i in gone else next(apart) for i in range(len(axes))), dtype)
