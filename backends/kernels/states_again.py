"""A pass on nodes: recomputes a state where it is read backwards, instead of keeping all its rows.

An example is the gradient of an LSTM, which reads h = o * tanh(c): the forward loop keeps o and tanh(c) anyway, so h
costs one multiplication, and its rows need no memory.  The pass is right if one elementwise operation makes the state
from kept values, and if only loops that go backwards read its rows; the operation is the same, so the bits are, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from scanopt.backends.kernels.ir import ONE, plus
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import WHOLE, Join, Length, Lookup, Map, Nested, Node, Product, Repeat, View
from scanopt.backends.kernels.stages import is_few
from scanopt.backends.kernels.turned_first import turns
from scanopt.program.ir import Read
from scanopt.records import dataclass

__all__ = ["with_states_computed_again"]

CHEAP = ("add", "subtract", "multiply")
"""Operations that take no more time than the loads and stores that they save."""


@dataclass(frozen=True)
class _State:
    """A state whose rows can be computed again.

    maker: the operation that computes it; init: the initial row; now, before: the names of all its rows, and of its
    rows one step earlier; traces: for each argument of the operation, the name of its rows.
    """

    maker: Map
    init: str
    now: frozenset[str]
    before: frozenset[str]
    traces: Mapping[str, str]


def with_states_computed_again(nodes: Sequence[Node], wanted: Collection[str], w: Lowering) -> list[Node]:
    """Let loops that go backwards compute such states again.  wanted: names that are read afterwards."""
    found = [*nodes]
    for loop in [n for n in nodes if isinstance(n, Nested)]:
        for state in _states(loop, w):
            if _is_read_backwards(state, found, wanted, w):
                found = [x for n in found for x in _without_rows(n, state, found, w)]
    return found


def _states(loop: Nested, w: Lowering) -> list[_State]:
    """The states of a loop whose rows it keeps and can compute from other rows that it keeps."""
    if loop.loop.until is not None:
        return []
    rows = {k.value: k.out for k in loop.loop.keeps if k.rows is None}
    makers = {n.out: n for n in loop.nodes if isinstance(n, Map) and not isinstance(n, Lookup | Repeat)}
    found: list[_State] = []
    for s in loop.loop.states:
        maker = makers.get(s.update)
        if maker is None or s.depth != 1 or len(s.taps) != 1 or maker.op not in CHEAP:
            continue
        tap, axes = s.taps[0][1], w.axes(s.update)
        alike = all(a in rows and a not in (s.update, tap) and w.axes(a) == axes for a in maker.args)
        fits = len(axes) > 1 and ONE not in axes and not is_few(axes) and w.dtype(s.init) == maker.dtype
        kept = [(k.value, k.out) for k in loop.loop.keeps if k.rows is None]
        now, before = (frozenset(out for value, out in kept if value == x) for x in (s.update, tap))
        if alike and fits and now | before and not any(w.grows(w.axes(x)[0]) for x in now | before):
            found.append(_State(maker, s.init, now, before, {a: rows[a] for a in maker.args}))
    return found


def _is_read_backwards(state: _State, nodes: Sequence[Node], wanted: Collection[str], w: Lowering) -> bool:
    """Whether all readers of a state's rows begin with the last one, and read those one step earlier one by one."""
    names = state.now | state.before
    readers = _readers(nodes, names)
    if not all(isinstance(n, View) and turns(n) and n.out not in wanted for n in readers) or names & {*wanted}:
        return False
    later = {n.outs[0] for n in readers if not state.before.isdisjoint(n.args)}
    permuted = [n for n in _readers(nodes, later) if isinstance(n, View) and _permutes_rows(n)]
    loops = [n for n in _readers(nodes, later) if n not in permuted]
    later |= {n.out for n in permuted}
    loops += _readers(nodes, {n.out for n in permuted})
    return later.isdisjoint(wanted) and all(isinstance(n, Nested) and _reads_rows(n, later, w) for n in loops)


def _readers(nodes: Sequence[Node], names: Collection[str]) -> list[Node]:
    """The nodes that read elements of some arrays."""
    return [n for n in nodes if not isinstance(n, Length) and not {*names}.isdisjoint(n.args)]


def _permutes_rows(view: View) -> bool:
    """Whether a view only permutes the axes of each row."""
    axes = [x[0] for x in view.axes if x is not None and x[1] == WHOLE]
    return not view.at and len(axes) == len(view.axes) and axes[0] == 0 and sorted(axes) == [*range(len(axes))]


def _reads_rows(loop: Nested, names: Collection[str], w: Lowering) -> bool:
    """Whether a loop reads only rows of some arrays, in products of matrices and elementwise operations."""
    rows = {r.out for r in loop.loop.reads if r.source in names}
    inside = {s.init for s in loop.loop.states} | {loop.loop.steps}
    given = {s.update for s in loop.loop.states} | {k.value for k in loop.loop.keeps} | {loop.loop.until}
    others = inside | given | {a for n in loop.nodes for a in n.args if a not in rows}
    return others.isdisjoint({*names} | rows) and all(
        isinstance(n, Product | Length)
        or (isinstance(n, Map) and all(w.axes(n.out) == w.axes(a) for a in rows.intersection(n.args)))
        for n in loop.nodes
        if not rows.isdisjoint(n.args)
    )


def _without_rows(node: Node, state: _State, nodes: Sequence[Node], w: Lowering) -> Sequence[Node]:
    """Rewrite a node for a state whose rows are no longer kept."""
    back = {n.out for n in nodes if isinstance(n, View) and not state.before.isdisjoint(n.args)}
    if isinstance(node, Nested):
        keeps = tuple(k for k in node.loop.keeps if k.out not in state.now | state.before)
        return (_reading(replace(node, loop=replace(node.loop, keeps=keeps)), back, nodes, w),)
    if isinstance(node, View) and node.args[0] in back and _permutes_rows(node):
        return ()
    if isinstance(node, View) and node.out in back:
        return _before(node, state, w)
    return _computed(node, node.out, state, w) if isinstance(node, View) and node.args[0] in state.now else (node,)


def _before(view: View, state: _State, w: Lowering) -> Sequence[Node]:
    """Nodes for the rows one step earlier, last one first: those of all steps but the last, then the initial one."""
    rows, both, before = (f"{view.out}@{which}" for which in ("rows", "both", "before"))
    steps, *axes = w.axes(view.out)
    w.name_part(rows, view.out, (steps, *axes))
    w.name_part(both, view.out, (plus(steps, ONE), *axes))
    w.name_part(before, view.out, (steps, *axes))
    behind = replace(view, out=before, args=(both,), axes=((0, (1, None, None)), *view.axes[1:]))
    return (*_computed(view, rows, state, w), Join(both, (rows, state.init), 0, False, view.dtype), behind)


def _computed(view: View, out: str, state: _State, w: Lowering) -> Sequence[Node]:
    """Nodes that compute the rows of a state, last one first.  view: the view of the kept rows, which these replace."""
    names = {a: f"{trace}@back{out}" for a, trace in state.traces.items()}
    for a, name in names.items():
        w.name_part(name, state.traces[a], w.axes(state.traces[a]))
    views = [replace(view, out=names[a], args=(trace,), dtype=w.dtype(trace)) for a, trace in state.traces.items()]
    return (*views, replace(state.maker, out=out, args=tuple(names[a] for a in state.maker.args), like=out))


def _reading(loop: Nested, back: Collection[str], nodes: Sequence[Node], w: Lowering) -> Nested:
    """A loop that reads the recomputed rows one step earlier; if it read them permuted, it permutes each row itself.

    back: the names of these rows, where they were kept.
    """
    views = {n.out: n for n in nodes if isinstance(n, View) and n.args[0] in back and _permutes_rows(n)}
    found: list[Node] = []
    reads: list[Read] = []
    for r in loop.loop.reads:
        view = views.get(r.source)
        if view is None:
            reads.append(replace(r, source=f"{r.source}@before") if r.source in back else r)
            continue
        row = f"{r.out}@row"
        w.name_row(row, view.args[0])
        axes = tuple((x[0] - 1, WHOLE) for x in view.axes[1:] if x is not None)
        found.append(View(r.out, (row,), axes, (), view.dtype))
        reads.append(replace(r, out=row, source=f"{view.args[0]}@before"))
    sources = {r.source: new.source for r, new in zip(loop.loop.reads, reads, strict=True)}
    args = dict.fromkeys(sources.get(a, a) for a in loop.args)
    return Nested(replace(loop.loop, reads=tuple(reads)), (*found, *loop.nodes), tuple(args))
