"""Facts about products: chains of them; those that share an operand, their matrices side by side."""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Args, Clock, Int, Op, Value

__all__ = ["beside", "chain"]

new_fact(
    "numbered_beside", Clock, Value, Value, Op, Int, Int,
    meaning="W is number k of group g, matrices that x is multiplied with in c; op reads columns of a product (given)",
)  # fmt: skip
new_fact("last_beside", Value, Int, Int, meaning="W is the last matrix of group g, number k (given)")

new_fact(
    "side_by_side", Int, Int, Args,
    meaning="the matrices of group g from number k on, as a list",
    rules="""
    (last_beside W g k) => (side_by_side g k (cons W (nil)))
    (numbered_beside c x W op g k) (side_by_side g (+ k 1) l) => (side_by_side g k (cons W l))
    """,
)  # fmt: skip

new_fact(
    "begins_at", Int, Int, Value,
    meaning="the first column of number k among those of all of group g",
    rules="""
    (numbered_beside c x W op g 0) (level c p) => (begins_at g 0 (const_at p "int64:0"))
    (numbered_beside c x V op g k) (begins_at g k n) =>
        (begins_at g (+ k 1) (apply (prim "add") (cons n (cons (apply (length 1) (cons V (nil))) (nil)))))
    """.replace("=>\n        ", "=> "),
)  # fmt: skip

beside = new_fact(
    "beside", Clock, Value, Value, Value, Value, Op,
    meaning="x is multiplied with W, and with other matrices that never change in c; C has all their columns, "
    "those of W from n on; op reads columns of a product",
    rules=r"""
    (numbered_beside c x W op g k) (side_by_side g 0 l) (begins_at g k n) =>
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
