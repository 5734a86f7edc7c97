"""Facts about shapes: which values have one shape at all steps, of their loop or of all loops around them."""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Args, Op, Value

__all__ = ["regular", "same_length", "uniform"]

fixed_shape = new_fact(
    "fixed_shape", Op,
    meaning="the shape of op's result follows from the shapes of its arguments (given, and kept by batching)",
    rules="(= g (vmap op f)) (fixed_shape op) => (fixed_shape g)",
)  # fmt: skip

shape_from_rest = new_fact(
    "shape_from_rest", Op,
    meaning="the shape of op's result follows from that of its first argument and the values of the others (given)",
)  # fmt: skip

same_length = new_fact(
    "same_length", Value, Value,
    meaning="v, a length, is w, a length of an array further out or a number, as shape rules of operators say (given)",
)  # fmt: skip

regular = new_fact(
    "regular", Value,
    meaning="v has the same shape at every step of its loop",
    rules="""
    (= v (seq c X)) => (regular v)
    (= v (hold c x)) => (regular v)
    (= v (delay c i s k)) => (regular v)
    (= 0 (ndim v)) => (regular v)
    (= v (apply op l)) (fixed_shape op) (regular_list l) => (regular v)
    (= v (apply op l)) (shape_from_rest op) (= l (cons x r)) (regular x) (held c r o f) => (regular v)
    (= v (stack d w)) (uniform w) (runs_all d) (= (steps d) (hold c n)) => (regular v)
    (= v (tail d w k)) (uniform w) (runs_all d) (= (steps d) (hold c n)) => (regular v)
    (= v (at d w k)) (uniform w) => (regular v)
    """,
)  # fmt: skip

regular_list = new_fact(
    "regular_list", Args,
    meaning="every value of the list has the same shape at every step",
    rules="""
    (= l (cons v (nil))) (regular v) => (regular_list l)
    (= l (cons v r)) (regular v) (regular_list r) => (regular_list l)
    """,
)  # fmt: skip

unchanging = new_fact(
    "unchanging", Value,
    meaning="v is outside all loops, or held by each of those that it is in",
    rules="""
    (lies_on v (root)) => (unchanging v)
    (= v (hold c x)) (unchanging x) => (unchanging v)
    """,
)  # fmt: skip

unchanging_list = new_fact(
    "unchanging_list", Args,
    meaning="every value of the list is unchanging",
    rules="""
    (= l (cons v (nil))) (unchanging v) => (unchanging_list l)
    (= l (cons v r)) (unchanging v) (unchanging_list r) => (unchanging_list l)
    """,
)  # fmt: skip

# What an inner loop computes has one shape at all its steps, and may have another when it runs again.
uniform = new_fact(
    "uniform", Value,
    meaning="v has the same shape at every step of all the loops that it is in",
    rules="""
    (unchanging v) => (uniform v)
    (= v (seq c X)) (uniform X) => (uniform v)
    (= v (hold c x)) (uniform x) => (uniform v)
    (= v (delay c i s k)) (uniform i) => (uniform v)
    (= 0 (ndim v)) => (uniform v)
    (= v (apply op l)) (fixed_shape op) (uniform_list l) => (uniform v)
    (= v (apply op (cons x r))) (shape_from_rest op) (uniform x) (unchanging_list r) => (uniform v)
    (= v (stack d w)) (uniform w) (runs_all d) (= n (steps d)) (unchanging n) => (uniform v)
    (= v (tail d w k)) (uniform w) (runs_all d) (= n (steps d)) (unchanging n) => (uniform v)
    (= v (at d w k)) (uniform w) => (uniform v)
    """,
)  # fmt: skip

uniform_list = new_fact(
    "uniform_list", Args,
    meaning="every value of the list has the same shape at every step of all loops",
    rules="""
    (= l (cons v (nil))) (uniform v) => (uniform_list l)
    (= l (cons v r)) (uniform v) (uniform_list r) => (uniform_list l)
    """,
)  # fmt: skip
