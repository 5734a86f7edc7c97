"""Facts about what cannot raise: operators, and uses of them whose shapes are sure to fit."""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Args, Op, Value

__all__: list[str] = []

new_fact(
    "quiet", Op,
    meaning="op is safe, and the program computes all of its text: shapes that do not fit raise anyway (given, and "
    "kept by batching)",
    rules="(= g (vmap op f)) (quiet op) => (quiet g)",
)  # fmt: skip

new_fact(
    "fits", Value,
    meaning="the arguments of the operators that the program computes v with have shapes that fit, whatever its inputs "
    "are (given of programs with an ifelse)",
)  # fmt: skip

new_fact(
    "sure", Op, Args,
    meaning="op of l cannot raise",
    rules="""
    (= v (apply op l)) (quiet op) => (sure op l)
    (= v (apply op l)) (harmless v) => (sure op l)
    (= v (apply op l)) (safe op) (fits v) => (sure op l)
    (= v (apply op l)) (elementwise op) (= 0 (ndim v)) => (sure op l)
    (= v (apply op (cons x (nil)))) (elementwise op) => (sure op (cons x (nil)))
    """,
)  # fmt: skip

new_fact(
    "harmless", Value,
    meaning="the operators that the program computes v with may raise, and shapes show that they do not (given)",
)  # fmt: skip

new_fact(
    "elementwise", Op,
    meaning="op is safe and computes each entry of its result of entries of its arguments (given of programs with an "
    "ifelse)",
)  # fmt: skip
