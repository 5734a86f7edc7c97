"""Lowers reductions of all elements of a small array: they are written out on variables, with NumPy's bits.

Sums are added in the order of NumPy's inner loop, which a trial confirms; extremes in any order, except where an
element is NaN, or the result is zero and there are zeros of both signs: then NumPy's loop is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from scanopt.backends.kernels.c_reductions import IN_ORDER, adds_in_eight_sums
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Cast,
    Declare,
    Do,
    Expr,
    If,
    Inner,
    Let,
    Lit,
    Load,
    Point,
    Set,
    Stmt,
    Store,
    Var,
    plus,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import IDENTITY, Extreme, Reduce
from scanopt.backends.kernels.stages import is_few
from scanopt.backends.kernels.values import Array, item_size

__all__ = [
    "elements_of", "finds_first_of_few", "first_of_few", "first_truth", "further", "is_written_out", "order_is_known",
    "together", "write_few",
]  # fmt: skip


def is_written_out(node: Reduce, w: Lowering) -> bool:
    """Whether a node reduces few elements to one number, in a known order."""
    (x,) = node.args
    whole = is_few(w.axes(x)) and not w.axes(node.out) and w.dtype(x) == node.dtype
    known = order_is_known(node.op, node.dtype) or _is_extreme(node, w)
    return known and whole and not node.less and not w.device


def finds_first_of_few(node: Extreme, w: Lowering) -> bool:
    """Whether a node finds the place of the first of few truth values."""
    axes = w.axes(node.args[0])
    return len(axes) == 1 and is_few(axes) and w.dtype(node.args[0]) == "bool" and not w.device


def _is_extreme(node: Reduce, w: Lowering) -> bool:
    """Whether a node is an extreme for which any order gives the same, except for NaN and zeros of both signs."""
    kind = np.dtype(node.dtype).kind
    return node.op in ("maximum", "minimum") and (kind in "iu" or (kind == "f" and len(w.axes(node.args[0])) == 1))


def order_is_known(op: str, dtype: str) -> bool:
    """Whether the order in which NumPy reduces few elements is known."""
    kind = np.dtype(dtype).kind
    if kind == "c":
        return False
    return op in IN_ORDER or (op == "add" and (kind in "iu" or (kind == "f" and adds_in_eight_sums())))


def write_few(node: Reduce, w: Lowering) -> None:
    """Write the reduction, element by element."""
    (x,), dtype = node.args, node.dtype
    elements = elements_of(x, dtype, w)
    if _is_extreme(node, w):
        found = _extreme(f"{node.op}_of_few", elements, dtype)
        if np.dtype(dtype).kind == "f":
            found = _looked_at(node, found, elements, w)
        w.let(node.out, found, dtype)
        return
    total = together(node.op, Lit(IDENTITY[node.op], dtype), elements, dtype)
    if node.counted:
        average = Do("divide", (Cast(total, "float64"), Lit(float(len(elements)), "float64")), "float64", "float64")
        total = Cast(average, dtype)
    w.let(node.out, total, dtype)


def elements_of(name: str, dtype: str, w: Lowering) -> list[Expr]:
    """The elements of a small array."""
    if name in w.few:
        return [e.value for e in w.few[name]]
    value = w.value(name)
    assert isinstance(value, Array)
    pointer = w.whole(value, value.axes, dtype)
    return [Load(pointer, Lit(i), dtype) for i in range(prod(int(n.value) for n in value.axes if isinstance(n, Lit)))]


def together(op: str, start: Expr, elements: list[Expr], dtype: str) -> Expr:
    """Reduce few elements, and combine the result with `start`.

    At least eight floats are added in eight sums, as NumPy does; all else is reduced in order.
    """
    found, *rest = elements
    if op == "add" and np.dtype(dtype).kind == "f" and len(elements) >= 8:
        a, b, c, d, e, f, g, h, *rest = elements
        p, q, r, s = (_put(op, x, y, dtype) for x, y in ((a, b), (c, d), (e, f), (g, h)))
        found = _put(op, _put(op, p, q, dtype), _put(op, r, s, dtype), dtype)
    for x in rest:
        found = _put(op, found, x, dtype)
    return _put(op, start, found, dtype)


def _extreme(op: str, elements: list[Expr], dtype: str) -> Expr:
    """The extreme of elements, first of each half, so that the critical path is short."""
    half = len(elements) // 2
    if not half:
        return elements[0]
    return _put(op, _extreme(op, elements[:half], dtype), _extreme(op, elements[half:], dtype), dtype)


def _looked_at(node: Reduce, extreme: Expr, elements: list[Expr], w: Lowering) -> Expr:
    """The extreme of floats; where any is NaN, or it is 0.0 or -0.0 of both, NumPy's inner loop finds it instead."""
    dtype, name = node.dtype, w.variable(node.dtype)
    w.code.append(Set(name, extreme))
    zero = Do("equal", (Var(name, dtype), Lit(0, dtype)), "bool", dtype)
    odd = Do("bitwise_or", (zero, _any_nan(elements, dtype)), "bool", "bool")
    row, into, x, y = w.fresh("c"), w.cell(dtype), w.pointer(dtype), w.pointer(dtype)
    w.head.append(Declare(row, dtype, elements=len(elements)))
    rest, item = Lit(len(elements) - 1), item_size(dtype)
    again: tuple[Stmt, ...] = (
        *(Store(row, Lit(i), element) for i, element in enumerate(elements)),
        Store(into, ZERO, elements[0]),
        Point(x, row, ONE, dtype),
        Point(y, into, ZERO, dtype),
        Inner(w.slot(node.op, (dtype,) * 3), (y, x, y), (rest,), (ZERO, item, ZERO)),
        Set(name, Load(into, ZERO, dtype)),
    )
    unclear = Do("bitwise_or", (_any_nan(elements, dtype), _other_zero(Var(name, dtype), elements)), "bool", "bool")
    w.code.append(If(odd, (If(unclear, again),)))
    return Var(name, dtype)


def _other_zero(extreme: Var, elements: Sequence[Expr]) -> Expr:
    """Whether an element is a zero of the other sign than the extreme."""
    dtype = extreme.dtype
    found: Expr = Lit(False, "bool")
    negative = Do("signbit", (extreme,), "bool", dtype)
    for x in elements:
        other = Do("not_equal", (Do("signbit", (x,), "bool", dtype), negative), "bool", "bool")
        zero = Do("equal", (x, Lit(0, dtype)), "bool", dtype)
        found = Do("bitwise_or", (found, Do("bitwise_and", (zero, other), "bool", "bool")), "bool", "bool")
    return found


def _not_beyond(op: str, new: Expr, old: Expr, dtype: str) -> Expr:
    """Whether neither of two floats is NaN and the new one does not replace the extreme found so far."""
    return Do({"greater": "less_equal", "less": "greater_equal"}[op], (new, old), "bool", dtype)


def further(op: str, new: Expr, old: Expr, dtype: str) -> Expr:
    """Whether an element replaces the extreme found so far; NaN replaces any number."""
    if np.dtype(dtype).kind != "f":
        return Do(op, (new, old), "bool", dtype)
    beyond = Do("logical_not", (_not_beyond(op, new, old, dtype),), "bool", "bool")
    return Do("logical_and", (beyond, Do("equal", (old, old), "bool", dtype)), "bool", "bool")


def first_truth(op: str, elements: Sequence[Expr]) -> Expr:
    """The place of the first truth value that holds (`greater`), or that does not (`less`); 0 where there is none."""
    found: Expr = ZERO
    for i, x in [*enumerate(elements)][:0:-1]:
        found = Do("where", (x, Lit(i), found) if op == "greater" else (x, found, Lit(i)), INDEX, INDEX)
    first, none = (ZERO, found) if op == "greater" else (found, ZERO)
    return Do("where", (elements[0], first, none), INDEX, INDEX)


def first_of_few(op: str, elements: Sequence[Expr], dtype: str, w: Lowering) -> tuple[list[Stmt], Expr]:
    """Statements that find the first extreme of few elements, and the expression of its place; NaN counts as extreme.

    They are written so that gcc 12 vectorizes them: places are counted from 1, since it does not vectorize a choice
    between 1 and 0, and the elements are tested for NaN, not the chosen values.
    """
    found: list[tuple[Expr, Expr, tuple[Expr, ...]]] = [(x, Lit(1 + i), (x,)) for i, x in enumerate(elements)]
    code: list[Stmt] = []
    while len(found) > 1:
        left = [found[-1]] if len(found) % 2 else []
        both = [*zip(found[::2], found[1::2], strict=False)]
        found = []
        for (x, i, mine), (y, j, others) in both:
            beyond, best, at = Var(w.fresh("v"), "bool"), Var(w.fresh("v"), dtype), Var(w.fresh("j"))
            code += [
                Let(beyond.name, _beyond(op, y, x, mine, dtype), "bool"),
                Let(best.name, Do("where", (beyond, y, x), dtype, dtype), dtype),
                Let(at.name, Do("where", (beyond, j, i), INDEX, INDEX), INDEX),
            ]
            found.append((best, at, (*mine, *others)))
        found += left
    return code, plus(found[0][1], Lit(-1))


def _beyond(op: str, new: Expr, old: Expr, elements: tuple[Expr, ...], dtype: str) -> Expr:
    """Whether `new` replaces `old`, the first extreme of `elements`."""
    if np.dtype(dtype).kind != "f":
        return Do(op, (new, old), "bool", dtype)
    stays = Do("bitwise_or", (_not_beyond(op, new, old, dtype), _any_nan(elements, dtype)), "bool", "bool")
    return Do("logical_not", (stays,), "bool", "bool")


def _any_nan(elements: Sequence[Expr], dtype: str) -> Expr:
    """Whether any of some floats is NaN."""
    odd: Expr = Lit(False, "bool")
    for pair in zip(elements[::2], [*elements[1::2], elements[-1]], strict=False):
        test = Do("unordered", pair, "bool", dtype)
        odd = test if isinstance(odd, Lit) else Do("bitwise_or", (odd, test), "bool", "bool")
    return odd


def _put(op: str, x: Expr, y: Expr, dtype: str) -> Expr:
    return Do(op, (x, y), dtype, dtype)
