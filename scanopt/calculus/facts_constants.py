"""Facts about constants inside loops, and about arrays that are one value over and over."""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Args, Op, Value

__all__ = ["fills", "fills_counted", "fills_vector", "full_rows", "held_constant", "held_constants"]

held_constant = new_fact(
    "held_constant", Value,
    meaning="v is a constant, or one held by loops",
    rules="""
    (= v (const k)) => (held_constant v)
    (= v (hold c x)) (held_constant x) => (held_constant v)
    """,
)  # fmt: skip

held_constants = new_fact(
    "held_constants", Args,
    meaning="every value of the list is a constant, or one held by loops",
    rules="""
    (= l (cons v (nil))) (held_constant v) => (held_constants l)
    (= l (cons v r)) (held_constant v) (held_constants r) => (held_constants l)
    """,
)  # fmt: skip

fills_vector = new_fact(
    "fills_vector", Op,
    meaning="op(e, ...) is a vector with e in each place (given)",
)  # fmt: skip

fills = new_fact(
    "fills", Op, Op,
    meaning="every row of op(e, *lengths), an array of several axes, is g(e, *lengths) (given)",
)  # fmt: skip

fills_counted = new_fact(
    "fills_counted", Op, Op,
    meaning="every row of op(e, n, *lengths), an array of several axes, is g(e, *lengths) (given)",
)  # fmt: skip

full_rows = new_fact(
    "full_rows", Value, Value,
    meaning="Y is one value everywhere, and so is x, one row of it",
    rules="""
    (fills op g) (= Y (apply op l)) => (full_rows Y (apply g l))
    (fills_counted op g) (= Y (apply op (cons e (cons m r)))) => (full_rows Y (apply g (cons e r)))
    (fills_vector op) (= Y (apply op (cons e r))) => (full_rows Y e)
    (= Y (apply_two (prim "full_like") x e)) (= 1 (ndim Y)) (= 0 (ndim e)) => (full_rows Y e)
    (full_rows Y x) => (equal_rows Y x)
    """,
)  # fmt: skip
