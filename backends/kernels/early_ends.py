"""Lowers `any` and `all` of rows that are computed only for them: they end at the element that decides the result.

Elements that compilers make in vectors are reduced in blocks.  Elements that are looked up are reduced one by one; all
places are checked before, since array steps raise an error for any place out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from scanopt.backends.kernels.ir import INDEX, ZERO, Do, Expr, Fail, For, If, Let, Lit, Set, Steps, Stmt, Var, plus
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Lookup, Reduce
from scanopt.backends.kernels.stages import Fused, read_by
from scanopt.backends.kernels.values import Array
from scanopt.backends.kernels.walks import dependencies, loads, variables

__all__ = ["ends_early", "to_first_hit"]

Each = Callable[[Expr], tuple[Stmt, ...]]
"""For a place, gives statements that compute the element there and combine it with the result."""
BLOCK = 64
"""The elements of a block."""


def ends_early(ends: Collection[Reduce]) -> bool:
    """Whether one element of a row may decide its reductions."""
    return [e.op for e in ends] in (["logical_or"], ["logical_and"])


def to_first_hit(
    stage: Fused, totals: Mapping[Reduce, Var], each: Each, count: Expr, w: Lowering, rest: Callable[[Expr], list[Stmt]]
) -> list[Stmt]:
    """Statements that reduce a row of `count` elements.  rest: reduces the elements from a place on."""
    ((e, total),) = totals.items()
    done: Expr = total if e.op == "logical_or" else Do("logical_not", (total,), "bool", "bool")
    if _gathers(stage, w):
        checks = _checks(each, count, w)
        return rest(ZERO) if checks is None else [*checks, _one_by_one(each, count, done, w)]
    if isinstance(count, Lit) and int(count.value) <= BLOCK:
        return rest(ZERO)
    blocks, block, i = w.fresh("h"), w.fresh("i"), w.fresh("i")
    start = Do("multiply", (Var(block), Lit(BLOCK)), INDEX, INDEX)
    whole = For(i, Lit(BLOCK), each(plus(start, Var(i))))
    left = rest(Do("multiply", (Var(blocks), Lit(BLOCK)), INDEX, INDEX))
    return [
        Let(blocks, Do("floor_divide", (count, Lit(BLOCK)), INDEX, INDEX), INDEX),
        Steps(block, Var(blocks), (whole,), done),
        If(Do("logical_not", (done,), "bool", "bool"), tuple(left)),
    ]


def _gathers(stage: Fused, w: Lowering) -> bool:
    """Whether elements are looked up at places."""
    values = (w.value(a) for a in read_by(stage) - {n.out for n in stage.nodes})
    return any(isinstance(n, Lookup) for n in stage.nodes) or any(isinstance(v, Array) and v.picks for v in values)


def _checks(each: Each, count: Expr, w: Lowering) -> list[Stmt] | None:
    """Statements that check all places; None where places are looked up at places themselves."""
    if not w.out_of_range:
        return []
    i = w.fresh("i")
    code = each(Var(i))
    noted = [x for x in code if isinstance(x, Set) and x.name == w.out_of_range]
    if not noted:
        return []
    made = {x.name: x.value for x in code if isinstance(x, Let)}
    needed = {v for x in noted for v in dependencies(x.value, made)}
    if _is_looked_up([made[v] for v in needed if v in made], made):
        return None
    body = tuple(x for x in code if x in noted or (isinstance(x, Let) and x.name in needed))
    odd = Do("not_equal", (Var(w.out_of_range), ZERO), "bool", INDEX)
    return [For(i, count, body), If(odd, (Fail(),))]


def _is_looked_up(values: Sequence[Expr], made: Mapping[str, Expr]) -> bool:
    return any(v in made for x in values for read in loads(x) for v in variables(read.index))


def _one_by_one(each: Each, count: Expr, done: Expr, w: Lowering) -> Steps:
    """A search, one element after the other, at places that are in range."""
    i, before, w.out_of_range = w.fresh("i"), w.out_of_range, ""
    search = Steps(i, count, each(Var(i)), done)
    w.out_of_range = before
    return search
