"""States that need not be carried: they are constant, periodic, forget their past, or copy another state.

While t < k, a state read k steps back is a row of its own init; from then on it is the update of step t-k.
"""

from collections.abc import Sequence
from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Int, Op, State, Text, Value, as_row, const_at, delay, hold, ops, seq, steps
from scanopt.facts.lists import before
from scanopt.facts.loops import tells_no_length, within
from scanopt.facts.numbers import differ
from scanopt.facts.parts import takes_one
from scanopt.facts.states import becomes, passes_on
from scanopt.facts.values import at_least

_PICK = ops("getitem", index=("array",))


def _beside(own: Any, start: Any, y: Any, end: bool = False) -> Any:
    """An output computed from a state whose update is own(v, *taps)."""

    def step(v: Any, *taps: Any) -> Any:
        out = [own(v, *taps), T.exp(taps[0]) * v]
        return (out, scanopt.until(v > 1)) if end else out

    return scanopt.scan(step, y, [start, None])[0][1]


def _taps(x: Any, taps: Sequence[int]) -> Any:
    return dict(initial=x, taps=list(taps))


@law(
    licence="exact",
    source="a state that never changes is a non-sequence",
    example=lambda x, y: _beside(lambda v, s: s, x[0], y),
    never=(
        lambda x, y: _beside(lambda v, s: s + v, x[0], y),
        lambda x, y: _beside(lambda v, r, s: r, _taps(x, [-2, -1]), y),
        lambda x, n: scanopt.scan(lambda i, v: (T.maximum(i, i), v[:i]), None, [n, None], [x], n_steps=n)[0][1],
    ),
)
def state_that_never_changes(c: Clock, init: Value, s: State) -> Equation:
    """A state whose update is its own value is the last row of its init."""
    left = delay(c, init, s, 1)
    return Equation(left, hold(c, init[-1]), when=[becomes(s, left), tells_no_length(c, left)])


@law(
    licence="exact",
    source="a state that becomes one of its own taps",
    example=lambda x, y: _beside(lambda v, r, s: r, _taps(x, [-2, -1]), y),
    never=(
        lambda x, y: _beside(lambda v, s: s, x[0], y),
        lambda x, y: _beside(lambda v, r, s: r + v, _taps(x, [-2, -1]), y),
    ),
)
def state_that_repeats(c: Clock, init: Value, s: State, j: Int, p: Clock) -> Equation:
    """A state whose update is its value j steps before repeats the last j rows of its init."""
    left = delay(c, init, s, j)
    number = ops.arange(const_at(p, "int64:0"), steps(c), const_at(p, "int64:1"), dtype="int64")
    row = ops.remainder(number, const_at(p, Text("+", ("int64:", Text("to-string", (j,))))))
    right = seq(c, _PICK(init[-j:], row))
    return Equation(left, right, when=[at_least(j, 2), becomes(s, left), within(c, p)])


@law(
    licence="exact",
    source="a state that forgets its past is a sequence, one step late",
    example=(
        lambda x, y: _beside(lambda v, s: v, x[0], y),
        lambda x, y: _beside(lambda v, r, s: T.exp(v), _taps(x, [-2, -1]), y),
    ),
    never=(
        lambda x, y: _beside(lambda v, s: T.tanh(s) + v, x[0], y),
        lambda x, y: _beside(lambda v, s: T.exp(v), x[0], y, end=True),
        lambda x, y: _beside(lambda v, s: s, _taps(x, [-2]), y, end=True),
    ),
)
def state_of_sequence(c: Clock, init: Value, s: State, k: Int, X: Value) -> Equation:
    """A state whose update is a row of a sequence, and not its own value, is that sequence, k steps late, after rows
    of its init."""
    left, row = delay(c, init, s, k), seq(c, X)
    late = ops.concatenate(init[-k:], X, axis=0)[: steps(c)]
    return Equation(left, seq(c, late), when=[becomes(s, row), before(c, X), differ(left, row)])


@law(
    licence="exact",
    source="a state that forgets its past is a sequence, one step late",
    example=lambda x, y, a: _beside(lambda v, s: T.exp(a), x[0], y),
    never=lambda x, y, a: _beside(lambda v, s: T.exp(a) + s, x[0], y),
)
def state_of_invariant(c: Clock, init: Value, s: State, k: Int, x: Value) -> Equation:
    """A state whose update is a loop-invariant x is a sequence: rows of its init, then x at every step."""
    rows = ops.concatenate(init[-k:], ops.repeat_rows(x, steps(c)), axis=0)
    return Equation(delay(c, init, s, k), seq(c, rows[: steps(c)]), when=[becomes(s, hold(c, x))])


@law(
    licence="exact",
    source="a state that becomes what another was is that one, some steps back",
    example=(
        lambda y, a, b: scanopt.scan(lambda v, s, r: [r, s, T.exp(s) * v], y, [a, b, None])[0][2],
        lambda y, a, b: scanopt.scan(lambda v, s, r: [r, T.tanh(s + r) + v], y, [a, b])[0][1],
    ),
    never=(
        lambda y, a, b: scanopt.scan(lambda v, s, r: [r * v, T.tanh(s + r)], y, [a, b])[0][1],
        lambda x, y: _beside(lambda v, s: s, x[0], y),
    ),
)
def state_of_state(c: Clock, init: Value, s: State, k: Int, other: Value, r: State, j: Int) -> Equation:
    """A state whose update is an earlier value of another state is that state, read further back."""
    both = ops.concatenate(init[-k:], other[-j:], axis=0)
    when = [passes_on(s, r, j), becomes(s, delay(c, other, r, j))]
    return Equation(delay(c, init, s, k), delay(c, both, r, Int("+", (k, j))), when=when)


@law(
    licence="exact",
    stepwise=True,
    enabling=True,
    example=lambda x, y: T.expand_dims(x, 0)[-2:] + y,
    never=lambda x, y: x[-2:].sum() + y,
)
def last_rows_of_one(x: Value, k: Int) -> Equation:
    """The last rows of an array of one row are that array."""
    row = as_row(x)
    return Equation(row[-k:], row)


@law(
    licence="exact",
    enabling=True,
    example=(lambda x, y: T.expand_dims(x, 0)[::-1] * y, lambda x, y: T.expand_dims(x, 0)[:1] * y),
    never=(lambda x, y: x[::-1] * y, lambda x, y: T.expand_dims(x, 0)[1:].sum() + y),
)
def part_of_one_row(x: Value, op: Op) -> Equation:
    """A slice that keeps the only row of an array is the array."""
    row = as_row(x)
    return Equation(op(row), row, when=[takes_one(op)])
