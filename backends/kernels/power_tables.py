"""Lowers `Powers` nodes: a number raised to many integer exponents, as `scanopt.array.numerics.powers` computes them.

Power e is the product of the powers e % k and e - e % k, for k about the square root of the table's size, so that only
two short rows are computed by calls.  The bits are those of array steps, which use the same rows.
"""

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

FAR, MORE = 4, 64
"""Array steps make a table of at most FAR powers per exponent, plus MORE; beyond that the kernel fails."""


def _do(op: str, a: Expr, b: Expr) -> Do:
    return Do(op, (a, b), INDEX, INDEX)


def _test(op: str, a: Expr, b: Expr) -> Do:
    return Do(op, (a, b), "bool", INDEX)


@written.register(Powers)
def _powers(node: Powers, w: Lowering) -> None:
    x, exponents = w.value(node.args[0]), w.value(node.args[1])
    assert isinstance(x, Scalar)
    dtype, (count,) = node.dtype, w.axes(node.out)
    counted = node.args[1] in w.counted
    given = "" if counted else w.whole(exponents, (count,), INDEX)
    n = count if counted else plus(_highest(given, count, w), ONE)  # the size of the table
    few = w.variable(INDEX)
    square = times(Var(few), Var(few))
    grow = Steps(w.fresh("i"), n, (Set(few, plus(Var(few), ONE)),), _test("greater_equal", square, n))
    w.code += [Set(few, ONE), If(_test("less", square, n), (grow,))]
    rows = w.fresh("k")
    enough = _test("less_equal", n, _do("subtract", square, Var(few)))  # one row less suffices
    w.code.append(Let(rows, _do("subtract", Var(few), Cast(enough, INDEX)), INDEX))
    most = count if counted else plus(times(Lit(FAR), count), Lit(MORE + 1))
    room = (Do("sqrt", (most,), INDEX, INDEX),)
    small, large = w.scratch(dtype, room), w.scratch(dtype, room)
    with w.into([]) as code:
        base, places = w.cell(dtype), w.scratch(dtype, room)
        w.code.append(Store(base, ZERO, number_of(x)))
        for made, length, step in ((small, Var(few), ONE), (large, Var(rows), Var(few))):
            _row(w, made, base, places, length, step, dtype)
    if dtype in ("float32", "float64"):
        first, above = _multiplied(w, small, Cast(x.value, dtype), Var(few), dtype)
        second, _ = _multiplied(w, large, above, Var(rows), dtype)
        w.code.append(If(_test("less_equal", n, Lit(MULTIPLIED)), (*first, *second), tuple(code)))
    else:
        w.code += code
    if counted:
        _all(node, (small, large), n, Var(few), Var(rows), w)
    else:
        _chosen(node, (small, large), given, Var(few), w)


def _highest(exponents: str, n: Expr, w: Lowering) -> Expr:
    """The greatest exponent; the kernel fails if it is far above their number, or if any exponent is negative."""
    i, high, low = w.fresh("i"), w.variable(INDEX), w.variable(INDEX)
    here = Load(exponents, Var(i), INDEX)
    both = ((high, "maximum"), (low, "minimum"))
    w.code += [Set(high, ZERO), Set(low, ZERO)]
    w.code.append(Steps(i, n, tuple(Set(name, _do(op, Var(name), here)) for name, op in both)))
    far = _test("greater", Var(high), plus(times(Lit(FAR), n), Lit(MORE)))
    w.code.append(If(Do("logical_or", (_test("less", Var(low), ZERO), far), "bool", "bool"), (Fail(),)))
    return Var(high)


def _all(node: Powers, roots: tuple[str, str], n: Expr, few: Expr, rows: Expr, w: Lowering) -> None:
    """Write all powers of the table, row by row."""
    dtype, (small, large) = node.dtype, roots
    out = w.place(node.out)
    a, b, some = w.fresh("i"), w.fresh("i"), w.fresh("k")
    start = times(Var(a), few)
    left = _do("subtract", n, start)
    count = Do("where", (_test("less", left, few), left, few), INDEX, INDEX)
    value = Do("multiply", (Load(large, Var(a), dtype), Load(small, Var(b), dtype)), dtype, dtype)
    each = For(b, Var(some), (Store(out, plus(start, Var(b)), value),))
    w.code.append(Steps(a, rows, (Let(some, count, INDEX), each)))


def _chosen(node: Powers, roots: tuple[str, str], exponents: str, few: Expr, w: Lowering) -> None:
    """Write the powers with the given exponents."""
    dtype, (small, large), (n,) = node.dtype, roots, w.axes(node.out)
    out = w.place(node.out)
    i, e, row = w.fresh("i"), w.fresh("k"), w.fresh("k")
    places = (Var(row), _do("subtract", Var(e), times(Var(row), few)))
    value = Do("multiply", (Load(large, places[0], dtype), Load(small, places[1], dtype)), dtype, dtype)
    found = (
        Let(e, Load(exponents, Var(i), INDEX), INDEX),
        Let(row, _do("floor_divide", Var(e), few), INDEX),
        Store(out, Var(i), value),
    )
    w.code.append(For(i, n, found))


def _row(w: Lowering, made: str, base: str, exponents: str, count: Expr, step: Expr, dtype: str) -> None:
    """Write `count` powers 0, step, 2 step ... of a number, by NumPy's inner loop."""
    i, item = w.fresh("i"), item_size(dtype)
    w.code.append(For(i, count, (Store(exponents, Var(i), Cast(times(Var(i), step), dtype)),)))
    w.code.append(Inner(w.slot("power", (dtype,) * 3), (base, exponents, made), (count,), (ZERO, item, item)))


def _multiplied(w: Lowering, made: str, base: Expr, count: Expr, dtype: str) -> tuple[tuple[Stmt, ...], Var]:
    """Statements for `count` powers 0, 1, 2 ..., each the one before times the number; and the next power."""
    power, i = w.variable(dtype), w.fresh("i")
    following = Do("multiply", (Var(power, dtype), base), dtype, dtype)
    step = (Store(made, Var(i), Var(power, dtype)), Set(power, following))
    return (Set(power, Lit(1.0, dtype)), Steps(i, count, step)), Var(power, dtype)
