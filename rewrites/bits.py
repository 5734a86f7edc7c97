"""Recurrences of bools and of the bits of integers.

Any combination of and, or, xor and not of a state bit with known bits keeps or clears that bit, and then may flip it:
(s & a) ^ x.  Such maps are closed under composition, so a prefix scan computes all steps.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Op, State, Text, Value, const_at, delay, ops, seq
from scanopt.facts.bits import boolean, minus_one, on_bools
from scanopt.facts.loops import lies_on
from scanopt.facts.recurrences import depends, entries, leads, spine
from scanopt.facts.states import becomes
from scanopt.facts.values import of_dtype


def _trace(step: Any, x: Any, start: Any) -> Any:
    """All values of the states, and of the other results of the step."""
    return scanopt.scan(step, x, start)[0]


def _small(v: Any) -> Any:
    return T.cast(v, "uint8")


@law(
    licence="exact",
    enabling=True,
    stepwise=True,
    example=lambda m: T.logical_or(m, m[::-1]),
    never=(lambda m: m & m[::-1], lambda p, m: T.logical_or(p, m), lambda p, m: T.logical_or(m, p)),
)
def bools_as_bits(op: Op, x: Value, y: Value, g: Op) -> Equation:
    """On bools, logical operators are bitwise operators."""
    return Equation(op(x, y), g(x, y), when=[on_bools(op, g), boolean(x), boolean(y)])


@law(
    licence="exact", enabling=True, stepwise=True, example=lambda m: T.logical_not(m), never=lambda p: T.logical_not(p)
)
def not_of_bools(x: Value) -> Equation:
    """On bools, logical not is bitwise not."""
    return Equation(ops.logical_not(x), ops.invert(x), when=[boolean(x)])


@law(
    licence="exact",
    enabling=True,
    stepwise=True,
    example=lambda m: T.eq(m, m[::-1]),
    never=(lambda p, m: T.eq(p, m), lambda p, m: T.eq(m, p)),
)
def equality_of_bools(x: Value, y: Value) -> Equation:
    """Bools are equal if their xor is false."""
    return Equation(ops.equal(x, y), ops.invert(ops.bitwise_xor(x, y)), when=[boolean(x), boolean(y)])


@law(
    licence="exact",
    enabling=True,
    example=lambda p, n: _trace(lambda v, s: ~(s & v), p, n),
    never=(
        lambda p, n: _trace(lambda v, s: [T.abs(s), ~(T.abs(s) + v)], p, [n, None])[1],
        lambda p, n: _trace(lambda v, s: s + ~_small(v), p, n),
    ),
)
def opposite_as_flip(c: Clock, s: State, y: Value, d: Text, k: Text, e: Value) -> Equation:
    """Bitwise not is xor with all ones."""
    left = ops.invert(y)
    when = [spine(s, left), of_dtype(left, d), minus_one(d, k, e), lies_on(y, c)]
    return Equation(left, ops.bitwise_xor(y, const_at(c, k)), when=when)


@law(
    licence="exact",
    enabling=True,
    example=lambda p, q, n: _trace(lambda v, w, s: (s & v) | w, [p, q], n),
    never=(
        lambda p, n: _trace(lambda v, s: [s ^ v, (s ^ v) | s], p, [n, None])[1],
        lambda p, n: _trace(lambda v, s: T.where(v > 0, s | _small(v), T.abs(s)), p, n),
    ),
)
def or_as_flip(y: Value, x: Value, d: Text) -> Equation:
    """Or clears the bits that it will set, then flips them: (y & ~x) ^ x."""
    left = ops.bitwise_or(y, x)
    right = ops.bitwise_xor(ops.bitwise_and(y, ops.invert(x)), x)
    return Equation(left, right, when=[leads(left, y, x), depends(y), of_dtype(left, d), of_dtype(x, d)])


@law(
    licence="exact",
    enabling=True,
    example=lambda p, q, n: _trace(lambda v, w, s: (s ^ v) & w, [p, q], n),
    never=(
        lambda p, q: (p ^ q) & p[::-1],
        lambda p, n: _trace(lambda v, s: [s ^ v, (s ^ v) & T.abs(s)], p, [n, None])[1],
        lambda p, n: _trace(lambda v, s: (s ^ T.abs(s)) & v, p, n),
    ),
)
def and_of_flip(y: Value, a: Value, x: Value) -> Equation:
    """And distributes over xor."""
    inner = ops.bitwise_xor(y, a)
    left = ops.bitwise_and(inner, x)
    right = ops.bitwise_xor(ops.bitwise_and(y, x), ops.bitwise_and(a, x))
    return Equation(left, right, when=[leads(left, inner, x), leads(inner, y, a), depends(y)])


@law(
    licence="exact",
    source="maps of one bit compose",
    example=(
        lambda p, q, n: _trace(lambda v, w, s: (s & v) ^ w, [p, q], n),
        lambda m, p: _trace(lambda v, w, s: (s & ~v) | (w > 1), [m, p], T.constant(False)),
    ),
    never=(
        lambda p, q, n: _trace(lambda v, w, s: (T.abs(s) & v) ^ w, [p, q], n),
        lambda p, n: _trace(lambda v, s, r: [T.abs(s), (s & v) ^ v], p, [n, n])[1],
    ),
)
def masked_flips(c: Clock, init: Value, s: State, a: Value, A: Value, x: Value, X: Value) -> Equation:
    """A state that becomes (s & a) ^ x is a prefix scan of such maps."""
    left = ops.bitwise_xor(ops.bitwise_and(delay(c, init, s, 1), a), x)
    right = seq(c, ops.masked_flips(init[-1:], A, X))
    return Equation(left, right, when=[becomes(s, left), entries(c, a, A), entries(c, x, X)])
