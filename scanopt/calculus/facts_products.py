"""Facts about products: chains of them; those that share an operand, their matrices side by side."""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Args, Clock, Op, Value

__all__ = ["beside", "chain"]

new_fact(
    "first_beside", Clock, Value, Value, Op,
    meaning="of the matrices that x is multiplied with in c the first; op reads columns of such a product (given)",
)  # fmt: skip
new_fact("next_beside", Clock, Value, Value, Value, meaning="of those matrices two that follow each other (given)")
new_fact("last_beside", Clock, Value, Value, meaning="of those matrices the last (given)")

new_fact(
    "side_by_side", Clock, Value, Value, Args,
    meaning="those matrices from W on, as a list",
    rules="""
    (last_beside c x W) => (side_by_side c x W (cons W (nil)))
    (next_beside c x V W) (side_by_side c x W l) => (side_by_side c x V (cons V l))
    """,
)  # fmt: skip

new_fact(
    "begins_at", Clock, Value, Value, Value,
    meaning="the first column of W among those of all of them",
    rules="""
    (first_beside c x W op) (level c p) => (begins_at c x W (const_at p "int64:0"))
    (next_beside c x V W) (begins_at c x V n) =>
        (begins_at c x W (apply (prim "add") (cons n (cons (apply (length 1) (cons V (nil))) (nil)))))
    """.replace("=>\n        ", "=> "),
)  # fmt: skip

beside = new_fact(
    "beside", Clock, Value, Value, Value, Value, Op,
    meaning="x is multiplied with W, and with other matrices that never change in c; C has all their columns, "
    "those of W from n on; op reads columns of a product",
    rules=r"""
    (first_beside c x V op) (side_by_side c x V l) (begins_at c x W n) =>
        (beside c x W (apply (prim "concatenate{\"axis\":1}") l) n op)
    """.replace("=>\n        ", "=> "),
)  # fmt: skip

_ALIKE = "(= d (dtype x)) (= d (dtype Y)) (= d (dtype z)) (= 2 (ndim Y))"

chain = new_fact(
    "chain", Value, Value, Value,
    meaning="x Y z is a product in one order or the other: of one dtype, Y a matrix, x and z matrices or vectors",
    rules=f"""
    (= u (apply_two (prim "dot") x Y)) (= v (apply_two (prim "dot") u z)) {_ALIKE} => (chain x Y z)
    (= u (apply_two (prim "dot") Y z)) (= v (apply_two (prim "dot") x u)) {_ALIKE} => (chain x Y z)
    """,
)  # fmt: skip
