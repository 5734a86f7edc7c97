"""Facts about values that a loop computes once forwards and once backwards, as the loop of a gradient does."""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Args, Clock, Value

__all__ = ["mirrors"]

_BACK = r'(prim "getitem{\"index\":[[\"slice\",null,null,-1]]}")'

new_fact(
    "read_late", Value, Value,
    meaning="Z, first rows of a state and then its trace, has at each step the row that the delay w reads (given)",
)  # fmt: skip

mirrors = new_fact(
    "mirrors", Clock, Value, Value,
    meaning="v at step t of c is w at step n-1-t, n being the steps of c, and of one shape at all steps",
    rules=f"""
    (= v (seq c R)) (= R (apply {_BACK} (cons X (nil)))) (= w (seq c X)) => (mirrors c v w)
    (= v (seq c R)) (= R (apply {_BACK} (cons X (nil)))) (= X (stack c w)) => (mirrors c v w)
    (= v (seq c R)) (= R (apply {_BACK} (cons Z (nil)))) (read_late Z w) (lies_on w c) => (mirrors c v w)
    (= v (apply op l)) (mirrors_all c l m) (= w (apply op m)) (regular w) => (mirrors c v w)
    """,
)  # fmt: skip

new_fact(
    "mirrors_all", Clock, Args, Args,
    meaning="the values of the first list mirror those of the second, or never change; not all never change",
    rules="""
    (= l (cons v (nil))) (mirrors c v w) (= m (cons w (nil))) => (mirrors_all c l m)
    (= l (cons v r)) (= v (hold c x)) (mirrors_all c r q) (= m (cons v q)) => (mirrors_all c l m)
    (= l (cons v r)) (mirrors c v w) (held c r o f) (= m (cons w r)) => (mirrors_all c l m)
    (= l (cons v r)) (mirrors c v w) (mirrors_all c r q) (= m (cons w q)) => (mirrors_all c l m)
    """,
)  # fmt: skip
