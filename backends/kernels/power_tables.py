"""Powers 0, 1, 2 ... of a number, as `scanopt.array.numerics.powers` makes them: products of two rows of powers."""

from __future__ import annotations

import numpy as np

from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Cast,
    Do,
    Expr,
    Fail,
    For,
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
    times,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import Powers
from scanopt.backends.kernels.values import Scalar

__all__: list[str] = []


def _do(op: str, a: Expr, b: Expr) -> Do:
    return Do(op, (a, b), INDEX, INDEX)


def _test(op: str, a: Expr, b: Expr) -> Do:
    return Do(op, (a, b), "bool", INDEX)


@written.register(Powers)
def _powers(node: Powers, w: Lowering) -> None:
    x, exponents = w.value(node.args[0]), w.value(node.args[1])
    assert isinstance(x, Scalar)
    dtype, (n,) = node.dtype, w.axes(node.out)
    item = Lit(np.dtype(dtype).itemsize)
    e, i = w.whole(exponents, (n,), INDEX), w.fresh("i")
    other, few = w.variable("bool"), w.variable(INDEX)
    wrong = Do("logical_or", (Var(other, "bool"), _test("not_equal", Load(e, Var(i), INDEX), Var(i))), "bool", "bool")
    w.code += [Set(other, Lit(False, "bool")), Steps(i, n, (Set(other, wrong),)), If(Var(other, "bool"), (Fail(),))]
    square = times(Var(few), Var(few))
    grow = Steps(w.fresh("i"), n, (Set(few, plus(Var(few), ONE)),), _test("greater_equal", square, n))
    w.code += [Set(few, ONE), If(_test("less", square, n), (grow,))]
    rows = w.fresh("k")
    w.code.append(Let(rows, plus(_do("floor_divide", plus(n, Lit(-1)), Var(few)), ONE), INDEX))
    base = w.cell(dtype)
    w.code.append(Store(base, ZERO, number_of(x)))
    small, large = (
        _row(w, base, count, step, n, dtype, item) for count, step in ((Var(few), ONE), (Var(rows), Var(few)))
    )
    out = w.place(node.out)
    a, b, some = w.fresh("i"), w.fresh("i"), w.fresh("k")
    start = times(Var(a), Var(few))
    left = _do("subtract", n, start)
    count = Do("where", (_test("less", left, Var(few)), left, Var(few)), INDEX, INDEX)
    value = Do("multiply", (Load(large, Var(a), dtype), Load(small, Var(b), dtype)), dtype, dtype)
    each = For(b, Var(some), (Store(out, plus(start, Var(b)), value),))
    w.code.append(Steps(a, Var(rows), (Let(some, count, INDEX), each)))


def _row(w: Lowering, base: str, count: Expr, step: Expr, n: Expr, dtype: str, item: Expr) -> str:
    """The powers 0, step, 2 step ... of a number, so many of them, by NumPy's inner loop."""
    exponents, found, i = w.scratch(dtype, (n,)), w.scratch(dtype, (n,)), w.fresh("i")
    w.code.append(For(i, count, (Store(exponents, Var(i), Cast(times(Var(i), step), dtype)),)))
    key = ("power", (dtype,) * 3)
    if key not in w.loops:
        w.loops.append(key)
    w.code.append(Inner(w.loops.index(key), (base, exponents, found), (count,), (ZERO, item, item)))
    return found
