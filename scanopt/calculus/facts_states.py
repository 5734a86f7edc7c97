"""Facts about carried states, and about what ends loops: what they become, what they pass on, which are equal."""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.declarations import FIRST_ROWS
from scanopt.calculus.terms import Clock, State, Value

__all__ = [
    "as_many_steps", "at_most_one", "become_alike", "becomes", "ends_alike", "ends_at_once",
    "equal_in_time", "late", "passes_on", "repeated",
]  # fmt: skip

becomes = new_fact(
    "becomes", State, Value,
    meaning="the value of the state s at each step is v",
    pattern="(defines {0} {1})",
)  # fmt: skip

passed_on = new_fact(
    "passed_on", State, State,
    meaning="what the program writes into s is an earlier value of r, and r passes on nothing of s (given)",
)  # fmt: skip

passes_on = new_fact(
    "passes_on", State, State,
    # States that were found equal since would be read further and further back, without end.
    meaning="what the program writes into s is an earlier value of r, another state, which passes on nothing of s",
    pattern="(passed_on {0} {1}) (!= {0} {1})",
)  # fmt: skip

_JOIN = r'(prim "concatenate{\"axis\":0}")'
_PICK = r'(prim "getitem{\"index\":[\"array\"]}")'

late = new_fact(
    "late", Clock, Value,
    meaning="Z is first rows of a state, then what it becomes, all known before c begins",
    rules=f"""
    (before c X) (= Z (apply {_JOIN} (cons I (cons X (nil))))) => (late c Z)
    (late c Z) (= Y (apply {FIRST_ROWS} (cons Z (cons n (nil))))) => (before c Y)
    """,
)  # fmt: skip

repeated = new_fact(
    "repeated", Value, Value,
    meaning="Y repeats the last rows of a state's init I",
    rules=f"""
    (= R (apply (last_rows j) (cons I (nil)))) (= Y (apply {_PICK} (cons R q))) => (repeated I Y)
    (= v (delay c I s j)) (repeated I Y) => (before c Y)
    """,
)  # fmt: skip

equal_in_time = new_fact(
    "equal_in_time", Clock, State, Clock, State,
    meaning="where c and d are one loop, s of c has the values of r of d at every step (given: proven by coinduction)",
)  # fmt: skip

as_many_steps = new_fact(
    "as_many_steps", Clock, Clock,
    meaning="c and d lie in the same clock and have the same number of steps (given: by lengths of arrays)",
    rules="(as_many_steps c d) => (same_steps c d)",
)  # fmt: skip

ends_alike = new_fact(
    "ends_alike", Clock, Clock,
    meaning="c and d run as many steps, one beside the other: their conditions have the same values at every step "
    "(given: proven by coinduction)",
)  # fmt: skip

at_most_one = new_fact(
    "at_most_one", Clock,
    meaning="c runs one step or none: all its steps, whatever its `until`",
    rules="""
    (= c (cut d n)) (<= n 1) => (at_most_one c)
    (= n (steps c)) (= k (int_value n)) (<= k 1) => (at_most_one c)
    (at_most_one c) => (runs_all c)
    """,
)  # fmt: skip

ends_at_once = new_fact(
    "ends_at_once", Clock,
    meaning="the condition that ends c, a loop of the program, is true after the first step",
    rules="(until c v) (is_true v) (= c (loop n)) => (ends_at_once c)",
)  # fmt: skip

become_alike = new_fact(
    "become_alike", State, State,
    meaning="s and r become the same value at every step",
    pattern="(defines {0} v_) (defines {1} v_) (!= {0} {1})",
)  # fmt: skip
