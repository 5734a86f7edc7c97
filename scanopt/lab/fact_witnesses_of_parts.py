"""Programs that show that atoms of rules about parts of arrays are needed: see docs/fact-mutations.md."""

from __future__ import annotations

__all__ = ["WITNESSES_OF_PARTS"]

WITNESSES_OF_PARTS: dict[str, str] = {
    "takes_a_row 0 takes_a_row(op)": "value_seen_backwards, never 0",
    "takes_a_row 1 takes_a_row(op)": "right_annihilator, never 1",
    "in_parts 0 is_a_part(g)": "part_of_elements, never 6",
    "in_parts 0 by_element(op)": "part_of_elements, never 5",
    "part_of_argument 0 has_shape_of(x, v)": "part_of_elements, never 2",
    "part_of_argument 1 has_rows_of(x, v)": "part_of_elements, never 2",
    "part_of_argument 1 is_a_part_of_rows(g)": "part_of_elements, never 3",
    "part_of_argument 2 scalar(x)": "part_of_elements, never 2",
    "part_of_argument 3 is_a_part_of_rows(g)": "part_of_elements, never 4",
    "part_of_argument 3 n >= m+1": "part_of_elements, never 2",
    "part_of_argument 4 w = g(v, *bounds)": "hidden part of elements",
    "part_of_argument 4 always(w)": "hidden part of elements",
    "parts_of 0 xs = (x)": "part_of_elements, never 4",
    "part_of_argument 2 xs = (x, *r)": "part_of_elements, example 1",
    "part_of_argument 3 xs = (x, *r)": "part_of_elements, example 4",
    "to_add_up 8 to_add_up(V)": "added to entries",
    "to_add_up 8 adds_to_part(op)": "taken after adding",
    "adds_up 11 to_add_up(V)": "added to entries",
    "adds_up 11 V = vmap(op, 01)(S, Y)": "added to two entries",
    "adds_up 11 nothing(S)": "last_of_sum_of_products, never 4",
    "adds_up 11 adds_to_part(op)": "last_of_sum_of_products, never 5",
    "adds_up 11 sums_alike(Y)": "small integers added",
    "adds_up 12 to_add_up(V)": "added to two entries",
    "adds_up 12 V = vmap(op, 11)(X, Y)": "added to two entries",
    "adds_up 12 adds_to_part(op)": "taken beside adding",
    "adds_up 12 sums_alike(Y)": "small integers added",
    "filled_up 0 adds_to_part(op)": "part_of_zeros_added, never 4",
    "filled_up 0 nothing(Z)": "part_of_zeros_added, never 3",
    "filled_up 1 adds_to_part(op)": "part_of_zeros_added, never 5",
}
"""By fact, place of the rule and atom, the program that shows what goes wrong without it."""
