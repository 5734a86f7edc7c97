"""Lowers reductions of integers and truth values that are fused with the computation of their elements.

Any order gives the same bits, so a row is reduced in two halves at once, in two variables, since each reduction depends
on its previous result.  Where only the places before a bound count, as in the maximum of `where(places < i, x, 0)`, the
others are not computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from scanopt.backends.kernels.early_ends import ends_early, to_first_hit
from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Do, Expr, If, Let, Lit, Load, Set, Stmt, Store, Var, plus
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import IDENTITY, Map, Reduce
from scanopt.backends.kernels.set_so_far import set_so_far
from scanopt.backends.kernels.stages import Fused
from scanopt.backends.kernels.values import Array, Scalar, index, nest

__all__ = ["Elements", "in_any_order", "put_together"]

Elements = Callable[[Sequence[Expr], Mapping[str, Array], dict[str, Scalar]], tuple[Stmt, ...]]
"""For a place, gives statements that compute the elements there and store some; adds all elements, by name."""
_Each = Callable[[Expr, Mapping[Reduce, Var]], tuple[Stmt, ...]]
"""For a place, gives statements that compute the element there and combine it with some totals."""
_BOUNDS = {"less": (0, 1, 0), "less_equal": (0, 1, 1), "greater": (1, 0, 0), "greater_equal": (1, 0, 1)}
"""For each comparison: which argument has the places, which is the bound, and whether the place at the bound counts."""


def in_any_order(e: Reduce) -> bool:
    """Whether a reduction gives the same bits in any order."""
    kind = np.dtype(e.dtype).kind
    ops = {"i": ("add", "multiply", "maximum", "minimum"), "b": ("logical_and", "logical_or")}
    return e.op in ops.get("i" if kind == "u" else kind, ())


def put_together(
    stage: Fused,
    inner: int,
    fresh: bool,
    targets: Mapping[Reduce, Array],
    outs: dict[str, Array],
    where: tuple[list[str], list[Expr]],
    w: Lowering,
    elements: Elements,
) -> tuple[Stmt, ...]:
    """Reduce all axes from the `inner` one on.  fresh: whether targets have no value yet; where: names and places."""
    axes, (names, places) = stage.axes, where
    first = [*places[:inner], *(ZERO for _ in axes[inner:])]
    totals = {e: Var(w.variable(e.dtype), e.dtype) for e in targets}
    at = {e: index(ZERO, first, out.strides) for e, out in targets.items()}
    code: list[Stmt] = [
        Set(total.name, _least(e) if fresh else Load(targets[e].pointer, at[e], e.dtype)) for e, total in totals.items()
    ]

    known: dict[str, Scalar] = {}

    def each(place: Sequence[Expr], totals: Mapping[Reduce, Var]) -> tuple[Stmt, ...]:
        made = {**known}
        return _put(elements(place, outs, made), made, totals)

    if len(axes) - inner > 1:
        code += nest(axes[inner:], names[inner:], each(places, totals))
    else:
        count, rest = (None, None) if outs or not fresh else _limit(stage, targets, code, known, w)
        one: _Each = lambda place, t: each([*places[:-1], place], t)  # noqa: E731
        code += _in_order(stage, one, count or axes[-1], totals, fresh and not outs, w)
        if rest is not None:
            (total,) = totals.values()
            (e,) = totals
            assert count is not None
            more = Set(total.name, Do(e.op, (total, rest), e.dtype, e.dtype))
            code.append(If(Do("less", (count, axes[-1]), "bool", INDEX), (more,)))
    return (*code, *(Store(targets[e].pointer, at[e], total) for e, total in totals.items()))


def _in_order(
    stage: Fused, each: _Each, count: Expr, totals: Mapping[Reduce, Var], alone: bool, w: Lowering
) -> list[Stmt]:
    """Reduce a row.  alone: whether nothing but the results of the row is needed."""
    if not alone or not ends_early(totals):
        return _halves(count, each, totals, w)

    def rest(start: Expr) -> list[Stmt]:
        left = count if start == ZERO else Do("subtract", (count, start), INDEX, INDEX)
        return _halves(left, lambda place, t: each(plus(start, place), t), totals, w)

    return to_first_hit(stage, totals, lambda place: each(place, totals), count, w, rest)


def _put(code: tuple[Stmt, ...], made: Mapping[str, Scalar], totals: Mapping[Reduce, Var]) -> tuple[Stmt, ...]:
    """Statements that compute the elements at a place, and combine them with the totals."""
    both = ((e, total, (total, made[e.args[0]].value)) for e, total in totals.items())
    return (*code, *(Set(total.name, _combined(e, args)) for e, total, args in both))


def _combined(e: Reduce, args: tuple[Expr, ...]) -> Expr:
    """A total and an element: bitwise where both are 0 or 1, since gcc makes no vectors of the tests that they are."""
    truths = {"logical_and": "bitwise_and", "logical_or": "bitwise_or"} if {x.dtype for x in args} == {"bool"} else {}
    return Do(truths.get(e.op, e.op), args, e.dtype, e.dtype)


def _halves(count: Expr, each: _Each, totals: Mapping[Reduce, Var], w: Lowering) -> list[Stmt]:
    """Reduce a row in two halves at once; if its length is odd, the last element separately."""
    half, name = Var(w.fresh("h")), w.fresh("i")
    others = {e: Var(w.variable(e.dtype), e.dtype) for e in totals}
    both = (*each(Var(name), totals), *each(plus(half, Var(name)), others))
    odd = Do("not_equal", (plus(half, half), count), "bool", INDEX)
    joined = [Set(t.name, Do(e.op, (t, others[e]), e.dtype, e.dtype)) for e, t in totals.items()]
    start = [Set(t.name, _least(e)) for e, t in others.items()]
    last = If(odd, each(plus(half, half), totals))
    return [Let(half.name, Do("floor_divide", (count, Lit(2)), INDEX, INDEX), INDEX), *start,
            *nest((half,), [name], both), last, *joined]  # fmt: skip


def _least(e: Reduce) -> Expr:
    """The neutral element of a reduction."""
    if e.op in IDENTITY:
        return Lit(IDENTITY[e.op], e.dtype)
    limits = np.iinfo(e.dtype)
    return Lit(int(limits.min if e.op == "maximum" else limits.max), e.dtype)


def _limit(
    stage: Fused, targets: Mapping[Reduce, Array], code: list[Stmt], known: dict[str, Scalar], w: Lowering
) -> tuple[Expr, Expr | None] | tuple[None, None]:
    """The number of places that count, and the value at the others, if it matters; None, None where all places count.

    known: gets the test that is true at the places that count.
    """
    made = {n.out: n for n in stage.nodes}
    (e, *others), node = targets, None
    node = made.get(e.args[0])
    if others or node is None:
        return None, None
    rest: Lit | None = None
    if node.op == "where" and (other := w.value(node.args[2]) if node.args[2] not in made else None):
        if not isinstance(other, Scalar) or other.dtype != e.dtype or not isinstance(other.value, Lit):
            return None, None
        rest = other.value
        test = node.args[0]
    elif node.op == "copy" and w.dtype(node.args[0]) == "bool" and e.op == "add":
        test = node.args[0]
    elif e.op == "logical_or":
        test = node.out
    else:
        return None, None
    bound = _bound(test, made, w)
    if bound is None and rest is not None and (end := set_so_far(node, rest, w)) is not None:
        bound = end, 0, ""
    if bound is None or (e.op not in ("maximum", "minimum") and rest not in (None, Lit(0, e.dtype))):
        return None, None
    count = Var(w.fresh("h"))
    end, more, known_test = bound
    known |= {known_test: Scalar(Lit(True, "bool"), "bool")} if known_test else {}
    near = Do("clip", (end, Lit(-more), plus(stage.axes[-1], Lit(-more))), INDEX, INDEX)
    code.append(Let(count.name, plus(near, Lit(more)), INDEX))
    return count, rest if e.op in ("maximum", "minimum") else None


def _bound(test: str, made: Mapping[str, Map], w: Lowering) -> tuple[Expr, int, str] | None:
    """The bound of a test on places: it holds at most before this place; then 1 if also there, and the comparison."""
    node = made.get(test)
    if node is None:
        return None
    if node.op in ("logical_and", "bitwise_and", "multiply") and node.dtype == "bool":
        return next((x for a in node.args if (x := _bound(a, made, w)) is not None), None)
    if node.op not in _BOUNDS:
        return None
    places, bound, more = _BOUNDS[node.op]
    name, end = node.args[places], node.args[bound]
    counts = name in w.counted and w.dtype(name) == INDEX and w.axes(name) not in ((), (ONE,))
    if not counts or end in made or w.dtype(end) != INDEX or w.axes(end):
        return None
    return number_of(w.value(end)), more, test
