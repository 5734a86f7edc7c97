"""Facts about parts of arrays, by integers and slices of fixed bounds, and about arrays arranged anew."""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Int, Op

__all__ = ["part_of_part", "reads_first", "reads_last", "takes_first", "undone"]

part_of_part = new_fact(
    "part_of_part", Op, Op, Op, meaning="g(h(X)) is op(X), parts or arrangements of an array (given)"
)
undone = new_fact("undone", Op, Op, meaning="g(h(X)) is X, parts or arrangements of an array (given)")
reads_last = new_fact("reads_last", Op, Int, Op, meaning="op(X) is g of the last k rows of X (given)")
reads_first = new_fact("reads_first", Op, Int, meaning="op reads no more than the first k rows (given)")
takes_first = new_fact("takes_first", Op, Int, meaning="op(X) is the first k rows of X (given)")
