"""Lowers nodes that contain other nodes: branches (`Fork`), and loops inside a loop or a program (`Nested`)."""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.backends.kernels.blocks import Blocked, blocked, write_blocks
from scanopt.backends.kernels.bodies import walk
from scanopt.backends.kernels.emit import emit, written
from scanopt.backends.kernels.few_steps import few_steps, write_few_steps
from scanopt.backends.kernels.frames import LoopFrame
from scanopt.backends.kernels.growing import never_empty
from scanopt.backends.kernels.histories import Histories, by_first_names, histories_of
from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Cast, Do, Expr, Fail, If, Let, Point, Set, Stmt, Var
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import Fork, Nested, Node
from scanopt.backends.kernels.prefixes import prefix_of
from scanopt.backends.kernels.step_counts import checked, idle, may_take_none
from scanopt.backends.kernels.values import Array, Scalar, packed

__all__: list[str] = []


@written.register(Fork)
def _fork(node: Fork, w: Lowering) -> None:
    results = node.branch.results
    targets = [w.pointer(r.type.dtype) if w.axes(r.out) else w.variable(r.type.dtype) for r in results]
    test = number_of(w.value(node.branch.condition))
    sides: list[tuple[Stmt, ...]] = []
    for (_, values), nodes in zip(node.branch.sides, (node.then, node.otherwise), strict=True):
        if any(name not in w.lengths.axes for x in walk(nodes) for name in x.outs):
            sides.append((Fail(),))  # this side cannot run
            continue
        with w.into([]) as code:
            _look_for_elements(nodes, w)
            emit(w, nodes, set(values))
            for r, name, target in zip(results, values, targets, strict=True):
                value, dtype = w.value(name), r.type.dtype
                if isinstance(value, Scalar) and not w.axes(r.out):
                    w.code.append(Set(target, value.value if value.dtype == dtype else Cast(value.value, dtype)))
                else:
                    w.code.append(Point(target, w.whole(value, w.axes(r.out), dtype), ZERO, dtype))
            sides.append(tuple(code))
    w.code.append(If(test, *sides))
    for r, target in zip(results, targets, strict=True):
        axes, dtype = w.axes(r.out), r.type.dtype
        w.env[r.out] = Array(target, axes, packed(axes), dtype) if axes else Scalar(Var(target, dtype), dtype)


def _look_for_elements(nodes: Sequence[Node], w: Lowering) -> None:
    """In a side of a branch, write the checks that parts which it reduces are not empty."""
    lengths = (w.axes(name)[i] for name, i in never_empty(nodes, w.body))
    for length in dict.fromkeys(n for n in lengths if isinstance(n, Var) and w.grows(n)):
        if length.name in w.lengths_set:
            w.code.append(If(Do("less", (length, ONE), "bool", INDEX), (Fail(),)))
        else:
            w.never_empty.add(length)


@written.register(Nested)
def _nested(node: Nested, w: Lowering) -> None:
    if count := few_steps(node, w):
        checked(w, node)
        write_few_steps(node, count, w, lambda nodes, wanted: emit(w, nodes, wanted))
        return
    cut, node = w.counts(node.loop), by_first_names(node, w)
    plan = blocked(node, w)
    places = Histories([w.place(k.out) for k in node.loop.keeps]) if plan else histories_of(node, w)
    steps = checked(w, node)
    code: list[Stmt] = []
    with w.into(code):
        _write_loop(node, plan, places, steps, cut, w)
    if may_take_none(node):
        code = [If(Do("greater", (steps, ZERO), "bool", INDEX), tuple(code), idle(node.loop, places.outs, w))]
    w.code += code


def _write_loop(node: Nested, plan: Blocked | None, places: Histories, steps: Expr, cut: bool, w: Lowering) -> None:
    """Write a loop that takes at least one step.  cut: whether the kernel returns the number of steps taken."""
    if plan:
        taken = write_blocks(node, plan, places.outs, steps, w, lambda nodes, wanted: emit(w, nodes, wanted))
        w.code += [Set(w.taken, taken)] if cut else []
        return
    t, prefix = w.fresh("t"), prefix_of(node, w)

    def step(nodes: Sequence[Node], wanted: set[str]) -> None:
        if prefix is not None:
            name = w.fresh("k")
            w.code.append(Let(name, prefix.at(Var(t), steps), INDEX))
            w.prefixes[prefix.axes] = Var(name)
        emit(w, nodes, wanted)
        w.prefixes.clear()

    LoopFrame(w, node, t, steps, places).write(step)
    if cut:
        w.code.append(Set(w.taken, Var(t)))
        rows = dict.fromkeys(w.axes(k.out)[0] for k in node.loop.keeps if k.rows is None)
        for length in rows:
            if isinstance(length, Var) and w.grows(length):
                w.code.append(Set(length.name, Var(t)))
                w.lengths_set.add(length.name)
