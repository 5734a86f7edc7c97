"""Lowers products of matrices of integers: plain loops, which compilers vectorize, in place of a call.

Additions of integers wrap, so any order of them gives the same bits.
"""

from __future__ import annotations

import numpy as np

from scanopt.backends.kernels.ir import ONE, Do, Expr, For, Let, Lit, Load, Set, Steps, Store, Var, plus, times
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Product

__all__ = ["of_integers", "write_integers"]


def of_integers(node: Product, w: Lowering) -> bool:
    """Whether a product is one of integers, on a CPU."""
    return np.dtype(node.dtype).kind in "iu" and not w.device


def write_integers(node: Product, out: str, factors: tuple[str, str], w: Lowering) -> None:
    """Write the loops.  factors: pointers to both, packed."""
    a, b = (w.axes(x) for x in node.args)
    dtype, (left, right) = node.dtype, factors
    rows, count, columns = a[0] if len(a) == 2 else ONE, a[-1], b[1] if len(b) == 2 else ONE
    i, j, k, x = (w.fresh(letter) for letter in "iiiv")
    row = times(Var(i), count)

    def sum_of(total: Expr, y: Expr) -> Expr:
        return Do("add", (total, Do("multiply", (y, Var(x, dtype)), dtype, dtype)), dtype, dtype)

    element = Let(x, Load(left, plus(row, Var(k)), dtype), dtype)
    nothing = Lit(0, dtype)
    if columns == ONE:
        total = w.variable(dtype)
        added = Set(total, sum_of(Var(total, dtype), Load(right, Var(k), dtype)))
        told = Store(out, Var(i), Var(total, dtype))
        w.code.append(For(i, rows, (Set(total, nothing), Steps(k, count, (element, added)), told)))
        return
    place, other = (plus(times(Var(row), columns), Var(j)) for row in (i, k))
    more = Store(out, place, sum_of(Load(out, place, dtype), Load(right, other, dtype)))
    start = For(j, columns, (Store(out, place, nothing),))
    w.code.append(For(i, rows, (start, Steps(k, count, (element, For(j, columns, (more,)))))))
