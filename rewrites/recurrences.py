"""Normal form of recurrences, so that a law of a closed form matches one form only: the state first, then its input.

These laws fire only on the spine of a state: the operators that lead from the state to its update, whose other
arguments do not depend on the state.  Sums and products elsewhere stay as they are.
"""

from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Op, State, Text, Value, const_at, delay
from scanopt.facts.bits import minus_one
from scanopt.facts.lists import held_constant
from scanopt.facts.loops import lies_on
from scanopt.facts.recurrences import changing, leads, nearest, regroups, spine, swaps, takes_part
from scanopt.facts.states import becomes
from scanopt.facts.values import floating, integer, of_dtype

_TWO = T.constant(2.0, dtype="float64")
_FIVE = T.constant(5, dtype="int64")
_SMALL_FIVE = T.constant(5, dtype="int8")


def _trace(step: Any, x: Any, start: Any) -> Any:
    """All values of the states, and of the other results of the step."""
    return scanopt.scan(step, x, start)[0]


def _two(y: Any) -> Any:
    """A state with two taps."""
    return dict(initial=y[:2], taps=[-2, -1])


def _complex(x: Any) -> Any:
    return T.cast(x, "complex64")


@law(
    licence="exact",
    enabling=True,
    example=lambda x, a: _trace(lambda v, s: v + s * 0.5, x, a),
    never=(
        lambda x, a: _trace(lambda v, s: T.arctan2(v, s * 0.5), x, a),
        lambda x, y, a: [x * y, _trace(lambda v, s: T.tanh(s) + T.exp(s) * v, x, a)],
        lambda x, y, a: [T.maximum(x, y), _trace(lambda v, s: T.maximum(v, s), _complex(x), _complex(a)).real],
    ),
)
def state_first(op: Op, x: Value, y: Value, d: Text) -> Equation:
    """The argument that leads to the state comes first."""
    left = op(x, y)
    return Equation(left, op(y, x), when=[leads(left, y, x), swaps(op, d), of_dtype(left, d)])


@law(
    licence="exact",
    enabling=True,
    example=lambda x, a: _trace(lambda v, s: (v - s) * 0.5 + s, x, a),
    never=(
        lambda x, a: _trace(lambda v, s: [T.tanh(s), T.exp(v) + s], x, [a, None]),
        lambda x, a: _trace(lambda v, s: T.exp(s) / s, x, a),
        lambda x, y, a: [T.maximum(x, y), _trace(lambda v, s: T.maximum(T.exp(s), s), _complex(x), _complex(a)).real],
    ),
)
def state_itself_first(c: Clock, op: Op, x: Value, init: Value, s: State, d: Text) -> Equation:
    """The state of the step before comes first, whatever the other argument is."""
    y = delay(c, init, s, 1)
    left = op(x, y)
    return Equation(left, op(y, x), when=[becomes(s, left), swaps(op, d), of_dtype(left, d)])


@law(
    licence="exact",
    enabling=True,
    example=lambda x, a: _trace(lambda v, s: (s + v) + T.exp(v), x, a),
    never=(
        lambda x, a: _trace(lambda v, s: T.arctan2(T.arctan2(s, v), T.exp(v)), x, a),
        lambda x, y: (x + y) + 1.0,
        lambda x, a: _trace(lambda v, s: [s + v, (s + v) + T.exp(v)], x, [a, None]),
        lambda x, a: _trace(lambda v, s: (T.tanh(s) + T.exp(s)) + v, x, a),
        lambda x, a: _trace(lambda v, s: (s + s * v) + T.exp(v), x, a),
        lambda p, n: _trace(lambda v, s: (s + T.cast(v, "int8")) + T.cast(v * v, "int8"), p, n),
        lambda p, n: _trace(lambda v, s: (s + T.cast(v, "int8")) + v, p, n),
        lambda p, n: _trace(lambda v, s: (s + v) + T.cast(v, "int8"), p, n),
    ),
)
def regrouped(op: Op, y: Value, x: Value, z: Value, d: Text) -> Equation:
    """Arguments that do not depend on the state are combined first: op(op(y, x), z) = op(y, op(x, z))."""
    inner = op(y, x)
    left = op(inner, z)
    spread = [leads(left, inner, z), leads(inner, y, x), nearest(inner, y)]
    when = [*spread, regroups(op, d), of_dtype(y, d), of_dtype(x, d), of_dtype(z, d)]
    return Equation(left, op(y, op(x, z)), when=when)


@law(
    licence="exact",
    enabling=True,
    example=lambda x, a: _trace(lambda v, s: ((v + 3.0) + s) + 2.0, x, a),
    never=(
        lambda x, a: _trace(lambda v, s: [T.tanh(s), (s + 3.0) + 2.0 + v], x, [a, None]),
        lambda x, a: _trace(lambda v, s: ((T.exp(v) + v) + 2.0) + s, x, a),
        lambda x, a: _trace(lambda v, s: ((v + 2.0) + T.exp(v)) + s, x, a),
        lambda x, a: _trace(lambda v, s: ((_TWO + 3.0) + 5.0) + s, x, a),
        lambda x, a: _trace(lambda v, s: T.arctan2(T.arctan2(v, _TWO), _TWO) + s, x, a),
        lambda p, n: _trace(lambda v, s: ((T.cast(v, "int8") + _FIVE) + _FIVE) + s, p, n),
        lambda p, n: _trace(lambda v, s: ((v + _SMALL_FIVE) + _FIVE) + s, p, n),
        lambda p, n: _trace(lambda v, s: ((v + _FIVE) + _SMALL_FIVE) + s, p, n),
    ),
)
def constants_regrouped(op: Op, y: Value, x: Value, z: Value, d: Text) -> Equation:
    """Constants are combined, where the state comes in later: op(op(y, x), z) = op(y, op(x, z))."""
    inner = op(y, x)
    left = op(inner, z)
    constant = [held_constant(x), held_constant(z), changing(y)]
    when = [leads(left, inner, z), *constant, regroups(op, d), of_dtype(y, d), of_dtype(x, d), of_dtype(z, d)]
    return Equation(left, op(y, op(x, z)), when=when)


@law(
    licence="exact",
    enabling=True,
    example=lambda x, a: _trace(lambda v, s: s - T.exp(v), x, a),
    never=(
        lambda x, y: x - y,
        lambda x, a: _trace(lambda v, s: T.tanh(s) - T.exp(s), x, a),
        lambda p, n: _trace(lambda v, s: s - T.cast(v, "int8"), p, n),
    ),
)
def subtracted(y: Value, x: Value, d: Text) -> Equation:
    """y - x = y + -x."""
    left = y - x
    right = y + -x
    return Equation(left, right, when=[leads(left, y, x), of_dtype(left, d), of_dtype(x, d)])


@law(
    licence="exact",
    enabling=True,
    example=lambda x, a: _trace(lambda v, s: v - 0.5 * s, x, a),
    never=(
        lambda x, y: x - y * 2.0,
        lambda x, a: _trace(lambda v, s: [s * 0.5 + v, v - s * 0.5], x, [a, None]),
        lambda x, a: _trace(lambda v, s: v - T.tanh(s) * T.exp(s), x, a),
        lambda p, n: _trace(lambda v, s: v - s * T.cast(v, "int8"), p, n),
        lambda p: _trace(lambda v, s: T.cast(v - s * T.cast(v, "int8"), "int8"), p, T.constant(1)),
    ),
)
def product_taken_away(x: Value, y: Value, a: Value, d: Text) -> Equation:
    """x - y·a = y·(-a) + x."""
    product = y * a
    left = x - product
    right = y * -a + x
    when = [leads(left, product, x), leads(product, y, a), of_dtype(left, d), of_dtype(a, d)]
    return Equation(left, right, when=when)


@law(
    licence="exact",
    enabling=True,
    example=lambda x, a: _trace(lambda v, s: v - s, x, a),
    never=(
        lambda x, y, a: [x - y, _trace(lambda v, s: T.tanh(s) + v, x, a)],
        lambda x, a, n: _trace(lambda v, s, i: [v - s, i + 1], _complex(x), [_complex(a), n])[0].real,
    ),
)
def taken_from(c: Clock, x: Value, y: Value, d: Text, k: Text, e: Value) -> Equation:
    """x - y = y·(-1) + x, where y leads to the state."""
    left = x - y
    right = y * const_at(c, k) + x
    return Equation(left, right, when=[leads(left, y, x), of_dtype(left, d), minus_one(d, k, e), lies_on(left, c)])


@law(
    licence="exact",
    enabling=True,
    example=lambda n: _trace(lambda v, s: -s, T.arange(5), n),
    never=(
        lambda x, a: _trace(lambda v, s: [T.tanh(s), -T.tanh(s) * v], x, [a, None])[1],
        lambda x, a, n: _trace(lambda v, s, i: [-s * v, i + 1], _complex(x), [_complex(a), n])[0].real,
    ),
)
def opposite_as_product(c: Clock, s: State, y: Value, d: Text, k: Text, e: Value) -> Equation:
    """-y = y·(-1)."""
    left = -y
    when = [spine(s, left), of_dtype(left, d), minus_one(d, k, e), lies_on(left, c)]
    return Equation(left, y * const_at(c, k), when=when)


@law(
    licence="exact",
    enabling=True,
    example=lambda p, n: _trace(lambda v, s: (s + v) * v, p, n),
    never=(
        lambda p, q: (p + q) * q,
        lambda x, a: _trace(lambda v, s: (s + v) * v, x, a),
        lambda p, n: _trace(lambda v, s: (s + T.abs(s)) * v, p, n),
        lambda p, n: _trace(lambda v, s: [s + v, (s + v) * T.abs(s)], p, [n, None])[1],
        lambda p, n: _trace(lambda v, s: s + (T.cast(v, "int8") + T.cast(v * v, "int8")) * v, p, n),
        lambda p, n: _trace(lambda v, s: s + (T.cast(v, "int8") + v) * T.cast(v, "int8"), p, n),
        lambda p, n: _trace(lambda v, s: (s + T.cast(v, "int8")) * T.cast(v, "int8"), p, n),
    ),
)
def product_of_sum(y: Value, x: Value, a: Value, d: Text) -> Equation:
    """(y + x)·a = y·a + x·a, for integers modulo 2^k."""
    inner = y + x
    left = inner * a
    when = [leads(left, inner, a), leads(inner, y, x), integer(left), of_dtype(left, d), of_dtype(y, d), of_dtype(x, d)]
    return Equation(left, y * a + x * a, when=when)


@law(
    licence="exact",
    enabling=True,
    example=lambda x, y: _trace(lambda v, r, s: (v - s * 0.5) - r * 0.25, x, _two(y)),
    never=(
        lambda x, y: (x - y * 0.5) - x * 0.25,
        lambda x, y: _trace(lambda v, r, s: [T.tanh(s), (v - s * 0.5) - r * 0.25], x, [_two(y), None])[1],
        lambda x, a: _trace(lambda v, s: s - T.exp(v) * 0.5, x, a),
        lambda x, a: _trace(lambda v, s: v - s * 0.5, x, a),
        lambda p, q: _trace(lambda v, r, s: s - r * T.cast(v, "int8"), p, _two(q)),
    ),
)
def multiple_taken_from_state(s: State, y: Value, z: Value, a: Value, d: Text) -> Equation:
    """y - z·a = y + z·(-a), where y and z are earlier values of a state, or made of them."""
    left = y - z * a
    when = [spine(s, left), takes_part(s, y), takes_part(s, z), of_dtype(left, d), of_dtype(a, d)]
    return Equation(left, y + z * -a, when=when)


@law(
    licence="exact",
    enabling=True,
    example=lambda x, y: _trace(lambda v, r, s: r * 0.5 + s * 0.25, x, dict(initial=y[:2], taps=[-2, -1])),
    never=lambda x, y: _trace(
        lambda v, r, s: [T.tanh(r), r * v + s * v], x, [dict(initial=y[:2], taps=[-2, -1]), None]
    ),
)
def nearer_first(c: Clock, init: Value, last: Value, s: State, a: Value, b: Value) -> Equation:
    """In a sum of two earlier values of a state, the later value comes first."""
    near = delay(c, last, s, 1) * a
    far = delay(c, init, s, 2) * b
    left = far + near
    return Equation(left, (near + far), when=[spine(s, left)])


@law(
    licence="reassoc",
    enabling=True,
    example=lambda x, y: _trace(lambda v, r, s: v - (s * 0.5 + r * 0.25), x, _two(y)),
    never=(
        lambda x, y: x - (y * 0.5 + x * 0.25),
        lambda x, y: _trace(lambda v, r, s: [T.tanh(s), v - (s * 0.5 + r * 0.25)], x, [_two(y), None])[1],
        lambda x, a: _trace(lambda v, s: v - (T.exp(v) + s * 0.5), x, a),
        lambda x, a: _trace(lambda v, s: v - (s * 0.5 + T.exp(v)), x, a),
        lambda p, q: _trace(lambda v, r, s: v - (s * 2 + r), p, _two(q)),
    ),
)
def sum_taken_away(s: State, x: Value, y: Value, z: Value) -> Equation:
    """x - (y + z) = x - y - z, where y and z are earlier values of a state, or made of them."""
    total = y + z
    left = x - total
    return Equation(left, x - y - z, when=[leads(left, total, x), takes_part(s, y), takes_part(s, z), floating(left)])


@law(
    licence="reassoc",
    enabling=True,
    example=lambda x, y: _trace(lambda v, r, s: (v + s * 0.5) + r * 0.25, x, _two(y)),
    never=(
        lambda x, y: (x * 0.5 + y) + y * 0.25,
        lambda x, y: _trace(lambda v, r, s: [r * 0.25 + v, (r * 0.25 + v) + s * 0.5], x, [_two(y), None])[1],
        lambda x, y: _trace(lambda v, r, s: (s * 0.25 + v) + T.exp(v), x, _two(y)),
        lambda x, y: _trace(lambda v, r, s: (r * 0.25 + T.tanh(s)) + s * 0.5, x, _two(y)),
        lambda p, q: _trace(lambda v, r, s: (r * 3 + v) + s * 2, p, _two(q)),
    ),
)
def entry_last(s: State, x: Value, y: Value, z: Value) -> Equation:
    """(z + x) + y = (y + z) + x, where y and z are earlier values of a state, or made of them, and x is not."""
    inner = z + x
    left = inner + y
    when = [spine(s, left), takes_part(s, y), takes_part(s, z), leads(inner, z, x), floating(left)]
    return Equation(left, y + z + x, when=when)


@law(
    licence="reassoc",
    enabling=True,
    example=lambda x, y: _trace(lambda v, r, s: s * 0.5 + (r * 0.25 + v), x, _two(y)),
    never=(
        lambda x, y: x * 0.5 + (y * 0.25 + x),
        lambda x, y: _trace(lambda v, r, s: [r * 0.25 + v, s * 0.5 + (r * 0.25 + v)], x, [_two(y), None])[1],
        lambda x, y: _trace(lambda v, r, s: T.exp(v) + (s * 0.25 + v), x, _two(y)),
        lambda x, y: _trace(lambda v, r, s: s * 0.5 + (r * 0.25 + T.tanh(s)), x, _two(y)),
        lambda p, q: _trace(lambda v, r, s: s * 2 + (r * 3 + v), p, _two(q)),
    ),
)
def entry_out_of_inner_sum(s: State, x: Value, y: Value, z: Value) -> Equation:
    """y + (z + x) = (y + z) + x, where y and z are earlier values of a state, or made of them, and x is not."""
    inner = z + x
    left = y + inner
    when = [spine(s, left), takes_part(s, y), takes_part(s, z), leads(inner, z, x), floating(left)]
    return Equation(left, y + z + x, when=when)
