"""Lowers reads and writes at arrays of indices: x[i], x[i] = y and x[i] += y.

A part x[i] is copied, or the operations that read it look its elements up; settings are loops in order, since an index
may occur twice.

All indices are checked.  If one is out of range the kernel fails, and array steps report the error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import reduce
from math import prod

import numpy as np

from scanopt.backends.kernels.columns import Columns
from scanopt.backends.kernels.folds import Folded
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Cast,
    Do,
    Expr,
    Fail,
    If,
    Let,
    Lit,
    Load,
    Set,
    Steps,
    Stmt,
    Store,
    Var,
    plus,
    product,
    times,
)
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Lookup, Map, Node, NoForm, Scatter, Take
from scanopt.backends.kernels.places import from_the_start, out_of_range, row_of
from scanopt.backends.kernels.rows import ReducedRows
from scanopt.backends.kernels.stages import Fused, Stage, is_few
from scanopt.backends.kernels.values import Array, Axes, Scalar, element_of, index, nest, packed

__all__ = [
    "as_lookup", "copy_one_by_one", "element_at", "looked_up", "looks_few_up", "place_in_range", "places_checked",
    "write_lookup", "write_scatter",
]  # fmt: skip


def looked_up(stages: Sequence[Stage | Columns | Folded | ReducedRows], wanted: Collection[str]) -> set[str]:
    """The parts that only elementwise operations read; these look elements up.  wanted: names that are read later."""
    found = {s.out for s in stages if isinstance(s, Take)} - {*wanted}
    for s in stages:
        if not isinstance(s, Fused | Columns | ReducedRows | Take):
            found.difference_update(a for a in s.args if not (isinstance(s, Scatter) and a == s.args[1]))
    return found


def write_lookup(node: Take, w: Lowering) -> None:
    """Write a part at arrays of indices.  The indices are checked first; if no step changes them, before the loop."""
    x, names = w.value(node.args[0]), node.args[1:]
    assert isinstance(x, Array)
    if looks_few_up(node, w):
        _look_few_up(node, x, w)
        return
    axes = tuple(range(node.axis, node.axis + len(names)))
    if any(p.first <= axes[-1] and axes[0] < p.first + len(p.axes) for p in x.picks):
        x = Array(w.whole(x, x.axes, x.dtype), x.axes, packed(x.axes), x.dtype)
    before = w.before(*names)
    there = w.axes(node.out)[node.axis : len(w.axes(node.out)) - len(x.axes) + axes[-1] + 1]
    with w.into(w.code if before is None else before):
        pointer = _places_in_range(names, [(x.axes[i], x.strides[i]) for i in axes], there, w)
        ends, runs = _runs(pointer, there, w) if before is not None and len(there) == 1 else ("", "")
    found = x.picked(axes, pointer, there, ends, runs)
    assert found is not None
    if node.out in w.looked_up:
        w.env[node.out] = found
    else:
        w.code += w.copied(found, w.place(node.out), ZERO, w.axes(node.out))


def looks_few_up(node: Take, w: Lowering) -> bool:
    """Whether a node takes elements at few places that a step computes, so that places and elements are variables."""
    table, *places = node.args
    axes = w.axes(table)
    few = len(places) == len(axes) == 1 and is_few(w.axes(places[0]))
    return few and not w.device and w.before(*places) is None


def _look_few_up(node: Take, x: Array, w: Lowering) -> None:
    """Write the lookup of elements at few places; all places are checked before any element is read."""
    places = _few_places(node.args[1], x.axes[0], w)
    elements = [Var(w.fresh("v"), x.dtype) for _ in places]
    w.code += [Let(v.name, x.at([at], x.axes), x.dtype) for v, at in zip(elements, places, strict=True)]
    w.keep_few(node.out, [Scalar(v, x.dtype) for v in elements])


def _few_places(name: str, length: Expr, w: Lowering) -> list[Var]:
    """Few places along an axis, as variables; all of them are checked."""
    axes, given = w.axes(name), w.few.get(name, [])
    value = w.value(name) if not given else None
    places = [Var(w.fresh("j")) for _ in range(prod(int(n.value) for n in axes if isinstance(n, Lit)))]
    for i, here in enumerate(np.ndindex(*[int(n.value) for n in axes if isinstance(n, Lit)])):
        at = given[i].value if value is None else element_of(value, [*map(Lit, here)], axes)
        w.code.append(Let(places[i].name, from_the_start(Cast(at, INDEX), length), INDEX))
    odd = [out_of_range(at, length) for at in places]
    w.code.append(If(reduce(lambda a, b: Do("bitwise_or", (a, b), "bool", "bool"), odd), (Fail(),)))
    return places


def as_lookup(node: Node, w: Lowering) -> Node:
    """Turn a node into an elementwise `Lookup` if it takes single elements at places that a step computes."""
    if not isinstance(node, Take) or w.device or w.before(*node.args[1:]) is not None:
        return node
    axes = w.axes(node.out)
    if len(node.args) - 1 != len(w.axes(node.args[0])) or is_few(axes) or product(axes) == ONE:
        return node
    return Lookup(node.out, node.args, "lookup", (node.dtype,), node.dtype, node.out)


@contextmanager
def places_checked(nodes: Sequence[Map], w: Lowering) -> Iterator[None]:
    """Write, around operations, the test that all places are in range; else array steps report the error."""
    tables = [n.args[0] for n in nodes if isinstance(n, Lookup)]
    for name in tables:
        x = w.value(name)
        if isinstance(x, Array) and x.picks:
            w.env[name] = Array(w.whole(x, x.axes, x.dtype), x.axes, packed(x.axes), x.dtype)
    if not tables:
        yield
        return
    with _noted(w):
        yield


@contextmanager
def _noted(w: Lowering) -> Iterator[None]:
    """Write the variable that notes places out of range before some statements, and the test of it after them."""
    before, w.out_of_range = w.out_of_range, w.variable(INDEX)
    w.code.append(Set(w.out_of_range, ZERO))
    yield
    w.code.append(If(Do("not_equal", (Var(w.out_of_range), ZERO), "bool", INDEX), (Fail(),)))
    w.out_of_range = before


def element_at(node: Lookup, places: Sequence[Expr], code: list[Stmt], w: Lowering) -> Expr:
    """The element that a lookup reads at some places.  code: gets the statements that check them."""
    x = w.value(node.args[0])
    assert isinstance(x, Array)
    start: Expr = ZERO
    for name, place, length, stride in zip(node.args[1:], places, x.axes, x.strides, strict=True):
        known = w.in_range.get((name, length))
        start = plus(start, times(place_in_range(place, length, code, w) if known is None else known, stride))
    return Load(x.pointer, start, node.dtype)


def place_in_range(place: Expr, length: Expr, code: list[Stmt], w: Lowering) -> Expr:
    """A place that is certainly in range: one that is not is noted and replaced by 0.  code: gets the statements.

    Where nothing notes places, they have been checked before.
    """
    if not w.out_of_range:
        code.append(Let(j := w.fresh("j"), from_the_start(Cast(place, INDEX), length), INDEX))
        return Var(j)
    j, fits, found = w.fresh("j"), w.fresh("j"), w.fresh("j")
    inside = Do("less", (Cast(Var(j), "uint64"), Cast(length, "uint64")), "bool", "uint64")
    odd = Cast(Do("logical_not", (Var(fits, "bool"),), "bool", "bool"), INDEX)
    code.append(Let(j, from_the_start(Cast(place, INDEX), length), INDEX))
    code.append(Let(fits, inside, "bool"))
    code.append(Set(w.out_of_range, Do("bitwise_or", (Var(w.out_of_range), odd), INDEX, INDEX)))
    code.append(Let(found, Do("where", (Var(fits, "bool"), Var(j), ZERO), INDEX, INDEX), INDEX))
    return Var(found)


def _places_in_range(names: Sequence[str], along: Sequence[tuple[Expr, Expr]], axes: Axes, w: Lowering) -> str:
    """Write the conversion of index arrays to checked places, negative indices counted from the end; return the array.

    along: lengths and strides of the axes that they index.  axes: the axes to which they broadcast together.
    """
    values = [w.value(name) for name in names]
    places, wrong = w.scratch(INDEX, axes), w.variable(INDEX)
    flat = all(isinstance(v, Array) and v.fills(axes) for v in values)
    lengths: Axes = (product(axes),) if flat else axes
    counters, there = w.places(lengths)
    body: list[Stmt] = []
    total: Expr = ZERO
    odd: Expr = Var(wrong)
    for value, (length, stride) in zip(values, along, strict=True):
        j = w.fresh("j")
        at = Cast(element_of(value, there, lengths), INDEX)
        body.append(Let(j, from_the_start(at, length), INDEX))
        total = plus(total, Var(j) if len(names) == 1 else times(Var(j), stride))
        odd = Do("bitwise_or", (odd, Cast(out_of_range(Var(j), length), INDEX)), INDEX, INDEX)
    body += [Store(places, index(ZERO, there, packed(lengths)), total), Set(wrong, odd)]
    w.code += [Set(wrong, ZERO), *nest(lengths, counters, tuple(body))]
    w.code.append(If(Do("not_equal", (Var(wrong), ZERO), "bool", INDEX), (Fail(),)))
    return places


def _runs(places: str, axes: Axes, w: Lowering) -> tuple[str, str]:
    """Write an array of where the run of consecutive places at each index ends, and count the runs; return both."""
    (count,) = axes
    ends, runs, i = w.scratch(INDEX, axes), w.variable(INDEX), w.fresh("i")
    here = Do("subtract", (plus(count, Lit(-2)), Var(i)), INDEX, INDEX)
    following = Do("subtract", (Load(places, plus(here, ONE), INDEX), Load(places, here, INDEX)), INDEX, INDEX)
    same = (Store(ends, here, Load(ends, plus(here, ONE), INDEX)),)
    new = (Store(ends, here, plus(here, ONE)), Set(runs, plus(Var(runs), ONE)))
    w.code += [Set(runs, ONE), Store(ends, plus(count, Lit(-1)), count)]
    w.code.append(Steps(i, plus(count, Lit(-1)), (If(Do("equal", (following, ONE), "bool", INDEX), same, new),)))
    return ends, runs


def write_scatter(node: Scatter, w: Lowering) -> None:
    """Write the setting of parts at arrays of indices, one after the other, since an index may occur twice."""
    if w.device:
        raise NoForm("parts at indices are set one after the other")
    x, y, axis, axes = w.value(node.args[0]), w.value(node.args[1]), node.axis, w.axes(node.out)
    if node.out in w.in_place:
        w.env[node.out] = x
    else:
        w.code += w.copied(x, w.place(node.out), ZERO, axes)
    if _sets_few(node, w):
        _set_few(node, y, w)
        return
    whole, along = w.env[node.out], _together([w.axes(p) for p in node.places if isinstance(p, str)])
    assert isinstance(whole, Array)
    last = axis + len(along)
    parts = (*axes[:axis], *along, *axes[axis + len(node.places) :])
    names, places = w.places(parts)
    code: list[Stmt] = []
    with _noted(w) if (known := _known_places(node, whole, along, w)) is None else nullcontext():
        if known is not None:
            row = times(Load(known[0], index(ZERO, places[axis:last], packed(along)), INDEX), known[1])
            rest = [*places[:axis], *places[last:]], [*whole.strides[:axis], *whole.strides[axis + len(node.places) :]]
            there = index(row, *rest)
        else:
            here = places[axis:last]
            at = [Lit(p) if isinstance(p, int) else element_of(w.value(p), here, along) for p in node.places]
            rows = [place_in_range(place, n, code, w) for place, n in zip(at, axes[axis:], strict=False)]
            there = index(ZERO, [*places[:axis], *rows, *places[last:]], whole.strides)
        element = element_of(y, places, parts)
        element = element if y.dtype == node.dtype else Cast(element, node.dtype)
        if node.added:
            element = Do("add", (Load(whole.pointer, there, node.dtype), element), node.dtype, node.dtype)
        body = (*code, *nest(parts[last:], names[last:], (Store(whole.pointer, there, element),)))
        for n, i in reversed(list(zip(along, names[axis:last], strict=True))):
            body = (Steps(i, n, body),) if n != ONE else body
        w.code += nest(parts[:axis], names[:axis], body)


def _sets_few(node: Scatter, w: Lowering) -> bool:
    """Whether a node sets elements of a vector at few places that a step computes."""
    (first, *more), axes = node.places, w.axes(node.out)
    return isinstance(first, str) and not more and len(axes) == 1 and is_few(w.axes(first)) and not w.before(first)


def _set_few(node: Scatter, y: Array | Scalar, w: Lowering) -> None:
    """Write the setting of elements at few places, one after the other; all places are checked before."""
    whole, (name,) = w.env[node.out], node.places
    assert isinstance(whole, Array)
    axes = w.axes(str(name))
    elements = w.few.get(node.args[1], []) if w.axes(node.args[1]) == axes else []
    places = _few_places(str(name), whole.axes[0], w)
    for i, here in enumerate(np.ndindex(*[int(n.value) for n in axes if isinstance(n, Lit)])):
        element = elements[i].value if elements else element_of(y, [*map(Lit, here)], axes)
        element = element if y.dtype == node.dtype else Cast(element, node.dtype)
        there = index(ZERO, [places[i]], whole.strides)
        if node.added:
            element = Do("add", (Load(whole.pointer, there, node.dtype), element), node.dtype, node.dtype)
        w.code.append(Store(whole.pointer, there, element))


def _known_places(node: Scatter, whole: Array, along: Axes, w: Lowering) -> tuple[str, Expr] | None:
    """For indices that no step changes: an array of checked places, made before the loop, and the stride of one place.

    None where they change, or some of them are numbers.
    """
    names = [p for p in node.places if isinstance(p, str)]
    before = w.before(*names) if w.loops_open and len(names) == len(node.places) else None
    if before is None:
        return None
    axes = range(node.axis, node.axis + len(names))
    with w.into(before):
        places = _places_in_range(names, [(whole.axes[i], whole.strides[i]) for i in axes], along, w)
    return places, whole.strides[node.axis] if len(names) == 1 else ONE


def _together(shapes: Sequence[Axes]) -> Axes:
    """The axes to which some axes broadcast."""
    found: list[Expr] = [ONE] * max(map(len, shapes))
    for axes in shapes:
        for i, n in enumerate(axes, len(found) - len(axes)):
            found[i] = n if n != ONE else found[i]
    return tuple(found)


def copy_one_by_one(node: Take, w: Lowering) -> None:
    """Write the copy of parts with each index checked as it is read, for a device, where threads share the indices."""
    if len(node.args) > 2:
        raise NoForm("parts at several arrays of indices")
    x, at = w.value(node.args[0]), w.value(node.args[1])
    assert isinstance(x, Array)
    out, axes = w.place(node.out), w.axes(node.out)
    first, last = node.axis, node.axis + len(w.axes(node.args[1]))
    names, places = w.places(axes)
    found = element_of(at, places[first:last], axes[first:last])
    body: list[Stmt] = []
    with w.into(body):
        row = times(row_of(w, Cast(found, INDEX), x.axes[first]), x.strides[first])
        rest, strides = (*places[:first], *places[last:]), (*x.strides[:first], *x.strides[first + 1 :])
        store = Store(out, index(ZERO, places, packed(axes)), Load(x.pointer, index(row, rest, strides), node.dtype))
        w.code += nest(axes[last:], names[last:], (store,))
    w.code += nest(axes[:last], names[:last], tuple(body))
