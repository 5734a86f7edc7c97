"""Loops inside a loop that compute the same at each of its steps, found in the text of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scanopt.analysis.lengths import KnownLengths, changing
from scanopt.array.op import Op
from scanopt.calculus.encoded import Encoded, clocks_of
from scanopt.calculus.forms import ROOT, Form

__all__ = ["invariant_loops"]


def invariant_loops(
    g: Encoded, choices: bool, lengths: Callable[[], KnownLengths]
) -> Iterator[tuple[str, tuple[int | str, ...]]]:
    """Facts about traces of inner loops that do not depend on a loop around them.

    choices: whether some side of a choice may not run, where shapes that do not fit are no error.
    """
    nested = [(i, g.clocks[f.clock].level) for i, f in g.forms() if f.kind == "stack"]
    nested = [(i, c) for i, c in nested if c != ROOT]
    clocks = clocks_of(g) if nested else {}
    for i, c in nested:
        body = _body(g, clocks, i, c)
        if body is not None and not any(_effect(g, j) for j in body):
            yield ("invariant" if _calm(g, body, choices, lengths()) else "invariant_if_run"), (c, i)


def _body(g: Encoded, clocks: dict[int, int], i: int, c: int) -> set[int] | None:
    """The terms from which a trace is computed at each step of c; None if one of them changes from step to step."""
    body: set[int] = set()
    todo = [i]
    while todo:
        j = todo.pop()
        if j in body:
            continue
        (f,) = g.classes[j]
        if c not in g.chain(clocks[j]) or (f.clock == c and f.kind != "hold"):
            return None
        body.add(j)
        if f.clock == c:
            continue
        todo += f.args
        if f.kind == "delay":
            todo += g.states[f.state].updates
        if f.clock != ROOT:
            todo += (g.clocks[f.clock].steps, *g.clocks[f.clock].until)
    return body


def _operator(g: Encoded, i: int) -> tuple[Form, Op | None]:
    (f,) = g.classes[i]
    return f, f.operator if isinstance(f.operator, Op) else None


def _effect(g: Encoded, i: int) -> bool:
    _, op = _operator(g, i)
    return op is not None and op.spec.effect


def _calm(g: Encoded, body: set[int], choices: bool, known: KnownLengths) -> bool:
    """Whether computing these cannot raise."""
    may_change = changing(g, known)
    for i in body:
        f, op = _operator(g, i)
        if f.kind == "delay" and f.state in may_change:
            return False
        if op is not None and ((op.can_raise and i not in known.harmless) or (choices and i not in known.fitting)):
            return False
    return True
