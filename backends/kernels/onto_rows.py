"""A lowering decision: an operand of a kept row is stored in the place of that row, until the row overwrites it.

So it needs no memory of its own.  This is right if the operand has the same axes and dtype, and if it is last read,
element by element, where the row is computed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Call, Length, Lookup
from scanopt.backends.kernels.stages import Fused, Reading, Stage, is_few, made_by, read_by

__all__ = ["made_in_rows"]


def made_in_rows(stages: Sequence[Stage | Reading], wanted: Collection[str], w: Lowering) -> None:
    """Assign to operands the places of rows that are computed from them.  wanted: names that are read afterwards."""
    for i, stage in enumerate(stages if not w.device and not w.part and not w.prefixes else ()):
        if not isinstance(stage, Fused) or stage.joins or stage.filled or is_few(stage.axes):
            continue
        for row in [n.out for n in stage.nodes if n.out in w.new_rows and w.axes(n.out) == stage.axes]:
            found = (a for s in stages[:i] for a in _made_for(stage, s, stages, wanted, w))
            if name := next((a for a in found if w.dtype(a) == w.dtype(row)), ""):
                w.homes[name] = w.homes[row]


def _made_for(
    stage: Fused, maker: Stage | Reading, stages: Sequence[Stage | Reading], wanted: Collection[str], w: Lowering
) -> list[str]:
    """The results of `maker` that only `stage` reads, element by element."""
    if not isinstance(maker, Call | Fused) or (isinstance(maker, Fused) and (maker.joins or maker.filled)):
        return []
    others = {a for s in stages if s is not stage and not isinstance(s, Length) for a in read_by(s)} | {*wanted}
    others |= {n.args[0] for n in stage.nodes if isinstance(n, Lookup)}
    names = (made_by(maker) & read_by(stage)) - others - {*w.homes} - w.repeated - w.counted
    return sorted(name for name in names if w.axes(name) == stage.axes)
