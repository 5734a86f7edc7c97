"""Writes a step with choices as branches, each of which computes, stores and passes on only what its case needs.

A condition on which a choice depends is a branch, and both sides of it go on from what is known there: choices by
conditions that it implies are made, and what only one side needs is computed on that side.  So a step does what a loop
with `if` and `else` written by hand does.  Values are computed by the same operations in each case.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from scanopt.backends.kernels.ir import (
    Break,
    Cast,
    Do,
    Expr,
    Fail,
    If,
    Let,
    Lit,
    Load,
    Point,
    Set,
    Steps,
    Stmt,
    Store,
    Var,
    plus,
)  # fmt: skip
from scanopt.backends.kernels.known_tests import Fact, truth_of
from scanopt.backends.kernels.walks import expressions, inside, loads, variables

__all__ = ["decided", "decided_until"]

MOST_CASES = 8
"""The most cases of a step."""
_BOTH, _EITHER, _NOT = {"bitwise_and", "logical_and"}, {"bitwise_or", "logical_or"}, {"invert", "logical_not"}
"""Operations on truth values."""


def decided(body: Sequence[Stmt], waits: Collection[str]) -> tuple[Stmt, ...]:
    """The statements of a step as decisions; empty if no condition waits for the step before, or there are many cases.

    waits: variables that depend on the step before.
    """
    return _decided(body, lambda made: _waiting(made, waits))


def decided_until(x: Steps, late: Collection[str], over: str) -> tuple[Stmt, ...]:
    """The statements of a step of a loop that may end early as decisions, first whether it ends; empty as above.

    What the condition says about others is known then, such as that a search goes on.  They count the step, too.
    late: the choices that are branches anyway; others stay choices.  over: a variable that is set where the loop ends.
    """
    assert x.until is not None
    ends: list[Stmt] = [Set(over, Lit(True, "bool"))] if over else []
    body = (*x.body, Set(x.var, plus(Var(x.var), Lit(1))), If(x.until, (*ends, Break())))
    return _decided(body, lambda made: _waiting(made, {v for name in {*late} & {*made} for v in _tests(made[name])}))


def _tests(x: Let) -> Iterator[str]:
    """The variables in the condition of a choice."""
    match x.value:
        case Do(op="where", args=(test, *_)):
            yield from variables(test)


def _decided(body: Sequence[Stmt], waiting: Callable[[Mapping[str, Let]], set[str]]) -> tuple[Stmt, ...]:
    """The statements of a step as decisions.

    waiting: of the definitions, the variables with which conditions of choices are decided.
    """
    at = 1 + max((i for i, x in enumerate(body) if any(isinstance(y, Fail) for y in inside([x]))), default=-1)
    rest = body[at:]
    if not _may_be_decided(rest):
        return ()
    points = [x for x in rest if isinstance(x, Point)]
    made = {x.name: x for x in inside(rest) if isinstance(x, Let)}
    before = _definitions(body[:at])
    case = _Case(before | made, waiting(made), [x for x in rest if isinstance(x, Set | Store | If)])
    case.there = frozenset(before)
    try:
        found = [*case.statements()]
    except _TooManyError:
        return ()
    return (*body[:at], *points, *found) if any(isinstance(x, If) for x in found) else ()


def _definitions(body: Sequence[Stmt]) -> dict[str, Let]:
    """The variables that some statements define by what they do not change."""
    changed = {x.name for x in inside(body) if isinstance(x, Set)}
    return {x.name: x for x in body if isinstance(x, Let) and changed.isdisjoint(variables(x.value))}


def _waiting(made: Mapping[str, Let], waits: Collection[str]) -> set[str]:
    """The variables that depend on the step before, and the conditions that are combined with such conditions."""
    found = {*waits}
    for name, x in [*made.items()][::-1]:
        if name in found and x.dtype == "bool" and isinstance(x.value, Do) and x.value.of == "bool":
            found |= {*variables(x.value)}
    return found


class _TooManyError(Exception):
    """There are too many cases."""


def _may_be_decided(rest: Sequence[Stmt]) -> bool:
    """Whether values may be computed where they are needed: nothing changes what they are computed from before."""
    every = [*inside(rest)]
    if not all(isinstance(x, Let | Set | Store | If | Point | Break) for x in every):
        return False
    lets = [x.name for x in every if isinstance(x, Let)]
    if len({*lets}) < len(lets) or not {*lets}.isdisjoint(x.name for x in every if isinstance(x, Set)):
        return False
    stored, written = False, set[str]()
    for x in every:
        reads = [*expressions(x)]
        if isinstance(x, Point) and (stored or x not in rest or any(v in lets for v in variables(x.index))):
            return False
        if stored and any(True for y in reads for _ in loads(y)):
            return False
        if any(v in written for y in reads for v in variables(y)):
            return False
        stored = stored or isinstance(x, Store)
        written |= {x.name} if isinstance(x, Set) else set()
    return True


class _Case:
    """One case of a step: the conditions decided so far, and the variables already defined.

    made: the statements that define variables; ends: those that store and hand on.
    """

    def __init__(self, made: Mapping[str, Let], waits: Collection[str], ends: Sequence[Stmt]) -> None:
        self.made, self.waits, self.ends = made, waits, ends
        self.known: tuple[Fact, ...] = ()
        self.there = frozenset[str]()
        self.left = [MOST_CASES]
        self.values: dict[str, Expr] = {}

    def statements(self) -> Iterator[Stmt]:
        """Yield the statements of the case: a decision, if it is not decided yet, or else its values and ends."""
        ends = [y for x in self.ends for y in self._ends(x)]
        test = next((t for x in ends for t in self._open(x)), None)
        if test is None:
            yield from self._finished(ends)
            return
        yield from self._needed([test])
        then, otherwise = (tuple(self._with(test, holds).statements()) for holds in (True, False))
        if then == otherwise:
            yield from then
        else:
            yield If(test, then, otherwise)

    def _with(self, test: Expr, holds: bool) -> _Case:
        """The case in which a condition holds, or does not."""
        self.left[0] -= holds
        if self.left[0] <= 0:
            raise _TooManyError
        case = _Case(self.made, self.waits, self.ends)
        case.known, case.there, case.left = (*self.known, *self._said(test, holds)), self.there, self.left
        return case

    def _said(self, test: Expr, holds: bool) -> Iterator[Fact]:
        """Yield what it says that a condition holds, or does not."""
        yield test, holds
        match value := self._value(test):
            case Do(op=op, args=args, of="bool") if op in (_BOTH if holds else _EITHER):
                yield from (fact for x in args for fact in self._said(x, holds))
            case Do(op=op, args=(x,), of="bool") if op in _NOT:
                yield from self._said(x, not holds)
            case _ if value != test:
                yield value, holds
            case _:
                pass

    def _ends(self, x: Stmt) -> Iterator[Stmt]:
        """Yield what a statement does at the end, as far as it is known."""
        if isinstance(x, If) and (holds := self._truth(self._simple(x.test))) is not None:
            yield from (z for y in (x.then if holds else x.otherwise) for z in self._ends(y))
        elif not isinstance(x, Let):
            yield x

    def _open(self, x: Stmt) -> Iterator[Expr]:
        """Yield the conditions that must be decided for a statement."""
        if isinstance(x, If):
            yield self._first(self._simple(x.test))
        else:
            for y in expressions(x):
                yield from self._undecided(y, set())

    def _undecided(self, x: Expr, seen: set[str]) -> Iterator[Expr]:
        """Yield the conditions of choices that an expression needs, if they wait for the step before."""
        match x:
            case Var(name=name) if name in self.made and name not in seen and name not in self.there:
                seen.add(name)
                yield from self._undecided(self._value(x), seen)
            case Do(op="where", args=(test, a, b)):
                if any(v in self.waits for v in variables(test)):
                    yield self._first(test)
                for y in (test, a, b):
                    yield from self._undecided(y, seen)
            case Do(args=args):
                for y in args:
                    yield from self._undecided(y, seen)
            case Cast(arg=y) | Load(index=y):
                yield from self._undecided(y, seen)
            case _:
                pass

    def _first(self, test: Expr) -> Expr:
        """The condition to decide first: the simplest part of one that combines several."""
        match self._value(test):
            case Do(op=op, args=args, of="bool") if op in _BOTH | _EITHER:
                return self._first(min(args, key=self._parts))
            case Do(op=op, args=(x,), of="bool") if op in _NOT:
                return self._first(x)
        return test

    def _parts(self, test: Expr) -> int:
        match self._value(test):
            case Do(op=op, args=args, of="bool") if op in _BOTH | _EITHER:
                return sum(map(self._parts, args))
        return 1

    def _finished(self, ends: Sequence[Stmt]) -> Iterator[Stmt]:
        """Yield the statements of a case with nothing left to decide: values, stores, then what the next step reads."""
        names = {x.name for x in ends if isinstance(x, Set)}
        stores, held, sets = list[Stmt](), list[Stmt](), list[Stmt]()
        for x in ends:
            if isinstance(x, Store):
                stores.append(replace(x, index=self._simple(x.index), value=self._simple(x.value)))
            elif isinstance(x, Set) and (value := self._simple(x.value)) != Var(x.name, x.value.dtype):
                if not names.isdisjoint(variables(value)):
                    held.append(Let(f"{x.name}n", value, value.dtype))
                    value = Var(f"{x.name}n", value.dtype)
                sets.append(Set(x.name, value))
        yield from self._needed([y for x in (*held, *stores, *sets) for y in expressions(x)])
        yield from (*held, *stores, *sets)  # what is known now may name what a step hands on, so it is stored first
        yield from (x for x in ends if isinstance(x, Break))

    def _needed(self, values: Sequence[Expr]) -> Iterator[Stmt]:
        """Yield the definitions of the variables in some values that are not there yet."""
        for name in (v for x in values for v in variables(x)):
            if name in self.made and name not in self.there:
                value = self._value(Var(name, self.made[name].dtype))
                yield from self._needed([value])
                self.there |= {name}
                yield replace(self.made[name], value=value)

    def _value(self, x: Expr) -> Expr:
        """The definition of a variable, simplified by what is known; other expressions are returned unchanged."""
        if not isinstance(x, Var) or x.name not in self.made:
            return x
        if x.name not in self.values:
            self.values[x.name] = self._simple(self.made[x.name].value)
        return self.values[x.name]

    def _simple(self, x: Expr) -> Expr:
        """An expression, simplified by what is known."""
        match x:
            case Var():
                truth = self._truth(x) if x.dtype == "bool" else None
                value = Lit(truth, "bool") if truth is not None else self._value(x)
                return value if isinstance(value, Lit | Var) else x
            case Load(index=index):
                return replace(x, index=self._simple(index))
            case Cast(arg=arg, dtype=dtype):
                arg = self._simple(arg)
                if isinstance(arg, Lit) and arg.dtype == "bool" and np.dtype(dtype).kind in "iu":
                    return Lit(int(arg.value), dtype)
                return replace(x, arg=arg)
            case Do(args=args):
                return self._operation(replace(x, args=tuple(map(self._simple, args))))
        return x

    def _operation(self, x: Do) -> Expr:
        """An operation on simplified arguments."""
        if x.dtype == "bool" and (truth := self._truth(x)) is not None:
            return Lit(truth, "bool")
        whole = np.dtype(x.of).kind in "iu"
        match x:
            case Do(op="where", args=(test, a, b)):
                truth = self._truth(test)
                return x if truth is None else a if truth else b
            case Do(op=op, args=(a, b), of="bool") if op in _BOTH | _EITHER:
                return b if isinstance(a, Lit) else a if isinstance(b, Lit) else x
            case Do(op="add" | "subtract" | "bitwise_or", args=(a, Lit(value=0))) if whole:
                return a
            case Do(op="add" | "bitwise_or", args=(Lit(value=0), b)) if whole:
                return b
            case Do(op="maximum" | "minimum", args=(a, b)):
                return a if self._is_extreme(x, a, b) else b if self._is_extreme(x, b, a) else x
        return x

    def _is_extreme(self, x: Do, a: Expr, b: Expr) -> bool:
        """Whether an extreme of two numbers is known to be the first one."""
        beyond, within = ("greater", "less") if x.op == "maximum" else ("less", "greater")
        whole = np.dtype(x.of).kind in "iu"
        if whole and self._truth(Do(within, (a, b), "bool", x.of)) is False:
            return True
        return bool(self._truth(Do(beyond, (a, b), "bool", x.of)))

    def _truth(self, test: Expr) -> bool | None:
        """Whether a condition holds; None if it is not known."""
        found = truth_of(test, self.known)
        if found is not None:
            return found
        match value := self._value(test):
            case Do(op=op, args=args, of="bool") if op in _BOTH | _EITHER:
                parts, settles = [*map(self._truth, args)], op in _EITHER
                return settles if settles in parts else None if None in parts else not settles
            case Do(op=op, args=(x,), of="bool") if op in _NOT:
                truth = self._truth(x)
                return None if truth is None else not truth
        return None if value == test else self._truth(value)
