"""Facts about loops of few steps: which are taken apart, and what becomes of those in them.

A loop that is taken apart leaves a copy of what lies in it for each of its steps.  If nested ones were taken apart in
any order, there would be a copy of each for every choice of those around it: exponentially many.  So a loop of one step
in another one goes with it (see `RETIMING`), and loops of two and three steps are taken apart where they are not deep.
"""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Clock

__all__: list[str] = []

new_fact(
    "fleeting", Clock,
    meaning="c is a loop of one step: it goes with the loop around it where that is taken apart (given)",
    rules="""
    (= e (under m c)) (fleeting c) => (fleeting e)
    (= e (lift c d)) (fleeting d) => (fleeting e)
    """,
)  # fmt: skip

new_fact(
    "copied", Clock,
    hint=True,
    meaning="c is not fleeting: it is copied where the loop around it is taken apart (given)",
    rules="""
    (= e (under m c)) (copied c) => (copied e)
    (= e (lift c d)) (copied d) => (copied e)
    (= d (upto c n)) => (copied d)
    """,
)  # fmt: skip

new_fact(
    "in_turn", Clock,
    hint=True,
    meaning="c does not go with a loop around it: it lies in none, or in one that is not fleeting",
    rules="""
    (level c p) (= p (root)) => (in_turn c)
    (level c p) (copied p) => (in_turn c)
    """,
)  # fmt: skip

new_fact(
    "shallow", Clock,
    hint=True,
    meaning="no loop lies in a loop in c, as the program was written: there is little to copy (given)",
    rules="""
    (= e (under m c)) (shallow c) => (shallow e)
    (= e (lift c d)) => (shallow e)
    (= d (upto c n)) (shallow c) => (shallow d)
    """,
)  # fmt: skip
