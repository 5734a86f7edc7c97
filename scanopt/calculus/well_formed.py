"""What a law must be to say anything: its terms fit together, and its parts have to do with one another.

An e-graph would take a term of wrong sorts for one that is never found, so such a law would never fire.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from scanopt.array.op import Op as Operator
from scanopt.calculus.condition import FACTS, Condition, sort_of
from scanopt.calculus.declarations import DECLARATIONS
from scanopt.calculus.term import Op, operator_of
from scanopt.calculus.terms import Term

__all__ = ["complaint"]

_SORTS: dict[str, tuple[str, ...]] = {
    name: tuple(sorts.split())
    for name, sorts in re.findall(r"^\((?:constructor|function) (\S+) \(([^)]*)\)", DECLARATIONS, re.MULTILINE)
}
_SHOWN = {"i64": "Int", "String": "Text"}

_Part = Term | int | str


def complaint(left: Term, right: Term, when: Sequence[Condition], parameters: Sequence[str]) -> str:
    """What is wrong with a law of these parts, in words; "" for a law that may say something.

    parameters: the names of its variables.
    """
    whole: tuple[_Part, ...] = (left, right, *(a for c in when for a in c.args))
    wrong = next((x for part in whole for x in _misfits(part)), "") or next((x for c in when for x in _unfit(c)), "")
    if wrong:
        return wrong
    if left == right:
        return f"both sides are {left}, so it says nothing"
    used = {v for part in whole if isinstance(part, Term) for v in part.variables()}
    if idle := [x for x in parameters if x not in used]:
        return f"neither side nor a condition mentions its parameter {idle[0]}"
    if left.args is not None and (apart := _apart(left, when)):
        return f"{apart[0]} is about nothing that the left side says: it would hold if it held anywhere"
    return ""


def _misfits(x: _Part) -> Iterator[str]:
    """What is wrong inside a term: arguments of other sorts than the constructor takes, or too few or too many."""
    if not isinstance(x, Term) or x.args is None:
        return
    yield from _of_sorts(str(x), x.args, _SORTS.get(x.head, ()))
    if x.head == "apply" and isinstance(op := x.args[0], Op) and op.head in ("prim", "prim_with"):
        count = _count(x.args[1])
        least, most = _arity(operator_of(op))
        if count is not None and not (least <= count and (most is None or count <= most)):
            takes = str(least) if least == most else f"at least {least}" if most is None else f"{least} to {most}"
            yield f"{operator_of(op).name} takes {takes} argument{'s' * (takes != '1')}, found {count} in {x}"
    for a in x.args:
        yield from _misfits(a)


def _unfit(c: Condition) -> Iterator[str]:
    return _of_sorts(str(c), c.args, FACTS[c.fact].sorts)


def _of_sorts(whole: str, args: Sequence[_Part], sorts: Sequence[str]) -> Iterator[str]:
    for n, (a, sort) in enumerate(zip(args, sorts, strict=False)):
        found = sort_of(a) if isinstance(a, Term) else "String" if isinstance(a, str) else "i64"
        if found != sort:
            shown = f"{a}, a {_SHOWN.get(found, found)}" if isinstance(a, Term) else repr(a)
            yield f"argument {n + 1} of {whole} must be a {_SHOWN.get(sort, sort)}, found {shown}"


def _count(xs: Any) -> int | None:
    """How many values a list has; None if its end is a variable."""
    count = 0
    while xs.head == "cons" and xs.args is not None:
        count, xs = count + 1, xs.args[1]
    return count if xs.head == "nil" else None


@cache
def _arity(op: Operator) -> tuple[int, int | None]:
    """The least and the greatest number of arguments of an operator, None for any number, as far as its entry tells."""
    spec = op.spec
    if spec.ufunc is not None and isinstance(ufunc := getattr(np, spec.ufunc, None), np.ufunc):
        return ufunc.nin, ufunc.nin
    found = [p for p in inspect.signature(spec.infer).parameters.values() if p.name not in spec.params]
    fixed = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    least = sum(p.default is p.empty for p in fixed)
    return least, None if any(p.kind is p.VAR_POSITIONAL for p in found) else len(fixed)


def _apart(left: Term, when: Sequence[Condition]) -> list[Condition]:
    """The conditions that share no variable with the left side, not even through other conditions."""
    known, rest = left.variables(), [c for c in when if c.variables()]
    while near := [c for c in rest if c.variables() & known]:
        rest = [c for c in rest if c not in near]
        known = known.union(*(c.variables() for c in near))
    return rest
