"""Lowers elementwise updates that change a state only at some places: the loop goes through those places only.

An update such as `where((places > i) & (places % i == 0), 0, s)`, written over the state, leaves all other elements
unchanged.  The bounds and the stride of the places are taken from its condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Cast, Do, Expr, For, If, Let, Lit, Stmt, Var, plus, times
from scanopt.backends.kernels.known_tests import TURNED
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Map, Nested
from scanopt.backends.kernels.overwritten import chosen_over, factors, idle_test
from scanopt.backends.kernels.stages import Fused
from scanopt.backends.kernels.values import Axes, Scalar, element_of, nest
from scanopt.records import dataclass

__all__ = ["Elements", "changes_few", "through_changes"]

Elements = Callable[[Sequence[Expr], dict[str, Scalar]], tuple[Stmt, ...]]
"""Writes the operations on the elements at a place, given known values, by name."""


@dataclass
class _Places:
    """The places to go through: the first, the one behind the last, the stride.  tests: which all of them pass."""

    start: Expr
    end: Expr
    apart: Expr = ONE
    tests: list[str] = field(default_factory=list[str])

    def narrow(self, op: str, bound: Expr, length: Expr) -> None:
        """Leave out the places that a comparison with a number excludes."""
        near = Do("maximum", (Do("minimum", (bound, length), INDEX, INDEX), Lit(-1)), INDEX, INDEX)
        if op in ("greater", "greater_equal", "equal"):
            self.start = Do("maximum", (self.start, plus(near, Lit(int(op == "greater")))), INDEX, INDEX)
        if op in ("less", "less_equal", "equal"):
            self.end = Do("minimum", (self.end, plus(near, Lit(int(op != "less")))), INDEX, INDEX)


def changes_few(node: Nested, w: Lowering) -> bool:
    """Whether the steps of a loop seem to change their only state at single places, or at evenly spaced ones."""
    states, made = node.loop.states, {n.out: n for n in node.nodes if isinstance(n, Map)}
    choice = made.get(states[0].update) if len(states) == 1 else None
    if choice is None or choice.op != "where" or choice.args[2] not in {tap for _, tap in states[0].taps}:
        return False
    tests = (made[x] for x in factors(choice.args[0], made) if x in made)
    equal = [n for n in tests if n.op == "equal" and n.takes == (INDEX, INDEX)]
    compared = {a for n in equal for a in n.args}
    compared |= {made[a].args[0] for a in compared if a in made and made[a].op == "remainder"}
    return not compared.isdisjoint(w.counted)


def through_changes(
    stage: Fused, counts: Axes, names: Sequence[str], places: Sequence[Expr], elements: Elements, w: Lowering
) -> tuple[Stmt, ...]:
    """Write the loop of a stage over the elements that it may change.  names: of the loops; places: by these."""
    found = _places(stage, counts[0], w) if len(places) == 1 and places[0] != ZERO else None
    if found is None:
        code = nest(counts, names, elements(places, {}))
    else:
        start, left, apart = (w.fresh("k") for _ in range(3))
        first: Expr = found.start
        count: Expr = Var(left)
        if found.apart != ONE:
            first = times(_times_at_least(found.start, Var(apart)), Var(apart))
            count = _times_at_least(Var(left), Var(apart))
        rest = Do("maximum", (Do("subtract", (found.end, Var(start)), INDEX, INDEX), ZERO), INDEX, INDEX)
        place = plus(Var(start), times(Var(names[0]), Var(apart)))
        passed = {name: Scalar(Lit(True, "bool"), "bool") for name in found.tests}
        code = (
            Let(apart, found.apart, INDEX),
            Let(start, first, INDEX),
            Let(left, rest, INDEX),
            For(names[0], count, elements([place], passed)),
        )
    test = idle_test(stage, w)
    return code if test is None else (If(test, code),)


def _places(stage: Fused, length: Expr, w: Lowering) -> _Places | None:
    """The places at which a choice may change a state; None if its condition does not restrict places."""
    node, made = chosen_over(stage, w), {n.out: n for n in stage.nodes}
    if node is None or node.args[2] != w.over[node.out] or stage.axes in w.prefixes:
        return None
    found = _Places(ZERO, length)
    for test in (made[x] for x in factors(node.args[0], made) if x in made):
        if test.takes != (INDEX, INDEX) or test.op not in (*TURNED, "equal"):
            continue
        a, b = test.args
        found.tests.append(test.out)
        if _is_places(a, stage, w) and (bound := _number(b, made, w)):
            found.narrow(test.op, bound, length)
        elif _is_places(b, stage, w) and (bound := _number(a, made, w)):
            found.narrow(TURNED.get(test.op, test.op), bound, length)
        elif by := _divisor(test, made, stage, w) if found.apart == ONE else None:
            near = Do("maximum", (Do("minimum", (by, length), INDEX, INDEX), times(Lit(-1), length)), INDEX, INDEX)
            found.apart = Do("maximum", (Do("absolute", (near,), INDEX, INDEX), ONE), INDEX, INDEX)
        else:
            found.tests.remove(test.out)
    return found if found.tests else None


def _divisor(test: Map, made: Mapping[str, Map], stage: Fused, w: Lowering) -> Expr | None:
    """The number by which places must be divisible, if a test says this."""
    n, zero = made.get(test.args[0]), _number(test.args[1], made, w)
    if n is None or test.op != "equal" or zero != ZERO or n.op != "remainder" or n.takes != (INDEX, INDEX):
        return None
    return _number(n.args[1], made, w) if _is_places(n.args[0], stage, w) else None


def _is_places(name: str, stage: Fused, w: Lowering) -> bool:
    return name in w.counted and w.axes(name) == stage.axes


def _number(name: str, made: Mapping[str, Map], w: Lowering) -> Expr | None:
    """A number that is known before the stage."""
    axes = w.axes(name)
    if name in made or any(n != ONE for n in axes):
        return None
    value = w.value(name)
    found = element_of(value, [ZERO for _ in axes], axes)
    return found if value.dtype == INDEX else Cast(found, INDEX)


def _times_at_least(x: Expr, y: Expr) -> Expr:
    """x / y, rounded up."""
    return Do("floor_divide", (plus(x, plus(y, Lit(-1))), y), INDEX, INDEX)
