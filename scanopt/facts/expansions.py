"""Facts about what batched operators are made of: a list of steps for each, an expansion.

Slots 0, 1 .. of an expansion are the arguments, further ones the results of its steps.  The terms that it stands for
are made by `EXPANDING` (`egraph/support_rules.py`).
"""

from __future__ import annotations

from scanopt.calculus.condition import fact
from scanopt.calculus.terms import Int, Op, Text

__all__ = [
    "arranges", "expands_one", "expands_three", "expands_two", "result_of", "step_of_one", "step_of_three",
    "step_of_two",
]  # fmt: skip


@fact
def expands_one(op: Op, f: Text, n: Int, r: Int) -> None:
    """op, batched by the flags, of an argument with n axes is expansion r (given)."""


@fact
def expands_two(op: Op, f: Text, n: Int, m: Int, r: Int) -> None:
    """op, batched by the flags, of arguments with n and m axes is expansion r (given)."""


@fact
def expands_three(op: Op, f: Text, n: Int, m: Int, k: Int, r: Int) -> None:
    """op, batched by the flags, of arguments with n, m and k axes is expansion r (given)."""


@fact
def step_of_one(r: Int, s: Int, op: Op, a: Int) -> None:
    """slot s of expansion r is op of slot a (given)."""


@fact
def step_of_two(r: Int, s: Int, op: Op, a: Int, b: Int) -> None:
    """slot s of expansion r is op of slots a and b (given)."""


@fact
def step_of_three(r: Int, s: Int, op: Op, a: Int, b: Int, e: Int) -> None:
    """slot s of expansion r is op of slots a, b and e (given)."""


@fact
def arranges(r: Int, s: Int, a: Int, n: Int) -> None:
    """slot s of expansion r is slot a arranged anew, with n axes (given)."""


@fact
def result_of(r: Int, s: Int) -> None:
    """The last slot of expansion r is s (given)."""
