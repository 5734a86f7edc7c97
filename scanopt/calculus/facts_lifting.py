"""Loops inside a loop, for all steps of it at once: which may be, and what their values are then.

d is a loop inside c; lift(c, d) stands beside c.  Its values are those of d at all steps of c, along a new first axis;
what neither loop changes, and what both read alike, is not repeated for each step of c: it is *shared*.
"""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.terms import Args, Clock, Text, Value

__all__ = ["liftable"]

liftable = new_fact(
    "liftable", Clock, Clock,
    meaning="d is a loop inside c that runs as many steps at each step of c, and neither ends early",
    rules="(runs_all c) (runs_all d) (= (steps d) (hold c n)) => (liftable c d)",
)  # fmt: skip

new_fact(
    "differs", Value,
    hint=True,
    meaning="v, or a loop around it, reads a sequence or a state",
    rules="""
    (= v (seq c X)) => (differs v)
    (= v (delay c i s k)) => (differs v)
    (= v (hold c x)) (differs x) => (differs v)
    (= v (stack c w)) (differs w) => (differs v)
    (= v (tail c w k)) (differs w) => (differs v)
    (= v (apply op l)) (differing l) => (differs v)
    """,
)  # fmt: skip

new_fact(
    "differing", Args,
    hint=True,
    meaning="some value of the list differs",
    rules="""
    (= l (cons v r)) (differs v) => (differing l)
    (= l (cons v r)) (differing r) => (differing l)
    """,
)  # fmt: skip

new_fact(
    "to_lift", Clock, Clock, Args,
    hint=True,
    meaning="the values of the list, or of one that it is the rest of, are asked for at all steps of c",
    rules="""
    (= w (on (lifted c d) (apply op l))) => (to_lift c d l)
    (to_lift c d l) (= l (cons v r)) => (to_lift c d r)
    """,
)  # fmt: skip

new_fact(
    "shared", Clock, Clock, Value, Value,
    meaning="v of d is the same at all steps of c: y of lift(c, d)",
    rules="""
    (to_lift c d l) (= l (cons v r)) (= x (held_as d v)) (= y (held_as c x)) => (shared c d v (hold (lift c d) y))
    (to_lift c d l) (= l (cons v r)) (= v (seq d X)) (= Y (held_as c X)) => (shared c d v (seq (lift c d) Y))
    """,
)  # fmt: skip

new_fact(
    "shared_list", Clock, Clock, Args, Args,
    meaning="all values of the list l are shared: those of the second one",
    rules="""
    (to_lift c d l) (= l (nil)) => (shared_list c d l l)
    (to_lift c d l) (= l (cons v r)) (shared c d v y) (shared_list c d r o) => (shared_list c d l (cons y o))
    """,
)  # fmt: skip

new_fact(
    "next_to_lift", Clock, Clock, Args, Value, Args,
    meaning="the values of the list l, v and those of r, are asked for at all steps of c",
    rules="(to_lift c d l) (= l (cons v r)) => (next_to_lift c d l v r)",
)  # fmt: skip

_LANES = '(lifted_list c d l (cons (on (lifted c d) v) o) (+ "1" f))'
_NEXT = "(next_to_lift c d l v r)"

new_fact(
    "lifted_list", Clock, Clock, Args, Args, Text,
    meaning="the values of the list l, shared (flag 0) or at all steps of c (flag 1), at least one of these",
    rules=f"""
    {_NEXT} (differs v) (shared_list c d r o) (flags_of o f) => {_LANES}
    {_NEXT} (differs v) (lifted_list c d r o f) => {_LANES}
    {_NEXT} (shared c d v y) (lifted_list c d r o f) => (lifted_list c d l (cons y o) (+ "0" f))
    """,
)  # fmt: skip

new_fact(
    "flags_of", Args, Text,
    meaning="as many flags 0 as the shared list has values",
    rules="""
    (shared_list c d l o) (= o (nil)) => (flags_of o "")
    (shared_list c d l o) (= o (cons y p)) (flags_of p f) => (flags_of o (+ "0" f))
    """,
)  # fmt: skip

_BATCHED = "(batched op) (fixed_shape op) (safe op)"
_ROWS = '(apply (prim "swap_rows") (cons (stack c X) (nil)))'

new_fact(
    "moves_up", Clock, Clock,
    meaning="values of d are asked for at all steps of c",
    rules=f"""
    (= e (lift c d)) (level c p) => (moves_up c d) (level e p) (runs_all e)
    (= e (lift c d)) (= (steps d) (hold c n)) => (union (steps e) n)
    (= w (on m (hold d X))) (= m (lifted c d)) (regular X) => (union w (hold (lift c d) (stack c X)))
    (= w (on m (seq d X))) (= m (lifted c d)) (regular X) => (union w (seq (lift c d) {_ROWS}))
    (= w (on m (delay d X s k))) (= m (lifted c d)) (regular X) => (union w (delay (lift c d) {_ROWS} (moved m s) k))
    (= w (on (lifted c d) (apply op l))) (lifted_list c d l o f) {_BATCHED} => (union w (apply (vmap op f) o))
    (forward V) (= V (stack d v)) (= T (tail d v k)) => (forward T)
    (= K (apply (prim "swap_rows") (cons S (nil)))) (forward K) => (forward S)
    """,
)  # fmt: skip
