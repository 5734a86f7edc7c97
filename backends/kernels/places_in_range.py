"""A pass on a loop of steps, as it is printed: writes the steps in which all places are in range without checks.

If places move by one from step to step, the range of steps in which all are in range is known before the first one.
Those steps are written a second time without comparisons, which compilers optimize better.  In them, a clamp such as
max(i - 1, 0) does nothing, and the reads that compare their place with the one set last (`last_set.py`) are resolved:
they always read the element that the step before has set, or never.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest

import numpy as np

from scanopt.backends.kernels.ir import (
    INDEX,
    ONE,
    ZERO,
    Break,
    Cast,
    Do,
    Expr,
    For,
    Helper,
    If,
    Inner,
    Let,
    Lit,
    Load,
    Set,
    Steps,
    Stmt,
    Var,
    plus,
)  # fmt: skip
from scanopt.backends.kernels.steps_known import HeldPlace, KnownSteps, MovingPlace, known_steps, wrapped
from scanopt.backends.kernels.walks import expressions, inside, made_in, variables, with_variables
from scanopt.records import dataclass

__all__ = ["InRange", "chooses", "in_range"]

MOST_STATEMENTS = 60
"""The most statements of a step that is written twice."""
FEWEST_STEPS = 8
"""If a loop is known to have fewer steps, it is not worth the test before them."""
FAR = 2**62
"""Places that start below this size cannot wrap while they move."""


@dataclass(frozen=True)
class InRange:
    """The steps of a loop from `first` to before `end`, in which all places are in range, without checks.

    before, after: statements before and after them.
    """

    steps: Steps
    first: Expr
    end: Expr
    before: tuple[Stmt, ...] = ()
    after: tuple[Stmt, ...] = ()


def in_range(x: Steps) -> InRange | None:
    """The steps of a loop without checks of places; None where that is not worth it."""
    every = [*inside(x.body)]
    some = isinstance(x.count, Lit) and x.count.value < FEWEST_STEPS
    if some or len(every) > MOST_STATEMENTS or any(isinstance(s, For | Steps | Inner | Helper | Break) for s in every):
        return None
    known = known_steps(x, every)
    along, tests, gone = _along(known)
    if not along:
        return None
    body, apart, before = _told_apart(tuple(_unchecked(x.body, gone, known.held)), gone, known, x.count)
    bases = {base for base, *_ in along if not isinstance(base, Lit)}
    near = [Do("less", (Cast(plus(y, Lit(FAR)), "uint64"), Lit(2 * FAR, "uint64")), "bool", "uint64") for y in bases]
    first: Expr = ZERO
    end = x.count
    for low, high in (_between(*found) for found in along):
        first = Do("maximum", (first, low), INDEX, INDEX)
        end = Do("minimum", (end, high), INDEX, INDEX)
    test = _all((*tests, *near, *apart))
    first, end = (Do("where", (test, y, ZERO), INDEX, INDEX) if test else y for y in (first, end))
    body, after = _not_noted(body, _noted(x.body))
    return InRange(replace(x, body=body), first, end, before, after)


def _along(known: KnownSteps) -> tuple[list[_Along], list[Expr], set[str]]:
    """The places that move, by where they begin; tests for those that do not move; the names of all of them."""
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
    along = [(MovingPlace(k).start(known.var), by, n, min(c), max(c)) for (k, by, n), c in moving.items()]
    return along, tests, gone


_Along = tuple[Expr, int, Expr, int, int]


def _between(base: Expr, slope: int, length: Expr, least: int, greatest: int) -> tuple[Expr, Expr]:
    """The first step in which places are in range, and the one after the last.

    They begin at `base` plus constants between `least` and `greatest`.
    """
    if slope > 0:
        return _minus(Lit(-least), base), _minus(plus(length, Lit(-greatest)), base)
    return _minus(plus(base, Lit(greatest + 1)), length), plus(base, Lit(least + 1))


def _minus(a: Expr, b: Expr) -> Expr:
    return plus(a, Lit(-b.value)) if isinstance(b, Lit) else Do("subtract", (a, b), INDEX, INDEX)


def chooses(body: Sequence[Stmt]) -> bool:
    """Whether a step has a branch or a choice."""
    every = [*inside(body)]
    values = (y for x in every for y in expressions(x))
    return any(isinstance(x, If) for x in every) or any(isinstance(y, Do) and y.op == "where" for y in values)


def _inside(place: Expr, length: Expr) -> Expr:
    return Do("less", (Cast(place, "uint64"), Cast(length, "uint64")), "bool", "uint64")


def _all(tests: Iterable[Expr | None], op: str = "logical_and") -> Expr | None:
    first, *others = dict.fromkeys(x for x in tests if x is not None) or (None,)
    for test in others:
        first = Do(op, (first, test), "bool", "bool") if first and test else test
    return first


def _unchecked(body: Sequence[Stmt], gone: set[str], held: Mapping[str, HeldPlace]) -> list[Stmt]:
    """A body without the checks of some places."""
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


def _told_apart(
    body: tuple[Stmt, ...], gone: set[str], known: KnownSteps, count: Expr
) -> tuple[tuple[Stmt, ...], list[Expr], tuple[Stmt, ...]]:
    """Resolve reads that compare their place with the one set last; return the body, tests for that, and early reads.

    If each step reads the element that the step before has set, only the very first step reads memory, before the loop.
    """
    last = {x.name: (i, x.value) for i, x in enumerate(body) if isinstance(x, Set)}
    forms = {name: known.checks[name][0] for name in gone}
    found, tests, first = list[Stmt | None](body), list[Expr](), list[Stmt]()
    for i, x in enumerate(body):
        match x:
            case If(
                test=Do(op="not_equal", args=(place, Var(name=noted)), of="int64"),
                then=(Set(value=Load()) as read,),
                otherwise=(),
            ) if i < last.get(noted, (0, ZERO))[0]:
                apart = _apart(_coordinates(place), _coordinates(last[noted][1]), forms, known, count)
                if apart == ():
                    at_first = Do("equal", (Var(known.var), ZERO), "bool", INDEX)
                    early = _read_early(body[i - 1], read, body, forms, known.var)
                    found[i] = replace(x, test=at_first) if early is None else None
                    first += [] if early is None else [If(at_first, (early,))]
                elif apart is not None:
                    given = body[i - 1]
                    found[i] = read
                    found[i - 1] = None if isinstance(given, Set) and given.name == read.name else given
                    tests += [_all(apart, "logical_or") or ZERO] if None not in apart else []
            case _:
                pass
    return tuple(y for y in found if y is not None), tests, tuple(first)


def _noted(body: Sequence[Stmt]) -> dict[str, str]:
    """For each variable for the place set last, the variable for its value."""
    found: dict[str, str] = {}
    for given, x in pairwise(body):
        match given, x:
            case (
                Set(name=name, value=Var(name=value)),
                If(
                    test=Do(op="not_equal", args=(_, Var(name=noted)), of="int64"), then=(Set(name=read),), otherwise=()
                ),
            ) if name == read:
                found[noted] = value
            case _:
                pass
    return found


def _not_noted(body: tuple[Stmt, ...], pairs: Mapping[str, str]) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """Remove the notes of what was set last if no step reads them, and return statements that clear them afterwards."""
    read = {name for x in inside(body) for y in expressions(x) for name in variables(y)}
    gone = {noted: value for noted, value in pairs.items() if read.isdisjoint((noted, value))}
    names = {*gone, *gone.values()}
    left = tuple(x for x in body if not (isinstance(x, Set) and x.name in names))
    return left, tuple(Set(noted, Lit(-1)) for noted in gone)


def _read_early(given: Stmt, read: Set, body: Sequence[Stmt], forms: Mapping[str, MovingPlace], var: str) -> Set | None:
    """A statement that reads, before the loop, the integer that the first step reads; None where that is not possible.

    given: the statement that takes the remembered value.  Only integers: for floats gcc would duplicate the steps for
    NaN.
    """
    load = read.value
    if not isinstance(load, Load) or not isinstance(given, Set) or not isinstance(given.value, Var):
        return None
    if np.dtype(load.dtype).kind not in "iu":
        return None
    start = with_variables(load.index, {name: form.start(var) for name, form in forms.items()})
    steady = made_in(body).isdisjoint({load.array, *variables(load.index)} - forms.keys())
    return Set(given.value.name, replace(load, index=start)) if steady and given.name == read.name else None


def _coordinates(place: Expr) -> list[tuple[Expr, Expr]]:
    """Split the index of an element into places along axes, each with its stride."""
    match place:
        case Do(op="add", args=(a, b)):
            return [*_coordinates(a), *_coordinates(b)]
        case Do(op="multiply", args=(a, b)):
            return [(a, b)]
    return [(place, ONE)]


def _apart(
    read: list[tuple[Expr, Expr]],
    set_: list[tuple[Expr, Expr]],
    forms: Mapping[str, MovingPlace],
    known: KnownSteps,
    count: Expr,
) -> tuple[Expr | None, ...] | None:
    """Tests each of which shows that no step reads the element that the step before has set; () if every step does.

    A test that is None always holds.  None in place of all if nothing is known.
    """
    if [n for _, n in read] != [n for _, n in set_]:
        return None
    tests, same = list[Expr | None](), True
    for (a, _), (b, _) in zip(read, set_, strict=True):
        now, before = (forms.get(x.name) if isinstance(x, Var) else None for x in (a, b))
        slope = known.slope(now) if now else None
        if now is None or before is None or slope is None:
            same = False
            continue
        between = now.plus(before, -1)
        moves = known.slope(between)
        between = replace(between, constant=between.constant + slope)
        same = same and between == MovingPlace()
        start = between.start(known.var)
        if moves == 0 and not between.times:
            tests += [None] if between.constant else []
        elif moves == 0:
            tests.append(Do("not_equal", (start, ZERO), "bool", INDEX))
        elif moves in (-1, 1):
            met = start if moves < 0 else _minus(ZERO, start)
            tests.append(Do("greater_equal", (Cast(met, "uint64"), Cast(count, "uint64")), "bool", "uint64"))
    return tuple(tests) if tests or same else None
