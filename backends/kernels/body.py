"""The first part of lowering: reads the steps of a loop or a program, nested loops and branches included, as nodes.

The steps are first rewritten into forms that kernels have, and passes on nodes follow.  Raises NoForm, with the reason,
if some operator has no node, or if a kernel could round differently from the array steps of the same program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from scanopt.array.types import COMPLEX, TensorType
from scanopt.backends.kernels.added_parts import with_parts_joined
from scanopt.backends.kernels.bodies import Body, rounds_by_direction, rounds_by_layout, walk
from scanopt.backends.kernels.chosen_parts import with_parts_chosen
from scanopt.backends.kernels.counted_places import with_counted_places
from scanopt.backends.kernels.counted_steps import with_steps_counted
from scanopt.backends.kernels.inner_bodies import read_after_step
from scanopt.backends.kernels.insertions import with_insertions
from scanopt.backends.kernels.kept_starts import with_starts
from scanopt.backends.kernels.nodes import (
    WHOLE,
    Call,
    Diagonal,
    Draw,
    Evenly,
    Factored,
    Fork,
    Length,
    Map,
    Nested,
    Node,
    NoForm,
    NoOrder,
    Repeat,
    Reshape,
    SetItem,
    Sort,
    SumTo,
    Take,
    Transform,
    View,
)  # fmt: skip
from scanopt.backends.kernels.numpy_loops import DTYPES
from scanopt.backends.kernels.parts_by_ends import with_parts_by_ends
from scanopt.backends.kernels.reading import nodes_of
from scanopt.backends.kernels.recurrences import written_out
from scanopt.backends.kernels.rows_by_place import with_rows_by_place
from scanopt.backends.kernels.step_counts import may_take_none
from scanopt.backends.kernels.turned_first import turned_first
from scanopt.backends.kernels.unread import without_unread
from scanopt.backends.kernels.unused import without_unused
from scanopt.program.ir import Branch, Compute, Loop, Step
from scanopt.program.text import names_made, names_read

__all__ = ["body_of", "nodes_of_operator", "nodes_of_steps"]

MOST = 1000
"""The most operators of a kernel: a compiler takes about two seconds for them."""


def body_of(
    loop: Loop, types: Mapping[str, TensorType], exact: bool, whole: bool = False, device: bool = False
) -> Body:
    """Read the body of a loop.  types: of all names of the program.  whole: whether the loop stands for a program.

    device: whether it is for a device, where it is known beforehand how many steps nested loops take.
    Raises NoForm, with the reason, if it cannot be a kernel.
    """
    made = dict(types)
    root = _nested(replace(loop, body=_prepared(loop, made, whole, device)), made)
    inside = [*names_read(loop)][1:]  # the number of steps is given separately
    root = replace(root, args=tuple(name for name in root.args if name in inside))
    counts = _counts(root, made)
    if whole:
        wanted = {k.value for k in root.loop.keeps}
        root = replace(root, nodes=turned_first(without_unused(root.nodes, wanted, counts), wanted, made))
    root = root if device else with_parts_joined(root, made)
    body = Body(root, made, exact, counts, whole, _cut(root) if whole else None)
    if device and any(made[name].dtype in COMPLEX for n in walk(root.nodes) for name in (*n.outs, *n.args)):
        raise NoForm("complex numbers have no form on a device")
    if body.size > MOST:
        raise NoForm(f"{body.size} operators would take too long to compile")
    if not exact:
        _disorder(body)
    return body


def _prepared(loop: Loop, types: dict[str, TensorType], whole: bool, device: bool) -> tuple[Step, ...]:
    """Rewrite the steps of a loop or a program into forms that kernels have.  types: of all names, new ones added."""
    steps, wanted = written_out(loop.body, types), read_after_step(loop)
    if device:
        return with_steps_counted(steps, wanted, types)
    steps = with_parts_by_ends(without_unread(steps, wanted), wanted, types, top=whole)
    steady = types.keys() - _deeper((replace(loop, body=steps),)) - (set() if whole else _given(loop))
    steps = with_rows_by_place(steps, wanted, types, steady, top=whole)
    if whole:
        steps = with_counted_places(steps, {*names_read(loop)} & steady, types)
    return with_starts(with_steps_counted(steps, wanted, types), wanted, types, top=whole)


def _nested(loop: Loop, types: dict[str, TensorType]) -> Nested:
    if loop.profile:
        raise NoForm("its times are measured")
    if not loop.keeps:
        raise NoForm("it keeps nothing")
    names = [*(s for x in loop.states for _, s in x.taps), *(r.out for r in loop.reads), *names_read(loop)]
    for name in names:
        if types[name].dtype not in DTYPES:
            raise NoForm(f"{types[name].dtype} has no form")
    inside = {n for step in loop.body for n in names_made(step)} | _given(loop) | _deeper(loop.body)
    outer = (n for n in dict.fromkeys(names_read(loop)) if n not in inside)
    nodes = with_parts_chosen(nodes_of_steps(loop.body, types), read_after_step(loop), types)
    return Nested(loop, with_insertions(nodes, loop, types), tuple(outer))


def _cut(root: Nested) -> Loop | None:
    """The loop of a program that may end early, if there is just one."""
    found = [n.loop for n in root.nodes if isinstance(n, Nested) and n.loop.until is not None]
    return found[0] if len(found) == 1 else None


def _counts(root: Nested, types: Mapping[str, TensorType]) -> tuple[str, ...]:
    """The outer numbers on which lengths depend: numbers of steps and of rows kept, and what they are computed from."""
    loops = [n.loop for n in walk(root.nodes) if isinstance(n, Nested) and not may_take_none(n)]
    made = {out: n for n in walk(root.nodes) for out in n.outs}
    todo = [x.steps for x in loops] + [k.rows for x in loops for k in x.keeps if isinstance(k.rows, str)]
    for n in made.values():
        part = n.part if isinstance(n, SetItem) else n
        todo += part.ends if isinstance(part, View) else n.args if isinstance(n, Diagonal | Draw | Evenly) else ()
        todo += n.counts if isinstance(n, Repeat) else n.args[1:] if isinstance(n, Reshape | SumTo) else ()
    found: dict[str, None] = {}
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen or types[name].ndim:
            continue
        seen.add(name)
        if name in root.args:
            found[name] = None
        elif name in made and not isinstance(made[name], Length):
            todo += made[name].args
    return tuple(n for n in root.args if n in found and np.dtype(types[n].dtype).kind in "biu")


def _given(loop: Loop) -> set[str]:
    return {name for s in loop.states for _, name in s.taps} | {r.out for r in loop.reads}


def _deeper(steps: Sequence[Step]) -> set[str]:
    """The names defined in nested loops and branches of some steps."""
    found: set[str] = set()
    todo = [*steps]
    while todo:
        step = todo.pop()
        inner: Sequence[Step] = ()
        if isinstance(step, Loop):
            inner = step.body
            found |= _given(step)
        elif isinstance(step, Branch):
            inner = (*step.then, *step.otherwise)
        found.update(n for x in inner for n in names_made(x))
        todo += inner
    return found


def nodes_of_operator(step: Compute, types: Mapping[str, TensorType]) -> tuple[Node, ...]:
    """The nodes of one operator by itself.  types: of its arguments and its result.  Raises NoForm."""
    known = {name: types[name] for name in (step.out, *step.args)}
    return nodes_of_steps(written_out((step,), known), known)


def nodes_of_steps(steps: Sequence[Step], types: dict[str, TensorType]) -> tuple[Node, ...]:
    """The nodes of some steps.  types: of all names; names defined here are added.  Raises NoForm."""
    found: list[Node] = []
    true = {s.out for s in steps if isinstance(s, Compute) and s.op.name == "has_rows"}
    for step in steps:
        if isinstance(step, Compute):
            found += nodes_of(step, types)
        elif isinstance(step, Loop):
            found.append(_nested(step, types))
        elif step.condition in true:
            found += nodes_of_steps(step.then, types)
            found += [_alias(r.out, r.then, types) for r in step.results]
        else:
            inside = _deeper((step,))
            outer = (n for n in dict.fromkeys(names_read(step)) if n not in inside)
            then, otherwise = (nodes_of_steps(side, types) for side in (step.then, step.otherwise))
            found.append(Fork(step, then, otherwise, tuple(outer)))
    return tuple(found)


def _alias(out: str, x: str, types: Mapping[str, TensorType]) -> View:
    return View(out, (x,), tuple((i, WHOLE) for i in range(types[x].ndim)), (), types[x].dtype)


# Views whose elements are not in C order


def _disorder(body: Body) -> None:
    """Raise NoForm if NumPy may round array steps differently because of the memory layout of a view made here.

    Exact programs copy such arguments to C order first, as kernels do.
    """
    turned = _views(body, _is_turned, kept=True)  # NumPy lays results out like their arguments
    crooked = turned | _views(body, lambda view: not _in_order(view), kept=False)
    backward = _views(body, _runs_back, kept=True)
    for node in walk(body.root.nodes):
        found = crooked if rounds_by_layout(node) else backward if rounds_by_direction(node) else set()
        if found.intersection(node.args):
            raise NoOrder("its rounding depends on the memory layout of a view")


def _views(body: Body, starts: Callable[[View], bool], kept: bool) -> set[str]:
    """The views that `starts` finds, and all values that may have their layout.  kept: elementwise results keep it."""
    # NumPy lays x[:, places] out with the places first
    found = {n.out for n in walk(body.root.nodes) if kept and isinstance(n, Take) and n.axis}
    found |= {n.out for n in walk(body.root.nodes) if isinstance(n, Factored)}  # LAPACK writes columns
    before = -1
    through = (View, Reshape, SumTo, *((Map, Call, Sort, Transform) if kept else ()))
    while before < len(found):  # a state may be read before it is written
        before = len(found)
        found |= {out for out, args in _passed_on(body.root) if found.intersection(args)}
        for node in walk(body.root.nodes):
            if isinstance(node, through) and body.types[node.out].ndim and found.intersection(node.args):
                found.add(node.out)
            if isinstance(node, View) and body.types[node.out].ndim and starts(node):
                found.add(node.out)
    return found


def _runs_back(view: View) -> bool:
    return any(x is not None and x[1][2] is not None and x[1][2] < 0 for x in view.axes)


def _is_turned(view: View) -> bool:
    axes = [x[0] for x in view.axes if x is not None]
    return axes != sorted(axes) or _runs_back(view)


def _passed_on(nested: Nested) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the values that share memory with others, and these, in a loop and the loops inside it."""
    for node in (nested, *walk(nested.nodes)):
        if isinstance(node, Nested):
            loop = node.loop
            yield from ((r.out, (r.source,)) for r in loop.reads)
            yield from ((name, (s.init, s.update)) for s in loop.states for _, name in s.taps)
            yield from ((k.out, (k.value,)) for k in loop.keeps if k.rows == 1)
        elif isinstance(node, Fork):
            yield from ((r.out, (r.then, r.otherwise)) for r in node.branch.results)


def _in_order(view: View) -> bool:
    """Whether the elements of a view are contiguous if those of its array are."""
    axes = [i for i in view.axes if i is not None]
    first = not axes or axes[0][1][2] in (None, 1)  # rows one after the other, some left out at the ends
    whole = first and all(part == WHOLE for _, part in axes[1:])
    return whole and [*(i for i, _ in view.at), *(i for i, _ in axes)] == list(range(len(view.at) + len(axes)))
