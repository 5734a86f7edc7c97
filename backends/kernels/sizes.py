"""Decides the lengths of the axes in a kernel: which are 1, which are known, which are equal.

A kernel is generic in lengths, except for axes of length 1, which broadcast, and for short ones, which may be
constants: each such pattern has a kernel.  Axes that must be equally long (`ties.py`) share one length of the kernel;
each call checks that they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from math import prod
from typing import Any

import numpy as np

from scanopt.array.op import Operand
from scanopt.array.types import TensorType
from scanopt.backends.kernels.bodies import Body, walk
from scanopt.backends.kernels.growing import all_growing, grown, joined_shapes
from scanopt.backends.kernels.ir import INDEX, ONE, Expr, Lit, Var
from scanopt.backends.kernels.matrix_nodes import DETERMINANTS
from scanopt.backends.kernels.misfits import lengths_fit
from scanopt.backends.kernels.nodes import (
    Call,
    Fixed,
    Fork,
    Length,
    Map,
    Nested,
    Node,
    Product,
    Reduce,
    Reshape,
    SetItem,
    Solve,
    Transform,
    View,
    Within,
)  # fmt: skip
from scanopt.backends.kernels.plan_cache import NoFitError
from scanopt.backends.kernels.ties import Axis, classes_of
from scanopt.backends.kernels.windows import windows_of
from scanopt.program.ir import Loop
from scanopt.program.shapes import loop_shapes, shapes
from scanopt.records import dataclass

__all__ = ["Axis", "KnownShapes", "Lengths", "Pattern", "lengths_of", "pattern_of", "shapes_of", "sized"]

Shape = tuple[int, ...]
Told = dict[str, tuple[int | None, ...]]
Pattern = frozenset[tuple[Axis, int]]
"""The axes whose lengths a kernel knows, with these lengths: 1, and perhaps short ones.  With length 0: the axes whose
lengths steps decide."""
SHORT = 8
"""The most elements of a short axis: compilers unroll loops over it."""


@dataclass(frozen=True)
class Lengths:
    """The axes of each name as lengths of a kernel.

    axes: by name.  numbers: the lengths that are arguments of the kernel, each with an axis of that length.  classes:
    the sets of equally long axes.  growing: the lengths that steps decide, as `numbers`; shapes have the greatest ones.
    """

    axes: Mapping[str, tuple[Expr, ...]]
    numbers: Mapping[str, Axis]
    classes: tuple[tuple[Axis, ...], ...]
    growing: Mapping[str, Axis] = field(default_factory=dict[str, Axis])

    def known(self, shapes: Mapping[str, Shape]) -> dict[str, int]:
        """The values of lengths, by name; of those that steps decide, the greatest."""
        return {x: shapes[name][i] for x, (name, i) in (*self.numbers.items(), *self.growing.items())}

    def hold(self, shapes: Mapping[str, Shape]) -> bool:
        """Whether axes that share a length here are equally long in these shapes, and no name lacks a shape."""
        known = all(name in shapes for c in self.classes for name, _ in c)
        return known and all(len({shapes[name][i] for name, i in c}) == 1 for c in self.classes)


def shapes_of(body: Body, outer: Mapping[str, Shape], counts: Mapping[str, int]) -> dict[str, Shape] | None:
    """The shapes of all names, given those of outer ones; None if values decide any, or if a length is 0.

    counts: values of the outer numbers on which lengths depend.  Names of sides that do not run are left out.
    Raises NoFitError.
    """
    found = sized(body, outer, counts)
    return None if found is None or found.growing else found.shapes


@dataclass(frozen=True)
class KnownShapes:
    """What is known before a kernel runs.  shapes: of all names, with the greatest lengths where steps decide them.

    steps: the greatest number of steps of nested loops, by its name, where known.  growing: all axes whose lengths
    steps decide.
    """

    shapes: dict[str, Shape]
    steps: dict[str, int]
    growing: frozenset[Axis]


def sized(body: Body, outer: Mapping[str, Shape], counts: Mapping[str, int]) -> KnownShapes | None:
    """Find the shapes of all names; None if any is unknown, if a length is 0, or if a computed length may not fit.

    Raises NoFitError if the shapes of outer names do not fit.
    """
    known, told, starts = _known(body, outer, counts)
    found: dict[str, Shape] = {}
    for name in [x for x in known if x not in body.root.outs]:
        shape = tuple(n for n in known[name].shape if n is not None)
        if len(shape) < len(known[name].shape) or min(shape, default=1) < 1:
            return None
        found[name] = shape

    def shortened(axes: Collection[Axis]) -> dict[str, Operand]:
        return _told(body, outer, counts, _one_less(told, axes))

    growing = _growing(body, found, starts, shortened) if starts else frozenset[Axis]()
    if growing is None or not lengths_fit(body, known):
        return None
    loops = [n.loop for n in walk(body.root.nodes) if isinstance(n, Nested)]
    values = {x.steps: known[x.steps].value for x in loops if x.steps in known}
    return KnownShapes(found, {name: int(value) for name, value in values.items() if value is not None}, growing)


def _growing(
    body: Body,
    found: Mapping[str, Shape],
    starts: frozenset[Axis],
    shortened: Callable[[Collection[Axis]], Mapping[str, Operand]],
) -> frozenset[Axis] | None:
    """All axes whose lengths steps decide; None where kernels cannot handle that.

    shortened: finds the shapes of all names if the given axes of `starts` are one shorter.  Exactly the axes that are
    equally long must then be one shorter, too: this shows that no other length depends on them.
    """
    axes = [(name, i) for name, shape in found.items() for i in range(len(shape))]
    ones = {(name, i) for name, i in axes if found[name][i] == 1}
    classes = classes_of(body, ones, {name: len(shape) for name, shape in found.items()})
    growing = None if starts & ones else all_growing(body, starts, classes)
    for c in classes if growing is not None else ():
        if some := starts.intersection(c):
            less = shortened(some)
            changed = {(name, i) for name, i in axes if less[name].shape[i] != found[name][i]}
            if growing is None or not changed.issuperset(c) or changed - growing or not lengths_fit(body, less):
                return None
    return growing


def _known(
    body: Body, outer: Mapping[str, Shape], counts: Mapping[str, int]
) -> tuple[dict[str, Operand], Told, frozenset[Axis]]:
    """Find what is known of all names, the shapes told for it, and the axes whose told lengths are the greatest."""
    found = _told(body, outer, counts, {})
    numbers = {
        name: int(x.value) for name, x in found.items() if x.value is not None and x.type == TensorType(INDEX, ())
    }
    told: Told = windows_of(body, numbers)
    if told:
        found = _told(body, outer, counts, told)
    starts: set[Axis] = set()
    if body.reads_cut_rows and all(name in found for name in body.cut_rows):
        told |= {name: found[name].shape for name in body.cut_rows}
        starts.update((name, 0) for name in body.cut_rows)
    while more := grown(body, found):
        starts.update((name, i) for name, shape in more.items() for i, n in enumerate(shape) if n is not None)
        told |= {name: _either(told.get(name, shape), shape) for name, shape in more.items()}
        told |= joined_shapes(body, found)
        found = _told(body, outer, counts, told)
    return found, told, frozenset(starts)


def _one_less(told: Told, axes: Collection[Axis]) -> Told:
    """The same shapes with some axes one shorter."""
    return {
        name: type(shape)(n - 1 if n and (name, i) in axes else n for i, n in enumerate(shape))
        for name, shape in told.items()
    }


def _either(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> tuple[int | None, ...]:
    return tuple(n if m is None else m for m, n in zip(a, b, strict=True))


def _told(
    body: Body, outer: Mapping[str, Shape], counts: Mapping[str, int], told: Mapping[str, tuple[int | None, ...]]
) -> dict[str, Operand]:
    """Find what is known of all names.  told: shapes known beforehand, with None for other lengths.

    Raises NoFitError if these shapes do not fit.
    """
    known = {name: Operand(body.types[name].dtype, shape) for name, shape in outer.items()}
    for name, value in counts.items():
        known[name] = Operand(known[name].dtype, (), np.asarray(value, known[name].dtype))
    try:
        if body.whole:
            _program_shapes(body, known, told)
        else:
            loop_shapes(body.loop, known, None, told)
    except (TypeError, ValueError, IndexError) as error:  # what shape rules raise
        raise NoFitError(str(error)) from error
    for node in walk(body.root.nodes):
        _complete(node, known, told)
    return known


def _program_shapes(body: Body, known: dict[str, Operand], told: Mapping[str, tuple[int | None, ...]]) -> None:
    """Find the shapes of a program; for a loop that may end early, those of the memory for its rows."""
    for step in body.loop.body:
        shapes((step,), known, told)
        if step is not body.cut:
            continue
        steps = known[step.steps].value
        for k in step.keeps:
            row = known[k.value].shape
            size = prod(n or 1 for n in row) * np.dtype(k.type.dtype).itemsize
            room = (
                None
                if steps is None or k.rows not in (None, 1)
                else min(int(steps), k.rows or max(16, body.room // size))
            )
            known[k.out] = Operand(k.type.dtype, told.get(k.out, (room, *row)))


def _complete(node: Node, known: dict[str, Operand], told: Mapping[str, tuple[int | None, ...]]) -> None:
    """Find the shape of the result of a node, if it has no name in the program."""
    if isinstance(node, Map | Call) and node.out not in known and node.like in known:
        known[node.out] = known[node.like]
    elif isinstance(node, Fixed | Length | Within) and node.out not in known:
        known[node.out] = Operand(node.dtype, known[node.args[0]].shape if isinstance(node, Within) else ())
    elif isinstance(node, Solve) and node.out not in known and node.args[-1] in known:
        x = known[node.args[-1]]
        known[node.out] = Operand(x.dtype, x.shape[:-2]) if node.op in DETERMINANTS else x
    elif isinstance(node, Transform) and node.out not in known and node.args[0] in known:
        *lead, points = known[node.args[0]].shape
        known[node.out] = Operand(node.dtype, (*lead, node.results(points)))
    elif isinstance(node, Reduce) and node.out not in known and node.args[0] in known:
        x = known[node.args[0]]
        known[node.out] = Operand(x.dtype, tuple(n for i, n in enumerate(x.shape) if i not in node.axes))
    elif isinstance(node, View) and node.out not in known and node.args[0] in known:
        x = known[node.args[0]]
        kept = (None if i is None else (x.shape[i[0]], _ends(i[1], known)) for i in node.axes)
        part = Operand(x.dtype, tuple(1 if i is None else _left(*i) for i in kept))
        known[node.out] = part.within(told[node.out]) if node.out in told else part
    elif isinstance(node, Reshape) and node.merged and node.out not in known and node.args[0] in known:
        x = known[node.args[0]]
        lengths = ([x.shape[i] for i in axes] for axes in node.merged)
        known[node.out] = Operand(x.dtype, tuple(None if None in n else prod(n) for n in lengths))  # type: ignore[arg-type]
    elif isinstance(node, Product) and node.out not in known and all(a in known for a in node.args):
        a, b = (known[x] for x in node.args)
        known[node.out] = Operand(node.dtype, (*a.shape[:-1], *b.shape[1:]))
    elif isinstance(node, SetItem) and node.args[0] in known:
        _complete(node.part, known, told)


def _ends(part: tuple[Any, ...], known: Mapping[str, Operand]) -> tuple[Any, ...] | None:
    """A slice with the values of its ends; None if one is unknown."""
    values = [known[p].value if isinstance(p, str) else p for p in part]
    if any(v is None and isinstance(p, str) for v, p in zip(values, part, strict=True)):
        return None
    return tuple(None if v is None else int(v) for v in values)


def _left(n: int | None, part: tuple[Any, ...] | None) -> int | None:
    """The number of elements that a slice selects of n."""
    return None if n is None or part is None else len(range(*slice(*part).indices(n)))


def pattern_of(
    body: Body, shapes: Mapping[str, Shape], growing: frozenset[Axis] = frozenset(), short: bool = False
) -> Pattern:
    """The axes of length 1 and, with `short`, the short ones, with their lengths; includes the rows of initial states.

    Axes of steps of outermost loops are never short, so that one kernel serves all numbers of steps.  growing: axes
    whose lengths steps decide.
    """
    found = {(name, i): n for name, shape in shapes.items() for i, n in enumerate(shape)}
    ones = {axis for axis, n in found.items() if n == 1}
    decided = frozenset((axis, 0) for axis in growing)
    if not short or not any(1 < n <= SHORT for n in found.values()):
        return decided.union((axis, 1) for axis in ones)
    gone_through = growing.union(axis for loop in _outermost(body) for axis in _step_axes(loop))
    classes = classes_of(body, ones, {name: len(shape) for name, shape in shapes.items()})
    few = [c for c in classes if found[c[0]] <= SHORT and not gone_through.intersection(c)]
    return decided.union([*((axis, 1) for axis in ones), *((axis, found[c[0]]) for c in few for axis in c)])


def _outermost(body: Body) -> list[Loop]:
    """The loops that are in no other loop."""
    return _loops_of(body.root.nodes) if body.whole else [body.loop]


def _loops_of(nodes: Iterable[Node]) -> list[Loop]:
    found: list[Loop] = []
    for n in nodes:
        if isinstance(n, Fork):
            found += _loops_of((*n.then, *n.otherwise))
        elif isinstance(n, Nested):
            found.append(n.loop)
    return found


def _step_axes(loop: Loop) -> Iterator[Axis]:
    yield from ((r.source, 0) for r in loop.reads)
    yield from ((k.out, 0) for k in loop.keeps)
    yield from ((s.init, 0) for s in loop.states)


def lengths_of(body: Body, pattern: Pattern, shapes: Mapping[str, Shape]) -> Lengths:
    """The lengths of a variant.  shapes: of one call that follows the pattern; only their numbers of axes count."""
    known = dict(pattern)
    ones = {axis for axis, n in pattern if n == 1}
    ndim = {name: len(shape) for name, shape in shapes.items()}
    axes: dict[Axis, Expr] = dict.fromkeys(ones, ONE)
    numbers: dict[str, Axis] = {}
    growing: dict[str, Axis] = {}
    classes = classes_of(body, ones, ndim)
    for number, c in enumerate(classes):
        decided = known.get(c[0]) == 0
        length = Var(f"o{number}") if decided else Lit(known[c[0]]) if c[0] in known else _length(body, number, c)
        axes |= dict.fromkeys(c, length)
        if isinstance(length, Var):
            (growing if decided else numbers)[length.name] = c[0]
    found = {name: tuple(axes[name, i] for i in range(n)) for name, n in ndim.items()}
    return Lengths(found, numbers, tuple(tuple(c) for c in classes), growing)


def _length(body: Body, number: int, axes: list[Axis]) -> Expr:
    """A length: the number that a type of the program gives, or a variable."""
    known = {body.types[name].shape[i] for name, i in axes if name in body.types} - {None}
    return Lit(next(iter(known)) or 0) if len(known) == 1 else Var(f"n{number}")
