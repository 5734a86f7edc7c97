"""Lowers reductions to calls of NumPy's inner loops, as NumPy makes them: the order of additions affects rounding."""

from __future__ import annotations

from scanopt.backends.kernels.forms import in_c
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Cast,
    Do,
    Expr,
    For,
    Inner,
    Lit,
    Load,
    Point,
    Steps,
    Stmt,
    Store,
    Var,
    plus,
    product,
    times,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import IDENTITY, NoForm, Reduce
from scanopt.backends.kernels.values import Axes, Scalar, index, item_size, nest, packed

__all__ = ["divided", "reduced"]


def reduced(node: Reduce, slot: int, w: Lowering) -> None:
    """Write a reduction.  slot: the inner loop of its ufunc.

    NumPy goes through the axes in order, after merging adjacent axes that are both reduced or both kept, and calls the
    loop along the last one.
    """
    value = w.value(node.args[0])
    if isinstance(value, Scalar):
        raise NoForm("a reduction of a number")
    axes, gone = _merged(value.axes, node.axes)
    kept = tuple(n for n, g in zip(axes, gone, strict=True) if not g)
    apart = iter(packed(kept))
    strides, out_strides = packed(axes), tuple(ZERO if g else next(apart) for g in gone)
    source = w.whole(value, value.axes, node.dtype)
    out = w.place(node.out) if w.axes(node.out) else w.cell(node.dtype)
    item = item_size(node.dtype)
    from_first = node.op not in IDENTITY
    if from_first and len(axes) > 2:
        raise NoForm("it starts from the first elements, along several axes")
    names, places = w.places(kept)
    first: Expr = Load(
        source, index(ZERO, places, [s for s, g in zip(strides, gone, strict=True) if not g]), node.dtype
    )
    if not from_first:
        first = Lit(IDENTITY[node.op], node.dtype)
    w.code += nest(kept, names, (Store(out, index(ZERO, places, packed(kept)), first),))
    starts = [ONE if g and from_first else ZERO for g in gone]
    names, places = w.places(axes[:-1])
    there = [plus(p, start) for p, start in zip(places, starts, strict=False)]
    x, y = w.pointer(node.dtype), w.pointer(node.dtype)
    into = Point(y, out, index(ZERO, there, out_strides[:-1]), node.dtype)
    taken = Point(x, source, plus(index(ZERO, there, strides[:-1]), starts[-1]), node.dtype)
    count = axes[-1] if starts[-1] == ZERO else plus(axes[-1], Lit(-1))
    step = times(out_strides[-1], item)
    if gone[-1] or in_c(node.op, (node.dtype, node.dtype)) != (node.dtype,) * 3:
        body: tuple[Stmt, ...] = (into, taken, Inner(slot, (y, x, y), (count,), (step, item, step)))
    else:  # row by row, element by element, as the inner loop does
        i = w.fresh("i")
        put = Do(node.op, (Load(y, Var(i), node.dtype), Load(x, Var(i), node.dtype)), node.dtype, node.dtype)
        body = (into, taken, For(i, count, (Store(y, Var(i), put),)))
    for n, name, start, g in reversed(list(zip(axes[:-1], names, starts, gone, strict=False))):
        times_run = n if start == ZERO else plus(n, Lit(-1))
        body = (Steps(name, times_run, body) if g else For(name, times_run, body),)
    w.code += body
    if node.counted:
        divided(node, out, product(kept), product(tuple(n for n, g in zip(axes, gone, strict=True) if g)), w)
    if not w.axes(node.out):
        w.let(node.out, Load(out, ZERO, node.dtype), node.dtype)


def _merged(axes: Axes, gone: tuple[int, ...]) -> tuple[Axes, tuple[bool, ...]]:
    """The axes as NumPy goes through them, none of length 1, adjacent ones of one kind merged; which are reduced."""
    found: list[tuple[Expr, bool]] = []
    for i, n in enumerate(axes):
        if n == ONE:
            continue
        if found and found[-1][1] == (i in gone):
            found[-1] = times(found[-1][0], n), i in gone
        else:
            found.append((n, i in gone))
    found = found or [(ONE, True)]
    return tuple(n for n, _ in found), tuple(g for _, g in found)


def divided(node: Reduce, out: str, kept: Expr, count: Expr, w: Lowering) -> None:
    """Write the division of sums by their counts: NumPy divides in double precision."""
    dtype = node.dtype
    if node.less:
        count = Do("maximum", (plus(count, Lit(-node.less)), ZERO), INDEX, INDEX)
    names, (place,) = w.places((kept,))
    total = Cast(Load(out, place, dtype), "float64")
    value = Do("divide", (total, Cast(count, "float64")), "float64", "float64")
    w.code += nest((kept,), names, (Store(out, place, Cast(value, dtype)),))
