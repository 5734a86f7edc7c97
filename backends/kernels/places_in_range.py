"""Steps whose places are known to be in range before the first one look at none of them.

Where places move by one from step to step, the first and the last one tell whether all of them are elements of their
axis.  Steps for which that holds are written a second time, without comparisons; compilers make better loops of them.
There places also tell whether what is read is what the step before has set (`last_set.py`): it always is, or never.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Break,
    Cast,
    Declare,
    Do,
    Expr,
    Fail,
    For,
    Helper,
    If,
    Inner,
    Let,
    Lit,
    Load,
    Point,
    Set,
    Steps,
    Stmt,
    Var,
    plus,
    times,
)  # fmt: skip
from scanopt.backends.kernels.walks import expressions, inside

__all__ = ["chooses", "in_range", "wrapped"]

MOST_STATEMENTS = 60
"""Steps with more statements are not written twice."""
FEWEST_STEPS = 8
"""A number of steps that is known and less is not worth a comparison before them."""


@dataclass(frozen=True)
class _Place:
    """A number: a sum of variables as they are before the first step, each some times, and a constant."""

    times: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def plus(self, other: _Place, sign: int) -> _Place:
        """The sum of two, or the difference."""
        found = dict(self.times)
        for name, k in other.times:
            found[name] = found.get(name, 0) + sign * k
        left = tuple(sorted((name, k) for name, k in found.items() if k))
        return _Place(left, self.constant + sign * other.constant)

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
class _Steps:
    """What is known of steps: by name the form of a number, None where there is none; by which numbers others move.

    once: what is set once in a step; moves: by name how far it moves from step to step; ones: what must be 1 for that.
    """

    var: str
    once: set[str]
    forms: dict[str, _Place | None]
    moves: dict[str, int]
    ones: dict[str, str] = field(default_factory=dict[str, str])
    checks: dict[str, tuple[_Place, Expr]] = field(default_factory=dict[str, tuple[_Place, Expr]])

    def form(self, x: Expr) -> _Place | None:
        """The form of a number."""
        match x:
            case Lit(value=int() as value, dtype="int64"):
                return _Place((), int(value))
            case Var(name=name, dtype="int64"):
                return self.forms.get(name, _Place(((name, 1),)))
            case Cast(arg=Var(dtype="int64") as arg, dtype="int64"):
                return self.form(arg)
            case Do(op="add" | "subtract" as op, args=(a, b), dtype="int64", of="int64"):
                left, right = self.form(a), self.form(b)
                return left.plus(right, 1 if op == "add" else -1) if left and right else None
        return None

    def slope(self, form: _Place) -> int | None:
        """How far a number moves from step to step; None where that is not known."""
        if any(name in self.once and name not in self.moves for name, _ in form.times):
            return None
        return sum(k * self.moves.get(name, 0) for name, k in form.times)

    def look(self, body: Sequence[Stmt]) -> None:
        """Note the numbers of a body in order."""
        for x, after in zip_longest(body, body[1:]):
            match x:
                case Let(name=name, value=value):
                    found = wrapped(x, after) if after else None
                    form = self.form(found[1] if found else value)
                    self.forms[name] = form
                    if found and form:
                        self.checks[name] = form, found[2]
                case Set(name=name, value=value) if name in self.once:
                    self._moved(name, self.form(value))
                    self.forms[name] = None
                case If(then=then, otherwise=otherwise):
                    self.look(then)
                    self.look(otherwise)
                case _:
                    pass

    def _moved(self, name: str, form: _Place | None) -> None:
        by = form and form.plus(_Place(((name, 1),)), -1)
        match by:
            case _Place(times=(), constant=1 | -1 as constant):
                self.moves[name] = constant
            case _Place(times=((other, 1),), constant=0) if other not in self.forms and other not in self.once:
                self.moves[name], self.ones[name] = 1, other
            case _:
                pass


def in_range(x: Steps) -> tuple[Expr, Steps] | None:
    """A test, and the steps without comparisons of places where it holds; None where that is not worth it."""
    every = [*inside(x.body)]
    some = isinstance(x.count, Lit) and x.count.value < FEWEST_STEPS
    if some or x.until is not None or len(every) > MOST_STATEMENTS:
        return None
    if any(isinstance(s, For | Steps | Inner | Helper | Break) for s in every):
        return None
    sets = Counter(s.name for s in every if isinstance(s, Set))
    once = {s.name for s in x.body if isinstance(s, Set) and sets[s.name] == 1}
    made = {s.name for s in every if isinstance(s, Let | Set | Declare | Point)} - once
    known = _Steps(x.var, once, dict.fromkeys(made), {x.var: 1})
    known.look(x.body)
    known.moves = {name: k for name, k in known.moves.items() if name == x.var or name in once}
    tests = list[Expr]()
    gone = set[str]()
    for name, (form, length) in known.checks.items():
        slope, axis = known.slope(form), known.form(length)
        if slope in (-1, 0, 1) and axis is not None and known.slope(axis) == 0:
            first = form.start(x.var)
            tests += [_inside(y, length) for y in dict.fromkeys((first, _last(first, slope, x.count)))]
            tests += [Do("equal", (Var(v), ONE), "bool", INDEX) for n, v in known.ones.items() if n in dict(form.times)]
            gone.add(name)
    if not any(known.slope(known.checks[name][0]) for name in gone):
        return None
    body = tuple(_unchecked(x.body, gone))
    body, apart = _told_apart(body, gone, known)
    return _all((*tests, *apart)), replace(x, body=body)


def chooses(body: Sequence[Stmt]) -> bool:
    """Whether a step does, or reads, something only where a condition holds."""
    every = [*inside(body)]
    values = (y for x in every for y in expressions(x))
    return any(isinstance(x, If) for x in every) or any(isinstance(y, Do) and y.op == "where" for y in values)


def _last(first: Expr, slope: int | None, count: Expr) -> Expr:
    return plus(first, times(Lit(slope), plus(count, Lit(-1)))) if slope else first


def _inside(place: Expr, length: Expr) -> Expr:
    return Do("less", (Cast(place, "uint64"), Cast(length, "uint64")), "bool", "uint64")


def _all(tests: Iterable[Expr]) -> Expr:
    first, *others = dict.fromkeys(tests)
    for test in others:
        first = Do("logical_and", (first, test), "bool", "bool")
    return first


def _unchecked(body: Sequence[Stmt], gone: set[str]) -> list[Stmt]:
    """A body without the comparisons of some places."""
    found, before = list[Stmt](), None
    for x, after in zip_longest(body, body[1:]):
        place = wrapped(x, after) if after else None
        if isinstance(x, If) and before is not None:
            before = None
            continue
        before = None
        if place and place[0] in gone:
            before = place[0]
            found.append(Let(place[0], place[1], INDEX))
        elif isinstance(x, If):
            found.append(If(x.test, tuple(_unchecked(x.then, gone)), tuple(_unchecked(x.otherwise, gone))))
        else:
            found.append(x)
    return found


def _told_apart(body: tuple[Stmt, ...], gone: set[str], known: _Steps) -> tuple[tuple[Stmt, ...], list[Expr]]:
    """Reads that need not compare their place with the one set last, and tests for that."""
    last = {x.name: (i, x.value.name) for i, x in enumerate(body) if isinstance(x, Set) and isinstance(x.value, Var)}
    found, tests = list(body), list[Expr]()
    for i, x in enumerate(body):
        match x:
            case If(
                test=Do(op="not_equal", args=(Var(name=place), Var(name=noted)), of="int64"),
                then=(Set(value=Load()) as read,),
                otherwise=(),
            ) if place in gone and i < last.get(noted, (0, ""))[0] and last[noted][1] in gone:
                (read_at, _), (set_at, _) = known.checks[place], known.checks[last[noted][1]]
                apart = read_at.plus(set_at, -1)
                slope = known.slope(read_at)
                if known.slope(apart) != 0 or slope is None:
                    continue
                between = replace(apart, constant=apart.constant + slope)
                if between == _Place():
                    found[i] = replace(x, test=Do("equal", (Var(known.var), ZERO), "bool", INDEX))
                    continue
                found[i] = read
                if between.times:
                    tests.append(Do("not_equal", (between.start(known.var), ZERO), "bool", INDEX))
            case _:
                pass
    return tuple(found), tests


def wrapped(x: Stmt, test: Stmt) -> tuple[str, Expr, Expr] | None:
    """The variable, the place and the length of a place that may count from the end, and is compared next."""
    match x, test:
        case (
            Let(name=name, value=Do(op="where", args=(below, Do(op="add", args=(place, length)), same)), dtype="int64"),
            If(test=Do(op="greater_equal", args=(Cast(arg=Var(name=tested)), Cast(arg=axis))), then=(Fail(status=-1),)),
        ) if (place, name, length) == (same, tested, axis) and below == Do("less", (place, ZERO), "bool", "int64"):
            return name, place, length
    return None
