"""Rules that are neither facts nor laws: types of new terms, the meaning of `on`, what batched operators are made of.

`on(m, v)` is v re-timed by m: one rule per form, so nothing else ever substitutes.  Loops inside
move along (`under`); what has no rule stays unknown, and a term that holds it is never chosen.
"""

from __future__ import annotations

import re

from scanopt.calculus.condition import rules_text
from scanopt.calculus.declarations import FIRST_ROWS
from scanopt.calculus.tables import quoted

__all__ = ["machinery_text"]

FLAT = """
(= l (cons x (nil))) => (list_one l x)
(= l (cons x r)) (list_one r y) => (list_two l x y)
(= l (cons x r)) (list_two r y z) => (list_three l x y z)
(= v (apply op l)) (list_one l x) => (set (apply_one op x) v)
(= v (apply op l)) (list_two l x y) => (set (apply_two op x y) v)
(= v (apply op l)) (list_three l x y z) => (set (apply_three op x y z) v)
(= v (hold c x)) => (set (held_as c v) x)
"""
"""Queries for operators of few arguments are written to look these up (see `condition.flat`).  held_as: one of the
values that v holds, always the same: where a value is an operator of itself (x = x[:n]) all of them would make new
ones without end."""

TYPING = """
(= v (seq c X)) (= d (dtype v)) => (set (dtype X) d)
(= v (seq c X)) (= d (dtype X)) => (set (dtype v) d)
(= v (seq c X)) (= n (ndim v)) => (set (ndim X) (+ n 1))
(= v (seq c X)) (= n (ndim X)) => (set (ndim v) (- n 1))
(= v (hold c x)) (= d (dtype v)) => (set (dtype x) d)
(= v (hold c x)) (= d (dtype x)) => (set (dtype v) d)
(= v (hold c x)) (= n (ndim v)) => (set (ndim x) n)
(= v (hold c x)) (= n (ndim x)) => (set (ndim v) n)
(= V (stack c v)) (= d (dtype v)) => (set (dtype V) d)
(= V (stack c v)) (= n (ndim v)) => (set (ndim V) (+ n 1))
(= V (tail c v k)) (= d (dtype v)) => (set (dtype V) d)
(= V (tail c v k)) (= n (ndim v)) => (set (ndim V) (+ n 1))
(= V (recent c v k)) (= d (dtype v)) => (set (dtype V) d)
(= V (recent c v k)) (= n (ndim v)) => (set (ndim V) (+ n 1))
(= v (hold c x)) (= k (int_value x)) => (set (int_value v) k)
(= v (const_at c k)) (= c (root)) => (union v (const k))
(= v (const_at c k)) (level c p) => (union v (hold c (const_at p k)))
(= w (on m v)) (= d (dtype v)) => (set (dtype w) d)
(= w (on m v)) (keeps_shapes m) (= n (ndim v)) => (set (ndim w) n)
(= w (on (lifted c d) v)) (= n (ndim v)) => (set (ndim w) (+ n 1))
"""
"""A class with two types stops egglog: the cheapest soundness alarm there is."""

IDLE = """
(no_steps c) (= v (hold c x)) => (subsume (hold c x))
(no_steps c) (= v (seq c X)) => (subsume (seq c X))
(no_steps c) (= v (delay c i s k)) => (subsume (delay c i s k))
"""
"""In a loop that takes no step all values are equal, 0 and 1 too: what it reads is out of reach of laws."""

_COUNT = '(const_at p (+ "int64:" (to-string n)))'
_FIRST = f"(apply {FIRST_ROWS} (cons X (cons n (nil))))"
_FEWER = f'(apply (prim "minimum") (cons (steps c) (cons {_COUNT} (nil))))'
_FIRST_AXIS = quoted('expand_dims{"axis":[0]}')
_ONE_ROW = f"(apply (prim {_FIRST_AXIS}) (cons (on (only m d) v) (nil)))"

RETIMING = """
(= d (cut c n)) (level c p) => (union d (upto c FEWER)) (union (to_cut c n) (to_upto c FEWER)) (set (int_value COUNT) n)
(= d (cut c n)) (= e (cut d k)) (>= k n) => (union e d)
(= d (upto c n)) (level c p) => (level d p) (union (steps d) n)
(= d (upto c n)) (= n (steps c)) => (union d c)
(= v (on m (hold c x))) (= m (to_upto c n)) => (union v (hold (upto c n) x))
(= v (on m (seq c X))) (= m (to_upto c n)) (= d (upto c n)) (!= c d) => (union v (seq d FIRST))
(= v (on m (delay c i s k))) (= m (to_upto c n)) (= d (upto c n)) (!= c d) => (union v (delay d i (moved m s) k))
(= w (on m v)) (= m (to_upto c n)) (= c (upto c n)) => (union w v)
(= v (on m (hold c x))) (= m (to_step c t)) => (union v x)
(= v (on m (seq c X))) (= m (to_step c t)) => (union v (apply (item t) (cons X (nil))))
(= v (on m (delay c i s k))) (= m (to_step c t)) (< t k) => (union v (apply (item (- t k)) (cons i (nil))))
(= v (on m (delay c i s k))) (= m (to_step c t)) (>= t k) (defines s w) => (union v (on (to_step c (- t k)) w))
(= w (on m (hold d x))) (= m (only n d)) => (union w (on n x))
(= w (on m (seq d X))) (= m (only n d)) => (union w (apply (item 0) (cons (on n X) (nil))))
(= w (on m (delay d i s k))) (= m (only n d)) => (union w (apply (item (- 0 k)) (cons (on n i) (nil))))
(= m (only n d)) => (keeps_shapes m)
(= m (to_step c t)) (level c p) => (way_out m c p)
(= m (only n d)) (way_out n c p) => (way_out m d p)
(= m (to_upto c n)) => (keeps_shapes m)
(= m (to_step c t)) => (keeps_shapes m)
(= v (on m (apply op l))) (keeps_shapes m) => (union v (apply op (on_args m l)))
(= o (on_args m (cons v r))) => (union o (cons (on m v) (on_args m r)))
(= o (on_args m (nil))) => (union o (nil))
(= s (moved m r)) (defines r v) => (defines s (on m v))
(= w (on (to_upto c n) (stack d v))) (level d c) (= e (upto c n)) (!= c e) => (level (under (to_upto c n) d) e)
(= w (on (to_upto c n) (tail d v k))) (level d c) (= e (upto c n)) (!= c e) => (level (under (to_upto c n) d) e)
(= w (on m (stack d v))) (way_out m c p) (level d c) (copied d) => (level (under m d) p)
(= w (on m (tail d v k))) (way_out m c p) (level d c) (copied d) => (level (under m d) p)
(= w (on m (stack d v))) (way_out m c p) (level d c) (fleeting d) => (union w ONE_ROW)
(= w (on m (tail d v k))) (way_out m c p) (level d c) (fleeting d) => (union w ONE_ROW)
(= e (under (to_upto c n) d)) (= c (upto c n)) => (union e d)
(= w (on m (stack d v))) (= e (under m d2)) (level d d2) (copied d) => (level (under m d) e)
(= w (on m (tail d v k))) (= e (under m d2)) (level d d2) (copied d) => (level (under m d) e)
(= e (under m d)) => (union (steps e) (on m (steps d)))
(= e (under m d)) (until d v) => (until e (on m v))
(= d (upto c n)) (until c v) => (until d (on (to_upto c n) v))
(= w (on m (stack d v))) (= e (under m d)) => (union w (stack e (on m v)))
(= w (on m (tail d v k))) (= e (under m d)) => (union w (tail e (on m v) k))
(= w (on m (recent d v n))) (= e (under m d)) => (union w (recent e (on m v) (on m n)))
(= w (on m (hold d x))) (= e (under m d)) => (union w (hold e (on m x)))
(= w (on m (seq d X))) (= e (under m d)) => (union w (seq e (on m X)))
(= w (on m (delay d i s k))) (= e (under m d)) (!= d e) => (union w (delay e (on m i) (moved m s) k))
"""
"""c: the clock that m starts from, t: the step that it leads to; d, e: loops inside it; FEWER: min(steps(c), n);
FIRST: the rows of X that so many steps read. A cut that takes nothing away leaves every value as it is (c and d are
one clock then): without that case values of c would be re-timed to c again and again. A loop of one step does not move
along but goes: only(m, d) is the only step of d, at the step of c that m leads to (way_out m c p: p is around c), and
ONE_ROW the trace of d."""


_BATCHED = "(= g (vmap op f)) (= v (apply g l))"

EXPANDING = f"""
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
(expanding l r v g) (result_of r s) (= y (slot l r s)) => (union v y) (expanded g l)
""".replace("=>\n    ", "=> ")
"""Batched operators as the operators of the table that they are made of: v is g of l, and expansion r of it."""


def machinery_text() -> str:
    """Typing, re-timing and expanding rules, for egglog."""
    names = {"FIRST": _FIRST, "FEWER": _FEWER, "COUNT": _COUNT, "ONE_ROW": _ONE_ROW}
    retiming = re.sub("|".join(names), lambda found: names[found[0]], RETIMING)
    texts = [
        rules_text("flat", FLAT, as_written=True),
        rules_text("typing", TYPING),
        rules_text("idle", IDLE),
        rules_text("on", retiming),
        rules_text("expanding", EXPANDING),
    ]
    return "\n".join(texts)
