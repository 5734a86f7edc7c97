"""Facts about recurrences: what a state becomes by operators of which all else is known without it.

Loops are taken apart here: a recurrence is recognized by the cycle that its state lies on, and what
feeds it from outside the cycle is a sequence, whatever else the loop computes.
"""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Args, Clock, Op, State, Text, Value

__all__ = [
    "accumulates", "entries", "floating", "folds", "folds_in_order", "int64", "leads", "regroups", "segments",
    "spine", "swaps", "vector",
]  # fmt: skip

cycle = new_fact(
    "cycle", State, Text,
    meaning="the state s goes round in the cycle k of the program (given)",
)  # fmt: skip

outside = new_fact(
    "outside", Text, Value,
    meaning="v feeds the cycle k and is no part of it (given)",
)  # fmt: skip

spine = new_fact(
    "spine", State, Value,
    meaning="v is what s becomes, or leads there by operators whose other arguments are known without s",
    rules="""
    (defines s v) => (spine s v)
    (spine s v) (= v (apply_two op x y)) (apart s x) => (spine s y)
    (spine s v) (= v (apply_two op x y)) (apart s y) => (spine s x)
    (spine s v) (= v (apply_two (prim "add") x y)) => (spine s x) (spine s y)
    (spine s v) (= v (apply (prim "where") (cons m (cons x (cons y (nil)))))) (apart s m) => (spine s x) (spine s y)
    (spine s v) (= v (apply (prim "clip") (cons x (cons l (cons h (nil)))))) (apart s l) (apart s h) => (spine s x)
    (spine s v) (= v (apply_one (prim "negative") x)) => (spine s x)
    (spine s v) (= v (apply_one (prim "invert") x)) => (spine s x)
    """,
)  # fmt: skip

near = new_fact(
    "near", State, Value,
    meaning="v is an argument of an operator on the spine of s",
    rules="""
    (spine s v) (= v (apply_two op x y)) => (near s x) (near s y)
    (spine s v) (= v (apply (prim "where") (cons m (cons x (cons y (nil)))))) => (near s m) (near s x) (near s y)
    (spine s v) (= v (apply (prim "clip") (cons x (cons l (cons h (nil)))))) => (near s l) (near s h)
    """,
)  # fmt: skip

apart = new_fact(
    "apart", State, Value,
    meaning="v, near the spine of s, is known without s",
    rules="""
    (near s v) (= v (hold c x)) => (apart s v)
    (near s v) (= v (seq c X)) (before c X) => (apart s v)
    (near s v) (cycle s k) (outside k v) => (apart s v)
    (near s v) (= v (apply_two op x y)) (apart s x) (apart s y) => (apart s v)
    """,
)  # fmt: skip

leads = new_fact(
    "leads", Value, Value, Value,
    meaning="v, on the spine of a state, is an operator of y, further down it, and of x, known without the state",
    rules="""
    (spine s v) (= v (apply_two op y x)) (apart s x) => (leads v y x)
    (spine s v) (= v (apply_two op x y)) (apart s x) => (leads v y x)
    """,
)  # fmt: skip

kept = new_fact(
    "kept", Clock, State,
    meaning="rows of what s becomes are kept of the loop c",
    rules="""
    (defines s v) (= V (stack c v)) => (kept c s)
    (defines s v) (= V (tail c v k)) => (kept c s)
    """,
)  # fmt: skip

_NUMBERS = r"""(apply (prim "arange{\"dtype\":\"int64\"}")
    (cons (const_at p "int64:0") (cons (steps c) (cons (const_at p "int64:1") (nil)))))""".replace("\n    ", " ")

_REPEATED = '(apply (prim "repeat_rows") (cons y (cons (steps c) (nil))))'

entries = new_fact(
    "entries", Clock, Value, Value,
    meaning="x, which feeds a recurrence of c, is the row of X at every step, and X is known without it",
    rules=f"""
    (apart s x) (= x (seq c X)) (before c X) => (entries c x X)
    (apart s x) (= x (hold c y)) (runs_all c) => (entries c x {_REPEATED})
    (apart s x) (runs_all c) (kept c s) => (entries c x (stack c x))
    (entries c x X) (= X (apply (prim "repeat_rows") (cons y (cons n (nil))))) => (before c X)
    (= X {_NUMBERS}) => (before c X) (set (dtype X) "int64") (set (ndim X) 1)
    """,
)  # fmt: skip

recurrent = new_fact(
    "recurrent", Op,
    meaning="op makes rows for all steps of rows for all steps (given)",
)  # fmt: skip

first_rows = new_fact(
    "first_rows", Clock, Args,
    meaning="the list begins with rows of an init, or is the rest of such a list, and all of it is known before c",
    rules="""
    (= v (seq c Y)) (= Y (apply op l)) (recurrent op) (runs_all c) => (to_know c l)
    (to_know c l) (= l (cons x r)) => (to_know c r)
    (to_know c l) (= l (nil)) => (first_rows c l)
    (to_know c l) (= l (cons x r)) (before c x) (first_rows c r) => (first_rows c l)
    (= Y (apply op (cons i r))) (recurrent op) (first_rows c r) => (before c Y)
    (entries c x X) (= x (hold c y)) => (before c y)
    """,
)  # fmt: skip

to_know = new_fact(
    "to_know", Clock, Args,
    hint=True,
    meaning="a closed form of c has the list as arguments, or as the rest of them",
)  # fmt: skip

accumulates = new_fact(
    "accumulates", Op, Text, Op,
    meaning="g makes all steps of op at once, bit for bit, for states of dtype d (tried on NumPy, given)",
)  # fmt: skip

folds = new_fact(
    "folds", Op, Text, Op,
    meaning="g makes the last step of op at once for states of dtype d, as far as the licence allows (given)",
)  # fmt: skip

folds_in_order = new_fact(
    "folds_in_order", Op, Text, Op,
    meaning="g makes the last step of op at once, bit for bit, for states of dtype d (given)",
)  # fmt: skip

segments = new_fact(
    "segments", Op, Text, Op,
    meaning="g makes all steps of op at once, bit for bit, with states of dtype d that start anew (tried, given)",
)  # fmt: skip

swaps = new_fact(
    "swaps", Op, Text,
    meaning="op(x, y) = op(y, x) for results of dtype d, as far as the licence allows (trait)",
)  # fmt: skip

regroups = new_fact(
    "regroups", Op, Text,
    meaning="op(op(x, y), z) = op(x, op(y, z)), of dtype d as x, y, z are, as far as the licence allows (trait)",
    rules="""
    (regroups op d) (= v (apply_two op x y)) (= d (dtype x)) (= d (dtype y)) => (set (dtype v) d)
    (regroups op d) (= v (apply_two op x y)) (= n (ndim x)) (= m (ndim y)) => (set (ndim v) (max n m))
    """,
)  # fmt: skip

like_argument = new_fact(
    "like_argument", Op, Text,
    meaning="the result of op has dtype and number of axes of its argument, if that is of dtype d (given)",
    rules="""
    (like_argument op d) (= v (apply op (cons x (nil)))) (= d (dtype x)) => (set (dtype v) d)
    (like_argument op d) (= v (apply op (cons x (nil)))) (= n (ndim x)) => (set (ndim v) n)
    """,
)  # fmt: skip

_FLOATS = ("float32", "float64")

floating = new_fact(
    "floating", Value,
    meaning="v is of dtype float32 or float64",
    rules="\n".join(f'(= "{d}" (dtype v)) => (floating v)' for d in _FLOATS),
)  # fmt: skip

vector = new_fact("vector", Value, meaning="v has one axis", pattern="(= 1 (ndim {0}))")
int64 = new_fact("int64", Value, meaning="v is of dtype int64", pattern='(= "int64" (dtype {0}))')
