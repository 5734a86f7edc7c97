"""Facts about what batched operators are made of: a list of steps for each, an expansion.

Slots 0, 1 .. of an expansion are the arguments, further ones the results of its steps.  The terms that it stands for
are made by `EXPANDING` (see `machinery`).
"""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Int, Op, Text

__all__: list[str] = []

new_fact(
    "expands_one", Op, Text, Int, Int,
    meaning="op, batched by the flags, of an argument with n axes is expansion r (given)",
)  # fmt: skip
new_fact(
    "expands_two", Op, Text, Int, Int, Int,
    meaning="op, batched by the flags, of arguments with n and m axes is expansion r (given)",
)  # fmt: skip
new_fact(
    "expands_three", Op, Text, Int, Int, Int, Int,
    meaning="op, batched by the flags, of arguments with n, m and k axes is expansion r (given)",
)  # fmt: skip
new_fact("step_of_one", Int, Int, Op, Int, meaning="slot s of expansion r is op of slot a (given)")
new_fact("step_of_two", Int, Int, Op, Int, Int, meaning="slot s of expansion r is op of slots a and b (given)")
new_fact(
    "step_of_three", Int, Int, Op, Int, Int, Int, meaning="slot s of expansion r is op of slots a, b and e (given)"
)
new_fact("arranges", Int, Int, Int, Int, meaning="slot s of expansion r is slot a arranged anew, with n axes (given)")
new_fact("result_of", Int, Int, meaning="the last slot of expansion r is s (given)")
