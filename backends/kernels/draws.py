"""Writes nodes of random numbers, and checks of their parameters."""

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
    Set,
    Steps,
    Store,
    Var,
    plus,
    product,
    times,
)
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Draw, Within
from scanopt.backends.kernels.values import element_of

__all__: list[str] = []


@written.register(Draw)
def _draw(node: Draw, w: Lowering) -> None:
    axes = w.axes(node.out)
    state = w.whole(w.value(node.args[0]), w.axes(node.args[0]), "uint64")
    out = w.place(node.out) if axes else w.cell(node.dtype)
    if node.normal:
        _normal(out, state, product(axes), w)
    else:
        w.code.append(Helper(f"uniform_{node.dtype}", (out, state), (product(axes),)))
    if not axes:
        w.let(node.out, Load(out, ZERO, node.dtype), node.dtype)


def _normal(out: str, state: str, count: Expr, w: Lowering) -> None:
    """Pairs of normal numbers (Box-Muller): each pair from a length and an angle, of two words each."""
    d = "float64"
    x, y, z = (w.scratch(d, (plus(count, ONE),)) for _ in range(3))
    pairs = w.fresh("k")
    w.code.append(Let(pairs, Do("right_shift", (plus(count, ONE), ONE), INDEX, INDEX), INDEX))
    n = Var(pairs)

    def each(array: str, value: Expr, i: str) -> None:
        w.code.append(For(i, n, (Store(array, Var(i), value),)))

    def do(op: str, *args: Expr) -> Do:
        return Do(op, args, d, d)

    def inner(ufunc: str, source: str, target: str) -> None:
        key = (ufunc, (d, d))
        if key not in w.loops:
            w.loops.append(key)
        w.code.append(Inner(w.loops.index(key), (source, target), (n,), (Lit(8), Lit(8))))

    w.code.append(Helper("arrows_float64", (x, y, state), (n,)))
    i = w.fresh("i")
    each(x, do("add", Load(x, Var(i), d), Lit(2.0**-53, d)), i)
    inner("log", x, x)
    i = w.fresh("i")
    each(x, do("sqrt", do("multiply", Lit(-2.0, d), Load(x, Var(i), d))), i)
    i = w.fresh("i")
    each(y, do("multiply", Load(y, Var(i), d), Lit(2 * pi, d)), i)
    inner("cos", y, z)
    inner("sin", y, y)
    i = w.fresh("i")
    first, second = times(Lit(2), Var(i)), plus(times(Lit(2), Var(i)), ONE)
    ends = [do("multiply", Load(x, Var(i), d), Load(part, Var(i), d)) for part in (z, y)]
    odd = If(Do("less", (second, count), "bool", INDEX), (Store(out, second, ends[1]),))
    w.code.append(For(i, n, (Store(out, first, ends[0]), odd)))


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
