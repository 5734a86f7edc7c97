"""Analyses the integers of a loop's steps: how far each moves per step, which are places, how these are clamped.

`places_in_range.py` uses it to find the steps in which no place is out of range.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise, zip_longest

from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Cast,
    Declare,
    Do,
    Expr,
    Fail,
    If,
    Let,
    Lit,
    Point,
    Set,
    Steps,
    Stmt,
    Var,
    plus,
    times,
)  # fmt: skip
from scanopt.backends.kernels.walks import inside
from scanopt.records import dataclass

__all__ = ["HeldPlace", "KnownSteps", "MovingPlace", "known_steps", "wrapped"]


@dataclass(frozen=True)
class MovingPlace:
    """The form of a number: a linear combination of variables, with integer factors, plus a constant."""

    times: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def plus(self, other: MovingPlace, sign: int) -> MovingPlace:
        """The sum of two forms (sign 1), or their difference (sign -1)."""
        found = dict(self.times)
        for name, k in other.times:
            found[name] = found.get(name, 0) + sign * k
        left = tuple(sorted((name, k) for name, k in found.items() if k))
        return MovingPlace(left, self.constant + sign * other.constant)

    def start(self, var: str) -> Expr:
        """Its value in the first step.  var: the number of steps before."""
        found: Expr = ZERO
        for name, k in self.times:
            if name != var and k == -1:
                found = Do("subtract", (found, Var(name)), INDEX, INDEX)
            elif name != var:
                found = plus(found, times(Lit(k), Var(name)))
        return plus(found, Lit(self.constant))


@dataclass
class KnownSteps:
    """What is known of the integers of a step.

    forms: the form of each number, None where it has none.  once: the variables that are set once in a step; moves: how
    far each moves from step to step; ones: for some, the variable that must be 1 for that.  checks: for each place, its
    form and the length of its axis; held: the clamped places.
    """

    var: str
    once: set[str]
    forms: dict[str, MovingPlace | None]
    moves: dict[str, int]
    ones: dict[str, str] = field(default_factory=dict[str, str])
    checks: dict[str, tuple[MovingPlace, Expr]] = field(default_factory=dict[str, tuple[MovingPlace, Expr]])
    held: dict[str, HeldPlace] = field(default_factory=dict[str, "HeldPlace"])

    def form(self, x: Expr) -> MovingPlace | None:
        """The form of an expression; None where it has none."""
        match x:
            case Lit(value=int() as value, dtype="int64"):
                return MovingPlace((), int(value))
            case Var(name=name, dtype="int64"):
                return self.forms.get(name, MovingPlace(((name, 1),)))
            case Cast(arg=Var(dtype="int64") as arg, dtype="int64"):
                return self.form(arg)
            case Do(op="add" | "subtract" as op, args=(a, b), dtype="int64", of="int64"):
                left, right = self.form(a), self.form(b)
                return left.plus(right, 1 if op == "add" else -1) if left and right else None
        return None

    def slope(self, form: MovingPlace) -> int | None:
        """How far a form moves from step to step; None if unknown."""
        if any(name in self.once and name not in self.moves for name, _ in form.times):
            return None
        return sum(k * self.moves.get(name, 0) for name, k in form.times)

    def moves_by(self, x: Expr) -> int | None:
        """How far an expression moves from step to step; None if unknown."""
        form = self.form(x)
        return None if form is None else self.slope(form)

    def look(self, body: Sequence[Stmt]) -> None:
        """Note the integers of a body, in order."""
        for x, after in zip_longest(body, body[1:]):
            match x:
                case Let(name=name, value=value):
                    place = wrapped(x, after) if after else None
                    held = self.held.get(name)
                    at, axis = (held.place, held.length) if held else place[1:] if place else (value, None)
                    form = self.form(at)
                    self.forms[name] = form
                    if form and axis is not None:
                        self.checks[name] = form, axis
                case Set(name=name, value=value) if name in self.once:
                    self._moved(name, self.form(value))
                    self.forms[name] = None
                case If(then=then, otherwise=otherwise):
                    self.look(then)
                    self.look(otherwise)
                case _:
                    pass

    def _moved(self, name: str, form: MovingPlace | None) -> None:
        by = form and form.plus(MovingPlace(((name, 1),)), -1)
        match by:
            case MovingPlace(times=(), constant=1 | -1 as constant):
                self.moves[name] = constant
            case MovingPlace(times=((other, 1),), constant=0) if other not in self.forms and other not in self.once:
                self.moves[name], self.ones[name] = 1, other
            case _:
                pass


def known_steps(x: Steps, every: Sequence[Stmt]) -> KnownSteps:
    """Analyse the steps of a loop.  every: all statements in them."""
    sets = Counter(s.name for s in every if isinstance(s, Set))
    once = {s.name for s in x.body if isinstance(s, Set) and sets[s.name] == 1}
    made = {s.name for s in every if isinstance(s, Let | Set | Declare | Point)} - once
    known = KnownSteps(x.var, once, dict.fromkeys(made), {x.var: 1})
    known.look(x.body)
    known.moves = {name: k for name, k in known.moves.items() if name == x.var or name in once}
    held = {name: y for name, y in _held(x.body, known) if known.moves_by(y.place) in (-1, 1)}
    if held:
        again = KnownSteps(x.var, once, dict.fromkeys(made), {}, held=held)
        again.look(x.body)
        known = replace(again, moves=known.moves, ones=known.ones)
    return known


@dataclass(frozen=True)
class HeldPlace:
    """A place clamped to an axis, as max(place, 0): it equals `place` where that is in the axis and all tests hold."""

    place: Expr
    length: Expr
    tests: tuple[Expr, ...]


def _held(body: Sequence[Stmt], known: KnownSteps) -> Iterator[tuple[str, HeldPlace]]:
    """Yield the names of clamped places."""
    lets = {x.name: x.value for x in inside(body) if isinstance(x, Let) and x.dtype == INDEX}
    for place, length in _compared(body):
        name = place.arg if isinstance(place, Cast) else place
        if isinstance(name, Var) and name.name in lets and known.moves_by(length) == 0:
            found = _let_go(lets[name.name], length, lets, known)
            if found:
                yield name.name, HeldPlace(found[0], length, found[1])


def _compared(body: Sequence[Stmt]) -> Iterator[tuple[Expr, Expr]]:
    """Yield the places that are checked against the length of an axis, and these lengths."""
    for x, after in pairwise(body):
        if place := wrapped(x, after):
            yield place[1:]
    for x in body:
        if isinstance(x, If):
            yield from _compared(x.then)
            yield from _compared(x.otherwise)


def _let_go(x: Expr, length: Expr, lets: Mapping[str, Expr], known: KnownSteps) -> tuple[Expr, tuple[Expr, ...]] | None:
    """The unclamped place, and the tests under which clamping changes nothing where the place is in the axis."""
    while isinstance(x, Var) and x.name in lets:
        x = lets[x.name]
    if not isinstance(x, Do) or x.of != INDEX or x.op not in ("maximum", "minimum", "remainder"):
        return None
    a, b = x.args if known.moves_by(x.args[1]) == 0 else x.args[::-1]
    if known.moves_by(b) != 0 or (x.op == "remainder" and (b != x.args[1] or isinstance(b, Lit))):
        return None
    form = known.form(b)
    assert form is not None
    end = form.start(known.var)
    if x.op == "maximum":
        test = Do("less_equal", (end, ZERO), "bool", INDEX)
    elif x.op == "minimum":
        test = Do("less_equal", (length, plus(end, ONE)), "bool", INDEX)
    else:
        test = Do("equal", (end, length), "bool", INDEX)
    place, tests = _let_go(a, length, lets, known) or (a, ())
    return place, tests if test == Do("less_equal", (ZERO, ZERO), "bool", INDEX) else (*tests, test)


def wrapped(x: Stmt, test: Stmt) -> tuple[str, Expr, Expr] | None:
    """The variable, the place and the length of a check: a place that may count from the end, and the test after it."""
    match x, test:
        case (
            Let(name=name, value=Do(op="where", args=(below, Do(op="add", args=(place, length)), same)), dtype="int64"),
            If(test=Do(op="greater_equal", args=(Cast(arg=Var(name=tested)), Cast(arg=axis))), then=(Fail(status=-1),)),
        ) if (place, name, length) == (same, tested, axis) and below == Do("less", (place, ZERO), "bool", "int64"):
            return name, place, length
    return None
