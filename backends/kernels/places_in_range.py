"""Steps whose places are known to be in range look at none of them.

Where places move by one from step to step, it is known before the first step in which of them all are elements of
their axis.  These are written a second time, without comparisons; compilers make better loops of them.  There what
holds a place in range, as max(i - 1, 0), does nothing, and places also tell whether what is read is what the
step before has set (`last_set.py`): it always is, or never.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, zip_longest

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

__all__ = ["InRange", "chooses", "in_range", "wrapped"]

MOST_STATEMENTS = 60
"""Steps with more statements are not written twice."""
FEWEST_STEPS = 8
"""A number of steps that is known and less is not worth a comparison before them."""
FAR = 2**62
"""Where places that begin at less move, no integer wraps."""


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
    checks: by name of a place its form, and the length of its axis; held: by name of what is held in range what is.
    """

    var: str
    once: set[str]
    forms: dict[str, _Place | None]
    moves: dict[str, int]
    ones: dict[str, str] = field(default_factory=dict[str, str])
    checks: dict[str, tuple[_Place, Expr]] = field(default_factory=dict[str, tuple[_Place, Expr]])
    held: dict[str, _Held] = field(default_factory=dict[str, "_Held"])

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

    def moves_by(self, x: Expr) -> int | None:
        """How far the number moves that a value is; None where that is not known."""
        form = self.form(x)
        return None if form is None else self.slope(form)

    def look(self, body: Sequence[Stmt]) -> None:
        """Note the numbers of a body in order."""
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

    def _moved(self, name: str, form: _Place | None) -> None:
        by = form and form.plus(_Place(((name, 1),)), -1)
        match by:
            case _Place(times=(), constant=1 | -1 as constant):
                self.moves[name] = constant
            case _Place(times=((other, 1),), constant=0) if other not in self.forms and other not in self.once:
                self.moves[name], self.ones[name] = 1, other
            case _:
                pass


@dataclass(frozen=True)
class InRange:
    """Of a loop the steps from `first` on and before `end`, in which all places are in range, without comparisons."""

    steps: Steps
    first: Expr
    end: Expr


def in_range(x: Steps) -> InRange | None:
    """The steps without comparisons of places; None where that is not worth it."""
    every = [*inside(x.body)]
    some = isinstance(x.count, Lit) and x.count.value < FEWEST_STEPS
    if some or len(every) > MOST_STATEMENTS or any(isinstance(s, For | Steps | Inner | Helper | Break) for s in every):
        return None
    known = _known(x, every)
    along, tests, gone = _along(known)
    if not along:
        return None
    body, apart = _told_apart(tuple(_unchecked(x.body, gone, known.held)), gone, known)
    bases = {base for base, *_ in along if not isinstance(base, Lit)}
    near = [Do("less", (Cast(plus(y, Lit(FAR)), "uint64"), Lit(2 * FAR, "uint64")), "bool", "uint64") for y in bases]
    first: Expr = ZERO
    end = x.count
    for low, high in (_between(*found) for found in along):
        first = Do("maximum", (first, low), INDEX, INDEX)
        end = Do("minimum", (end, high), INDEX, INDEX)
    test = _all((*tests, *near, *apart))
    ends = (Do("where", (test, y, ZERO), INDEX, INDEX) if test else y for y in (first, end))
    return InRange(replace(x, body=body), *ends)


def _known(x: Steps, every: Sequence[Stmt]) -> _Steps:
    """What is known of the steps of a loop."""
    sets = Counter(s.name for s in every if isinstance(s, Set))
    once = {s.name for s in x.body if isinstance(s, Set) and sets[s.name] == 1}
    made = {s.name for s in every if isinstance(s, Let | Set | Declare | Point)} - once
    known = _Steps(x.var, once, dict.fromkeys(made), {x.var: 1})
    known.look(x.body)
    known.moves = {name: k for name, k in known.moves.items() if name == x.var or name in once}
    held = {name: y for name, y in _held(x.body, known) if known.moves_by(y.place) in (-1, 1)}
    if held:
        again = _Steps(x.var, once, dict.fromkeys(made), {}, held=held)
        again.look(x.body)
        known = replace(again, moves=known.moves, ones=known.ones)
    return known


@dataclass(frozen=True)
class _Held:
    """A number held in an axis, as max(place, 0): the place itself, where that is in the axis and tests hold."""

    place: Expr
    length: Expr
    tests: tuple[Expr, ...]


def _held(body: Sequence[Stmt], known: _Steps) -> Iterator[tuple[str, _Held]]:
    """What places are held in their axes by."""
    lets = {x.name: x.value for x in inside(body) if isinstance(x, Let) and x.dtype == INDEX}
    for place, length in _compared(body):
        name = place.arg if isinstance(place, Cast) else place
        if isinstance(name, Var) and name.name in lets and known.moves_by(length) == 0:
            found = _let_go(lets[name.name], length, lets, known)
            if found:
                yield name.name, _Held(found[0], length, found[1])


def _compared(body: Sequence[Stmt]) -> Iterator[tuple[Expr, Expr]]:
    """The places that are compared with the length of an axis, and these lengths."""
    for x, after in pairwise(body):
        if place := wrapped(x, after):
            yield place[1:]
    for x in body:
        if isinstance(x, If):
            yield from _compared(x.then)
            yield from _compared(x.otherwise)


def _let_go(x: Expr, length: Expr, lets: Mapping[str, Expr], known: _Steps) -> tuple[Expr, tuple[Expr, ...]] | None:
    """What is held in an axis of a length, and tests of whether it is what holds it where it is in it."""
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


def _along(known: _Steps) -> tuple[list[_Along], list[Expr], set[str]]:
    """Places that move, by where they begin; tests of those that do not; the names of all of them."""
    moving: dict[tuple[tuple[tuple[str, int], ...], int, Expr], list[int]] = {}
    tests, gone = list[Expr](), set[str]()
    for name, (form, length) in known.checks.items():
        slope, axis = known.slope(form), known.form(length)
        if slope not in (-1, 0, 1) or axis is None or known.slope(axis) != 0:
            continue
        if slope:
            moving.setdefault((form.times, slope, length), []).append(form.constant)
        else:
            tests.append(_inside(form.start(known.var), length))
        tests += [Do("equal", (Var(v), ONE), "bool", INDEX) for n, v in known.ones.items() if n in dict(form.times)]
        tests += known.held[name].tests if name in known.held else ()
        gone.add(name)
    along = [(_Place(k).start(known.var), by, n, min(c), max(c)) for (k, by, n), c in moving.items()]
    return along, tests, gone


_Along = tuple[Expr, int, Expr, int, int]


def _between(base: Expr, slope: int, length: Expr, least: int, greatest: int) -> tuple[Expr, Expr]:
    """The first step in which places are in range, and the one after the last.

    They begin at base and a constant, from the least to the greatest one.
    """
    if slope > 0:
        return _minus(Lit(-least), base), _minus(plus(length, Lit(-greatest)), base)
    return _minus(plus(base, Lit(greatest + 1)), length), plus(base, Lit(least + 1))


def _minus(a: Expr, b: Expr) -> Expr:
    return plus(a, Lit(-b.value)) if isinstance(b, Lit) else Do("subtract", (a, b), INDEX, INDEX)


def chooses(body: Sequence[Stmt]) -> bool:
    """Whether a step does, or reads, something only where a condition holds."""
    every = [*inside(body)]
    values = (y for x in every for y in expressions(x))
    return any(isinstance(x, If) for x in every) or any(isinstance(y, Do) and y.op == "where" for y in values)


def _inside(place: Expr, length: Expr) -> Expr:
    return Do("less", (Cast(place, "uint64"), Cast(length, "uint64")), "bool", "uint64")


def _all(tests: Iterable[Expr]) -> Expr | None:
    first, *others = dict.fromkeys(tests) or (None,)
    for test in others:
        first = Do("logical_and", (first, test), "bool", "bool") if first else test
    return first


def _unchecked(body: Sequence[Stmt], gone: set[str], held: Mapping[str, _Held]) -> list[Stmt]:
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
        elif isinstance(x, Let) and x.name in held:
            found.append(replace(x, value=held[x.name].place))
        elif isinstance(x, If):
            found.append(If(x.test, *(tuple(_unchecked(y, gone, held)) for y in (x.then, x.otherwise))))
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
