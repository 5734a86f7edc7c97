"""Lowers the nodes of a step: runs the passes on nodes and stages in order, then writes each stage as statements.

`written` is dispatched by the kind of stage; other modules register theirs.  Here are loops over elements of fused
operations, calls of NumPy's inner loops, and running sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, singledispatch

import numpy as np

from scanopt.backends.kernels.calls_together import with_calls_together, write_calls
from scanopt.backends.kernels.chosen_parts import elements_chosen
from scanopt.backends.kernels.columns import Columns, with_columns, write_columns
from scanopt.backends.kernels.device_elements import element_with_part, for_threads
from scanopt.backends.kernels.few_parts import known_number
from scanopt.backends.kernels.few_reduced import is_written_out, write_few
from scanopt.backends.kernels.folds import Folded, with_folds, write_fold
from scanopt.backends.kernels.frames import COMPUTED
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Cast,
    Declare,
    Do,
    Expr,
    For,
    If,
    Inner,
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
)  # fmt: skip
from scanopt.backends.kernels.joined_parts import with_parts_computed, write_parts
from scanopt.backends.kernels.joined_places import parts_made_in_place
from scanopt.backends.kernels.lookups import (
    as_lookup,
    copy_one_by_one,
    element_at,
    looked_up,
    places_checked,
    write_lookup,
    write_scatter,
)
from scanopt.backends.kernels.lowering import Lowering, operation
from scanopt.backends.kernels.near_places import row_at_places
from scanopt.backends.kernels.nodes import (
    Call,
    Lookup,
    Map,
    Node,
    NoForm,
    PartSet,
    Reduce,
    Running,
    Scatter,
    SumTo,
    Take,
)  # fmt: skip
from scanopt.backends.kernels.numbers_handed_on import with_numbers_handed_on
from scanopt.backends.kernels.onto_rows import made_in_rows
from scanopt.backends.kernels.overwritten import chosen_over
from scanopt.backends.kernels.parts_set import part_to_set, with_parts_noted, with_parts_set
from scanopt.backends.kernels.places_changed import Elements, through_changes
from scanopt.backends.kernels.reductions import reduced
from scanopt.backends.kernels.row_results import with_traces_computed
from scanopt.backends.kernels.row_sources import with_rows_computed
from scanopt.backends.kernels.rows import ReducedRows, with_rows, write_rows
from scanopt.backends.kernels.rows_ahead import read_in_order
from scanopt.backends.kernels.rows_in_steps import with_rows_in_steps
from scanopt.backends.kernels.runs import row_of_lookups
from scanopt.backends.kernels.stages import CallsTogether, Fused, Stage, is_few, stages_of, stored, without_joins
from scanopt.backends.kernels.summed_rows import rows_to_sum, written_unless_summed
from scanopt.backends.kernels.values import Array, Axes, Scalar, element_of, index, item_size, nest, packed
from scanopt.backends.kernels.written_out import made_of_elements

__all__ = ["emit", "written"]


def emit(w: Lowering, nodes: Sequence[Node], wanted: set[str]) -> None:
    """Write the nodes of a step, or of a part of one.  wanted: names that are read after them."""
    nodes = [as_lookup(n, w) for n in (for_threads(nodes, wanted, w) if w.device else nodes)]
    nodes = with_parts_noted(with_rows_in_steps(nodes, wanted, w), wanted, COMPUTED, w)
    w.makers |= {n.out: n for n in nodes if isinstance(n, Map)}
    w.chosen |= {} if w.device else elements_chosen(nodes)
    stages = stages_of(nodes, w.lengths.axes, wanted)
    if w.body.whole:
        stages = without_joins(stages, w.lengths.axes, wanted)
    parts_made_in_place(nodes, stages, wanted, w)
    stages = with_parts_computed(stages, wanted, w)
    together = with_calls_together(stages, w)
    written_out = made_of_elements(nodes, w)
    written_out |= {name for s in together if isinstance(s, CallsTogether) for name in s.outs}
    w.stored |= stored(together, wanted, w.lengths.axes, written_out)
    folded = with_folds(with_columns(together, wanted), wanted, w) if w.body.whole else together
    if not w.device:
        folded = with_rows_computed(with_traces_computed(folded, wanted, w), wanted, w)
        folded = with_numbers_handed_on(folded, wanted, w)
    found = folded if w.device else with_rows(folded, wanted)
    w.in_order |= read_in_order(found, wanted, w)
    w.summing |= rows_to_sum(found, wanted, w)
    w.looked_up |= looked_up(found, wanted) if not w.device else set()
    made_in_rows(found, wanted, w)
    for stage in found if w.prefixes else with_parts_set(found, w.lengths.axes, wanted, w.in_place):
        if not isinstance(stage, Fused | Folded) and (sums := [x for x in stage.outs if x in w.sums]):
            written_unless_summed(sums[0], partial(written, stage, w), w)
        else:
            written(stage, w)


@singledispatch
def written(stage: Stage | Columns | Folded | ReducedRows, w: Lowering) -> None:
    """Write one stage."""
    raise NotImplementedError(stage)


@written.register(CallsTogether)
def _calls(stage: CallsTogether, w: Lowering) -> None:
    write_calls(stage, w)


@written.register(Columns)
def _columns(stage: Columns, w: Lowering) -> None:
    write_columns(stage, w)


@written.register(Folded)
def _folded(stage: Folded, w: Lowering) -> None:
    write_fold(stage, w)


@written.register(ReducedRows)
def _rows(stage: ReducedRows, w: Lowering) -> None:
    with places_checked(stage.stage.nodes, w):
        write_rows(stage, w, lambda places, outs, mine: _elements(stage.stage, outs, places, stage.stage.axes, mine, w))


@written.register(Take)
def _take(node: Take, w: Lowering) -> None:
    if w.device:
        copy_one_by_one(node, w)
    else:
        write_lookup(node, w)


@written.register(Scatter)
def _scatter(node: Scatter, w: Lowering) -> None:
    write_scatter(node, w)


@written.register(Map)
def _scalar(node: Map, w: Lowering) -> None:
    values = [w.value(a) for a in node.args]
    if (known := known_number(node.op, values)) is not None:
        w.env[node.out] = known
        return
    w.let(node.out, operation(node, [element_of(v, [], ()) for v in values], [v.dtype for v in values]), node.dtype)


@written.register(Fused)
def _fused(stage: Fused, w: Lowering) -> None:
    """Write a fused stage: one loop over all elements if all arrays have one packed layout, else a loop per axis."""
    for n in stage.nodes if w.repeated else ():
        if n.out in w.repeated:
            value = w.value(n.args[0])
            w.env[n.out] = Scalar(operation(n, [element_of(value, [], ())], [value.dtype]), n.dtype)
    stage = replace(stage, nodes=[n for n in stage.nodes if n.out not in w.repeated])
    if not stage.nodes:
        return
    if is_few(stage.axes) and not _resets(stage, w):
        _unrolled(stage, w)
        return
    with places_checked(stage.nodes, w):
        _loop(stage, w)


def _resets(stage: Fused, w: Lowering) -> bool:
    """Whether a stage only sets all elements of a state, parts of which were set before, to a number, and rarely."""
    node = chosen_over(stage, w) if len(stage.nodes) == 1 else None
    tap = w.over[node.out] if node is not None else ""
    return node is not None and tap in w.in_place and not any(w.axes(a) for a in node.args if a != tap)


def _loop(stage: Fused, w: Lowering) -> None:
    if stage.joins:
        outs = _outs(stage, w)
        write_parts(
            stage, w,
            lambda place, mine: _elements(stage, outs, [place], stage.axes, mine, w),
            lambda nodes, axes, place, mine: _elements(Fused(axes, nodes), {}, [place], axes, mine, w),
        )  # fmt: skip
        return
    outside = [w.value(a) for a in _outside(stage)]
    outs = _outs(stage, w)
    flat = not any(isinstance(n, PartSet) for n in stage.nodes) and all(
        isinstance(v, Scalar) or v.fills(stage.axes) or product(v.axes) == ONE for v in (*outside, *outs.values())
    )
    lengths = (product(stage.axes),) if flat else stage.axes
    names, places = w.places(lengths)
    if any(isinstance(v, Array) and v.picks for v in outside):

        def part(start: Expr, count: Expr) -> tuple[Stmt, ...]:
            each = w.fresh("i")
            return (For(each, count, _elements(stage, outs, [*places[:-1], plus(start, Var(each))], lengths, {}, w)),)

        row = row_of_lookups({a: w.value(a) for a in _outside(stage)}, lengths, places[:-1], w, part)
        w.code += nest(lengths[:-1], names[:-1], row)
        return
    if lengths == stage.axes and stage.axes not in w.prefixes and any(isinstance(n, Lookup) for n in stage.nodes):

        def elements_of_row(start: Expr, count: Expr, given: Callable[[Expr], dict[str, Scalar]]) -> tuple[Stmt, ...]:
            each = w.fresh("i")
            at = plus(start, Var(each))
            return (For(each, count, _elements(stage, outs, [*places[:-1], at], lengths, given(at), w)),)

        row = row_at_places(stage, lengths, places[:-1], w, elements_of_row)
        w.code += nest(lengths[:-1], names[:-1], row)
        return
    counts = (w.prefixes[stage.axes],) if stage.axes in w.prefixes else lengths
    elements: Elements = lambda at, mine: _elements(stage, outs, at, lengths, mine, w)  # noqa: E731
    w.code += through_changes(stage, counts, names, places, elements, w)


def _outs(stage: Fused, w: Lowering) -> dict[str, Array]:
    """The arrays in which results are stored, by name."""
    outs = {node.args[1]: part_to_set(node, w)[0] for node in stage.filled}
    for n in stage.nodes:
        if n.out in w.stored and n.out not in outs:
            outs[n.out] = Array(w.place(n.out), stage.axes, packed(stage.axes), n.dtype)
    return outs


def _elements(
    stage: Fused, outs: Mapping[str, Array], places: Sequence[Expr], lengths: Axes, mine: dict[str, Scalar], w: Lowering
) -> tuple[Stmt, ...]:
    """Statements for the operations on the elements at one place.

    outs: the arrays to store in, by name; mine: known elements, by name, to which those computed here are added.  All
    elements are read before any is stored, so that results may be stored over operands.
    """
    body: list[Stmt] = []
    stores: list[Stmt] = []
    for node in (n for n in stage.nodes if n.out not in mine):
        args = node.args[1:] if isinstance(node, Lookup) else node.args
        values = [mine[a] if a in mine else w.value(a) for a in args]
        found = [] if isinstance(node, PartSet) else w.elements(args, values, places, lengths)
        variable = w.fresh("v")
        if isinstance(node, Lookup):
            value: Expr = element_at(node, found, body, w)
        elif isinstance(node, PartSet):
            value = element_with_part(node, places, values[0], values[1], w)
        else:
            value = operation(node, found, [v.dtype for v in values])
        body.append(Let(variable, value, node.dtype))
        mine[node.out] = Scalar(Var(variable, node.dtype), node.dtype)
        if node.out in outs:
            strides = outs[node.out].strides if lengths == stage.axes else (ONE,)
            stores.append(Store(outs[node.out].pointer, index(ZERO, places, strides), Var(variable, node.dtype)))
    return (*body, *stores)


def _unrolled(stage: Fused, w: Lowering) -> None:
    """Write operations on arrays of few elements, each element a variable."""
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
        w.keep_few(node.out, made)


def _element(w: Lowering, name: str, i: int, place: Sequence[Expr], axes: Axes) -> tuple[Expr, str]:
    if name in w.few and w.axes(name) == axes:
        return w.few[name][i].value, w.few[name][i].dtype
    value = w.value(name)
    return (value.value if isinstance(value, Scalar) else value.at(place, axes)), value.dtype


def _outside(stage: Fused) -> list[str]:
    """The names of the arrays that a stage reads element by element and does not make itself."""
    made = {n.out for n in stage.nodes}
    read = (a for n in stage.nodes for a in (n.args[1:] if isinstance(n, Lookup) else n.args))
    return list(dict.fromkeys(a for a in read if a not in made))


# NumPy's inner loops


def _in_cell(w: Lowering, value: Expr, old: str, dtype: str) -> str:
    cell = w.cell(dtype)
    w.code.append(Store(cell, ZERO, value if old == dtype else Cast(value, dtype)))
    return cell


@written.register(Call)
def _call(node: Call, w: Lowering) -> None:
    axes = w.axes(node.out)
    if node.whole and axes and (product(axes) == ONE or not all(w.axes(a) in (axes, ()) for a in node.args)):
        raise NoForm(f"{node.ufunc} rounds differently depending on how many elements NumPy passes at a time")
    pointers, strides = list[str](), list[Expr]()
    for a, dtype in zip(node.args, node.takes, strict=True):
        value = w.value(a)
        if isinstance(value, Scalar) or product(value.axes) == ONE:
            pointers.append(_in_cell(w, element_of(value, [ZERO], (ONE,)), value.dtype, dtype))
            strides.append(ZERO if axes or node.whole else item_size(dtype))  # NumPy's power loops look whether it is 0
        else:
            pointers.append(w.whole(value, axes, dtype))
            strides.append(item_size(dtype))
    out, dtypes = w.place(node.out) if axes else w.cell(node.dtype), (*node.takes, node.dtype)
    slot, direct = w.slot(node.ufunc, dtypes), w.direct_slot(node.ufunc, dtypes, axes)
    strides.append(item_size(node.dtype))
    w.code.append(Inner(slot, (*pointers, out), (product(axes),), tuple(strides), bool(axes), direct))
    if not axes:
        w.let(node.out, Load(out, ZERO, node.dtype), node.dtype)


@written.register(Reduce)
def _reduce(node: Reduce, w: Lowering) -> None:
    if is_written_out(node, w):
        write_few(node, w)
        return
    reduced(node, w.slot(node.op, (node.dtype,) * 3), w)


@written.register(SumTo)
def _sum_to(node: SumTo, w: Lowering) -> None:
    x, axes = w.axes(node.args[0]), w.axes(node.out)
    gone = tuple(i for i, (n, m) in enumerate(zip(x, axes, strict=True)) if n != m)
    if any(axes[i] != ONE for i in gone):
        raise NoForm("a sum over an axis that stays long")
    if gone:
        reduced(Reduce(node.out, node.args[:1], "add", gone, node.dtype), w.slot("add", (node.dtype,) * 3), w)
    else:
        w.env[node.out] = w.value(node.args[0])


@written.register(Running)
def _running(node: Running, w: Lowering) -> None:
    axes, dtype, axis = w.axes(node.out), node.dtype, node.axis
    out, source = w.place(node.out), w.value(node.args[0])
    names, places = w.places(axes)
    step = w.fresh("i")

    def element(at: Expr) -> tuple[Expr, Expr]:
        """The place of an element of the result, and the element that it adds."""
        here = [*places[:axis], at, *places[axis + 1 :]]
        x = element_of(source, here, axes)
        return index(ZERO, here, packed(axes)), x if source.dtype == dtype else Cast(x, dtype)

    (start, first), (here, x) = element(ZERO), element(plus(Var(step), ONE))
    left = plus(axes[axis], Lit(-1))
    if axis == len(axes) - 1:
        so_far = w.fresh("s")
        added = (Set(so_far, Do(node.op, (Var(so_far, dtype), x), dtype, dtype)), Store(out, here, Var(so_far, dtype)))
        begin: tuple[Stmt, ...] = (Declare(so_far, dtype), Set(so_far, first), Store(out, start, Var(so_far, dtype)))
        code = (*begin, Steps(step, left, added))
    else:
        before = plus(here, times(Lit(-1), packed(axes)[axis]))
        value = Do(node.op, (Load(out, before, dtype), x), dtype, dtype)
        code = nest(axes[axis + 1 :], names[axis + 1 :], (Store(out, start, first),))
        code += (Steps(step, left, nest(axes[axis + 1 :], names[axis + 1 :], (Store(out, here, value),))),)
    code = nest(axes[:axis], names[:axis], code)
    some = Do("greater", (axes[axis], ZERO), "bool", INDEX)
    w.code += code if isinstance(axes[axis], Lit) else (If(some, code),)  # a length that is known is not 0
