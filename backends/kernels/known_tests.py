"""What conditions that hold, or do not, say about other conditions: `x == 0` that `x > 0` does not hold."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from scanopt.backends.kernels.ir import Do, Expr, Lit

__all__ = ["COMPARED", "TURNED", "Fact", "truth_of"]

COMPARED: dict[str, Callable[[float, float], bool]] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
TURNED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}
"""The comparison that says the same with its sides exchanged."""

Fact = tuple[Expr, bool]
"""A condition, and whether it holds."""


def truth_of(test: Expr, known: Sequence[Fact]) -> bool | None:
    """Whether a condition holds where all facts are true; None if they do not say so.

    >>> from scanopt.backends.kernels.ir import Var
    >>> at = lambda op, n: Do(op, (Var("s"), Lit(n)), "bool", "int64")
    >>> truth_of(at("greater", 0), [(at("equal", 0), True)]), truth_of(at("equal", 1), [(at("equal", 0), False)])
    (False, None)
    """
    if isinstance(test, Lit):
        return bool(test.value)
    for fact, holds in known:
        if fact == test:
            return holds
    if not isinstance(test, Do) or test.op not in COMPARED or np.dtype(test.of).kind not in "iuf":
        return None
    op, x, y = _turned(test)
    floats = np.dtype(test.of).kind == "f"
    if isinstance(y, Lit):
        found = [(o, b.value, holds) for o, a, b, holds in _about(known, test.of) if a == x and isinstance(b, Lit)]
        points = _points({y.value, *(b for _, b, _ in found)}, floats)
        possible = [p for p in points if all(COMPARED[o](p, b) == holds for o, b, holds in found)]
        answers = {COMPARED[op](p, y.value) for p in possible}
    else:
        orders = [(0.0, 1.0), (0.0, 0.0), (1.0, 0.0), *([(math.nan, 0.0)] if floats else [])]
        ways = [(o, holds) for o, a, b, holds in _about(known, test.of) if (a, b) == (x, y)]
        ways += [(TURNED.get(o, o), holds) for o, a, b, holds in _about(known, test.of) if (a, b) == (y, x)]
        answers = {COMPARED[op](*p) for p in orders if all(COMPARED[o](*p) == holds for o, holds in ways)}
    return answers.pop() if len(answers) == 1 else None


def _about(known: Sequence[Fact], of: str) -> Iterator[tuple[str, Expr, Expr, bool]]:
    """The facts that compare two values of a dtype."""
    for fact, holds in known:
        if isinstance(fact, Do) and fact.op in COMPARED and fact.of == of:
            yield (*_turned(fact), holds)


def _turned(test: Do) -> tuple[str, Expr, Expr]:
    """A comparison, with a number on the right."""
    x, y = test.args
    return (TURNED.get(test.op, test.op), y, x) if isinstance(x, Lit) else (test.op, x, y)


def _points(numbers: set[bool | int | float], floats: bool) -> list[float]:
    """Some values, one of which compares to all numbers as any value does."""
    found = sorted(numbers)
    if not floats:
        between: list[float] = [a + 1 for a in found]
        return [found[0] - 1, *found, *between]
    steps = [math.nextafter(float(a), math.inf) for a in found]
    return [-math.inf, *map(float, found), *steps, math.inf, math.nan]
