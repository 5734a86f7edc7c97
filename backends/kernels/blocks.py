"""Cache blocking: if all steps are elementwise, each block of elements runs all steps before the next block starts.

The states of a block stay in the nearest cache and are not moved through memory at each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scanopt.backends.kernels.frames import checked
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    Declare,
    Do,
    Expr,
    For,
    Let,
    Lit,
    Load,
    Steps,
    Stmt,
    Store,
    Var,
    plus,
    product,
    times,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering, operation
from scanopt.backends.kernels.nodes import Map, Nested, Node, Repeat
from scanopt.backends.kernels.stages import is_few
from scanopt.backends.kernels.values import Array, Axes, Scalar, element_of

__all__ = ["lanes_in_blocks", "write_blocks"]

BLOCK, MOST_STATES = 256, 8
"""Elements of a block; so many states of that length fit into the nearest cache, with what their steps read."""


def lanes_in_blocks(node: Nested, w: Lowering) -> Axes:
    """The axes of a loop's states if its steps are elementwise and it keeps only its last states.

    () for other loops, and for loops that read rows of a sequence, which are far apart from step to step.
    """
    loop = node.loop
    axes = w.axes(loop.states[0].update) if loop.states else ()
    updates = {s.update for s in loop.states}
    if not w.body.whole or loop.until is not None or not axes or is_few(axes) or len(updates) > MOST_STATES:
        return ()
    if any(s.depth != 1 or w.axes(s.update) != axes for s in loop.states) or any(w.axes(r.out) for r in loop.reads):
        return ()
    if any(k.rows != 1 or k.value not in updates for k in loop.keeps):
        return ()
    inside = {tap for s in loop.states for _, tap in s.taps} | {r.out for r in loop.reads}
    for n in node.nodes:
        if not isinstance(n, Map) or isinstance(n, Repeat):
            return ()
        if w.axes(n.out) not in ((), axes) or not all(_fits(a, axes, inside, w) for a in n.args):
            return ()
        inside.add(n.out)
    return axes if all(_fits(name, axes, inside, w) for name in updates) else ()


def _fits(name: str, axes: Axes, inside: set[str], w: Lowering) -> bool:
    """Whether a value has one element for each of the axes, in order, or is a single number."""
    if name in inside:
        return w.axes(name) in ((), axes)
    value = w.value(name)
    return isinstance(value, Scalar) or value.fills(axes) or product(value.axes) == ONE


def write_blocks(node: Nested, axes: Axes, w: Lowering, emit: Callable[[Sequence[Node], set[str]], None]) -> None:
    """Write such a loop.  emit: writes nodes, here of scalars."""
    states = node.loop.states
    outs = [w.place(k.out) for k in node.loop.keeps]
    steps, size = checked(w, node), product(axes)
    block, t, width = w.fresh("b"), w.fresh("t"), w.fresh("k")
    start = times(Var(block), Lit(BLOCK))
    left = Do("subtract", (size, start), INDEX, INDEX)
    some = Do("where", (Do("less", (left, Lit(BLOCK)), "bool", INDEX), left, Lit(BLOCK)), INDEX, INDEX)
    kept = [w.fresh("s") for _ in states]
    body: list[Stmt] = [Let(width, some, INDEX)]
    body += [Declare(name, s.type.dtype, BLOCK) for name, s in zip(kept, states, strict=True)]
    i = w.fresh("i")
    here = plus(start, Var(i))
    first = [element_of(w.value(s.init), [here], (size,)) for s in states]
    body.append(For(i, Var(width), tuple(Store(name, Var(i), x) for name, x in zip(kept, first, strict=True))))
    with w.into([]) as step:
        for r in node.loop.reads:
            source = w.value(r.source)
            assert isinstance(source, Array)
            w.let(r.out, Load(source.pointer, times(Var(t), source.strides[0]), source.dtype), source.dtype)
        emit([n for n in node.nodes if not w.axes(n.outs[0])], set())
    step.append(_lanes(node, kept, start, size, Var(width), w))
    body.append(Steps(t, steps, tuple(step)))
    i = w.fresh("i")
    updates = [s.update for s in states]
    last = [(out, kept[updates.index(k.value)], k) for out, k in zip(outs, node.loop.keeps, strict=True)]
    stores = [Store(out, plus(start, Var(i)), Load(name, Var(i), k.type.dtype)) for out, name, k in last]
    body.append(For(i, Var(width), tuple(stores)))
    blocks = Do("right_shift", (plus(size, Lit(BLOCK - 1)), Lit(BLOCK.bit_length() - 1)), INDEX, INDEX)
    w.code.append(Steps(block, blocks, tuple(body)))


def _lanes(node: Nested, kept: Sequence[str], start: Expr, size: Expr, width: Expr, w: Lowering) -> For:
    """Write one step of the elements of a block."""
    i = w.fresh("i")
    mine: dict[str, Scalar] = {}
    body: list[Stmt] = []

    def let(name: str, value: Expr, dtype: str) -> None:
        variable = w.fresh("v")
        body.append(Let(variable, value, dtype))
        mine[name] = Scalar(Var(variable, dtype), dtype)

    def element(name: str) -> tuple[Expr, str]:
        value = mine[name] if name in mine else w.value(name)
        return element_of(value, [plus(start, Var(i))], (size,)), value.dtype

    for array, s in zip(kept, node.loop.states, strict=True):
        for _, tap in s.taps:
            let(tap, Load(array, Var(i), s.type.dtype), s.type.dtype)
    for n in node.nodes:
        if isinstance(n, Map) and w.axes(n.out):
            found = [element(a) for a in n.args]
            let(n.out, operation(n, [x for x, _ in found], [d for _, d in found]), n.dtype)
    new = [element(s.update)[0] for s in node.loop.states]
    return For(i, width, (*body, *(Store(array, Var(i), x) for array, x in zip(kept, new, strict=True))))
