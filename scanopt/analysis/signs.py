"""Facts about operators of a negated argument: the sign comes out in front of the result, or is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache

import numpy as np

from scanopt.array.op import Op, Operand
from scanopt.calculus.forms import Operator

__all__ = ["facts_of_signs", "opposite_operators"]

_ODD = {"arcsinh", "arctan", "arctanh", "cbrt", "erf", "sign", "sin", "sinh", "tan", "tanh"}
_EVEN = {"cos", "cosh"}
_EXTREMES = {"max": "min", "min": "max", "cummax": "cummin", "cummin": "cummax"}
_PLACES = {"argmax": "argmin", "argmin": "argmax"}
_KEEPING_FLOATS = {
    **dict.fromkeys((*_ODD, *_EVEN, *_EXTREMES, "exp", "sigmoid", "sqrt"), 1),
    **dict.fromkeys(("add", "divide", "dot", "maximum", "minimum", "multiply", "subtract"), 2),
}
"""Operators, with their numbers of arguments, whose result has the dtype of the arguments if these are floats of one
dtype.  Not all of them for every dtype: functions of SciPy have no result of half precision."""


def _other(op: Op) -> Op:
    """The operator that does to x what op does to -x, or to the opposite of that."""
    name = _EXTREMES.get(op.name) or _PLACES.get(op.name) or op.name
    return op if name == op.name else Op.make(name, **op.options)


def opposite_operators(ops: Iterable[Op]) -> list[Op]:
    """The operators that a sign turns these into."""
    return [_other(op) for op in ops if op.name in _EXTREMES or op.name in _PLACES]


def facts_of_signs(op: Op, dtypes: Sequence[str]) -> Iterator[tuple[str, tuple[int | str | Operator, ...]]]:
    """Facts about what op does to a sign, and about dtypes that it keeps."""
    if op.name in _ODD or op.name in _EXTREMES:
        yield "sign_outside", (op, _other(op))
    if op.name in _EVEN or op.name in _PLACES:
        yield "sign_lost", (op, _other(op))
    if count := _KEEPING_FLOATS.get(op.name):
        floats = (d for d in dtypes if np.dtype(d).kind == "f")
        yield from (("keeps_dtype", (op, d)) for d in floats if _keeps(op, d, count))
    if op.name in ("all", "any") and "bool" in dtypes:
        yield "keeps_dtype", (op, "bool")


@lru_cache(maxsize=1024)
def _keeps(op: Op, dtype: str, count: int) -> bool:
    """Whether op of `count` arrays of a dtype has that dtype."""
    for axes in (2, 8):
        with suppress(TypeError, ValueError):
            return op.infer(*[Operand(dtype, (2,) * axes)] * count).dtype == dtype
    return False
