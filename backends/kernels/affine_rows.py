"""Lowers affine recurrences of numbers (`AffineRows`): calls functions that do eight steps at once (`c_affine.py`)."""

from __future__ import annotations

from scanopt.array.numerics.regrouped import STRETCH
from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.few_parts import few_elements, few_rows
from scanopt.backends.kernels.ir import INDEX, ZERO, Do, Expr, Helper, Let, Lit, Load, Point, Steps, Store, Var, plus
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import AffineRows, NoForm, View
from scanopt.backends.kernels.values import Array, Scalar

__all__: list[str] = []

PIECE = 8 * STRETCH
"""The number of rows that are in memory at a time, if only the last one is read."""


@written.register(AffineRows)
def _affine(node: AffineRows, w: Lowering) -> None:
    """Write the call; the function overwrites the initial state by the state after the last step."""
    if w.device:
        raise NoForm(f"{node.op}: eight steps at once")
    dtype, (count,) = node.dtype, w.axes(node.out)
    if few_rows(node, w):
        _one_by_one(node, w)
        return
    init, *arrays = (_pointer(name, dtype, w) for name in node.args)
    depth = 2 if node.op == "regrouped_filter2" else 1
    state = w.scratch(dtype, (Lit(depth),))
    w.code += [Store(state, Lit(k), Load(init, Lit(k), dtype)) for k in range(depth)]
    if not _last_is_read(node, w):
        w.code.append(Helper(f"{node.op}_{dtype}", (w.place(node.out), state, *arrays), (count,)))
        return
    _in_pieces(node, state, arrays, w)
    last = w.pointer(dtype)
    w.code.append(Point(last, state, Lit(depth - 1), dtype))
    w.env[node.out] = Array(last, (count,), (ZERO,), dtype)


def _one_by_one(node: AffineRows, w: Lowering) -> None:
    """Write the steps, in variables."""
    dtype, (count,) = node.dtype, w.axes(node.out)
    n = int(count.value) if isinstance(count, Lit) else 0
    init, *rows = (few_elements(name, w) for name in node.args)
    states, found = [*init], list[Scalar]()
    for t in range(n):
        a, *more = (row[t] if len(row) > 1 else row[0] for row in rows)
        name = w.fresh("v")
        w.code.append(Let(name, _step(node.op, states, a, more, dtype), dtype))
        states = [*states[1:], Var(name, dtype)]
        found.append(Scalar(Var(name, dtype), dtype))
    w.keep_few(node.out, found)


def _step(op: str, states: list[Expr], a: Expr, more: list[Expr], dtype: str) -> Expr:
    """The next state, as one step of a function in `c_affine.py` computes it."""

    def do(op: str, x: Expr, y: Expr) -> Expr:
        return Do(op, (x, y), dtype, dtype)

    s = states[-1]
    match op:
        case "regrouped_sum":
            return do("add", s, a)
        case "linear_recurrence":
            return do("add", do("multiply", s, a), more[0])
        case "regrouped_filter":
            return do("add", do("multiply", s, more[0]), a)
        case "smoothing":
            return do("add", s, do("multiply", do("subtract", more[0], s), a))
        case "regrouped_smoothing":
            return do("add", s, do("multiply", do("subtract", a, s), more[0]))
    return do("add", do("add", do("multiply", s, more[0]), do("multiply", states[-2], more[1])), a)


def _pointer(name: str, dtype: str, w: Lowering) -> str:
    value, axes = w.value(name), w.axes(name)
    if axes:
        return w.whole(value, axes, dtype)
    cell = w.cell(dtype)
    w.code.append(Store(cell, ZERO, number_of(value)))
    return cell


def _last_is_read(node: AffineRows, w: Lowering) -> bool:
    """Whether a whole program reads only the last row of a recurrence."""
    root = w.body.root
    readers = [n for n in root.nodes if node.out in n.args]
    last = all(isinstance(n, View) and n.at == ((0, -1),) and not n.axes for n in readers)
    return w.body.whole and node in root.nodes and last and node.out not in {k.value for k in root.loop.keeps}


def _in_pieces(node: AffineRows, state: str, arrays: list[str], w: Lowering) -> None:
    """Write the steps piece by piece, without keeping their rows."""
    (n,), dtype = w.axes(node.out), node.dtype
    rows, piece, count = w.scratch(dtype, (Lit(PIECE),)), w.fresh("i"), w.fresh("k")
    start = _do("multiply", Var(piece), Lit(PIECE))
    here = [w.pointer(dtype) if w.axes(name) else x for name, x in zip(node.args[1:], arrays, strict=True)]
    moved = [Point(p, x, start, dtype) for p, x in zip(here, arrays, strict=True) if p != x]
    many = Let(count, _do("minimum", Lit(PIECE), _do("subtract", n, start)), INDEX)
    pieces = _do("right_shift", plus(n, Lit(PIECE - 1)), Lit(PIECE.bit_length() - 1))
    steps = Helper(f"{node.op}_{dtype}", (rows, state, *here), (Var(count),))
    w.code.append(Steps(piece, pieces, (many, *moved, steps)))


def _do(op: str, a: Expr, b: Expr) -> Expr:
    return Do(op, (a, b), INDEX, INDEX)
