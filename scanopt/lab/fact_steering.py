"""Atoms of rules of facts that claim nothing, but say where it pays to look: see docs/fact-mutations.md."""

from __future__ import annotations

__all__ = ["STEERING"]

STEERING: dict[str, str] = {
    "moves_up 5 fixed_shape(op)": "where rows differ in length there is no batched form, which extraction sees",
    "moves_up 5 safe(op)": "what raises stays where it is written, so that of several errors the same one comes first",
    "moves_up 9 runs_all(d)": "steps after the end change nothing: states that have ended are masked",
    "moves_up_masked 1 moves_up_masked(c, d)": "a masked state of a loop that never ends early is updated by nothing",
    "constants 1 constants(r)": "folding itself makes sure that all of them are constants",
    "held_constants 1 held_constants(r)": "any value that a loop holds may leave it; other laws see to that",
    "chunked 3 fixed_shape(op)": "where rows differ in length there is no batched form, which extraction sees",
    "entries 1 runs_all(c)": "rows for all steps are more than a loop that ends early runs",
    "ends_at_once 0 c = loop(n)": "what is left of the loop would end at once, too, without end",
    "sums_until 0 x = op(a, b)": "sums of all kinds come to one row, but only products pay",
    "sums_until 0 contracts(op, k, g)": "sums of all kinds come to one row, but only products pay",
    "flags_of 0 shared_list(c, d, xs, o)": "any list has as many flags as values, but only shared ones are asked for",
    "flags_of 1 shared_list(c, d, xs, o)": "any list has as many flags as values, but only shared ones are asked for",
    "traceable 0 regular(v)": "what has a trace has one shape; here it need not be found out",
    "traceable 1 regular(v)": "what has a trace has one shape; here it need not be found out",
    "unexpanded 0 unexpanded(op)": "what is known as operators of the table is batched one of them by one",
    "batched 0 unexpanded(op)": "what is known as operators of the table is batched one of them by one",
    "chunked 2 c != e": "where a chunk is one step there is nothing to gain, without end",
    "chunked 3 c != e": "where a chunk is one step there is nothing to gain, without end",
    "part_of_argument 2 xs = (x, *r)": "any value of that shape has such a part, but only arguments are asked for",
    "part_of_argument 3 xs = (x, *r)": "any value of that shape has such a part, but only arguments are asked for",
}
"""Atoms that may be dropped without anything going wrong, as they only say where it pays to look, and the reason."""
