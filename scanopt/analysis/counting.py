"""Integer inputs whose values determine lengths or numbers of steps, and so the cost of a program."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from scanopt.analysis.sizes import Sizes, open_operand
from scanopt.array.op import Operand
from scanopt.calculus.forms import Form, TermGraph

__all__ = ["counting_inputs"]


def counting_inputs(g: TermGraph, sizes: Sizes) -> list[str]:
    """The keys of the integer inputs whose values determine lengths or numbers of steps."""
    keys = [k for k, t in g.inputs.items() if not t.ndim and np.dtype(t.dtype).kind in "iu"]
    if not keys:
        return []
    readers: dict[int, list[tuple[int, Form]]] = defaultdict(list)
    for c, f in g.forms():
        for a in f.args:
            readers[a].append((c, f))
    steps = {info.steps for info in g.clocks.values()}
    starts = {f.key: c for c, f in g.forms() if f.kind == "input" and f.key in keys}
    return [k for k in keys if k in starts and _counts(starts[k], readers, steps, sizes)]


def _counts(start: int, readers: dict[int, list[tuple[int, Form]]], steps: set[int], sizes: Sizes) -> bool:
    """Whether a length, or a number of steps, depends on the value of a class."""
    reached, todo = {start}, [start]
    while todo:
        x = todo.pop()
        if x in steps:
            return True
        for c, f in readers[x]:
            if f.kind == "recent" and f.args[1] == x:
                return True
            if c not in sizes.of or not sizes.usable(f):
                continue
            if f.kind == "apply" and _shape_needs(f, reached, sizes):
                return True
            passes = f.kind in ("apply", "hold") and sizes.of[c].operand.ndim == 0
            if passes and c not in reached:
                reached.add(c)
                todo.append(c)
    return False


def _shape_needs(f: Form, reached: set[int], sizes: Sizes) -> bool:
    """Whether the shape of a result is not known without the values of these classes."""
    assert f.operator is not None
    known = [sizes.of[a].operand for a in f.args]
    blank = [Operand(x.dtype, x.shape) if a in reached else x for a, x in zip(f.args, known, strict=True)]
    return open_operand(f.operator, blank).shape != open_operand(f.operator, known).shape
