"""Sorts a state again after one element was added to it: the state is sorted since the step before.

A pass on nodes finds such states: s becomes sort(concatenate([s, [v]]))[1:], also where a condition chooses between
this and s.  The element is put in its place, in the memory of the state, and the step ends after one comparison if it
is the one that is left out.  Equal elements have equal bits, so the result is the same as NumPy's, except for NaN and
for zeros of both signs: then, and before the state is known to be sorted, NumPy's function sorts all elements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from scanopt.array.types import TensorType
from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Do, If, Inner, Lit, Stmt, Store, Var, plus
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import Fork, Insert, Join, Map, Node, NoForm, Sort, View
from scanopt.backends.kernels.recipe import Number
from scanopt.backends.kernels.values import Array, element_of, packed
from scanopt.program.ir import CarriedState, Loop

__all__ = ["with_insertions"]

Tests = tuple[tuple[str, bool], ...]


def with_insertions(nodes: Sequence[Node], loop: Loop, types: Mapping[str, TensorType]) -> tuple[Node, ...]:
    """Rewrite the nodes of a loop so that elements are inserted into sorted states."""
    found = tuple(nodes)
    for s in loop.states:
        if s.depth == 1 and len(s.taps) == 1 and s.type.ndim == 1 and np.dtype(s.type.dtype).kind in "iuf":
            found = _inserted(found, s, loop, types)
    return found


def _inserted(
    nodes: tuple[Node, ...], s: CarriedState, loop: Loop, types: Mapping[str, TensorType]
) -> tuple[Node, ...]:
    """The nodes of a loop; if they sort a state again, an insertion in place of those that do."""
    last = next((n for n in nodes if s.update in n.outs), None)
    if last is None or s.update == s.taps[0][1]:
        return nodes
    inside = (*last.then, *last.otherwise) if isinstance(last, Fork) else ()
    kept = [*(x.update for x in loop.states), *(k.value for k in loop.keeps)]
    reads = Counter([*kept, *(a for n in (*nodes, *inside) for a in n.args)])
    name, tests = _chosen(last, s.taps[0][1], types)
    made = {n.out: n for n in (*nodes, *inside) if isinstance(n, View | Sort | Join)}
    gone = _sorted_again(name, s, made, reads, types) if reads[name] <= 1 or not tests else None
    left = [n for n in inside if gone is not None and n not in gone]
    if gone is None or not all(isinstance(n, View) and not n.at for n in left):
        return nodes
    new = _insertion(*gone, s, tests)
    found: list[Node] = []
    for n in nodes:
        found += [*left, new] if n is last else [n] if n not in gone else []
    return tuple(found)


def _chosen(last: Node, tap: str, types: Mapping[str, TensorType]) -> tuple[str, Tests]:
    """The name of what becomes a state, and the test for it where a node chooses between it and the state."""
    if isinstance(last, Map) and last.op == "where" and not types[last.args[0]].ndim:
        test, then, otherwise = last.args
    elif isinstance(last, Fork) and len(last.branch.results) == 1:
        (result,) = last.branch.results
        test, then, otherwise = last.branch.condition, result.then, result.otherwise
    else:
        return last.outs[0], ()
    return (then, ((test, True),)) if otherwise == tap else (otherwise, ((test, False),)) if then == tap else ("", ())


def _sorted_again(
    name: str,
    s: CarriedState,
    made: Mapping[str, View | Sort | Join],
    reads: Mapping[str, int],
    types: Mapping[str, TensorType],
) -> tuple[Join, Sort, View] | None:
    """The nodes that join a state and an element, sort both, and leave out one end, if they make this name."""
    part = made.get(name)
    ordered = made.get(part.args[0]) if isinstance(part, View) and not part.at and len(part.axes) == 1 else None
    joined = made.get(ordered.args[0]) if isinstance(ordered, Sort) and ordered.op.startswith("sort ") else None
    if not isinstance(part, View) or not isinstance(ordered, Sort) or not isinstance(joined, Join):
        return None
    tap, kept = s.taps[0][1], part.axes[0]
    if joined.new or len(joined.args) != 2 or tap not in joined.args or kept is None:
        return None
    y = joined.args[joined.args[0] == tap]
    once = reads[ordered.out] == reads[joined.out] == 1
    alike = {types[x].dtype for x in (tap, y, joined.out, part.out)} == {s.type.dtype}
    ends = not any(isinstance(x, str) for x in kept[1]) and kept[1][2] in (None, 1, -1)
    return (joined, ordered, part) if y != tap and types[y].shape == (1,) and once and alike and ends else None


def _insertion(joined: Join, ordered: Sort, part: View, s: CarriedState, tests: Tests) -> Insert:
    tap, ((_, kept),) = s.taps[0][1], part.axes  # type: ignore[misc]
    behind = joined.args[0] == tap
    args = (tap, joined.args[behind], *(test for test, _ in tests))
    return Insert(s.update, args, ordered.op.replace("sort", "insert", 1), ordered.out, kept, behind, part.dtype, tests)


@written.register(Insert)
def _insert(node: Insert, w: Lowering) -> None:
    """Write the call that inserts an element, after the state was copied if it is not changed in place."""
    if w.device:
        raise NoForm("elements are inserted by one thread")
    x, dtype, (count,) = w.value(node.args[0]), node.dtype, w.axes(node.out)
    if node.out in w.in_place:
        w.env[node.out] = x
    else:
        w.code += w.copied(x, w.place(node.out), ZERO, (count,))
    whole = w.env[node.out]
    assert isinstance(whole, Array)
    if whole.strides != packed(whole.axes):
        raise NoForm("the elements of a sorted state are apart")
    step = Lit(1 if node.kept[2] is None else node.kept[2])
    start = w.number(Number("start", (node.whole, 0), node.kept))
    known, new, room = w.cell(INDEX), w.cell(dtype), w.scratch(dtype, (plus(count, ONE),))
    w.code.append(If(Do("equal", (Var(w.step_of), ZERO), "bool", INDEX), (Store(known, ZERO, ZERO),)))
    code: tuple[Stmt, ...] = (
        Store(new, ZERO, element_of(w.value(node.args[1]), [ZERO], (ONE,))),
        Inner(
            w.slot(node.op, (dtype,)),
            (whole.pointer, new, room, known),
            (count, start, step, Lit(int(node.behind))),
            (),
        ),
    )
    for test, holds in node.tests:
        value = number_of(w.value(test))
        code = (If(value, code),) if holds else (If(Do("logical_not", (value,), "bool", "bool"), code),)
    w.code += code
