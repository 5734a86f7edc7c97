"""Facts about sums over rows: what the rows of an array add up to without the rows being there.

Of products of rows it is one product that contracts the rows, too; of arrays that rows are added
to, it is that array with all of them added.
"""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Clock, Op, State, Text, Value

__all__ = ["adds_up", "adds_up_freely", "nothing", "sums_until"]

_SUM = r'(prim "sum{\"axis\":[0],\"keepdims\":false}")'
_FOLD = r'(prim "fold{\"ufunc\":\"add\"}")'
_ALONE = ("1", "10", "100", "1000", "10000")
"""Flags of an operator batched in its first argument."""


def _for_each_flag(rule: str) -> str:
    return "\n".join(rule.replace("FLAGS", f'"{f}"') for f in _ALONE)


def _lines(rules: str) -> str:
    """Rules whose later lines are indented by one step more."""
    return rules.replace("\n        ", " ")


new_fact(
    "contracts", Op, Text, Op,
    meaning="the sum of op(a, b) over pairs of rows, of two arrays with so many axes (any for \"\"), is g of the "
    "arrays (given)",
)  # fmt: skip
new_fact("additive", Op, meaning="op(x + y) = op(x) + op(y), bit for bit, with the rest of its arguments fixed (given)")
new_fact("termwise", Op, meaning="op(x + y, u + v) = op(x, u) + op(y, v), up to rounding (given)")
new_fact("bilinear", Op, meaning="op(x, y) is linear in x and in y (given)")
new_fact(
    "scatters", Op, Text, Op,
    meaning="g adds rows at many places where op adds one, or where op adds rows at many, at more; op takes so many "
    "indices (given)",
)  # fmt: skip
nothing = new_fact(
    "nothing", Value,
    meaning="every element of v is zero (given of constants)",
    rules="""
    (like X x e) (nothing e) => (nothing X)
    (= v (hold c x)) (nothing x) => (nothing v)
    """,
)  # fmt: skip

new_fact(
    "to_add_up", Value,
    meaning="the rows of X, of one dtype with their sum, are added up",
    rules=_lines(
        rf"""
    (= V (apply_two {_FOLD} I X)) (= d (dtype I)) (= d (dtype X)) => (to_add_up X)
    (= V (apply {_SUM} (cons X (nil)))) (= d (dtype V)) (= d (dtype X)) => (to_add_up X)
    (to_add_up V) (= V (apply_two (vmap op "11") X Y)) (termwise op) (= d (dtype X)) (= d (dtype Y))
        => (to_add_up X) (to_add_up Y)
    """
    )
    + _for_each_flag(
        "(to_add_up V) (= V (apply (vmap op FLAGS) (cons X r))) (additive op) (= d (dtype V)) (= d (dtype X))"
        " => (to_add_up X)"
    ),
)  # fmt: skip

# added: one of those sums, always the same.  Of a value that is a sum of itself (0 = 0 + 0) there are many without end.
adds_up = new_fact(
    "adds_up", Value, Value,
    meaning="S is the sum of the rows of X: the same products or the same rows, added in some order",
    rules=_lines(
        """
    (adds_up X S) => (set (added X) S)
    (to_add_up X) (= X (apply_two (vmap op "11") A B)) (contracts op k g)
        (= k (+ (to-string (ndim A)) (to-string (ndim B)))) => (adds_up X (apply g (cons A (cons B (nil)))))
    (to_add_up X) (= X (apply_two (vmap op "11") A B)) (contracts op "" g)
        => (adds_up X (apply g (cons A (cons B (nil)))))
    (to_add_up V) (= V (apply_two (vmap op "11") X Y)) (termwise op) (= S (added X)) (= T (added Y))
        => (adds_up V (apply op (cons S (cons T (nil)))))
    (to_add_up X) (= X (apply (vmap op "011") (cons z (cons Y (cons J (nil)))))) (nothing z) (scatters op "1" g)
        (= (+ (ndim Y) 1) (+ (ndim J) (ndim z))) => (adds_up X (apply g (cons z (cons Y (cons J (nil))))))
    (to_add_up X) (= X (apply (vmap op "0111") (cons z (cons Y (cons J (cons K (nil)))))))
        (nothing z) (scatters op "2" g) (= (+ (ndim Y) 2) (+ (ndim J) (ndim z))) (= (ndim J) (ndim K))
        => (adds_up X (apply g (cons z (cons Y (cons J (cons K (nil)))))))
    """
    )
    + _for_each_flag(
        "(= V (apply (vmap op FLAGS) (cons X r))) (additive op) (= S (added X)) => (adds_up V (apply op (cons S r)))"
    ),
)  # fmt: skip

sums_until = new_fact(
    "sums_until", Clock, State, Value,
    meaning="c may end early; x, near the spine of s and known without it, is one of those products",
    rules="(apart s x) (= x (apply_two op a b)) (contracts op k g) (until c u) => (sums_until c s x)",
)  # fmt: skip

adds_up_freely = new_fact(
    "adds_up_freely", Value, Value,
    meaning="S is the sum of the rows of X, with what they have in common taken out (infinities aside)",
    rules=_lines(
        f"""
    (to_add_up X) (= X (apply_two (vmap op "10") A b)) (bilinear op)
        => (adds_up_freely X (apply op (cons (apply {_SUM} (cons A (nil))) (cons b (nil)))))
    (to_add_up X) (= X (apply_two (vmap op "01") a B)) (bilinear op)
        => (adds_up_freely X (apply op (cons a (cons (apply {_SUM} (cons B (nil))) (nil)))))
    """
    ),
)  # fmt: skip
