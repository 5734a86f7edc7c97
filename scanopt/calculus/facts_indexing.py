"""Facts about parts of arrays, by integers and slices of fixed bounds, and about arrays arranged anew."""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Int, Op, Value

__all__ = [
    "count_of_rows",
    "in_first",
    "in_last",
    "in_two",
    "of_two_axes",
    "part_of_part",
    "past_first",
    "past_last",
    "reads_first",
    "reads_last",
    "reads_last_of",
    "reads_rows",
    "rows_before",
    "rows_first",
    "takes_a_row",
    "takes_all",
    "takes_first",
    "takes_row",
    "takes_rows",
    "undone",
]  # fmt: skip

part_of_part = new_fact(
    "part_of_part", Op, Op, Op, meaning="g(h(X)) is op(X), parts or arrangements of an array (given)"
)
undone = new_fact("undone", Op, Op, meaning="g(h(X)) is X, parts or arrangements of an array (given)")
reads_last = new_fact("reads_last", Op, Int, Op, meaning="op(X) is g of the last k rows of X (given)")
reads_first = new_fact("reads_first", Op, Int, meaning="op reads no more than the first k rows (given)")
reads_last_of = new_fact(
    "reads_last_of", Op, Op, Int,
    meaning="g(h(X)) is that of the last k rows of X, g and h parts of an array (given)",
)  # fmt: skip
in_two = new_fact(
    "in_two", Op, Op, Op,
    meaning="op(X, ...) is g(h(X, ...)): h takes rows, by its bounds, and g parts of each (given)",
)  # fmt: skip
rows_before = new_fact(
    "rows_before", Op, Op, Op,
    meaning="op(X, ...) is g(h(X), ...): h takes rows, and g parts of each, by its bounds (given)",
)  # fmt: skip
rows_first = new_fact(
    "rows_first", Op, Op, Op,
    meaning="g(h(X), ...) is f(g(X, ...)): g takes rows, by its bounds, h and f parts of each (given)",
)  # fmt: skip
takes_row = new_fact(
    "takes_row", Op, Op,
    meaning="op(X, k) is a row of X, a computed one; it is the last of the first g(n, k) where X has n rows (given)",
)  # fmt: skip
takes_rows = new_fact(
    "takes_rows", Op, Op, Op,
    meaning="op(X, ...) is rows of X one after the other, by computed bounds: the last h(n, ...) of the first "
    "g(n, ...) where X has n rows (given)",
)  # fmt: skip
reads_rows = new_fact(
    "reads_rows", Op, Op, Op,
    meaning="op(X, ...), by computed bounds, is op(Y, ...), Y being the last h(n, ...) of the first g(n, ...) rows "
    "of X, where X has at most n rows (given)",
)  # fmt: skip
takes_first = new_fact("takes_first", Op, Int, meaning="op(X) is the first k rows of X (given)")

# Rows

takes_a_row = new_fact("takes_a_row", Op, meaning="op takes one row of its first argument (given)")
takes_all = new_fact("takes_all", Op, meaning="op takes all rows of its argument, in order (given)")
of_two_axes = new_fact("of_two_axes", Value, meaning="v has two axes", pattern="(= 2 (ndim {0}))")

# Parts of two arrays, one after the other

_ROW = r'(prim "expand_dims{\"axis\":[0]}")'

count_of_rows = new_fact(
    "count_of_rows", Value, Int,
    meaning="A has k rows (given, and one of one row)",
    rules=f"(= A (apply {_ROW} (cons x (nil)))) => (count_of_rows A 1)",
)  # fmt: skip
in_first = new_fact("in_first", Op, Int, Op, meaning="op(X) is g of the first k rows of X, which has so many (given)")
in_last = new_fact("in_last", Op, Int, Op, meaning="op(X) is g of the last k rows of X, which has so many (given)")
past_first = new_fact(
    "past_first", Op, Int, Op, meaning="op(X) is g of all but the first k rows of X, which has so many (given)"
)
past_last = new_fact(
    "past_last", Op, Int, Op, meaning="op(X) is g of all but the last k rows of X, which has so many (given)"
)
