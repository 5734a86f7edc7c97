"""A pass on the statements of a step: what the step before has made is compared last, to shorten the critical path.

Then a step waits for one comparison only.  `maximum(maximum(a, b), c)` does not depend on the order if these are
integers, and `where(a & b, x, y)` is `where(a, where(b, x, y), y)`, where a is the condition that depends on the step
before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from scanopt.backends.kernels.ir import Do, Expr, If, Let, Lit, Set, Stmt, Var
from scanopt.backends.kernels.walks import dependencies, expressions, inside, variables

__all__ = ["carried_last", "waiting"]


def waiting(body: Sequence[Stmt]) -> set[str]:
    """The variables of a step that depend on what the step before has computed from variables that it was handed."""
    found = _handed_on(body)

    def look(statements: Sequence[Stmt], surely: bool) -> None:
        for x in statements:
            if isinstance(x, Let | Set):
                waits = not found.isdisjoint(variables(x.value))
                if waits:
                    found.add(x.name)
                elif isinstance(x, Set) and surely:
                    found.discard(x.name)
            elif isinstance(x, If):
                look(x.then, False)
                look(x.otherwise, False)

    look(body, True)
    return found


def _handed_on(body: Sequence[Stmt]) -> set[str]:
    """The loop-carried variables with a value that depends on such variables; others only pass on what a step reads."""
    sets = Counter(x.name for x in inside(body) if isinstance(x, Set))
    once = {x.name: x.value for x in body if isinstance(x, Set) and sets[x.name] == 1}
    made = {x.name: x.value for x in body if isinstance(x, Let)}
    found = {*sets}
    while early := {name for name in found & once.keys() if found.isdisjoint(dependencies(once[name], made))}:
        found -= early
    return found


def carried_last(body: Sequence[Stmt]) -> tuple[Stmt, ...]:
    """Rewrite a step: extremes of three integers, and choices by two conditions, take the late one last."""
    waits = waiting(body)
    reads = Counter(name for x in inside(body) for y in expressions(x) for name in variables(y))
    found = [*body]
    for x in body:
        at = _first_of_two(x, found, reads)
        if at is not None and (pair := _turned(found[at], x, waits)):
            i = found.index(x)
            found[i : i + 1] = pair
            del found[at]
    return tuple(_choosing_late(found, Counter(_args(x)[0] for x in body if _op(x)[0] == "where"), waits))


def _choosing_late(body: Sequence[Stmt], tests: Mapping[Expr, int], waits: set[str]) -> Iterator[Stmt]:
    """Yield the statements, each choice rewritten by `_chosen_late`.  tests: how many choices read each condition."""
    made: dict[str, Expr] = {}
    for x in body:
        yield replace(x, value=_chosen_late(x, made, waits)) if isinstance(x, Let) else x
        if new := {y.name for y in inside([x]) if isinstance(y, Set)}:
            made = {name: value for name, value in made.items() if new.isdisjoint(variables(value))}
        if isinstance(x, Let) and tests.get(Var(x.name, x.dtype), 0) <= 3:
            made[x.name] = x.value


def _chosen_late(x: Let, made: Mapping[str, Expr], waits: set[str]) -> Expr:
    """The value of a statement; a choice by two conditions, one of which is late, first chooses by the other one.

    made: the expressions of variables whose operands have not changed since and which at most three choices read.
    """
    value = x.value
    if not isinstance(value, Do) or value.op != "where":
        return value
    test, a, b = value.args
    both = made.get(test.name) if isinstance(test, Var) else None
    if not isinstance(both, Do) or both.op not in ("bitwise_and", "bitwise_or") or both.of != "bool":
        return value
    late = [y for y in both.args if not waits.isdisjoint(variables(y))]
    early = [y for y in both.args if waits.isdisjoint(variables(y))]
    if len(late) != 1 or len(early) != 1 or not all(isinstance(y, Var | Lit) for y in (a, b, *late, *early)):
        return value
    chosen = replace(value, args=(early[0], a, b))
    return replace(value, args=(late[0], chosen, b) if both.op == "bitwise_and" else (late[0], a, chosen))


def _first_of_two(x: Stmt, body: Sequence[Stmt], reads: Mapping[str, int]) -> int | None:
    """For an extreme of three numbers, the index of the statement of the inner extreme, if nothing else reads it."""
    if not _is_extreme(x) or x not in body:
        return None
    end = body.index(x)
    for at in range(end):
        y = body[at]
        if isinstance(y, Let) and reads[y.name] == 1 and Var(y.name, y.dtype) in _args(x) and _op(y) == _op(x):
            changed = {s.name for s in inside(body[at:end]) if isinstance(s, Set)}
            return at if changed.isdisjoint(v for a in _args(y) for v in variables(a)) else None
    return None


def _turned(first: Stmt, last: Stmt, waits: set[str]) -> tuple[Let, Let] | None:
    """An inner and an outer extreme, rewritten so that the late operand is in the outer one; None to leave them."""
    assert isinstance(first, Let)
    assert isinstance(last, Let)
    inner = Var(first.name, first.dtype)
    others = [a for a in _args(last) if a != inner]
    late = [a for a in _args(first) if not waits.isdisjoint(variables(a))]
    early = [a for a in (*_args(first), *others) if waits.isdisjoint(variables(a))]
    if len(late) != 1 or len(early) != 2 or not all(isinstance(a, Var | Lit) for a in (*late, *early)):
        return None
    return _with(first, (early[0], early[1])), _with(last, (inner, late[0]))


def _with(x: Let, args: tuple[Expr, ...]) -> Let:
    assert isinstance(x.value, Do)
    return replace(x, value=replace(x.value, args=args))


def _is_extreme(x: Stmt) -> bool:
    return _op(x)[0] in ("maximum", "minimum") and np.dtype(_op(x)[1]).kind in "iu"


def _op(x: Stmt) -> tuple[str, str]:
    """The operation that makes a variable, and its dtype."""
    return (x.value.op, x.value.of) if isinstance(x, Let) and isinstance(x.value, Do) else ("", "bool")


def _args(x: Stmt) -> tuple[Expr, ...]:
    return x.value.args if isinstance(x, Let) and isinstance(x.value, Do) else ()
