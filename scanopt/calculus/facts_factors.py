"""Facts that laws of factors of matrices ask for."""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Value

__all__ = ["cholesky_factor", "float64", "matrix"]

matrix = new_fact("matrix", Value, meaning="v has two axes", pattern="(= 2 (ndim {0}))")
float64 = new_fact("float64", Value, meaning="v is of dtype float64", pattern='(= "float64" (dtype {0}))')

cholesky_factor = new_fact(
    "cholesky_factor", Value,
    meaning="v is a Cholesky factor: of its diagonal nothing is zero",
    rules="""
    (= v (apply (prim "cholesky") l)) => (cholesky_factor v)
    (= v (hold c x)) (cholesky_factor x) => (cholesky_factor v)
    (= v (seq c X)) (cholesky_factor X) => (cholesky_factor v)
    """,
)  # fmt: skip
