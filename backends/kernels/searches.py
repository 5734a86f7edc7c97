"""Lowers searches: places of extremes, and places in sorted arrays; and a few nodes without arrays or loops of steps.

These are checks, constants, evenly spaced integers and diagonals.  Searches in sorted arrays take NumPy's steps, so
that they find the same place even in arrays that are not sorted.
"""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np

from scanopt.backends.kernels.c_extremes import FIRST_PLACES
from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.few_reduced import elements_of, finds_first_of_few, first_of_few, first_truth, further
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Cast,
    Do,
    Expr,
    Fail,
    Helper,
    If,
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
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import Check, Diagonal, Evenly, Extreme, Fixed, NoForm, Nonempty, Search
from scanopt.backends.kernels.stages import is_few
from scanopt.backends.kernels.values import Scalar, element_of, index, nest, packed
from scanopt.records import dataclass

__all__: list[str] = []


def _test(op: str, a: Expr, b: Expr, dtype: str) -> Do:
    return Do(op, (a, b), "bool", dtype)


@written.register(Check)
def _check(node: Check, w: Lowering) -> None:
    a, b = (number_of(w.value(x)) for x in node.args)
    w.code.append(If(Do("logical_not", (_test(node.op, a, b, node.dtype),), "bool", "bool"), (Fail(),)))
    w.env[node.out] = Scalar(a, node.dtype)


@written.register(Nonempty)
def _nonempty(node: Nonempty, w: Lowering) -> None:
    w.env[node.out] = Scalar(Lit(True, "bool"), "bool")


@written.register(Fixed)
def _constant(node: Fixed, w: Lowering) -> None:
    w.env[node.out] = Scalar(Lit(node.value, node.dtype), node.dtype)


@written.register(Evenly)
def _evenly(node: Evenly, w: Lowering) -> None:
    first, _, apart = (number_of(w.value(x)) for x in node.args)
    start, step = (x if isinstance(x, Lit) else Cast(x, INDEX) for x in (first, apart))
    if node.dtype == INDEX and not w.device:
        w.evenly[node.out] = start, step
    if [x.value for x in (first, apart) if isinstance(x, Lit)] == [0, 1]:
        w.counted.add(node.out)
    out, axes = w.place(node.out), w.axes(node.out)
    names, places = w.places(axes)
    value: Expr = Do("add", (start, Do("multiply", (places[0], step), INDEX, INDEX)), INDEX, INDEX)
    value = value if node.dtype == INDEX else Cast(value, node.dtype)
    w.code += nest(axes, names, (Store(out, places[0], value),))


@written.register(Diagonal)
def _diagonal(node: Diagonal, w: Lowering) -> None:
    first = Cast(number_of(w.value(node.args[2])), INDEX)
    out, axes = w.place(node.out), w.axes(node.out)
    names, (row, column) = w.places(axes)
    one = _test("equal", Do("add", (row, first), INDEX, INDEX), column, INDEX)
    w.code += nest(axes, names, (Store(out, index(ZERO, (row, column), packed(axes)), Cast(one, node.dtype)),))


@written.register(Extreme)
def _extreme(node: Extreme, w: Lowering) -> None:
    """Write the search for an extreme: along the last axis row by row, along others by rows of elements."""
    if finds_first_of_few(node, w):
        w.let(node.out, first_truth(node.op, elements_of(node.args[0], "bool", w)), INDEX)
        return
    value, dtype, axes = w.value(node.args[0]), w.dtype(node.args[0]), w.axes(node.args[0])
    if isinstance(value, Scalar):
        raise NoForm("an extreme of a number")
    kept = (*axes[: node.axis], *axes[node.axis + 1 :])
    x, out = w.whole(value, axes, dtype), w.place(node.out) if kept else w.cell(INDEX)
    find = f"first_{node.op}_{dtype}"
    if kept and node.axis == len(axes) - 1 and is_few(axes[-1:]) and not w.device:
        names, places = w.places(kept)
        row = [*places, ZERO]
        count = prod(n.value for n in axes[-1:] if isinstance(n, Lit))
        read = [Load(x, plus(index(ZERO, row, packed(axes)), Lit(i)), dtype) for i in range(int(count))]
        look, first = first_of_few(node.op, read, dtype, w)
        w.code += nest(kept, names, (*look, Store(out, index(ZERO, places, packed(kept)), first)))
    elif node.axis == len(axes) - 1 and find in FIRST_PLACES and not w.device:
        names, places = w.places(kept)
        start, place = w.pointer(dtype), w.pointer(INDEX)
        at = Point(place, out, index(ZERO, places, packed(kept)), INDEX)
        begin = Point(start, x, index(ZERO, places, packed(axes)[:-1]), dtype)
        w.code += nest(kept, names, (at, begin, Helper(find, (place, start), (axes[-1],))))
    else:
        _one_by_one(node, x, out, w)
    if not kept:
        w.let(node.out, Load(out, ZERO, INDEX), INDEX)


def _one_by_one(node: Extreme, x: str, out: str, w: Lowering) -> None:
    """Write the search through the packed elements of an array, one step of the axis after the other."""
    axes, axis, dtype = w.axes(node.args[0]), node.axis, w.dtype(node.args[0])
    before, after, strides = axes[:axis], axes[axis + 1 :], packed(axes)
    best = w.scratch(dtype, after) if after else w.cell(dtype)
    names, places = w.places((*before, *after))
    lane = index(ZERO, places[axis:], packed(after))
    there = index(ZERO, places, packed((*before, *after)))
    start = index(ZERO, places, (*strides[:axis], *strides[axis + 1 :]))
    inner = names[axis:]
    step = w.fresh("i")
    k = plus(Var(step), ONE)
    new, was, at = w.fresh("v"), w.fresh("v"), w.fresh("j")
    beyond = further(node.op, Var(new, dtype), Var(was, dtype), dtype)
    begin = nest(after, inner, (Store(best, lane, Load(x, start, dtype)), Store(out, there, ZERO)))
    look: tuple[Stmt, ...] = (
        Let(new, Load(x, plus(start, times(k, strides[axis])), dtype), dtype),
        Let(was, Load(best, lane, dtype), dtype),
        Let(at, Load(out, there, INDEX), INDEX),
        Store(best, lane, Do("where", (beyond, Var(new, dtype), Var(was, dtype)), dtype, dtype)),
        Store(out, there, Do("where", (beyond, k, Var(at)), INDEX, INDEX)),
    )
    steps = Steps(step, plus(axes[axis], Lit(-1)), nest(after, inner, look))
    w.code += nest(before, names[:axis], (*begin, steps))


@cache
def _with_bounds() -> bool:
    """Whether NumPy searches between two bounds, as before version 2.5; its result for unsorted elements shows it."""
    return int(np.searchsorted([0.0, 0.0, 0.0, 2.0, 0.0], 1.0)) == 5


@written.register(Search)
def _search(node: Search, w: Lowering) -> None:
    """Write a search in NumPy's steps, since NumPy also finds some place in arrays that are not sorted."""
    value, wanted = (w.value(x) for x in node.args)
    dtype, axes = w.dtype(node.args[0]), w.axes(node.out)
    if isinstance(value, Scalar):
        raise NoForm("a search in a number")
    length = w.axes(node.args[0])[0]
    x = w.whole(value, w.axes(node.args[0]), dtype)
    if node.rising:
        _check_rising(w.before(node.args[0]) if x == value.pointer else None, x, length, dtype, w)
    keys = w.whole(wanted, axes, dtype) if axes else ""
    out = w.place(node.out) if axes else w.cell(INDEX)
    i, key, low = w.fresh("i"), w.fresh("v"), w.variable(INDEX)
    first = Load(keys, ZERO, dtype) if axes else element_of(wanted, [], ())
    each = Load(keys, Var(i), dtype) if axes else first
    table = _Table(x, length, dtype, node.right, low, Var(key, dtype))
    find = _between_bounds(table, first, w) if w.device or _with_bounds() else _by_halves(table, w)
    body = Let(key, each, dtype), *find, Store(out, Var(i) if axes else ZERO, Var(low))
    w.code += [Steps(i, product(axes), body)] if axes else body
    if not axes:
        w.let(node.out, Load(out, ZERO, INDEX), INDEX)


@dataclass(frozen=True)
class _Table:
    """A search: the elements of x, and the number `key` whose place among them becomes the variable `low`."""

    x: str
    length: Expr
    dtype: str
    right: bool
    low: str
    key: Var

    def before(self, place: Expr) -> Expr:
        """Whether the element at a place comes before the number."""
        return _before(Load(self.x, place, self.dtype), self.key, self.dtype, self.right)


def _by_halves(t: _Table, w: Lowering) -> tuple[Stmt, ...]:
    """Statements of a search among a number of elements from `low` on, which each step halves."""
    many, half = w.variable(INDEX), w.fresh("j")
    beyond = plus(Var(t.low), Var(half))
    halving = (
        Let(half, Do("right_shift", (Var(many), ONE), INDEX, INDEX), INDEX),
        Set(t.low, Do("where", (t.before(beyond), beyond, Var(t.low)), INDEX, INDEX)),
        Set(many, Do("subtract", (Var(many), Var(half)), INDEX, INDEX)),
    )
    return (
        Set(t.low, ZERO),
        Set(many, t.length),
        If(
            _test("less", ONE, Var(many), INDEX),
            (Steps(w.fresh("i"), Lit(64), halving, _test("less_equal", Var(many), ONE, INDEX)),),
        ),
        If(_test("less", ZERO, t.length, INDEX), (If(t.before(Var(t.low)), (Set(t.low, plus(Var(t.low), ONE)),)),)),
    )


def _between_bounds(t: _Table, first: Expr, w: Lowering) -> tuple[Stmt, ...]:
    """Statements of a search between two bounds, one of which is the place found last, as in NumPy before 2.5."""
    low, high, last, middle = t.low, w.variable(INDEX), w.variable(t.dtype), w.fresh("j")
    w.code += [Set(low, ZERO), Set(high, t.length), Set(last, first)]
    beyond = Do("where", (_test("less", Var(high), t.length, INDEX), plus(Var(high), ONE), t.length), INDEX, INDEX)
    half = Do("right_shift", (Do("subtract", (Var(high), Var(low)), INDEX, INDEX), ONE), INDEX, INDEX)
    halving = (
        Let(middle, plus(Var(low), half), INDEX),
        If(t.before(Var(middle)), (Set(low, plus(Var(middle), ONE)),), (Set(high, Var(middle)),)),
    )
    return (
        If(
            _before(Var(last, t.dtype), t.key, t.dtype, t.right),
            (Set(high, t.length),),
            (Set(low, ZERO), Set(high, beyond)),
        ),
        Set(last, t.key),
        If(
            _test("less", Var(low), Var(high), INDEX),
            (Steps(w.fresh("i"), Lit(64), halving, _test("greater_equal", Var(low), Var(high), INDEX)),),
        ),
    )


def _check_rising(before: list[Stmt] | None, x: str, length: Expr, dtype: str, w: Lowering) -> None:
    """Write the check that elements rise; else array steps run.  before: the statements to put it before a loop."""
    i, falls = w.fresh("i"), w.variable("bool")
    rises = _test("less_equal", Load(x, Var(i), dtype), Load(x, plus(Var(i), ONE), dtype), dtype)
    found = Do("logical_or", (Var(falls, "bool"), Do("logical_not", (rises,), "bool", "bool")), "bool", "bool")
    with w.into(w.code if before is None else before):
        steps = Steps(i, plus(length, Lit(-1)), (Set(falls, found),))
        w.code += [Set(falls, Lit(False, "bool")), steps, If(Var(falls, "bool"), (Fail(),))]


def _before(a: Expr, b: Expr, dtype: str, right: bool) -> Expr:
    """Whether the insertion point of b is after a; NaN sorts last."""
    found = _test("less_equal" if right else "less", a, b, dtype)
    if np.dtype(dtype).kind != "f":
        return found
    nan = _test("not_equal", b, b, dtype)
    if not right:
        nan = Do("logical_and", (nan, _test("equal", a, a, dtype)), "bool", "bool")
    return Do("logical_or", (found, nan), "bool", "bool")
