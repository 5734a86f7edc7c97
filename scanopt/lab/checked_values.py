"""Programs with a check of a value that a law leaves out: the check must not be lost.

What a program computes may raise, and a value is checked as long as it is used (see `scanopt.check`).  A value that is
written but chosen away is not used: one of several joined or stacked arrays of which others are read, a side of a
choice that is not taken, an array of which only a length is asked, a state that nothing reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import Parameter, Signature, signature
from typing import Any

from scanopt import tensor as T
from scanopt.calculus.law import Law, Program
from scanopt.calculus.terms import Args, State, Term, Value
from scanopt.lab.instances import instances
from scanopt.lab.proving.forms import arguments
from scanopt.loops.checks_and_prints import check

__all__ = ["checked_programs", "left_out"]

_JOINING, _CHOOSING = ("concatenate", "stack"), ("where", "ifelse")
_PROGRAMS = 8
"""How many random programs are made for each value that a law leaves out."""


def checked_programs(law: Law) -> Iterator[tuple[str, Program]]:
    """Programs to attack a law with that leaves values out: its examples, with an input that is checked or read out of
    range, and random programs that contain its left side, with a check of such a value.
    """
    names = left_out(law)
    for n, example in enumerate(law.example if names else ()):
        for name in signature(example).parameters:
            yield f"example {n}, {name} checked", _with(example, name, "m", lambda x, m: check(m, "not so", x))
            yield f"example {n}, {name} read", _with(example, name, "k", lambda x, k: T.stack([x, x])[k])
    for name in names:
        for n, program in enumerate(instances(law, _PROGRAMS, checked=name)):
            yield f"random program {n}, {name} checked", program


def _with(program: Program, name: str, other: str, change: Callable[[Any, Any], Any]) -> Program:
    """A program in which an input is changed by another input, so that computing it may raise."""
    names = [*signature(program).parameters]
    parameters = [*dict.fromkeys((*names, other))]

    def changed(*given: Any) -> Any:
        values = dict(zip(parameters, given, strict=True))
        values[name] = change(values[name], values[other])
        return program(*(values[x] for x in names))

    kind = Parameter.POSITIONAL_OR_KEYWORD
    changed.__signature__ = Signature([Parameter(x, kind) for x in parameters])  # type: ignore[attr-defined]
    return changed


def left_out(law: Law) -> list[str]:
    """The variables whose values the left side of a law uses, and the right side does not have.

    >>> from scanopt.calculus.law import standard_laws
    >>> [left_out(x) for x in standard_laws() if x.name in ("inverse", "where_of_true", "self_inverse")]
    [['y'], [], ['m']]
    """
    left, right = law.equation.left, law.equation.right
    return [] if isinstance(left, State) else sorted({*_used(left)} - right.variables())


def _used(x: Term, chosen: bool = False) -> Iterator[str]:
    """The variables of the values that a pattern uses.

    chosen: the value of the pattern may be chosen away, but not the indices by which it is read.
    """
    if x.args is None:
        if isinstance(x, Value | Args) and not chosen:
            yield x.head
    elif x.head == "apply":
        op, rest = x.args
        assert isinstance(op, Term)
        assert isinstance(rest, Term)
        name = str(op.args[0]).partition("(")[0] if op.args else ""
        for n, value in enumerate(arguments(rest)):
            if name != "shape_i" and not (n and name in _CHOOSING):
                yield from _used(value, name in _JOINING or (chosen and not n))
    else:
        yield from (v for a in x.args if isinstance(a, Term) for v in _used(a))
