"""Constant folding: operators applied to constants are evaluated, and united with the constants that they give.

Laws that fold mark such terms in the e-graph; the engine cannot compute with arrays, so this process does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from scanopt.analysis.initial_facts import constant_facts, with_elements
from scanopt.array.numerics.c_order import laid_out
from scanopt.array.op import Op, Operand
from scanopt.calculus.condition import noted
from scanopt.calculus.forms import Batched, Operator, const_key, const_value
from scanopt.egraph.loading import integer, operator_text
from scanopt.egraph.relation_files import quoted

__all__ = ["Constant", "equality", "folded", "roles"]

Constant = np.ndarray[Any, Any]

_LIMIT = 4096
"""The most elements that a folded constant may have, unless its operands together have more."""


def folded(
    foldings: Iterable[tuple[Operator, Sequence[str]]], constants: dict[str, Constant], known: Mapping[str, object]
) -> dict[str, Constant | None]:
    """Evaluate operators of constants, except for known ones: the value by term, None where there is none to keep."""
    found: dict[str, Constant | None] = {}
    for op, args in foldings:
        term = f"(apply {operator_text(op)} {_list_text(args)})"
        if term not in known:
            found[term] = _evaluate(op, [const_value(k, constants) for k in args])
    return found


def equality(term: str, value: Constant) -> str:
    """The commands that make a term equal to a constant."""
    const = _text(value)
    about = f'(set (dtype {const}) "{value.dtype.name}") (set (ndim {const}) {value.ndim})'
    if (number := integer(value)) is not None:
        about += f" (set (int_value {const}) {number})"
    return f"(union {term} {const})\n{about}"


def roles(values: Iterable[Constant], ops: Iterable[Operator], dtypes: Sequence[str]) -> Iterator[str]:
    """The commands that state what constants are for these operators (neutral, absorbing ...), for these dtypes."""
    some = with_elements(op for op in ops if isinstance(op, Op))
    for value in values:
        for name, about in constant_facts(0, value, some, dtypes):
            yield noted(name, *(_about(a, _text(value)) for a in about))


def _text(value: Constant) -> str:
    return f"(const {quoted(const_key(value))})"


def _about(a: int | str | Operator, const: str) -> str:
    """One argument of a fact about a constant: an operator, a dtype, or the constant itself."""
    if isinstance(a, Op | Batched):
        return operator_text(a)
    return quoted(a) if isinstance(a, str) else const


def _list_text(keys: Sequence[str]) -> str:
    out = "(nil)"
    for k in reversed(keys):
        out = f"(cons (const {quoted(k)}) {out})"
    return out


def _evaluate(op: Operator, args: list[Constant]) -> Constant | None:
    """The operator's value, or None where it raises or is too large to keep as a constant.

    Empty arrays are all equal.  Loops that read them take no step, and in such a loop 0 and 1 are equal, too: before
    this is known, a 0 and a 1 in such a loop must not be united.  The same holds for an operator that does not run
    because its loop takes no step (`when_runs`): any value is right, and choosing one would make it equal to others.
    """
    if isinstance(op, Batched) or op.spec.effect or (op.name == "when_runs" and not args[0]):
        return None
    try:
        shape = op.infer(*(Operand(a.dtype.name, a.shape, a) for a in args)).shape
        size = math.prod(n if n is not None else _LIMIT + 1 for n in shape)
        if not size or size > max(_LIMIT, sum(a.size for a in args)):
            return None
        with np.errstate(all="ignore"):
            return np.asarray(op.bind(np)(*laid_out(op, args)))
    except (ArithmeticError, AssertionError, IndexError, ValueError):  # as it will when the program runs
        return None
