"""Lowers `Count` nodes, which compute how many rows of a trace a part of it needs, to expressions of integers."""

from __future__ import annotations

from scanopt.backends.kernels.emit import written
from scanopt.backends.kernels.ir import INDEX, Cast, Do, Expr, Fail, If, Lit
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import Count

__all__: list[str] = []


@written.register(Count)
def _count(node: Count, w: Lowering) -> None:
    rows, *given = (Cast(number_of(w.value(x)), INDEX) for x in node.args)
    rest = iter(given)
    bounds: list[Expr] = [next(rest) if b == "in" else Lit(int(b)) for b in node.bounds]
    if node.exact and len(bounds) == 1:
        (k,) = bounds
        missing = (_less(k, Do("negative", (rows,), INDEX, INDEX)), Do("greater_equal", (k, rows), "bool", INDEX))
        w.code.append(If(Do("logical_or", missing, "bool", "bool"), (Fail(),)))
    one = node.op == "row_left"
    w.let(node.out, Lit(1) if one else Do(node.op, (rows, *bounds), INDEX, INDEX), INDEX)


def _less(a: Expr, b: Expr) -> Do:
    return Do("less", (a, b), "bool", INDEX)
