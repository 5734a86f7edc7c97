"""Facts about loops that end early and compute maps: what they are, a chunk of steps at once.

What a chunk computes beyond the last step is thrown away; it can neither raise nor be seen.
"""

from __future__ import annotations

from scanopt.calculus.condition import new_fact
from scanopt.calculus.declarations import FIRST_ROWS
from scanopt.calculus.terms import Args, Clock, Text, Value

__all__ = ["IN_CHUNKS", "SIZE", "chunked", "ends_in_chunks"]

SIZE = 1024
"""Steps of a chunk: as many as fit the cache, many enough that a step in Python costs little."""

IN_CHUNKS = f'in_chunks{{"size":{SIZE}}}'
_IN = f'(prim "in_chunks{{\\"size\\":{SIZE}}}")'
_NUMBER = f'(apply (prim "chunk_count{{\\"size\\":{SIZE}}}") (cons (steps c) (nil)))'
_ABLE = "(safe op) (batched op) (fixed_shape op)"
_LATE = (
    rf'(apply {FIRST_ROWS} (cons (apply (prim "concatenate{{\"axis\":0}}")'
    " (cons (apply (last_rows k) (cons i (nil))) (cons Y (nil)))) (cons (steps c) (nil))))"
)
"""The state k steps before, after rows of its init."""
_ANY = r'(prim "any{\"axis\":[0],\"keepdims\":false}")'

new_fact(
    "to_chunk", Clock, Value,
    hint=True,
    meaning="v, on a loop of the program that may end early, is asked for in chunks",
    rules="""
    (until c v) (= c (loop n)) => (to_chunk c v)
    (until c u) (= c (loop n)) (= V (stack c v)) => (to_chunk c v)
    (until c u) (= c (loop n)) (= V (tail c v k)) => (to_chunk c v)
    (to_chunk c v) (= v (apply op l)) (safe op) (fixed_shape op) => (to_chunk_all c l)
    (to_chunk_all c l) (= l (cons v r)) => (to_chunk c v)
    """,
)  # fmt: skip

new_fact(
    "to_chunk_all", Clock, Args,
    hint=True,
    meaning="all values of the list are asked for in chunks",
    rules="(to_chunk_all c l) (= l (cons v r)) => (to_chunk_all c r)",
)  # fmt: skip

chunked = new_fact(
    "chunked", Clock, Value, Value,
    meaning="w, on the chunks of c, has rows of v: sequences and safe operators of them alone",
    rules=f"""
    (to_chunk c v) (= v (seq c X)) => (rows_to_chunk c v X)
    (to_chunk c v) (= v (delay c i s k)) (defines s u) (= u (seq c Y)) => (rows_to_chunk c v {_LATE})
    (rows_to_chunk c v X) (chunked_on c e) (!= c e) => (chunked c v (seq e (apply {_IN} (cons X (nil)))))
    (to_chunk c v) (= v (apply op l)) {_ABLE} (chunked_all c l o f) => (chunked c v (apply (vmap op f) o))
    (chunked c v w) (chunked c v x) => (union w x)
    (chunked c v w) (= n (ndim v)) => (set (ndim w) (+ n 1))
    (chunked c v w) (= d (dtype v)) => (set (dtype w) d)
    """,
)  # fmt: skip

new_fact(
    "rows_to_chunk", Clock, Value, Value,
    meaning="the rows of X are what v is at each step of c, which is asked for in chunks",
)  # fmt: skip

new_fact(
    "chunked_on", Clock, Clock,
    meaning="the chunks of c are steps of e, which is c itself where a chunk is one step: chunks of chunks never end",
    rules=f"""
    (rows_to_chunk c v X) => (chunked_on c (chunks c))
    (chunked_on c e) (level c p) => (level e p) (union (steps e) {_NUMBER})
    """,
)  # fmt: skip

new_fact(
    "unchunked", Clock, Value, Value,
    meaning="w, on the chunks of c, is what v is at every step",
    rules="(to_chunk c v) (= v (hold c x)) (chunked_on c e) => (unchunked c v (hold e x))",
)  # fmt: skip

new_fact(
    "unchunked_all", Clock, Args, Args, Text,
    meaning="the second list has, on the chunks of c, what the values of the first are at every step",
    rules="""
    (unchunked c v w) (= l (cons v (nil))) => (unchunked_all c l (cons w (nil)) "0")
    (unchunked c v w) (= l (cons v r)) (unchunked_all c r o f) => (unchunked_all c l (cons w o) (+ "0" f))
    """,
)  # fmt: skip

new_fact(
    "chunked_all", Clock, Args, Args, Text,
    meaning="the second list has, on the chunks of c, what the first has; one of them at least has rows",
    rules="""
    (chunked c v w) (to_chunk_all c l) (= l (cons v (nil))) => (chunked_all c l (cons w (nil)) "1")
    (chunked c v w) (= l (cons v r)) (chunked_all c r o f) => (chunked_all c l (cons w o) (+ "1" f))
    (chunked c v w) (= l (cons v r)) (unchunked_all c r o f) => (chunked_all c l (cons w o) (+ "1" f))
    (unchunked c v w) (= l (cons v r)) (chunked_all c r o f) => (chunked_all c l (cons w o) (+ "0" f))
    """,
)  # fmt: skip

ends_in_chunks = new_fact(
    "ends_in_chunks", Clock, Value,
    meaning="c ends where a condition of sequences says so; w has the condition, in chunks",
    rules=f"""
    (until c u) (chunked c u w) => (ends_in_chunks c w)
    (ends_in_chunks c w) (chunked_on c e) => (until e (apply {_ANY} (cons w (nil))))
    """,
)  # fmt: skip
