"""Choices between updates of a state: the operand is chosen, not the result."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Op, Text, Value, const_at, ops
from scanopt.facts.bits import picks, picks_other, unit
from scanopt.facts.loops import lies_on
from scanopt.facts.recurrences import accumulates, leads
from scanopt.facts.values import integer, of_dtype


def _trace(step: Any, x: Any, start: Any, *more: Any, n: Any = None) -> Any:
    """All values of the states, and of the other results of the step."""
    return scanopt.scan(step, x, start, list(more), n_steps=n)[0]


def _small(v: Any) -> Any:
    return T.cast(v, "int8")


def _complex(v: Any) -> Any:
    return T.cast(v, "complex64")


@law(
    licence="exact",
    enabling=True,
    example=lambda m, p, n: _trace(lambda b, v, s: T.where(b, s + v, s - v), [m, p], n),
    never=(
        lambda m, p, q: T.where(m, p + q, p + q[::-1]),
        lambda m, p, n: _trace(lambda b, v, s: T.where(b, s + v, s + T.abs(s)), [m, p], n),
        lambda m, p, n: _trace(lambda b, v, s: T.where(b, s + T.abs(s), s + v), [m, p], n),
        lambda m, x, a: _trace(lambda b, v, s: T.where(b, T.arctan2(s, v), T.arctan2(s, v * v)), [m, x], a),
        lambda m, x, p: _trace(
            lambda b, v, w, s: T.where(b, s + T.cast(v, "int16"), s + T.cast(w, "uint16")),
            [m, p, p],
            T.constant(0.0, dtype="float32"),
        ),
        lambda m, x, a: _trace(lambda b, v, s: T.where(b, s / v, s / (v * v)), [m, _complex(x)], _complex(a)).real * x,
    ),
)
def chosen_operand(op: Op, m: Value, y: Value, x: Value, z: Value, d: Text, e: Text, g: Op) -> Equation:
    """where(m, op(y, x), op(y, z)) = op(y, where(m, x, z)), where y leads to the state."""
    one, other = op(y, x), op(y, z)
    left = ops.where(m, one, other)
    when = [leads(one, y, x), leads(other, y, z), of_dtype(left, d), accumulates(op, d, g)]
    return Equation(left, op(y, ops.where(m, x, z)), when=[*when, of_dtype(x, e), of_dtype(z, e)])


@law(
    licence="exact",
    enabling=True,
    source="events are counted by adding bools",
    example=lambda m, p, n: _trace(lambda b, v, s: T.where(b, s + v, s), [m, p], n),
    never=(
        lambda m, p, q, n: [_trace(lambda v, s: T.abs(s) + v, p, n), T.where(m, p + q, p)],
        lambda m, x, a, n: (
            _trace(lambda b, v, s, i: [T.where(b, s + v, s), i + 1], [m, _complex(x)], [_complex(a), n])[0].real
        ),
        lambda m, x, a: _trace(lambda b, v, s: T.where(b, T.arctan2(s, v), s), [m, x], a),
    ),
)
def chosen_or_not(c: Clock, op: Op, m: Value, y: Value, x: Value, d: Text, k: Text, e: Value) -> Equation:
    """A conditional update is an update by the neutral element where the condition is false."""
    one = op(y, x)
    left = ops.where(m, one, y)
    when = [leads(one, y, x), of_dtype(left, d), unit(op, d, k, e), lies_on(left, c)]
    return Equation(left, op(y, ops.where(m, x, const_at(c, k))), when=when)


@law(
    licence="exact",
    enabling=True,
    example=lambda m, p, n: _trace(lambda b, v, s: T.where(b, s, s + v), [m, p], n),
    never=(
        lambda m, p, q, n: [_trace(lambda v, s: T.abs(s) + v, p, n), T.where(m, p, p + q)],
        lambda m, x, a, n: (
            _trace(lambda b, v, s, i: [T.where(b, s, s + v), i + 1], [m, _complex(x)], [_complex(a), n])[0].real
        ),
        lambda m, x, a: _trace(lambda b, v, s: T.where(b, s, T.arctan2(s, v)), [m, x], a),
    ),
)
def left_or_not(c: Clock, op: Op, m: Value, y: Value, x: Value, d: Text, k: Text, e: Value) -> Equation:
    """A conditional update is an update by the neutral element where the condition is true."""
    one = op(y, x)
    left = ops.where(m, y, one)
    when = [leads(one, y, x), of_dtype(left, d), unit(op, d, k, e), lies_on(left, c)]
    return Equation(left, op(y, ops.where(m, const_at(c, k), x)), when=when)


@law(
    licence="exact",
    stepwise=True,
    example=lambda p, q: T.where(p < q, p, q),
    never=(
        lambda p, q: T.where(T.eq(p, q), p, q),
        lambda x, y: T.where(x < y, x, y),
        lambda p, q: T.where(p < _small(q), p, _small(q)),
        lambda p, q: T.where(_small(p) < q, _small(p), q),
    ),
)
def smaller_or_larger(op: Op, x: Value, y: Value, g: Op, d: Text) -> Equation:
    """Choosing the smaller or larger of two integers by comparing them is minimum or maximum."""
    left = ops.where(op(x, y), x, y)
    return Equation(left, g(x, y), when=[picks(op, g), integer(left), of_dtype(x, d), of_dtype(y, d)])


@law(
    licence="exact",
    stepwise=True,
    example=lambda p, q: T.where(p < q, q, p),
    never=(
        lambda p, q: T.where(T.eq(p, q), q, p),
        lambda x, y: T.where(x < y, y, x),
        lambda p, q: T.where(p < _small(q), _small(q), p),
        lambda p, q: T.where(_small(p) < q, q, _small(p)),
    ),
)
def larger_or_smaller(op: Op, x: Value, y: Value, g: Op, d: Text) -> Equation:
    """Choosing the larger or smaller of two integers by comparing them is maximum or minimum."""
    left = ops.where(op(x, y), y, x)
    return Equation(left, g(x, y), when=[picks_other(op, g), integer(left), of_dtype(x, d), of_dtype(y, d)])
