"""How many steps a loop inside another one takes, as planned for."""

from __future__ import annotations

from scanopt.backends.kernels.ir import INDEX, Cast, Do, Expr, Fail, If, Let, Lit, Var
from scanopt.backends.kernels.joined_rows import rows_read
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import Nested

__all__ = ["checked"]


def checked(w: Lowering, nested: Nested) -> Expr:
    """The number of steps of a loop inside another one, after a check that all lengths are what was planned for."""
    loop = nested.loop
    name = w.fresh("k")
    w.code.append(Let(name, Cast(number_of(w.value(loop.steps)), INDEX), INDEX))
    steps = Var(name)
    wrong: list[Expr] = [Do("less", (steps, Lit(1)), "bool", INDEX)]
    wrong += [Do("less", (w.axes(r.source)[0], steps), "bool", INDEX) for r in loop.reads]
    wrong += [Do("less", (n, steps), "bool", INDEX) for n in rows_read(nested.nodes, w)]
    wrong += [Do("not_equal", (w.axes(s.init)[0], Lit(s.depth)), "bool", INDEX) for s in loop.states]
    for k in loop.keeps:
        rows = w.axes(k.out)[0]
        least = Do("less", (steps, rows), "bool", INDEX)
        if loop.until is None or k.rows is not None:
            wrong.append(Do("not_equal", (rows, steps), "bool", INDEX) if k.rows is None else least)
    w.code += [If(x, (Fail(),)) for x in wrong]
    return steps
