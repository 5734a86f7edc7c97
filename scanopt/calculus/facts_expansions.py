"""Facts that write a batched operator as the operators of the table that it is made of.

An expansion is a list of steps.  Slots 0, 1 .. are the arguments, further ones the results of its steps; which
expansions there are is given by the operator table (see `given_expansions`).
"""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Args, Int, Op, Text, Value

__all__: list[str] = []

new_fact(
    "expands_one", Op, Text, Int, Int,
    meaning="op, batched by the flags, of an argument with n axes is expansion r (given)",
)  # fmt: skip
new_fact(
    "expands_two", Op, Text, Int, Int, Int,
    meaning="op, batched by the flags, of arguments with n and m axes is expansion r (given)",
)  # fmt: skip
new_fact(
    "expands_three", Op, Text, Int, Int, Int, Int,
    meaning="op, batched by the flags, of arguments with n, m and k axes is expansion r (given)",
)  # fmt: skip
new_fact("step_of_one", Int, Int, Op, Int, meaning="slot s of expansion r is op of slot a (given)")
new_fact("step_of_two", Int, Int, Op, Int, Int, meaning="slot s of expansion r is op of slots a and b (given)")
new_fact(
    "step_of_three", Int, Int, Op, Int, Int, Int, meaning="slot s of expansion r is op of slots a, b and e (given)"
)
new_fact("arranges", Int, Int, Int, Int, meaning="slot s of expansion r is slot a arranged anew, with n axes (given)")
new_fact("result_of", Int, Int, meaning="the last slot of expansion r is s (given)")

new_fact(
    "expanded", Op, Args,
    meaning="op of the list is known as what it is made of",
    rules="(expanding l r v op) (result_of r s) (= y (slot l r s)) => (expanded op l)",
)  # fmt: skip

_BATCHED = "(= g (vmap op f)) (= v (apply g l))"

new_fact(
    "expanding", Args, Int, Value, Op,
    meaning="v, which is op of the list, is expansion r of the list",
    rules=f"""
    {_BATCHED} (list_one l x) (= n (ndim x)) (expands_one op f n r) => (expanding l r v g) (set (slot l r 0) x)
    {_BATCHED} (list_two l x y) (= n (ndim x)) (= m (ndim y)) (expands_two op f n m r) =>
        (expanding l r v g) (set (slot l r 0) x) (set (slot l r 1) y)
    {_BATCHED} (list_three l x y z) (= n (ndim x)) (= m (ndim y)) (= k (ndim z)) (expands_three op f n m k r) =>
        (expanding l r v g) (set (slot l r 0) x) (set (slot l r 1) y) (set (slot l r 2) z)
    (expanding l r v g) (step_of_one r s op a) (= x (slot l r a)) => (set (slot l r s) (apply op (cons x (nil))))
    (expanding l r v g) (step_of_two r s op a b) (= x (slot l r a)) (= y (slot l r b)) =>
        (set (slot l r s) (apply op (cons x (cons y (nil)))))
    (expanding l r v g) (step_of_three r s op a b e) (= x (slot l r a)) (= y (slot l r b)) (= z (slot l r e)) =>
        (set (slot l r s) (apply op (cons x (cons y (cons z (nil))))))
    (expanding l r v g) (arranges r s a n) (= x (slot l r a)) (= d (dtype x)) (= y (slot l r s)) =>
        (set (dtype y) d) (set (ndim y) n)
    (expanding l r v g) (result_of r s) (= y (slot l r s)) => (union v y)
    """.replace("=>\n        ", "=> "),
)  # fmt: skip
