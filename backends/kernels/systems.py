"""Lowers linear algebra: systems, inverses and factorizations call NumPy's inner loops or LAPACK's routines.

Where there is no solution, the kernel fails, and array steps report the error.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.ir import (
    ONE,
    ZERO,
    Do,
    Expr,
    Fail,
    For,
    If,
    Inner,
    Lit,
    Load,
    Steps,
    Stmt,
    Store,
    Var,
    plus,
    product,
    times,
)
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.matrix_nodes import DETERMINANTS, LOOPS_OF_TWO
from scanopt.backends.kernels.nodes import Factored, NoForm, Solve
from scanopt.backends.kernels.small_systems import known_way, write_systems
from scanopt.backends.kernels.values import Axes, Value, element_of, index, item_size, packed

__all__ = ["failing_at_nan"]


@written.register(Solve)
def _solve(node: Solve, w: Lowering) -> None:
    """Write a `Solve` node; a small system is written out if it is known how NumPy solves it."""
    lead = w.axes(node.args[0])[:-2]
    if len(node.args) > 1 and w.axes(node.args[1])[: len(lead)] != lead:
        raise NoForm("systems of stacks that broadcast")
    if way := known_way(node, w):
        write_systems(node, way, lead, lambda arrays, out: _called(node, arrays, out, (), w), w)
        return
    axes = w.axes(node.out)
    out = w.place(node.out) if axes else w.cell(node.dtype)
    _called(node, [w.whole(w.value(a), w.axes(a), node.dtype) for a in node.args], out, lead, w)
    if not axes:
        w.let(node.out, Load(out, ZERO, node.dtype), node.dtype)


def _called(node: Solve, arrays: Sequence[str], out: str, lead: Axes, w: Lowering) -> None:
    """Write the call, for a stack of matrices; the kernel fails if the result has NaN, as without a solution."""
    dtype, skipped = node.dtype, len(w.axes(node.args[0])) - 2
    axes = [w.axes(x)[skipped:] for x in (*node.args, node.out)]
    apart = [[times(s, item_size(dtype)) for s in packed(x)] for x in axes]
    vector = node.op == "solve" and len(axes[-1]) == 1
    name, n = f"{node.op}1" if vector else node.op, axes[0][0]
    dims = (n, axes[-1][1]) if node.op == "solve" and not vector else (n,)
    outs = [out]
    if node.op in LOOPS_OF_TWO:  # the sign, and the logarithm
        other, name = w.scratch(dtype, lead or (ONE,)), LOOPS_OF_TWO[node.op]
        outs = [other, out] if node.op == "logabsdet" else [out, other]
        axes, apart = [*axes, axes[-1]], [*apart, apart[-1]]
    steps = (times(product(x), item_size(dtype)) if lead else ZERO for x in axes)
    strides = (*steps, *(s for each in apart for s in each))
    w.code.append(Inner(w.slot(name, (dtype,) * len(apart)), (*arrays, *outs), (product(lead), *dims), strides))
    if node.op not in DETERMINANTS:
        w.code.append(failing_at_nan(out, (*lead, *axes[-1]), dtype, w))


def failing_at_nan(pointer: str, axes: Axes, dtype: str, w: Lowering) -> Stmt:
    """A statement that ends the kernel if an element is NaN."""
    i = w.fresh("i")
    x = Load(pointer, Var(i), dtype)
    return Steps(i, product(axes), (If(Do("not_equal", (x, x), "bool", dtype), (Fail(),)),))


@written.register(Factored)
def _factored(node: Factored, w: Lowering) -> None:
    """Write a call of a LAPACK routine, which overwrites its argument, stored column by column."""
    if w.device:
        raise NoForm(f"{node.op} is a routine of LAPACK")
    dtype, (n, *_) = node.dtype, w.axes(node.args[-1])
    slot, letters = w.slot(node.op, (dtype,)), tuple(Lit(ord(letter)) for letter in node.options)
    pivots = (w.scratch("int32", (n,)),) if node.op.startswith("lu") else ()
    if node.op == "lu_factor":
        out = w.place(node.out)
        _turned(w, w.value(node.args[0]), (n, n), out)
        w.code.append(Inner(slot, (out, *pivots), (n,), ()))
        return
    matrix, right = (w.value(a) for a in node.args)
    a = w.whole(matrix, w.axes(node.args[0]), dtype)
    out, axes = w.place(node.out), w.axes(node.out)
    x = out if len(axes) == 1 else w.scratch(dtype, axes[::-1])
    columns = axes[1] if len(axes) == 2 else ONE
    if len(axes) == 1:
        w.code += w.copied(right, out, ZERO, axes)
    else:
        _turned(w, right, axes, x)
    w.code.append(Inner(slot, (a, x, *pivots), (n, columns, *letters), ()))
    if x != out:
        (i, j), (row, column) = w.places(axes)
        found = Load(x, plus(times(column, n), row), dtype)
        w.code.append(For(i, n, (For(j, columns, (Store(out, index(ZERO, (row, column), packed(axes)), found),)),)))


def _turned(w: Lowering, value: Value, axes: Axes, into: str) -> None:
    """Write a copy of a matrix that is stored column by column."""
    (i, j), (row, column) = w.places(axes)
    element: Expr = element_of(value, (row, column), axes)
    store = Store(into, plus(times(column, axes[0]), row), element)
    w.code.append(For(j, axes[1], (For(i, axes[0], (store,)),)))
