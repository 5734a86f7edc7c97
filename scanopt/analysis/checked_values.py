"""Which values a program checks, or computes from what may raise: no law leaves these out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set

import numpy as np

from scanopt.array.op import Op
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import KEPT

__all__ = ["checked_values", "silent_values"]

_CHECKS = ("assert_true", "require")

_MAY_BE_LEFT_OUT = {"where": slice(1), "ifelse": slice(1), "getitem": slice(1, None), "grad_clip": slice(1, None)}
"""Which arguments of operators laws may leave out: conditions, bounds."""


def checked_values(g: Encoded) -> set[int]:
    """The checks of a program, and all terms that are computed from them, at the same step or a later one."""
    return _computed_from(g, [i for i, f in g.forms() if isinstance(f.operator, Op) and f.operator.name in _CHECKS])


def _computed_from(g: Encoded, todo: list[int]) -> set[int]:
    """These terms, and all that are computed from them."""
    if not todo:
        return set()
    readers: defaultdict[int, list[int]] = defaultdict(list)
    for i, f in g.forms():
        read = [*f.args, *(g.states[f.state].updates if f.kind == "delay" else ())]
        if f.kind in KEPT:
            read += g.clocks[f.clock].steps, *g.clocks[f.clock].until
        for a in read:
            readers[a].append(i)
    found = set[int]()
    while todo:
        if (i := todo.pop()) not in found:
            found.add(i)
            todo += readers[i]
    return found


def silent_values(g: Encoded, harmless: Set[int]) -> Iterator[tuple[str, tuple[int]]]:
    """Facts about what laws may leave out: conditions of choices, bounds, and integers that are taken away again.

    harmless: terms that do not raise, though their operator may.
    """
    raising = [i for i, f in g.forms() if isinstance(f.operator, Op) and f.operator.can_raise and i not in harmless]
    loud = _computed_from(g, raising)
    for _, f in g.forms():
        if isinstance(f.operator, Op):
            found: Sequence[int] = f.args[_MAY_BE_LEFT_OUT.get(f.operator.name, slice(0))]
            if f.operator.spec.traits.inverse is not None:
                found = [a for a in f.args[1:] if np.dtype(g.types[a].dtype).kind in "biu"]
            yield from (("silent", (a,)) for a in found if a not in loud)
