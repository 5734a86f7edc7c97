"""Lowers nodes that draw random numbers (`Draw`) and that check parameters of distributions (`Within`).

The words are those of `random_words.py`; normal numbers are made by NumPy's loops for log, cos and sin, as by array
steps, so that the bits are the same.  A parameter out of range ends the kernel, and array steps raise the error.
"""

from __future__ import annotations

from math import pi

import numpy as np

from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Do,
    Expr,
    Fail,
    For,
    Helper,
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
)
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Draw, NoForm, Within
from scanopt.backends.kernels.values import element_of, nest

__all__: list[str] = []


@written.register(Draw)
def _draw(node: Draw, w: Lowering) -> None:
    if w.device and node.lead:
        raise NoForm("draws of many states, which array steps make at once")
    axes, of_state = w.axes(node.out), w.axes(node.args[0])
    states = w.whole(w.value(node.args[0]), of_state, "uint64")
    out = w.place(node.out) if axes else w.cell(node.dtype)
    rows, count = product(axes[: node.lead]), product(axes[node.lead :])
    if node.normal:
        _normal(out, states, (rows, count), w)
    else:
        _by_rows(w, f"uniform_{node.dtype}", [(out, node.dtype)], states, (rows, count))
    if not axes:
        w.let(node.out, Load(out, ZERO, node.dtype), node.dtype)


def _by_rows(w: Lowering, helper: str, into: list[tuple[str, str]], states: str, shape: tuple[Expr, Expr]) -> None:
    """Call a helper once for each random state.  into: arrays and their dtypes; shape: states, elements for each."""
    rows, count = shape
    if rows == ONE:
        w.code.append(Helper(helper, (*(x for x, _ in into), states), (count,)))
        return
    row, state = w.fresh("i"), w.pointer("uint64")
    pointers = [w.pointer(dtype) for _, dtype in into]
    here: list[Stmt] = [
        Point(p, x, times(Var(row), count), dtype) for p, (x, dtype) in zip(pointers, into, strict=True)
    ]
    body = (
        *here,
        Point(state, states, times(Var(row), Lit(3)), "uint64"),
        Helper(helper, (*pointers, state), (count,)),
    )
    w.code.append(Steps(row, rows, body))


def _normal(out: str, states: str, shape: tuple[Expr, Expr], w: Lowering) -> None:
    """Write normal numbers in pairs (Box-Muller): each pair from a length and an angle."""
    d, (rows, count) = "float64", shape
    x, y, z = (w.scratch(d, (rows, plus(count, ONE))) for _ in range(3))
    pairs = w.fresh("k")
    w.code.append(Let(pairs, Do("right_shift", (plus(count, ONE), ONE), INDEX, INDEX), INDEX))
    own, n = Var(pairs), times(rows, Var(pairs))

    def each(array: str, value: Expr, i: str) -> None:
        w.code.append(For(i, n, (Store(array, Var(i), value),)))

    def do(op: str, *args: Expr) -> Do:
        return Do(op, args, d, d)

    def inner(ufunc: str, source: str, target: str) -> None:
        w.code.append(Inner(w.slot(ufunc, (d, d)), (source, target), (n,), (Lit(8), Lit(8))))

    _by_rows(w, "arrows_float64", [(x, d), (y, d)], states, (rows, own))
    i = w.fresh("i")
    each(x, do("add", Load(x, Var(i), d), Lit(2.0**-53, d)), i)
    inner("log", x, x)
    i = w.fresh("i")
    each(x, do("sqrt", do("multiply", Lit(-2.0, d), Load(x, Var(i), d))), i)
    i = w.fresh("i")
    each(y, do("multiply", Load(y, Var(i), d), Lit(2 * pi, d)), i)
    inner("cos", y, z)
    inner("sin", y, y)
    row, i = w.fresh("i"), w.fresh("i")
    pair = Var(i) if rows == ONE else plus(times(Var(row), own), Var(i))
    first, second = times(Lit(2), Var(i)), plus(times(Lit(2), Var(i)), ONE)
    ends = [do("multiply", Load(x, pair, d), Load(part, pair, d)) for part in (z, y)]
    start = ZERO if rows == ONE else times(Var(row), count)
    odd = If(Do("less", (second, count), "bool", INDEX), (Store(out, plus(start, second), ends[1]),))
    w.code += nest((rows, own), (row, i), (Store(out, plus(start, first), ends[0]), odd))


@written.register(Within)
def _within(node: Within, w: Lowering) -> None:
    value, axes, dtype = w.value(node.args[0]), w.axes(node.args[0]), node.dtype
    w.env[node.out] = value
    bad, i = w.variable("bool"), w.fresh("i")
    source = w.whole(value, axes, dtype) if axes else ""
    x = Load(source, Var(i), dtype) if axes else element_of(value, [], ())

    def test(op: str, a: Expr, b: Expr) -> Do:
        return Do(op, (a, b), "bool", dtype)

    good: list[Expr] = []
    if node.low is not None:
        good.append(
            test("greater" if node.strict else "greater_equal", x, Lit(np.dtype(dtype).type(node.low).item(), dtype))
        )
    if node.high is not None:
        good.append(test("less_equal", x, Lit(np.dtype(dtype).type(node.high).item(), dtype)))
    wrong: Expr = Lit(False, "bool")
    for g in good:
        fails = Do("logical_not", (g,), "bool", "bool")
        if node.nan:
            fails = Do("logical_and", (fails, test("equal", x, x)), "bool", "bool")
        wrong = fails if wrong == Lit(False, "bool") else Do("logical_or", (wrong, fails), "bool", "bool")
    found = Set(bad, Do("logical_or", (Var(bad, "bool"), wrong), "bool", "bool"))
    w.code.append(Set(bad, Lit(False, "bool")))
    w.code.append(Steps(i, product(axes), (found,)) if axes else found)
    w.code.append(If(Var(bad, "bool"), (Fail(),)))
