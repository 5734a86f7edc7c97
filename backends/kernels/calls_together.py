"""A pass on the stages of a step: joins calls of the same NumPy inner loop on few elements each to one call.

A call on one number takes as long as on a whole vector register: six exponentials take six times as long in six calls
as in one.  The pass is right because each element's result depends on that element alone; functions for which that is
not true (`whole`) are left, and so are calls that read each other's results.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from scanopt.backends.kernels.direct_calls import lanes_of
from scanopt.backends.kernels.few_parts import few_elements
from scanopt.backends.kernels.ir import Cast, Declare, Expr, Inner, Let, Lit, Load, Store, Var
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Call, Draw, Fork, Nested, Setting
from scanopt.backends.kernels.stages import CallsTogether, Stage, is_few, made_by, read_by
from scanopt.backends.kernels.values import Scalar, item_size

__all__ = ["with_calls_together", "write_calls"]

FEWEST_OF_ONE = 4
"""The fewest numbers of a call of a loop that takes them one by one, or four at a time (`vector_functions.py`)."""


def with_calls_together(stages: Sequence[Stage], w: Lowering) -> list[Stage]:
    """Return the stages with short calls joined, in an order that allows it; unchanged where nothing can be joined."""
    if w.device or any(isinstance(s, Setting | Nested | Fork | Draw) for s in stages):
        return [*stages]
    if sum(_is_short(s, w) for s in stages) < 2:
        return [*stages]
    found: list[Stage] = []
    todo, missing = [*stages], {name for s in stages for name in made_by(s)}
    while todo:
        ready = [s for s in todo if missing.isdisjoint(read_by(s) - made_by(s))]
        now: list[Stage] = [s for s in ready if not _is_short(s, w)]
        if not now:
            now = [s for s in ready if _alike(s, ready[0])]
        calls = tuple(s for s in now if isinstance(s, Call))
        found += [CallsTogether(calls)] if len(calls) == len(now) > 1 and _pays(calls, w) else now
        missing.difference_update(*map(made_by, now))
        todo = [s for s in todo if s not in now]
    return found if any(isinstance(s, CallsTogether) for s in found) else [*stages]


def _is_short(stage: Stage, w: Lowering) -> bool:
    """Whether a stage is a call on a number, or on an array of few elements."""
    if not isinstance(stage, Call) or stage.whole:
        return False
    axes = w.axes(stage.out)
    return (not axes or is_few(axes)) and all(w.axes(a) in (axes, ()) for a in stage.args)


def _pays(calls: Sequence[Call], w: Lowering) -> bool:
    """Whether one call takes less time than several: not of two or three numbers if a function takes one at a time."""
    one = lanes_of(calls[0].ufunc, (*calls[0].takes, calls[0].dtype)) == 1
    return _is_short(calls[0], w) and (not one or sum(_count(n.out, w) for n in calls) >= FEWEST_OF_ONE)


def _alike(a: Stage, b: Stage) -> bool:
    both = isinstance(a, Call) and isinstance(b, Call)
    return both and (a.ufunc, a.takes, a.dtype) == (b.ufunc, b.takes, b.dtype)  # type: ignore[union-attr]


def write_calls(stage: CallsTogether, w: Lowering) -> None:
    """Write one call for all: store the arguments side by side in memory, call, load the results."""
    first, counts = stage.nodes[0], [_count(n.out, w) for n in stage.nodes]
    total, dtypes = sum(counts), (*first.takes, first.dtype)
    cells = [w.fresh("c") for _ in dtypes]
    w.head += [Declare(cell, dtype, elements=total) for cell, dtype in zip(cells, dtypes, strict=True)]
    for i, (cell, dtype) in enumerate(zip(cells, first.takes, strict=False)):
        given = [x for n, count in zip(stage.nodes, counts, strict=True) for x in _elements(n.args[i], count, dtype, w)]
        w.code += [Store(cell, Lit(k), x) for k, x in enumerate(given)]
    items = tuple(item_size(d) for d in dtypes)
    slot, direct = w.slot(first.ufunc, dtypes), w.direct_slot(first.ufunc, dtypes, (Lit(total),))
    w.code.append(Inner(slot, tuple(cells), (Lit(total),), items, direct=direct))
    names = [w.fresh("v") for _ in range(total)]
    w.code += [Let(name, Load(cells[-1], Lit(k), first.dtype), first.dtype) for k, name in enumerate(names)]
    found = [Scalar(Var(name, first.dtype), first.dtype) for name in names]
    for node, count in zip(stage.nodes, counts, strict=True):
        mine, found = found[:count], found[count:]
        if w.axes(node.out):
            w.keep_few(node.out, mine)
        else:
            w.env[node.out] = mine[0]


def _count(name: str, w: Lowering) -> int:
    return prod(int(n.value) for n in w.axes(name) if isinstance(n, Lit))


def _elements(name: str, count: int, dtype: str, w: Lowering) -> list[Expr]:
    """The elements of an argument, one for each element of the result."""
    values = few_elements(name, w)
    if name not in w.few and isinstance(w.value(name), Scalar):
        values *= count
    return [x if w.dtype(name) == dtype else Cast(x, dtype) for x in values]
