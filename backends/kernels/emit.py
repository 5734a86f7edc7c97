"""What the stages of a step become: loops over elements, calls of NumPy's inner loops, pointers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from scanopt.backends.kernels.frames import Frame, checked
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Cast,
    Do,
    Expr,
    Fail,
    If,
    Inner,
    Let,
    Lit,
    Load,
    Point,
    Set,
    Steps,
    Stmt,
    Store,
    Var,
    plus,
    product,
    times,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering, index, number_of
from scanopt.backends.kernels.nodes import (
    WHOLE,
    Call,
    Fork,
    Join,
    Length,
    Map,
    Nested,
    Node,
    NoForm,
    Product,
    Reduce,
    Reshape,
    Running,
    SetItem,
    SumTo,
    Take,
    View,
    walk,
)  # fmt: skip
from scanopt.backends.kernels.recipe import Given, Number
from scanopt.backends.kernels.reductions import reduced
from scanopt.backends.kernels.stages import Fused, Stage, is_element, is_few, stages_of, stored
from scanopt.backends.kernels.values import Array, Axes, Scalar, element_of, nest, packed

__all__ = ["emit", "written"]


def emit(w: Lowering, nodes: Sequence[Node], wanted: set[str]) -> None:
    """Write some nodes.  wanted: names that are asked for after them."""
    stages = stages_of(nodes, w.lengths.axes)
    w.stored |= stored(stages, wanted, w.lengths.axes)
    for stage in stages:
        written(stage, w)


@singledispatch
def written(stage: Stage, w: Lowering) -> None:
    """Write a stage."""
    raise NotImplementedError(stage)


def operation(node: Map, args: list[Expr], dtypes: list[str]) -> Expr:
    """The value of a node, of those of its arguments."""
    given = [x if d == want else Cast(x, want) for x, d, want in zip(args, dtypes, node.takes, strict=True)]
    return given[0] if node.op == "copy" else Do(node.op, tuple(given), node.dtype, node.takes[-1])


@written.register(Map)
def _scalar(node: Map, w: Lowering) -> None:
    values = [w.value(a) for a in node.args]
    found = [element_of(v, [], ()) for v in values]
    w.let(node.out, operation(node, found, [v.dtype for v in values]), node.dtype)


@written.register(Fused)
def _fused(stage: Fused, w: Lowering) -> None:
    """One loop over all elements where all arrays are packed alike, else one for each axis."""
    if is_few(stage.axes):
        _unrolled(stage, w)
        return
    mine: dict[str, Scalar] = {}
    outside = [w.value(a) for a in _outside(stage)]
    flat = all(isinstance(v, Scalar) or v.fills(stage.axes) or product(v.axes) == ONE for v in outside)
    lengths = (product(stage.axes),) if flat else stage.axes
    names, places = w.places(lengths)
    body: list[Stmt] = []
    into = index(ZERO, places, packed(lengths))
    for node in stage.nodes:
        values = [mine[a] if a in mine else w.value(a) for a in node.args]
        found = [element_of(v, places, lengths) for v in values]
        variable = w.fresh("v")
        body.append(Let(variable, operation(node, found, [v.dtype for v in values]), node.dtype))
        mine[node.out] = Scalar(Var(variable, node.dtype), node.dtype)
        if node.out in w.stored:
            body.append(Store(w.place(node.out), into, Var(variable, node.dtype)))
    w.code += nest(lengths, names, tuple(body))


def _unrolled(stage: Fused, w: Lowering) -> None:
    """The elements of few, each a variable."""
    lengths = [int(n.value) for n in stage.axes if isinstance(n, Lit)]
    places = [tuple(map(Lit, place)) for place in np.ndindex(*lengths)]
    for node in stage.nodes:
        made: list[Scalar] = []
        for i, place in enumerate(places):
            found = [_element(w, a, i, place, stage.axes) for a in node.args]
            variable = w.fresh("v")
            value = operation(node, [x for x, _ in found], [d for _, d in found])
            w.code.append(Let(variable, value, node.dtype))
            made.append(Scalar(Var(variable, node.dtype), node.dtype))
        _few(w, node.out, made)


def _element(w: Lowering, name: str, i: int, place: Sequence[Expr], axes: Axes) -> tuple[Expr, str]:
    if name in w.few and w.axes(name) == axes:
        return w.few[name][i].value, w.few[name][i].dtype
    value = w.value(name)
    return (value.value if isinstance(value, Scalar) else value.at(place, axes)), value.dtype


def _few(w: Lowering, name: str, elements: list[Scalar]) -> None:
    """An array of few elements, in memory as well where something reads it there."""
    w.few[name] = elements
    if name in w.stored:
        pointer = w.place(name)
        w.code += [Store(pointer, Lit(i), x.value) for i, x in enumerate(elements)]


def _outside(stage: Fused) -> list[str]:
    made = {n.out for n in stage.nodes}
    return list(dict.fromkeys(a for n in stage.nodes for a in n.args if a not in made))


# NumPy's inner loops


def _item(dtype: str) -> Lit:
    return Lit(np.dtype(dtype).itemsize)


def _slot(w: Lowering, ufunc: str, dtypes: tuple[str, ...]) -> int:
    if (ufunc, dtypes) not in w.loops:
        w.loops.append((ufunc, dtypes))
    return w.loops.index((ufunc, dtypes))


def _in_cell(w: Lowering, value: Expr, old: str, dtype: str) -> str:
    cell = w.cell(dtype)
    w.code.append(Store(cell, ZERO, value if old == dtype else Cast(value, dtype)))
    return cell


@written.register(Call)
def _call(node: Call, w: Lowering) -> None:
    axes = w.axes(node.out)
    if node.whole and axes and (product(axes) == ONE or not all(w.axes(a) in (axes, ()) for a in node.args)):
        raise NoForm(f"{node.ufunc} rounds by how many elements NumPy gives it at a time")
    pointers: list[str] = []
    strides: list[Expr] = []
    for a, dtype in zip(node.args, node.takes, strict=True):
        value = w.value(a)
        if isinstance(value, Scalar) or product(value.axes) == ONE:
            pointers.append(_in_cell(w, element_of(value, [ZERO], (ONE,)), value.dtype, dtype))
            strides.append(ZERO if axes else _item(dtype))
        else:
            pointers.append(w.whole(value, axes, dtype))
            strides.append(_item(dtype))
    out = w.place(node.out) if axes else w.cell(node.dtype)
    slot = _slot(w, node.ufunc, (*node.takes, node.dtype))
    w.code.append(Inner(slot, (*pointers, out), (product(axes),), (*strides, _item(node.dtype))))
    if not axes:
        w.let(node.out, Load(out, ZERO, node.dtype), node.dtype)


@written.register(Product)
def _product(node: Product, w: Lowering) -> None:
    """NumPy's loop takes matrices: a vector is one row on the left, one column on the right."""
    item = _item(node.dtype)
    (a, b), out_axes = node.args, w.axes(node.out)
    pointer_a, strides_a = _factor(w, a, node)
    pointer_b, strides_b = _factor(w, b, node)
    axes_a, axes_b = w.axes(a), w.axes(b)
    rows = axes_a[0] if len(axes_a) == 2 else ONE
    columns = axes_b[1] if len(axes_b) == 2 else ONE
    if len(axes_a) == 1:
        strides_a = (times(axes_a[0], item), strides_a[0])
    if len(axes_b) == 1:
        strides_b = (strides_b[0], item)
    out = w.place(node.out) if out_axes else w.cell(node.dtype)
    dims = (ONE, rows, axes_a[-1], columns)
    strides = (ZERO, ZERO, ZERO, *strides_a, *strides_b, times(columns, item), item)
    w.code.append(Inner(_slot(w, "matmul", (node.dtype,) * 3), (pointer_a, pointer_b, out), dims, strides))
    if not out_axes:
        w.let(node.out, Load(out, ZERO, node.dtype), node.dtype)


def _factor(w: Lowering, name: str, node: Product) -> tuple[str, tuple[Expr, ...]]:
    """A pointer to a factor, and its strides in bytes; where rounding is free, an outer one is taken as it lies."""
    axes, dtype = w.axes(name), node.dtype
    if node.as_they_lie:
        value = w.value(name)
        assert isinstance(value, Array)
        return value.pointer, tuple(times(s, _item(dtype)) for s in value.strides)
    if not w.body.exact and name in w.body.outer and w.dtype(name) == dtype:
        strides = tuple(w.number(Number("stride in bytes", (name, i))) for i in range(len(axes)))
        return w.give(Given("strided", dtype, name)), strides
    pointer = w.whole(w.value(name), axes, dtype)
    return pointer, tuple(times(s, _item(dtype)) for s in packed(axes))


# Views


@written.register(View)
def _view(node: View, w: Lowering) -> None:
    if node.args[0] in w.few and is_element(node):
        places = [_index(w, at, w.axes(node.args[0])[axis]) for axis, at in sorted(node.at)]
        flat = index(ZERO, places, packed(w.axes(node.args[0])))
        assert isinstance(flat, Lit)
        w.env[node.out] = w.few[node.args[0]][int(flat.value)]
        return
    x, axes = w.value(node.args[0]), w.axes(node.out)
    if isinstance(x, Scalar):
        _arranged(node.out, x, w)
        return
    offset, strides = _part(node, x, w)
    if not axes:
        w.let(node.out, Load(x.pointer, offset, node.dtype), node.dtype)
        return
    pointer = w.pointer(node.dtype)
    w.code.append(Point(pointer, x.pointer, offset, node.dtype))
    found = Array(pointer, axes, strides, node.dtype)
    w.env[node.out] = found
    if w.body.exact and node.out in w.multiplied and not found.packed:  # here, not in each step of a loop that reads it
        w.env[node.out] = Array(w.whole(found, axes, node.dtype), axes, packed(axes), node.dtype)


def _part(node: View, x: Array, w: Lowering) -> tuple[Expr, Axes]:
    """Where a part of x starts in it, and its strides."""
    offset: Expr = ZERO
    for axis, at in node.at:
        offset = plus(offset, times(_index(w, at, x.axes[axis]), x.strides[axis]))
    strides: list[Expr] = []
    for entry, length in zip(node.axes, w.axes(node.out), strict=True):
        if entry is None:
            strides.append(ONE)
            continue
        axis, part = entry
        if any(isinstance(p, str) for p in part):
            offset = plus(offset, times(_start(w, part, x.axes[axis], length), x.strides[axis]))
        elif part != WHOLE:
            start = w.number(Number("start", (node.args[0], axis), part))
            offset = plus(offset, times(start, x.strides[axis]))
        strides.append(times(Lit(1 if part[2] is None else part[2]), x.strides[axis]))
    return offset, tuple(strides)


def _start(w: Lowering, part: tuple[int | str | None, ...], length: Expr, wanted: Expr) -> Expr:
    """Where a slice starts whose ends are computed, after a check that it has as many elements as planned for."""
    ends = [
        ZERO if part[0] is None else _end(w, part[0], length),
        length if part[1] is None else _end(w, part[1], length),
    ]
    found = Do("subtract", (ends[1], ends[0]), INDEX, INDEX)
    w.code.append(If(Do("not_equal", (found, wanted), "bool", INDEX), (Fail(),)))
    return ends[0]


def _end(w: Lowering, end: int | str, length: Expr) -> Expr:
    place: Expr = Cast(number_of(w.value(end)), INDEX) if isinstance(end, str) else Lit(end)
    name = w.fresh("j")
    below = Do("less", (place, ZERO), "bool", INDEX)
    counted = Do("where", (below, plus(place, length), place), INDEX, INDEX)
    w.code.append(Let(name, Do("clip", (counted, ZERO, length), INDEX, INDEX), INDEX))
    return Var(name)


@written.register(SetItem)
def _setitem(node: SetItem, w: Lowering) -> None:
    x, y, axes = w.value(node.args[0]), w.value(node.args[1]), w.axes(node.out)
    if node.out in w.in_place:
        assert isinstance(x, Array)
        w.env[node.out] = x
    else:
        w.code += w.copied(x, w.place(node.out), ZERO, axes)
    whole = w.env[node.out]
    assert isinstance(whole, Array)
    start, strides = _part(node.part, whole, w)
    lengths = w.axes(node.part.out)
    names, places = w.places(lengths)
    at = index(start, places, strides)
    element = element_of(y, places, lengths)
    element = element if y.dtype == node.dtype else Cast(element, node.dtype)
    if node.added:
        element = Do("add", (Load(whole.pointer, at, node.dtype), element), node.dtype, node.dtype)
    w.code += nest(lengths, names, (Store(whole.pointer, at, element),))


def _index(w: Lowering, place: int | str, length: Expr) -> Expr:
    """An index from 0 on, after a check: else the loop is left to array steps, which tell what is wrong."""
    if isinstance(place, str):
        return _row(w, Cast(number_of(w.value(place)), INDEX), length)
    if not isinstance(length, Lit):
        return _in_range(w, Lit(place) if place >= 0 else plus(length, Lit(place)), length)
    if not -int(length.value) <= place < int(length.value):
        raise NoForm("an index is out of range")
    return Lit(place % int(length.value))


def _row(w: Lowering, place: Expr, length: Expr) -> Expr:
    """A computed index, counted from the end where it is negative."""
    name = w.fresh("j")
    below = Do("less", (place, ZERO), "bool", INDEX)
    w.code.append(Let(name, Do("where", (below, plus(place, length), place), INDEX, INDEX), INDEX))
    return _in_range(w, Var(name), length)


def _in_range(w: Lowering, place: Expr, length: Expr) -> Expr:
    low, high = Do("less", (place, ZERO), "bool", INDEX), Do("greater_equal", (place, length), "bool", INDEX)
    w.code.append(If(Do("logical_or", (low, high), "bool", "bool"), (Fail(),)))
    return place


def _arranged(out: str, x: Scalar, w: Lowering) -> None:
    """A number, or an array of one element."""
    if not w.axes(out):
        w.env[out] = x
        return
    pointer = w.place(out)
    w.code += w.copied(x, pointer, ZERO, w.axes(out))


@written.register(Reshape)
def _reshape(node: Reshape, w: Lowering) -> None:
    x, axes = w.value(node.args[0]), w.axes(node.out)
    if isinstance(x, Scalar):
        _arranged(node.out, x, w)
        return
    pointer = x.pointer if x.packed else w.whole(x, x.axes, x.dtype)
    if axes:
        w.env[node.out] = Array(pointer, axes, packed(axes), node.dtype)
    else:
        w.let(node.out, Load(pointer, ZERO, node.dtype), node.dtype)


@written.register(Join)
def _join(node: Join, w: Lowering) -> None:
    if node.new and is_few(w.axes(node.out)) and not any(w.axes(a) for a in node.args):
        values = [number_of(w.value(a)) for a in node.args]
        cast = [x if w.dtype(a) == node.dtype else Cast(x, node.dtype) for a, x in zip(node.args, values, strict=True)]
        _few(w, node.out, [Scalar(x, node.dtype) for x in cast])
        return
    pointer, axes = w.place(node.out), w.axes(node.out)
    strides = packed(axes)
    start: Expr = ZERO
    for a in node.args:
        value = w.value(a)
        own = (*axes[: node.axis], *axes[node.axis + 1 :]) if node.new else w.axes(a)
        apart = (*strides[: node.axis], *strides[node.axis + 1 :]) if node.new else strides
        names, places = w.places(own)
        into = index(start, places, apart)
        element = element_of(value, places, own)
        element = element if value.dtype == node.dtype else Cast(element, node.dtype)
        w.code += nest(own, names, (Store(pointer, into, element),))
        start = plus(start, times(ONE if node.new else own[node.axis], strides[node.axis]))


@written.register(Length)
def _length(node: Length, w: Lowering) -> None:
    w.let(node.out, w.axes(node.args[0])[node.axis], node.dtype)


@written.register(Reduce)
def _reduce(node: Reduce, w: Lowering) -> None:
    reduced(node, _slot(w, node.op, (node.dtype,) * 3), w)


@written.register(SumTo)
def _sum_to(node: SumTo, w: Lowering) -> None:
    x, axes = w.axes(node.args[0]), w.axes(node.out)
    gone = tuple(i for i, (n, m) in enumerate(zip(x, axes, strict=True)) if n != m)
    if gone:
        reduced(Reduce(node.out, node.args[:1], "add", gone, node.dtype), _slot(w, "add", (node.dtype,) * 3), w)
    else:
        w.env[node.out] = w.value(node.args[0])


@written.register(Running)
def _running(node: Running, w: Lowering) -> None:
    axes, dtype = w.axes(node.out), node.dtype
    out, stride = w.place(node.out), packed(axes)[node.axis]
    w.code += w.copied(w.value(node.args[0]), out, ZERO, axes, dtype)
    names, places = w.places(axes)
    step = w.fresh("i")
    places[node.axis] = plus(Var(step), ONE)
    here = index(ZERO, places, packed(axes))
    before = plus(here, times(Lit(-1), stride))
    value = Do(node.op, (Load(out, before, dtype), Load(out, here, dtype)), dtype, dtype)
    inside = nest(axes[node.axis + 1 :], names[node.axis + 1 :], (Store(out, here, value),))
    steps = Steps(step, plus(axes[node.axis], Lit(-1)), inside)
    w.code += nest(axes[: node.axis], names[: node.axis], (steps,))


@written.register(Take)
def _take(node: Take, w: Lowering) -> None:
    x, at = w.value(node.args[0]), w.value(node.args[1])
    assert isinstance(x, Array)
    out, axes = w.place(node.out), w.axes(node.out)
    count = len(w.axes(node.args[1]))
    names, places = w.places(axes)
    found = element_of(at, places[:count], axes[:count])
    body: list[Stmt] = []
    with w.into(body):
        row = _row(w, Cast(found, INDEX), x.axes[0])
        element = Load(x.pointer, index(times(row, x.strides[0]), places[count:], x.strides[1:]), node.dtype)
        store = Store(out, index(ZERO, places, packed(axes)), element)
        w.code += nest(axes[count:], names[count:], (store,))
    w.code += nest(axes[:count], names[:count], tuple(body))


# Branches and loops inside


@written.register(Fork)
def _fork(node: Fork, w: Lowering) -> None:
    results = node.branch.results
    targets = [w.pointer(r.type.dtype) if w.axes(r.out) else w.variable(r.type.dtype) for r in results]
    test = number_of(w.value(node.branch.condition))
    sides: list[tuple[Stmt, ...]] = []
    for (_, values), nodes in zip(node.branch.sides, (node.then, node.otherwise), strict=True):
        if any(name not in w.lengths.axes for x in walk(nodes) for name in x.outs):
            sides.append((Fail(),))  # which does not run
            continue
        with w.into([]) as code:
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


@written.register(Nested)
def _nested(node: Nested, w: Lowering) -> None:
    outs: list[str] = []
    for k in node.loop.keeps:
        outs.append(w.place(k.out))
    steps = checked(w, node)
    frame = Frame(w, node, w.fresh("t"), steps, outs, outermost=False)
    frame.write(lambda nodes, wanted: emit(w, nodes, wanted))
    if node.loop is w.body.cut:
        w.code.append(Set(w.taken, frame.t))
