"""Facts about expansions: batched operators written as a list of steps with operators of the table.

Slots 0, 1 .. of an expansion are the arguments, further slots the results of its steps.  The rules
`expanding` in `egraph/support_rules.py` build the terms.
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
    """op, batched by the flags, of an argument with n axes has expansion r (given)."""


@fact
def expands_two(op: Op, f: Text, n: Int, m: Int, r: Int) -> None:
    """op, batched by the flags, of arguments with n and m axes has expansion r (given)."""


@fact
def expands_three(op: Op, f: Text, n: Int, m: Int, k: Int, r: Int) -> None:
    """op, batched by the flags, of arguments with n, m and k axes has expansion r (given)."""


@fact
def step_of_one(r: Int, s: Int, op: Op, a: Int) -> None:
    """Slot s of expansion r is op of slot a (given)."""


@fact
def step_of_two(r: Int, s: Int, op: Op, a: Int, b: Int) -> None:
    """Slot s of expansion r is op of slots a and b (given)."""


@fact
def step_of_three(r: Int, s: Int, op: Op, a: Int, b: Int, e: Int) -> None:
    """Slot s of expansion r is op of slots a, b and e (given)."""


@fact
def arranges(r: Int, s: Int, a: Int, n: Int) -> None:
    """Slot s of expansion r is slot a with rearranged axes, n in all (given)."""


@fact
def result_of(r: Int, s: Int) -> None:
    """The last slot of expansion r is s (given)."""
