"""Lowers lookups at places that differ from the loop's own place by a constant, as neighbours on a periodic grid.

Places such as `(arange(n) - 1) % n` or `maximum(arange(n) - 1, 0)` are the loop's place plus a constant, except at the
ends of a row.  The ends are run with all checks; in the middle, whose bounds are computed before, all places are in
range and neighbouring elements are read, so compilers vectorize it.  A place that is the same along a row is checked
once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Do, Expr, Let, Lit, Steps, Stmt, Var, plus
from scanopt.backends.kernels.lookups import place_in_range
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import Lookup
from scanopt.backends.kernels.stages import Fused
from scanopt.backends.kernels.values import Array, Axes, Scalar, element_of
from scanopt.records import dataclass

__all__ = ["row_at_places"]

FAR = 1 << 58
"""Numbers from which places are computed must be nearer to 0 than this, so that no sum of them wraps."""
MOST_NUMBERS = 8
Part = Callable[[Expr, Expr, Callable[[Expr], dict[str, Scalar]]], tuple[Stmt, ...]]
"""Writes operations on elements of a row, given the first place, the count, and a function that returns the values
known at a place."""


@dataclass(frozen=True)
class _Near:
    """Places that are the row's own places plus `moved`, for own places not below any of `first`, and below all `ends`.

    numbers: the numbers from which these are computed.
    """

    moved: Expr = ZERO
    first: tuple[Expr, ...] = ()
    ends: tuple[Expr, ...] = ()
    numbers: tuple[Expr, ...] = ()

    def from_on(self, x: Expr) -> _Near:
        """The same, only where the places are at least x."""
        return replace(self, first=(*self.first, _minus(x, self.moved)))

    def below(self, x: Expr) -> _Near:
        """The same, only where the places are less than x."""
        return replace(self, ends=(*self.ends, _minus(x, self.moved)))


def row_at_places(stage: Fused, axes: Axes, places: Sequence[Expr], w: Lowering, part: Part) -> tuple[Stmt, ...]:
    """Write the operations of a stage along the last of its axes.  places: along the axes before."""
    before = w.in_range
    w.in_range, code, near = dict(before), list[Stmt](), dict[tuple[str, Expr], _Near]()
    made = {n.out for n in stage.nodes}
    for name, length in _indices(stage, w):
        mine = w.axes(name)
        if name not in made and (not mine or mine[-1] == ONE):
            place = element_of(w.value(name), [*places, ZERO][len(axes) - len(mine) :], mine)
            w.in_range[name, length] = place_in_range(place, length, code, w)
        elif (found := _places(name, axes[-1], w)) is not None:
            near[name, length] = found.from_on(ZERO).below(length)
    if near and all(len(n.numbers) <= MOST_NUMBERS for n in near.values()):
        code += _apart(near, axes[-1], w, part)
    else:
        code += part(ZERO, axes[-1], lambda _: {})
    w.in_range = before
    return tuple(code)


def _places(name: str, count: Expr, w: Lowering) -> _Near | None:
    """Describe an array of places as the row's own places plus a constant; None for other arrays."""
    if w.axes(name) != (count,) or w.dtype(name) != INDEX:
        return None
    if name in w.counted:
        return _Near()
    if name in w.evenly:
        first, apart = w.evenly[name]
        return _Near(first, numbers=(first,)) if apart == ONE else None
    n = w.makers.get(name)
    if n is None or {n.dtype, *n.takes} != {INDEX}:
        return None
    numbers = [_number(a, w) for a in n.args]
    which = next((i for i, x in enumerate(numbers) if x is None), 0)
    given = [x for i, x in enumerate(numbers) if i != which and x is not None]
    near = _places(n.args[which], count, w) if len(given) == len(n.args) - 1 else None
    return None if near is None else _moved(n.op, near, which, given)


def _moved(op: str, x: _Near, which: int, numbers: Sequence[Expr]) -> _Near | None:
    """Apply an operation to places and numbers; None for other operations.  which: the argument that is the places."""
    x = replace(x, numbers=(*x.numbers, *numbers))
    match op, which, numbers:
        case "copy", _, ():
            return x
        case "add", _, (n,):
            return replace(x, moved=plus(x.moved, n))
        case "subtract", 0, (n,):
            return replace(x, moved=_minus(x.moved, n))
        case "remainder", 0, (n,):
            return x.from_on(ZERO).below(_near(n))
        case "maximum", _, (n,):
            return x.from_on(_near(n))
        case "minimum", _, (n,):
            return x.below(plus(_near(n), ONE))
        case "clip", 0, (low, high):
            return x.from_on(_near(low)).below(plus(_near(high), ONE))
        case _:
            return None


def _number(name: str, w: Lowering) -> Expr | None:
    """The integer that a name is, if it is no array; None for an array."""
    return None if w.axes(name) or w.dtype(name) != INDEX else number_of(w.value(name))


def _indices(stage: Fused, w: Lowering) -> list[tuple[str, Expr]]:
    """The arrays of places at which a stage looks elements up, each with the length of the axis that it indexes."""
    found: dict[tuple[str, Expr], None] = {}
    for n in stage.nodes:
        x = w.value(n.args[0]) if isinstance(n, Lookup) else None
        if isinstance(x, Array):
            found |= dict.fromkeys(zip(n.args[1:], x.axes, strict=True))
    return list(found)


def _middle(near: Mapping[tuple[str, Expr], _Near], count: Expr, w: Lowering) -> tuple[Var, Var]:
    """Write the bounds of the middle of a row, where all places are in range; return them."""
    start, end = w.fresh("k"), w.fresh("k")
    first: Expr = ZERO
    last: Expr = count
    for x in dict.fromkeys(x for n in near.values() for x in n.first if x != ZERO):
        first = Do("maximum", (first, x), INDEX, INDEX)
    for x in dict.fromkeys(x for n in near.values() for x in n.ends if x != count):
        last = Do("minimum", (last, x), INDEX, INDEX)
    for x in dict.fromkeys(x for n in near.values() for x in n.numbers if _near(x) != x):
        last = Do("where", (Do("equal", (_near(x), x), "bool", INDEX), last, ZERO), INDEX, INDEX)
    w.code.append(Let(start, Do("minimum", (first, count), INDEX, INDEX), INDEX))
    w.code.append(Let(end, Do("maximum", (last, Var(start)), INDEX, INDEX), INDEX))
    return Var(start), Var(end)


def _apart(near: Mapping[tuple[str, Expr], _Near], count: Expr, w: Lowering, part: Part) -> tuple[Stmt, ...]:
    """Write the operations on elements in the middle of a row, and on those at its ends."""
    start, end = _middle(near, count, w)
    which, here, there = w.fresh("k"), w.fresh("k"), w.fresh("k")
    behind = Do("equal", (Var(which), ONE), "bool", INDEX)
    ends = (
        Let(here, Do("where", (behind, end, ZERO), INDEX, INDEX), INDEX),
        Let(there, Do("where", (behind, count, start), INDEX, INDEX), INDEX),
        *part(Var(here), _minus(Var(there), Var(here)), lambda _: {}),
    )
    known = w.in_range

    def given(place: Expr) -> dict[str, Scalar]:
        found = {key: plus(place, n.moved) for key, n in near.items()}
        w.in_range = known | found
        return {key[0]: Scalar(at, INDEX) for key, at in found.items() if key[0] not in w.stored}

    middle = part(start, _minus(end, start), given)
    w.in_range = known
    return Steps(which, Lit(2), ends), *middle


def _minus(x: Expr, y: Expr) -> Expr:
    return plus(x, Lit(-int(y.value))) if isinstance(y, Lit) else Do("subtract", (x, y), INDEX, INDEX)


def _near(x: Expr) -> Expr:
    """A number, clipped to +-FAR."""
    return x if isinstance(x, Lit) and abs(int(x.value)) < FAR else Do("clip", (x, Lit(-FAR), Lit(FAR)), INDEX, INDEX)
