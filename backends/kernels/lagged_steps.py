"""A pass on the statements of a step: runs several steps side by side if scalar states are only read many steps back.

An example is a comb filter.  If the nearest tap is k steps back, no step depends on the k - 1 steps before it, so k
steps are one vectorizable loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scanopt.backends.kernels.ir import INDEX, Do, Expr, For, If, Let, Lit, Point, Set, Stmt, Store, Var, plus
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.walks import variables, with_loads, with_variables
from scanopt.program.ir import Loop

__all__ = ["with_lags_together"]


def with_lags_together(loop: Loop, t: Var, steps: Expr, step: Sequence[Stmt], w: Lowering) -> tuple[Stmt, ...]:
    """Statements for as many steps as the states are read back, or just the given step.  t: the number of the step.

    They set it to the number of the last step that they run.
    """
    lags = [k for s in loop.states for k, _ in s.taps]
    if w.device or loop.until is not None or not lags or any(s.type.ndim for s in loop.states):
        return tuple(step)
    if not all(_is_simple(x, t.name) or _is_tap(x, t.name) for x in step):
        return tuple(step)
    i, behind = w.fresh("i"), w.fresh("k")
    end: Expr = Do("minimum", (plus(t, Lit(min(lags))), steps), INDEX, INDEX)
    taps = [x for x in step if isinstance(x, If)]
    places: dict[str, str] = {}
    first: list[Stmt] = []
    for x in taps:
        early = x.then[0]
        assert isinstance(early, Point)
        assert isinstance(x.test, Do)
        next_one = Do("where", (x.test, x.test.args[1], end), INDEX, INDEX)
        end = Do("minimum", (end, next_one), INDEX, INDEX)
        places[early.name] = w.pointer(early.dtype)
        first.append(If(x.test, *(tuple(_named(p, places) for p in side) for side in (x.then, x.otherwise))))
    later = {t.name: plus(t, Var(i))}
    body = [_later(x, later) for x in step if not isinstance(x, If)]
    body = [
        with_loads(x, lambda r: replace(r, array=places[r.array], index=Var(i)) if r.array in places else r)
        for x in body
    ]
    count = Do("subtract", (Var(behind), t), INDEX, INDEX)
    return (Let(behind, end, INDEX), *first, For(i, count, tuple(body)), Set(t.name, plus(Var(behind), Lit(-1))))


def _is_simple(x: Stmt, t: str) -> bool:
    """Whether a statement may be run for several steps side by side."""
    return isinstance(x, Let | Point) or (isinstance(x, Store) and _moves_on(x.index, t))


def _is_tap(x: Stmt, t: str) -> bool:
    """Whether a statement points to a state some steps back, in its initial rows or in later ones."""
    match x:
        case If(test=Do(op="less", args=(Var(name=name), Lit())), then=(Point() as a,), otherwise=(Point() as b,)):
            return name == t and a.name == b.name and _moves_on(a.index, t) and _moves_on(b.index, t)
    return False


def _moves_on(index: Expr, t: str) -> bool:
    """Whether an index grows by 1 at each step."""
    match index:
        case Var(name=name):
            return name == t
        case Do(op="add", args=(a, b)):
            return (_moves_on(a, t) and t not in variables(b)) or (_moves_on(b, t) and t not in variables(a))
    return False


def _named(x: Stmt, names: dict[str, str]) -> Stmt:
    return replace(x, name=names[x.name]) if isinstance(x, Point) else x


def _later(x: Stmt, values: dict[str, Expr]) -> Stmt:
    """A statement of a step, rewritten for a later step."""
    match x:
        case Let(value=value):
            return replace(x, value=with_variables(value, values))
        case Point(index=index):
            return replace(x, index=with_variables(index, values))
        case Store(index=index, value=value):
            return replace(x, index=with_variables(index, values), value=with_variables(value, values))
    return x
