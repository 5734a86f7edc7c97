"""Powers 0, 1, 2 ... of a number, as `scanopt.array.numerics.powers` makes them: products of two rows of powers."""

from __future__ import annotations

from scanopt.array.numerics.powers import MULTIPLIED
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
    Stmt,
    Store,
    Var,
    plus,
    times,
)  # fmt: skip
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import Powers
from scanopt.backends.kernels.values import Scalar, item_size

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
    if node.args[1] not in w.counted:
        _check_counted(w.whole(exponents, (n,), INDEX), n, w)
    few = w.variable(INDEX)
    square = times(Var(few), Var(few))
    grow = Steps(w.fresh("i"), n, (Set(few, plus(Var(few), ONE)),), _test("greater_equal", square, n))
    w.code += [Set(few, ONE), If(_test("less", square, n), (grow,))]
    rows = w.fresh("k")
    enough = _test("less_equal", n, _do("subtract", square, Var(few)))  # few rows of few, or one less
    w.code.append(Let(rows, _do("subtract", Var(few), Cast(enough, INDEX)), INDEX))
    small, large = w.scratch(dtype, (n,)), w.scratch(dtype, (n,))
    with w.into([]) as code:
        base, places = w.cell(dtype), w.scratch(dtype, (n,))
        w.code.append(Store(base, ZERO, number_of(x)))
        for made, length, step in ((small, Var(few), ONE), (large, Var(rows), Var(few))):
            _row(w, made, base, places, length, step, dtype)
    if dtype in ("float32", "float64"):
        first, above = _multiplied(w, small, Cast(x.value, dtype), Var(few), dtype)
        second, _ = _multiplied(w, large, above, Var(rows), dtype)
        w.code.append(If(_test("less_equal", n, Lit(MULTIPLIED)), (*first, *second), tuple(code)))
    else:
        w.code += code
    out = w.place(node.out)
    a, b, some = w.fresh("i"), w.fresh("i"), w.fresh("k")
    start = times(Var(a), Var(few))
    left = _do("subtract", n, start)
    count = Do("where", (_test("less", left, Var(few)), left, Var(few)), INDEX, INDEX)
    value = Do("multiply", (Load(large, Var(a), dtype), Load(small, Var(b), dtype)), dtype, dtype)
    each = For(b, Var(some), (Store(out, plus(start, Var(b)), value),))
    w.code.append(Steps(a, Var(rows), (Let(some, count, INDEX), each)))


def _check_counted(exponents: str, n: Expr, w: Lowering) -> None:
    """Refuse other exponents."""
    i, other = w.fresh("i"), w.variable("bool")
    wrong = _test("not_equal", Load(exponents, Var(i), INDEX), Var(i))
    either = Do("logical_or", (Var(other, "bool"), wrong), "bool", "bool")
    w.code += [Set(other, Lit(False, "bool")), Steps(i, n, (Set(other, either),)), If(Var(other, "bool"), (Fail(),))]


def _row(w: Lowering, made: str, base: str, exponents: str, count: Expr, step: Expr, dtype: str) -> None:
    """The powers 0, step, 2 step ... of a number, so many of them, by NumPy's inner loop."""
    i, item = w.fresh("i"), item_size(dtype)
    w.code.append(For(i, count, (Store(exponents, Var(i), Cast(times(Var(i), step), dtype)),)))
    w.code.append(Inner(w.slot("power", (dtype,) * 3), (base, exponents, made), (count,), (ZERO, item, item)))


def _multiplied(w: Lowering, made: str, base: Expr, count: Expr, dtype: str) -> tuple[tuple[Stmt, ...], Var]:
    """The powers 0, 1, 2 ... of a number, so many of them, each the one before times the number; and the next one."""
    power, i = w.variable(dtype), w.fresh("i")
    following = Do("multiply", (Var(power, dtype), base), dtype, dtype)
    step = (Store(made, Var(i), Var(power, dtype)), Set(power, following))
    return (Set(power, Lit(1.0, dtype)), Steps(i, count, step)), Var(power, dtype)
