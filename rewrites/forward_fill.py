"""States that keep their value until a new one arrives (forward fill), and states that restart (segmented scans)."""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Op, State, Text, Value, delay, ops, seq, vmap
from scanopt.facts.recurrences import entries, segments
from scanopt.facts.states import becomes
from scanopt.facts.values import of_dtype


def _trace(step: Any, x: Any, start: Any) -> Any:
    """All values of the states, and of the other results of the step."""
    return scanopt.scan(step, x, start)[0]


@law(
    licence="exact",
    source="pandas ffill: an index by a cumulative maximum",
    example=lambda m, x, a: _trace(lambda b, v, s: T.where(b, v, s), [m, x], a),
    never=(
        lambda m, x, a: _trace(lambda b, v, s: T.where(b, v, T.tanh(s)), [m, x], a),
        lambda m, x, a: _trace(lambda b, v, s: [T.where(b, v, s) * 2.0, T.where(b, v, s)], [m, x], [a, None])[1],
    ),
)
def held_value(c: Clock, init: Value, s: State, m: Value, M: Value, x: Value, X: Value) -> Equation:
    """A state that becomes x where m holds, and keeps its value elsewhere, is a forward fill."""
    left = ops.where(m, x, delay(c, init, s, 1))
    right = seq(c, ops.forward_fill(init[-1:], M, X))
    return Equation(left, right, when=[becomes(s, left), entries(c, m, M), entries(c, x, X)])


@law(
    licence="exact",
    source="pandas ffill: an index by a cumulative maximum",
    example=lambda m, x, a: _trace(lambda b, v, s: T.where(b, s, v), [m, x], a),
    never=(
        lambda m, x, a: _trace(lambda b, v, s: T.where(b, T.tanh(s), v), [m, x], a),
        lambda m, x, a: _trace(lambda b, v, s: [T.where(b, s, v) * 2.0, T.where(b, s, v)], [m, x], [a, None])[1],
    ),
)
def value_held_where(c: Clock, init: Value, s: State, m: Value, M: Value, x: Value, X: Value) -> Equation:
    """A state that keeps its value where m holds, and becomes x elsewhere, is a forward fill."""
    left = ops.where(m, delay(c, init, s, 1), x)
    right = seq(c, ops.forward_fill(init[-1:], ops.logical_not(M), X))
    return Equation(left, right, when=[becomes(s, left), entries(c, m, M), entries(c, x, X)])


@law(
    licence="exact",
    source="segmented scans [Blelloch 1990]",
    example=lambda m, x, a: _trace(lambda b, v, s: T.where(b, v, s + v), [m, x], a),
    never=(
        lambda m, x, a: _trace(lambda b, v, s: T.where(b, v, T.tanh(s) + v), [m, x], a),
        lambda m, x, a: _trace(lambda b, v, s: [T.where(b, v, s + v) * 2.0, T.where(b, v, s + v)], [m, x], [a, None])[
            1
        ],
        lambda m, x, a: (
            _trace(lambda b, v, s: T.where(b, v, s / v), [m, T.cast(x, "complex64")], T.cast(a, "complex64")).real * x
        ),
    ),
)
def restarted_by_value(
    c: Clock, op: Op, init: Value, s: State, m: Value, M: Value, y: Value, Y: Value, x: Value, X: Value, d: Text, g: Op
) -> Equation:
    """A state that becomes y where m holds, and op(s, x) elsewhere, is a segmented scan."""
    left = ops.where(m, y, op(delay(c, init, s, 1), x))
    right = seq(c, g(init[-1:], M, Y, X))
    rows = [entries(c, m, M), entries(c, y, Y), entries(c, x, X)]
    return Equation(left, right, when=[becomes(s, left), of_dtype(left, d), segments(op, d, g), *rows])


@law(
    licence="exact",
    source="segmented scans [Blelloch 1990]",
    example=lambda m, x, a: _trace(lambda b, v, s: T.where(b, s + v, v), [m, x], a),
    never=(
        lambda m, x, a: _trace(lambda b, v, s: T.where(b, T.tanh(s) + v, v), [m, x], a),
        lambda m, x, a: _trace(lambda b, v, s: [T.where(b, s + v, v) * 2.0, T.where(b, s + v, v)], [m, x], [a, None])[
            1
        ],
        lambda m, x, a: (
            _trace(lambda b, v, s: T.where(b, s / v, v), [m, T.cast(x, "complex64")], T.cast(a, "complex64")).real * x
        ),
    ),
)
def continued_where(
    c: Clock, op: Op, init: Value, s: State, m: Value, M: Value, y: Value, Y: Value, x: Value, X: Value, d: Text, g: Op
) -> Equation:
    """A state that becomes op(s, x) where m holds, and y elsewhere, is a segmented scan."""
    left = ops.where(m, op(delay(c, init, s, 1), x), y)
    right = seq(c, g(init[-1:], ops.logical_not(M), Y, X))
    rows = [entries(c, m, M), entries(c, y, Y), entries(c, x, X)]
    return Equation(left, right, when=[becomes(s, left), of_dtype(left, d), segments(op, d, g), *rows])


@law(
    licence="exact",
    source="a sum with resets",
    example=lambda m, x, a: _trace(lambda b, v, s: T.where(b, 0.0, s) + v, [m, x], a),
    never=(
        lambda m, x, a: _trace(lambda b, v, s: T.where(b, 0.0, T.tanh(s)) + v, [m, x], a),
        lambda m, x, a: _trace(lambda b, v, s: [(T.where(b, v, s) + v) * 2.0, T.where(b, v, s) + v], [m, x], [a, None])[
            1
        ],
        lambda m, x, a: (
            _trace(lambda b, v, s: T.where(b, v, s) / v, [m, T.cast(x, "complex64")], T.cast(a, "complex64")).real * x
        ),
        lambda m, p, n: _trace(lambda b, v, s: T.where(b, T.cast(v, "int8"), s) + v, [m, p], n),
    ),
)
def restarted_before(
    c: Clock, op: Op, init: Value, s: State, m: Value, M: Value, z: Value, Z: Value, x: Value, X: Value, d: Text, g: Op
) -> Equation:
    """A state that becomes op(s, x), with z in place of s where m holds, is a segmented scan."""
    left = op(ops.where(m, z, delay(c, init, s, 1)), x)
    right = seq(c, g(init[-1:], M, vmap(op, "11")(Z, X), X))
    rows = [entries(c, m, M), entries(c, z, Z), entries(c, x, X)]
    when = [becomes(s, left), of_dtype(left, d), of_dtype(z, d), segments(op, d, g), *rows]
    return Equation(left, right, when=when)
