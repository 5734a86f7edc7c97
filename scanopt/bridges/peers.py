"""Common parts of all bridges: the error for unknown operators, folding of constants, writing to parts of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scanopt.array.constants import as_variable
from scanopt.array.operators.scatter import scatter
from scanopt.array.operators.subtensor import inc_subtensor, set_subtensor
from scanopt.array.variable import Constant, Variable
from scanopt.interpreter import interpret

__all__ = ["Refused", "folded", "written"]

_FOLDED = 4096
"""Constants of at most this many elements are computed while a program is read."""


class Refused(NotImplementedError):  # noqa: N818
    """Raised for a program that contains something a bridge does not know."""


def folded(inputs: list[Variable], make: Callable[[], list[Any]]) -> list[Variable]:
    """The results of `make`, computed immediately if all inputs are constants and the results are small."""
    found = [as_variable(x) for x in make()]
    if not all(isinstance(x, Constant) for x in inputs):
        return found
    shapes = [x.type.shape for x in found]
    sizes = [None if None in s else int(_product(s)) for s in shapes]
    if any(n is None or n > _FOLDED for n in sizes):
        return found
    return [x if isinstance(x, Constant) else Constant(interpret(x)) for x in found]


def written(part: Variable, y: Variable, how: str) -> Variable:
    """The whole array x with y written to its part `x[index]`: how is "set", "add", "mul", "min" or "max"."""
    if how in ("set", "add"):
        return set_subtensor(part, y) if how == "set" else inc_subtensor(part, y)
    return scatter({"mul": "multiply", "min": "minimum", "max": "maximum"}[how], part, y)


def _product(shape: Any) -> int:
    n = 1
    for length in shape:
        n *= length
    return n
