"""Writes the choices of a step that wait for the step before as branches: as decisions (`decisions.py`), if it can.

Otherwise there is one branch for all choices by the same condition.

A processor that predicts a branch goes on with the likely value, and does not wait for the condition, nor for both
values.  Whether it can predict one depends on the data (`steps_unrolled.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from scanopt.backends.kernels.decisions import decided
from scanopt.backends.kernels.ir import Declare, Do, Expr, If, Let, Set, Stmt, Var
from scanopt.backends.kernels.walks import expressions, inside, loads, made_in, variables

__all__ = ["branching"]


def branching(body: Sequence[Stmt], waits: Collection[str], late: Collection[str]) -> tuple[Stmt, ...]:
    """The statements of a step with its choices as branches; empty if no condition waits for the step before.

    waits: variables that depend on the step before.  late: choices that are branches anyway.
    """
    if found := decided(body, waits):
        return found
    body = [y for x in body for y in _by_each(x, body)]
    lets = [x for x in body if isinstance(x, Let) and x.name not in late]
    chosen = {x.name: args for x in lets if (args := _choice(x, waits))}
    if not chosen:
        return ()
    made = {x.name: x.value for x in body if isinstance(x, Let)}
    done, held = _told_apart(body, chosen)
    while held:
        group = _together(held, chosen)
        done += [
            y for x in group if isinstance(x, Let) for y in (Declare(x.name, x.dtype), Set(x.name, chosen[x.name][2]))
        ]
        sets = tuple(Set(_name(x), chosen[_name(x)][1]) for x in group)
        done.append(_branch(chosen[_name(held[0])][0], sets, made))
        more, held = _told_apart([x for x in held if x not in group], chosen)
        done += more
    return tuple(done)


def _by_each(x: Stmt, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
    """A choice by one of two conditions as two choices, if other choices are by these conditions, too."""
    match x:
        case Let(name=name, value=Do(op="where", args=(Var(name=test), more, less)) as value, dtype=dtype):
            tests = {
                y.value.args[0]
                for y in body
                if isinstance(y, Let) and isinstance(y.value, Do) and y.value.op == "where"
            }
            for y in body:
                match y:
                    case Let(value=Do(op="bitwise_or", args=(Var() as a, Var() as b))) if (
                        y.name == test and {a, b} <= tests
                    ):
                        first = Let(f"{name}o", replace(value, args=(a, more, less)), dtype)
                        return first, replace(x, value=replace(value, args=(b, more, Var(first.name, dtype))))
                    case _:
                        pass
    return (x,)


def _branch(test: Expr, then: tuple[Stmt, ...], made: Mapping[str, Expr]) -> If:
    """A branch; two where two conditions must hold: the second one is compared only where the first one holds."""
    match made.get(test.name) if isinstance(test, Var) else None:
        case Do(op="bitwise_and", args=(Var() as a, Var() as b), dtype="bool"):
            return If(a, (If(b, then),))
    return If(test, then)


def _together(held: Sequence[Stmt], chosen: Mapping[str, Sequence[Expr]]) -> list[Stmt]:
    """The choices by the first condition, without those that need statements before them."""
    group, before = list[Stmt](), set[str]()
    for x in held:
        if _name(x) in chosen and chosen[_name(x)][0] == chosen[_name(held[0])][0] and _is_free(x, before):
            group.append(x)
        before |= made_in([x])
    return group


def _choice(x: Let, waits: Collection[str]) -> tuple[Expr, ...]:
    """The condition and the values of a choice whose condition, a variable, depends on the step before."""
    match x.value:
        case Do(op="where", args=(Var(name=test), *_) as args) if test in waits and not any(
            True for _ in loads(x.value)
        ):
            return args
    return ()


def _told_apart(body: Sequence[Stmt], chosen: Mapping[str, Sequence[Expr]]) -> tuple[list[Stmt], list[Stmt]]:
    """The statements that need not wait for a choice, and the others: choices and what must follow them."""
    first, held, blocked, only_lets = list[Stmt](), list[Stmt](), set[str](), True
    for x in body:
        reads_memory = any(True for y in expressions(x) for _ in loads(y))
        alone = isinstance(x, Let) and (only_lets or not reads_memory) and _is_free(x, blocked)
        if _name(x) in chosen or (held and not alone):
            held.append(x)
            blocked |= made_in([x])
            only_lets = only_lets and isinstance(x, Let)
        else:
            first.append(x)
    return first, held


def _is_free(x: Stmt, blocked: Collection[str]) -> bool:
    return not any(v in blocked for y in inside([x]) for e in expressions(y) for v in variables(e))


def _name(x: Stmt) -> str:
    return x.name if isinstance(x, Let) else ""
