"""Facts about bools, bits and choices in recurrences: what operators come to for them, constants that they need."""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Op, Text, Value

__all__ = ["boolean", "minus_one", "on_bools", "picks", "picks_other", "unit"]

boolean = new_fact("boolean", Value, meaning="v is of bools", pattern='(= "bool" (dtype {0}))')

on_bools = new_fact("on_bools", Op, Op, meaning="op(x, y) = g(x, y) for bools (given)")

minus_one = new_fact(
    "minus_one", Text, Text, Value,
    meaning="e, of key k, is the constant -1 of dtype d, or True: of integers and bools all its bits are set (given)",
)  # fmt: skip

unit = new_fact(
    "unit", Op, Text, Text, Value,
    meaning="e, of key k, is the constant of dtype d with op(x, e) = x, bit for bit, op being elementwise (given)",
)  # fmt: skip

picks = new_fact("picks", Op, Op, meaning="where(op(x, y), x, y) = g(x, y) for integers of one dtype (given)")
picks_other = new_fact(
    "picks_other", Op, Op, meaning="where(op(x, y), y, x) = g(x, y) for integers of one dtype (given)"
)
